"""Dumps of XLA as problems: the temporaries of a compiled program, as XLA's own planner got them.

Both texts, one after the other: `*-buffer-assignment.txt` has sizes and offsets, `*-live-range.txt` has
times. They are for people, and have no version. A value is known by the instruction that makes it and its
place in the result, such as `while.10{0}`; `{}` is the whole result. It lives at its first and its last time
and between them. Values that XLA put at one offset while both live are one block to XLA (what an operation
writes in place, and what loops and branches hand on), and stay together here.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from memstow.planner.formats.format import Format
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.printable import printable, shown
from memstow.planner.model.problem import DEFAULT_POOL, LIMIT, Buffer, Pool, Problem, Relative
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.sections import Findings
from memstow.records import collector_at_rest

ASSIGNMENT: Final = "BufferAssignment:"
LIVE_RANGES: Final = "HloLiveRange (max "
_ALLOCATION: Final = re.compile(r"allocation (\d{1,9}): size (\d{1,19}), (.*):", re.ASCII)
_VALUE: Final = re.compile(
    r" value: <\d+ ([^\n\0]{1,1000}?)( \(phi\))? @-?\d+> \(size=(\d{1,19}),offset=(\d{1,19})\).*", re.ASCII
)
_RANGE: Final = re.compile(r"    ([^\n\0]{1,1000}):(\d{1,18})-(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Value:
    """A value in an allocation; a phi stands for what several computations hand on."""

    id: str
    size: int
    offset: int
    is_phi: bool


@dataclass(frozen=True, slots=True)
class Allocation:
    """A block of memory that values share."""

    index: int
    size: int
    values: list[Value]


def temporaries(text: str) -> list[Allocation]:
    """The allocations for temporaries; all others belong to the caller, or hold one value for good."""
    allocations: list[Allocation] = []
    current: Allocation | None = None
    for number, line in enumerate(_part(text, ASSIGNMENT).split("\n"), 1):
        if line.startswith("allocation "):
            head = _matched(_ALLOCATION, line, number, "an allocation")
            current = None
            if "preallocated-temp" in head[3].split(", "):
                current = Allocation(int(head[1]), int(head[2]), [])
                allocations.append(current)
        elif line.startswith(" value:") and current is not None:
            current.values.append(_value(line, number, current))
    if not any(allocation.values for allocation in allocations):
        message = "it has no temporaries (preallocated-temp): nothing is to be planned in this program"
        raise InputError.single("no_temporaries", "$", message)
    return allocations


def live_ranges(text: str) -> dict[str, tuple[int, int]]:
    """The first and the last time at which each value lives."""
    return dict(_ranges(_part(text, LIVE_RANGES)))


def _ranges(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("    "):
            inside = line == "  BufferLiveRange:"
        elif inside:
            match = _matched(_RANGE, line, number, "a live range")
            first, last = int(match[2]), int(match[3])
            if first > last:
                raise _damaged(number, "a live range", line)
            yield match[1], (first, last)


def _value(line: str, number: int, allocation: Allocation) -> Value:
    match = _matched(_VALUE, line, number, "a value")
    name, size, offset = match[1], int(match[3]), int(match[4])
    if offset + size > allocation.size or allocation.size > LIMIT:
        raise _damaged(number, "a value inside of its allocation", line)
    return Value(name if name.endswith("}") else f"{name}{{}}", size, offset, match[2] is not None)


def _part(text: str, mark: str) -> str:
    """The dump that begins with this mark, up to the next one."""
    begin = 0 if text.startswith(mark) else text.find(f"\n{mark}") + 1
    if not text.startswith(mark, begin):
        which, command = _WHERE[mark]
        message = (
            f"the {which} of the program are missing: keep *-{command}.txt beside the other file, or "
            "give both texts as one, one after the other"
        )
        raise InputError.single("half_a_dump", "$", message)
    ends = [at for other in _WHERE if (at := text.find(f"\n{other}", begin)) >= 0]
    return text[begin : min(ends, default=len(text))]


_WHERE: Final = {ASSIGNMENT: ("sizes", "buffer-assignment"), LIVE_RANGES: ("live ranges", "live-range")}


def _matched(pattern: re.Pattern[str], line: str, number: int, what: str) -> re.Match[str]:
    match = pattern.fullmatch(line)
    if match is None:
        raise _damaged(number, what, line)
    return match


def _damaged(number: int, what: str, line: str) -> InputError:
    message = f"this should be {what}, and is: {printable(line, 120)}"
    return InputError.single("damaged", f"line {number}", message)


_MOST_ALIGNMENT: Final = 256
_NUMBERS: Final = re.compile(r"(\.\d+)+$")
_Lives = dict[str, tuple[int, int]]


def read_problem(data: bytes) -> Problem:
    """The problem of both texts."""
    text = _text(data)
    with collector_at_rest():
        allocations, lives = temporaries(text), live_ranges(text)
        pools = _pools_of(allocations)
        problem = Problem(
            version=1,
            pools=tuple(Pool(id=pool) for pool in pools),
            buffers=tuple(
                buffer
                for pool, allocation in zip(pools, allocations, strict=True)
                for buffer in _buffers(allocation, pool if len(pools) > 1 else None, lives)
            ),
            relative=tuple(tie for allocation in allocations for tie in _ties(allocation, lives)),
        )
        findings = Findings(None)
        check_made(problem, findings, lambda path: path)
    if findings:
        raise findings.error()
    return problem


def read_plan(data: bytes, _problem: Problem) -> Plan:
    """Where XLA itself put the values."""
    allocations = temporaries(_text(data))
    placements = tuple(
        Placement(buffer=value.id, pool=pool, offset=value.offset)
        for pool, allocation in zip(_pools_of(allocations), allocations, strict=True)
        for value in allocation.values
    )
    return Plan(status=Status.FEASIBLE, placements=placements)


def _pools_of(allocations: list[Allocation]) -> list[str]:
    """A pool for each allocation."""
    if len(allocations) == 1:
        return [DEFAULT_POOL]
    return [f"allocation {allocation.index}" for allocation in allocations]


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"the text is no UTF-8 from byte {error.start:,} on"
        raise InputError.single("not_utf8", "$", message) from None


def _buffers(allocation: Allocation, pool: str | None, lives: _Lives) -> Iterator[Buffer]:
    # XLA does not write its alignment: as far as that tells, what all offsets are multiples of.
    bits = _MOST_ALIGNMENT
    for value in allocation.values:
        bits |= value.offset
    alignment = bits & -bits
    for value in allocation.values:
        first, last = _life(value, lives)
        yield Buffer(
            id=value.id,
            size=value.size,
            lifetime=(first, last + 1),
            alignment=alignment,
            pool=pool,
            group=_instruction(value.id),
        )


def _instruction(value: str) -> str:
    """What makes the value: its instruction is called after that, with a number where there are several."""
    name = value.partition("{")[0]
    return _NUMBERS.sub("", name) or name


def _life(value: Value, lives: _Lives) -> tuple[int, int]:
    life = lives.get(value.id)
    if life is None:
        message = f"{shown(value.id)} has no live range: the two files are not of one program"
        raise InputError.single("no_live_range", "$", message)
    return life


def _ties(allocation: Allocation, lives: _Lives) -> Iterator[Relative]:
    by_offset: dict[int, list[Value]] = {}
    for value in allocation.values:
        if value.size:
            by_offset.setdefault(value.offset, []).append(value)
    for values in by_offset.values():
        for block in _blocks(values, lives):
            for value in block[1:]:
                yield Relative(buffer=value.id, base=block[0].id, offset=0)


def _blocks(values: list[Value], lives: _Lives) -> Iterable[list[Value]]:
    """Values at one offset that are one block: they meet in time, or loops and branches hand them on.

    The dump does not say what is handed on: where a phi has a size, all values of that size are taken for it.
    """
    ordered = sorted(values, key=lambda value: _life(value, lives))
    handed_on = {value.size for value in ordered if value.is_phi}
    leader = list(range(len(ordered)))
    first_of_size: dict[int, int] = {}
    end = -1
    for number, value in enumerate(ordered):
        first, last = _life(value, lives)
        if first <= end:
            _join(leader, number, number - 1)
        if value.size in handed_on:
            _join(leader, number, first_of_size.setdefault(value.size, number))
        end = max(end, last)
    blocks: dict[int, list[Value]] = {}
    for number, value in enumerate(ordered):
        blocks.setdefault(_find(leader, number), []).append(value)
    return blocks.values()


def _join(leader: list[int], one: int, other: int) -> None:
    one, other = _find(leader, one), _find(leader, other)
    leader[max(one, other)] = min(one, other)


def _find(leader: list[int], number: int) -> int:
    while leader[number] != number:
        leader[number] = leader[leader[number]]
        number = leader[number]
    return number


FORMAT: Final = Format(name="xla", is_json=False, read_problem=read_problem, read_plan=read_plan)
