"""What the dumps of XLA say: `*-buffer-assignment.txt` has sizes and offsets, `*-live-range.txt` has times.

Both are texts for people, and have no version. A value is known by the instruction that makes it and its
place in the result, such as `while.10{0}`; `{}` is the whole result.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import LIMIT
from memstow.planner.reading.printable import printable

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
    found: list[Allocation] = []
    current: Allocation | None = None
    for number, line in enumerate(_part(text, ASSIGNMENT).split("\n"), 1):
        if line.startswith("allocation "):
            head = _matched(_ALLOCATION, line, number, "an allocation")
            current = None
            if "preallocated-temp" in head[3].split(", "):
                current = Allocation(int(head[1]), int(head[2]), [])
                found.append(current)
        elif line.startswith(" value:") and current is not None:
            current.values.append(_value(line, number, current))
    if not any(allocation.values for allocation in found):
        message = "it has no temporaries (preallocated-temp): nothing is to be planned in this program"
        raise InputError.single("no_temporaries", "$", message)
    return found


def live_ranges(text: str) -> dict[str, tuple[int, int]]:
    """The first and the last time at which each value lives."""
    return dict(_ranges(_part(text, LIVE_RANGES)))


def _ranges(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("    "):
            inside = line == "  BufferLiveRange:"
        elif inside:
            found = _matched(_RANGE, line, number, "a live range")
            first, last = int(found[2]), int(found[3])
            if first > last:
                raise _damaged(number, "a live range", line)
            yield found[1], (first, last)


def _value(line: str, number: int, allocation: Allocation) -> Value:
    found = _matched(_VALUE, line, number, "a value")
    name, size, offset = found[1], int(found[3]), int(found[4])
    if offset + size > allocation.size or allocation.size > LIMIT:
        raise _damaged(number, "a value inside of its allocation", line)
    return Value(name if name.endswith("}") else f"{name}{{}}", size, offset, found[2] is not None)


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
    found = pattern.fullmatch(line)
    if found is None:
        raise _damaged(number, what, line)
    return found


def _damaged(number: int, what: str, line: str) -> InputError:
    message = f"this should be {what}, and is: {printable(line, 120)}"
    return InputError.single("damaged", f"line {number}", message)
