"""The input of ExecuTorch's planner for Cadence: specs, memories with ids from 1, and placement constraints.

Its greedy tries the memories in the order of their ids. A spec that is placed relative to another (a view, a
slice, a part of a concatenation) is not planned there: the lifetime of its source is widened to hold it. Here
it keeps its own bytes and life as well, so one that is larger than its source cannot reach into others.
"""

from collections.abc import Iterator
from math import lcm
from typing import Annotated, Any

from memstow.planner.formats.plain_problem import against_moments
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.problem import (
    Alignment,
    Buffer,
    Bytes,
    Distance,
    Id,
    Interval,
    Pool,
    Problem,
    Relative,
)
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.paths import Path
from memstow.planner.reading.sections import read_section

MemoryId = Annotated[int, Field(strict=True)]


@model_class
class MemoryConfig:
    """The memories, those tried first at the front; their ids count from 1."""

    memory_sizes: Annotated[tuple[Bytes, ...], Field(min_length=1)]
    memory_alignments: tuple[Alignment, ...] | None = None
    memory_names: tuple[Id, ...] | None = None
    base_addrs: tuple[Bytes, ...] | None = None


@model_class
class Spec:
    """A tensor, live from its first moment to its last, both included."""

    id: Id
    allocated_memory: Bytes
    lifetime: Interval
    alignment: Alignment = 1
    mem_id: MemoryId | None = None
    blocklist: tuple[MemoryId, ...] = ()


@model_class
class RelativePlacement:
    """`dependent` starts `offset` bytes after `source`."""

    dependent: Id
    source: Id
    offset: Distance = 0
    update_lifetime: Annotated[bool, Field(strict=True)] = True


@model_class
class AbsolutePlacement:
    """A spec in this memory, and at this offset where there is one."""

    spec: Id
    pinned_memory_id: MemoryId
    offset: Bytes | None = None


@model_class
class CadenceDocument:
    """A whole document of Cadence."""

    memory_config: MemoryConfig
    specs: tuple[Spec, ...]
    relative_placement: tuple[RelativePlacement, ...] = ()
    absolute_placement: tuple[AbsolutePlacement, ...] = ()
    extra_padding: Bytes = 0


def read_cadence(raw: Any, findings: Findings) -> Problem | None:
    """The problem; None where the findings say why there is none."""
    section = read_section(CadenceDocument, raw, findings)
    if not section.sound:
        return None
    document = CadenceDocument(**section.values)
    _check_lists(document.memory_config, findings)
    if findings:
        return None
    _check_ids(document, findings)
    return _Reading(document, findings).problem()


class _Reading:
    def __init__(self, document: CadenceDocument, findings: Findings) -> None:
        self._document = document
        self._findings = findings
        config = document.memory_config
        count = len(config.memory_sizes)
        self._names = config.memory_names or tuple(str(number + 1) for number in range(count))
        self._alignments = config.memory_alignments or (1,) * count
        # A spec placed relative to another is not aligned by itself: parts of a concatenation have no gaps
        # between them. So one alignment for all memories is that of the specs, not of the memories.
        self._one_alignment = self._alignments[0] if len(set(self._alignments)) == 1 else None
        self._dependents = {tie.dependent for tie in document.relative_placement}
        self._pins = {pin.spec: (index, pin) for index, pin in enumerate(document.absolute_placement)}

    def problem(self) -> Problem:
        document = self._document
        lives = self._lives()
        self._refuse_unaligned_parts()
        problem = Problem(
            version=1,
            pools=tuple(self._pool(index) for index in range(len(self._names))),
            buffers=tuple(self._buffer(i, spec, lives[spec.id]) for i, spec in enumerate(document.specs)),
            relative=tuple(
                Relative(buffer=tie.dependent, base=tie.source, offset=tie.offset)
                for tie in document.relative_placement
            ),
        )
        check_made(problem, self._findings, self._place)
        return problem

    def _refuse_unaligned_parts(self) -> None:
        if self._one_alignment is not None:
            return
        for index, tie in enumerate(self._document.relative_placement):
            if any(tie.offset % alignment for alignment in self._alignments):
                message = (
                    "no multiple of every alignment, in memories of different alignments; give one to all"
                )
                self._findings.add("unsupported", ("relative_placement", index, "offset"), message)

    def _pool(self, index: int) -> Pool:
        config, alignment = self._document.memory_config, self._alignments[index]
        # The end of a buffer, rounded up to the alignment, must be inside; so must be the padding after it.
        room = config.memory_sizes[index] - self._document.extra_padding
        return Pool(
            id=self._names[index],
            capacity=max(room - room % alignment, 0),
            alignment=alignment if self._one_alignment is None else 1,
            base=config.base_addrs[index] if config.base_addrs else None,
        )

    def _lives(self) -> dict[str, tuple[int, int]]:
        """First and last moment of each spec, those of sources widened by what depends on them."""
        lives = {spec.id: self._life(index, spec) for index, spec in enumerate(self._document.specs)}
        source_of = {tie.dependent: tie.source for tie in self._document.relative_placement}
        for tie in self._document.relative_placement:
            root, seen = tie.source, {tie.dependent}
            while root in source_of and root not in seen:
                seen.add(root)
                root = source_of[root]
            if tie.update_lifetime and root in lives and tie.dependent in lives:
                first, last = lives[root]
                begin, end = lives[tie.dependent]
                lives[root] = min(first, begin), max(last, end)
        return lives

    def _life(self, index: int, spec: Spec) -> tuple[int, int]:
        first, last = spec.lifetime
        reason = against_moments(first, last)
        if reason is not None:
            # Reported here: specs placed relative to it could widen it to a life that looks valid.
            self._findings.add("reversed_lifetime", ("specs", index, "lifetime"), reason)
        return first, max(first, last)

    def _buffer(self, index: int, spec: Spec, life: tuple[int, int]) -> Buffer:
        pin = self._pins[spec.id][1] if spec.id in self._pins else None
        pinned = spec.mem_id if pin is None else pin.pinned_memory_id
        if pinned is not None and not 1 <= pinned <= len(self._names):
            pinned = None  # reported already
        open_to = tuple(
            name for number, name in enumerate(self._names, start=1) if number not in spec.blocklist
        )
        if not open_to:
            message = "blocks every memory; leave out one that the spec may go to"
            self._findings.add("no_allowed_pool", ("specs", index, "blocklist"), message)
            open_to = self._names
        planned = self._one_alignment is not None and spec.id not in self._dependents
        return Buffer(
            id=spec.id,
            size=spec.allocated_memory,
            lifetime=(life[0], life[1] + 1),
            alignment=lcm(spec.alignment, self._one_alignment or 1) if planned else spec.alignment,
            pools=None if open_to == self._names else open_to,
            pool=None if pinned is None else self._names[pinned - 1],
            offset=None if pin is None else pin.offset,
        )

    def _place(self, path: Path) -> Path:
        match path:
            case ("buffers", int(index), "pool" | "offset" as field, *_):
                name = self._document.specs[index].id
                if name not in self._pins:
                    return ("specs", index, "mem_id")
                step = "pinned_memory_id" if field == "pool" else field
                return ("absolute_placement", self._pins[name][0], step)
            case ("buffers", int(index), "pools", *_):
                return ("specs", index, "blocklist")
            case ("buffers", *rest):
                return ("specs", *rest)
            case ("pools", int(index), *_):
                return ("memory_config", "memory_names", index)
            case ("relative", *rest):
                return ("relative_placement", *rest)
            case _:
                return path


def _check_lists(config: MemoryConfig, findings: Findings) -> None:
    count = len(config.memory_sizes)
    for field in ("memory_alignments", "memory_names", "base_addrs"):
        values = getattr(config, field)
        if values is not None and len(values) != count:
            message = f"holds {len(values)} values for {count} memories; give one for each"
            findings.add("wrong_length", ("memory_config", field), message)


def _check_ids(document: CadenceDocument, findings: Findings) -> None:
    count = len(document.memory_config.memory_sizes)
    for path, number in _memory_ids(document):
        if not 1 <= number <= count:
            message = f"there is no memory {number}; ids count from 1, and the last is {count}"
            findings.add("unknown_memory", path, message)
    known = {spec.id for spec in document.specs}
    pinned: set[str] = set()
    for index, pin in enumerate(document.absolute_placement):
        place = ("absolute_placement", index, "spec")
        if pin.spec not in known:
            findings.add("unknown_buffer", place, f"there is no spec {pin.spec!r}")
        elif pin.spec in pinned:
            findings.add("repeated_pin", place, f"{pin.spec!r} is pinned already")
        pinned.add(pin.spec)
    _check_bases(document, findings)


def _check_bases(document: CadenceDocument, findings: Findings) -> None:
    """There, offsets are aligned; here, addresses are: the same only where the bases are aligned too."""
    config = document.memory_config
    steps = {spec.alignment for spec in document.specs}
    for index, base in enumerate(config.base_addrs or ()):
        alignments = config.memory_alignments
        needed = steps | ({alignments[index]} if alignments and index < len(alignments) else set())
        if any(base % step for step in needed):
            message = f"{base:,} is not a multiple of every alignment in use; leave the base addresses out"
            findings.add("unsupported", ("memory_config", "base_addrs", index), message)


def _memory_ids(document: CadenceDocument) -> Iterator[tuple[Path, int]]:
    for index, spec in enumerate(document.specs):
        if spec.mem_id is not None:
            yield ("specs", index, "mem_id"), spec.mem_id
        for at, number in enumerate(spec.blocklist):
            yield ("specs", index, "blocklist", at), number
    for index, pin in enumerate(document.absolute_placement):
        yield ("absolute_placement", index, "pinned_memory_id"), pin.pinned_memory_id
