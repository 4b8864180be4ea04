"""Formats of ExecuTorch: the JSON list of its tensors, and the input of its planner for Cadence.

A tensor of the list that ExecuTorch exports has an id, a size, a life and an alignment, and nothing else. The
input for Cadence has specs, memories with ids from 1, and placement constraints. A plan says where each
tensor is, in the words of ExecuTorch: `mem_id`, which counts from 1, and `mem_offset`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import lcm
from typing import Annotated, Any, Final

from memstow.planner.formats.format import (
    Format,
    Refusals,
    against_moments,
    plan_of_placements,
    refuse_beyond_buffers,
    refuse_pins,
    single_life,
)
from memstow.planner.formats.native import encode_document, list_of_lines
from memstow.planner.model.errors import InputError
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.printable import shown
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
    Time,
    allowed_pools,
)
from memstow.planner.reading.json_text import Path
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.sections import Findings, index_before, read_elements, read_section, wrong_type
from memstow.records import collector_at_rest


@model_class
class Allocation:
    """The place of one tensor."""

    id: Id
    mem_id: Annotated[int, Field(strict=True, ge=1)]
    mem_offset: Bytes


def read_plan(raw: Any, problem: Problem) -> Plan:
    """The plan of a list of allocations; a memory that the problem does not have is kept as its number."""
    findings = Findings(raw)
    if not isinstance(raw, list):
        findings.add("wrong_root", (), wrong_type("a list", raw))
        raise findings.error()
    with collector_at_rest():
        allocations, _ = read_elements(Allocation, raw, findings, ())
    names = dict(enumerate((pool.id for pool in problem.pools), start=1))
    placements = tuple(
        Placement(buffer=one.id, pool=names.get(one.mem_id, str(one.mem_id)), offset=one.mem_offset)
        for one in allocations
    )
    return plan_of_placements(placements, findings)


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The placements of a plan as allocations."""
    numbers = {pool.id: number for number, pool in enumerate(problem.pools, start=1)}
    for one in plan.placements:
        if one.pool not in numbers:
            message = f"there is no pool {shown(one.pool)} in this problem: it has no number"
            raise InputError.single("unknown_pool", "$.placements", message)
    return list_of_lines(
        {"id": one.buffer, "mem_id": numbers[one.pool], "mem_offset": one.offset} for one in plan.placements
    )


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
    count = len(document.memory_config.memory_sizes)
    for field in ("memory_alignments", "memory_names", "base_addrs"):
        values = getattr(document.memory_config, field)
        if values is not None and len(values) != count:
            message = f"holds {len(values)} values for {count} memories; give one for each"
            findings.add("wrong_length", ("memory_config", field), message)
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


def document_of(problem: Problem, refusals: Refusals) -> dict[str, object]:
    """The problem as specs and constraints; fields that they cannot express are added to the refusals."""
    _refuse(problem, refusals)
    number_of = {pool.id: number for number, pool in enumerate(problem.pools, start=1)}
    config: dict[str, object] = {
        "memory_sizes": [pool.capacity for pool in problem.pools],
        "memory_alignments": [pool.alignment for pool in problem.pools],
        "memory_names": [pool.id for pool in problem.pools],
    }
    if all(pool.base is not None for pool in problem.pools):
        config["base_addrs"] = [pool.base for pool in problem.pools]
    return {
        "memory_config": config,
        "specs": [
            _spec(buffer, f"$.buffers[{index}]", number_of, refusals)
            for index, buffer in enumerate(problem.buffers)
        ],
        "relative_placement": [
            # Lifetimes are written as they are, so none needs to be widened.
            {"dependent": tie.buffer, "source": tie.base, "offset": tie.offset, "update_lifetime": False}
            for tie in problem.relative
        ],
        "absolute_placement": [
            {
                "spec": buffer.id,
                "pinned_memory_id": number_of[allowed_pools(problem, buffer)[0]],
                "offset": buffer.offset,
            }
            for buffer in problem.buffers
            if buffer.pool is not None
        ],
    }


def _spec(buffer: Buffer, path: str, number_of: Mapping[str, int], refusals: Refusals) -> dict[str, object]:
    first, after = single_life(buffer, path, refusals)
    allowed = buffer.pools if buffer.pools is not None else tuple(number_of)
    if list(allowed) != [name for name in number_of if name in allowed]:
        refusals.add(f"{path}.pools", "memories are tried in the order of their ids")
    spec: dict[str, object] = {
        "id": buffer.id,
        "allocated_memory": buffer.size,
        "lifetime": [first, after - 1],
        "alignment": buffer.alignment,
    }
    blocked = [number for name, number in number_of.items() if name not in allowed]
    return {**spec, "blocklist": blocked} if blocked else spec


def _refuse(problem: Problem, refusals: Refusals) -> None:
    refusals.add_fields("$", problem, conflicts=(), exclusive=(), in_place=(), reuse_costs=())
    if problem.terms() != replace(problem, objective=None).terms():
        refusals.add("$.objective", "it has none, so that only the usual one can be meant")
    alignments = {pool.alignment for pool in problem.pools}
    for index, tie in enumerate(problem.relative):
        if len(alignments) > 1 and any(tie.offset % alignment for alignment in alignments):
            why = "in memories of different alignments distances are multiples of all of them"
            refusals.add(f"$.relative[{index}].offset", why)
    some_based = any(pool.base is not None for pool in problem.pools)
    steps = {buffer.alignment for buffer in problem.buffers}
    for index, pool in enumerate(problem.pools):
        path = f"$.pools[{index}]"
        if pool.capacity is None:
            refusals.add(f"{path}.capacity", "every memory has a size")
        elif pool.capacity % pool.alignment:
            refusals.add(f"{path}.capacity", "what does not fill a whole step of the alignment is not used")
        refusals.add_fields(path, pool, reserved=(), cost=0)
        if some_based and pool.base is None:
            refusals.add(f"{path}.base", "all memories have a base or none")
        elif pool.base is not None and any(pool.base % step for step in {*steps, pool.alignment}):
            refusals.add(f"{path}.base", "offsets are aligned there, not addresses")
    for index, buffer in enumerate(problem.buffers):
        if buffer.accesses is not None:
            refusals.add(f"$.buffers[{index}].accesses")


@model_class
class Tensor:
    """One buffer, live in [lower, upper)."""

    id: Id
    size: Bytes
    lower: Time
    upper: Time
    alignment: Annotated[Alignment, Field(description="Of the offset, in bytes.")] = 1


def read_problem(raw: Any) -> Problem:
    """The problem of a list of tensors, or of what Cadence's planner gets."""
    findings = Findings(raw)
    with collector_at_rest():
        problem = read_cadence(raw, findings) if isinstance(raw, dict) else _read_list(raw, findings)
    if findings or problem is None:
        raise findings.error()
    return problem


def _read_list(raw: Any, findings: Findings) -> Problem | None:
    if not isinstance(raw, list):
        findings.add("wrong_root", (), wrong_type("a list or an object", raw))
        return None
    tensors, lost = read_elements(Tensor, raw, findings, ())
    problem = Problem(version=1, buffers=tuple(map(_buffer, tensors)))
    check_made(problem, findings, lambda path: _place(path, lost))
    return problem


def write_problem(problem: Problem) -> bytes:
    """The problem as a list of tensors; as an object where memories or placements are given."""
    refusals = Refusals("executorch", problem)
    placed = problem.relative or any(b.pool is not None or b.pools is not None for b in problem.buffers)
    if placed or len(problem.pools) > 1 or problem.pools[0].capacity is not None:
        document = document_of(problem, refusals)
        refusals.raise_any()
        return encode_document(document)
    refuse_beyond_buffers(problem, refusals)
    refuse_pins(problem, refusals)
    lives = [single_life(b, f"$.buffers[{i}]", refusals) for i, b in enumerate(problem.buffers)]
    refusals.raise_any()
    return list_of_lines(
        {"id": b.id, "size": b.size, "lower": lower, "upper": upper, "alignment": b.alignment}
        for b, (lower, upper) in zip(problem.buffers, lives, strict=True)
    )


def _buffer(tensor: Tensor) -> Buffer:
    return Buffer(
        id=tensor.id, size=tensor.size, lifetime=(tensor.lower, tensor.upper), alignment=tensor.alignment
    )


def _place(path: Path, lost: list[int]) -> Path:
    if len(path) < 2 or not isinstance(path[1], int):
        return ()
    field = ("lower",) if path[2:3] == ("lifetime",) else path[2:]
    return (index_before(lost, path[1]), *field)


FORMAT: Final = Format(
    name="executorch",
    is_json=True,
    read_problem=read_problem,
    write_problem=write_problem,
    read_plan=read_plan,
    write_plan=write_plan,
)
