"""Whether an order joins every two buffers that conflict, so that they never share a byte at any size.

What follows from an order is that a buffer begins at or after the *end* of another: it is above that one; or
above a buffer that begins there; or at a fixed distance from the other that is at least its largest size; or
it begins at a fixed distance above one that begins there. Buffers of a unit that begin together are one
*level*; levels with these relations form a graph without circles, because the units do.

Sets of buffers are bits of whole numbers: of each level the buffers that end at or below it, and those that
begin at or above it. Memory is bounded by taking some thousand buffers at a time. Most orders need none of it
(`neighbours.py`).
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.problem_index import ALONE
from memstow.planner.verify.shapes.neighbours import neighbours_are_joined
from memstow.planner.verify.shapes.stack import Stack

MOST_BITS: Final = 1 << 30
"""In the sets that are there at once: 128 MiB."""
MOST_STEPS: Final = 20_000_000
"""Unions of sets: about 30 seconds."""


def check_apart(stack: Stack, largest: Sequence[int], findings: Findings) -> None:
    """Note every pair that conflicts and is not joined."""
    levels = _Levels(stack, largest)
    count = len(stack.index.buffers)
    if not count:
        return
    meetings = _Meetings(stack, largest)
    if not meetings.has_exceptions and neighbours_are_joined(
        meetings.events, meetings.listed, stack.pool, levels.level, stack.above
    ):
        return
    block = max(64, min(count, MOST_BITS // (2 * max(levels.count, 1))))
    if -(-count // block) * (levels.count + levels.relations + 2 * count) > MOST_STEPS:
        text = "that {} buffers are apart at every value could not be shown: {} relations are too many"
        findings.add(Code.NOT_SHOWN, text, count, levels.relations)
        return
    for begin in range(0, count, block):
        _Block(levels, meetings, range(begin, min(begin + block, count)), findings).check()
        if findings.full(Code.UNORDERED):
            findings.cut_short(Code.UNORDERED)
            return


class _Levels:
    """Buffers of a unit that begin together, in a sequence in which every relation points upwards."""

    def __init__(self, stack: Stack, largest: Sequence[int]) -> None:
        units = stack.units
        self.level = [0] * len(largest)
        self.members: list[list[int]] = []
        self.is_first: list[bool] = []
        """Whether the level before is of another unit."""
        for u in stack.sequence:
            members = sorted(units.members[u], key=units.at.__getitem__)
            for number, (_, same) in enumerate(groupby(members, key=units.at.__getitem__)):
                self.is_first.append(number == 0)
                self.members.append(list(same))
                for i in self.members[-1]:
                    self.level[i] = len(self.members) - 1
        self.count = len(self.members)
        self.below = stack.above
        self.above: list[list[int]] = [[] for _ in largest]
        for i, below in enumerate(stack.above):
            for other in below:
                self.above[other].append(i)
        self.ends_by: list[list[int]] = [[] for _ in self.members]
        """The buffers of the unit of which each level is the first at or above their end."""
        self.past: list[int | None] = [None] * len(largest)
        """For each buffer that level."""
        for members in units.members:
            if len(members) > 1:
                self._find_past(members, units.at, largest)
        self.relations = sum(map(len, stack.above))

    def _find_past(self, members: Sequence[int], at: Sequence[int], largest: Sequence[int]) -> None:
        starts = sorted(members, key=at.__getitem__)
        place = 0
        for i in sorted(members, key=lambda i: at[i] + largest[i]):
            while place < len(starts) and at[starts[place]] < at[i] + largest[i]:
                place += 1
            if place == len(starts):
                return
            self.past[i] = self.level[starts[place]]
            self.ends_by[self.level[starts[place]]].append(i)


class _Meetings:
    """The pairs that conflict: who begins to live while who lives, and what is listed."""

    def __init__(self, stack: Stack, largest: Sequence[int]) -> None:
        index = stack.index
        self.index = index
        self.pool = stack.pool
        self._units = stack.units
        sized = [i for i, size in enumerate(largest) if size]
        lives = index.lives_of(sized)
        self.events = sorted([(begin, 1, i) for i, begin, _ in lives] + [(end, 0, i) for i, _, end in lives])
        """(time, 1 for a begin and 0 for an end, buffer)."""
        self.listed = [
            pair
            for pair in sorted(index.conflicts)
            if largest[pair[0]]
            and largest[pair[1]]
            and self.pool[pair[0]] == self.pool[pair[1]]
            and not (pair in index.in_place and self._units.same_offset(*pair))
        ]
        """Pairs that may not overlap whenever they live; those in place that begin together may."""
        self._lifted: dict[int, list[int]] = {}
        for one, other in index.exclusive - index.conflicts:
            self._lift(one, other)
        for one, other in index.in_place:
            if self._units.same_offset(one, other):
                self._lift(one, other)

        self.has_exceptions = bool(self._lifted) or len(stack.units.members) < len(stack.pool)
        """Whether some that live together may overlap, or buffers keep their distances."""

    def _lift(self, one: int, other: int) -> None:
        self._lifted.setdefault(one, []).append(other)
        self._lifted.setdefault(other, []).append(one)

    def lifted(self, i: int) -> Iterator[int]:
        """Buffers that may share bytes with this one while both live."""
        yield from self._lifted.get(i, ())
        group = self.index.rigid.group[i]
        if group != ALONE:
            yield from self.index.rigid.members[group]


class _Block:
    """Checks the pairs of which one is among some thousand buffers."""

    def __init__(self, levels: _Levels, meetings: _Meetings, block: range, findings: Findings) -> None:
        self._levels = levels
        self._meetings = meetings
        self._block = block
        self._findings = findings
        self._ended = _ended(levels, block)
        self._begun = _begun(levels, block)
        self._reported: set[tuple[int, int]] = set()

    def check(self) -> None:
        """Note the pairs that are not joined."""
        meetings, block, first = self._meetings, self._block, self._block.start
        live = [0] * len(meetings.index.pools)
        for time, begins, i in meetings.events:
            pool = meetings.pool[i]
            if begins and live[pool]:
                loose = live[pool] & ~self._joined(i)
                if loose:
                    self._report_loose(i, loose, time)
                    if self._findings.full(Code.UNORDERED):
                        return
            if i in block:
                live[pool] ^= 1 << (i - first)
        for one, other in meetings.listed:
            if other in block and not self._joined(one) >> (other - first) & 1:
                self._report(one, other, "listed as a conflict")

    def _joined(self, i: int) -> int:
        """Those of the block that end before this one begins, or begin after it ends."""
        levels = self._levels
        found = self._ended[levels.level[i]]
        for other in levels.above[i]:
            found |= self._begun[levels.level[other]]
        past = levels.past[i]
        return found if past is None else found | self._begun[past]

    def _report_loose(self, i: int, loose: int, time: int) -> None:
        first = self._block.start
        for other in self._meetings.lifted(i):
            if other in self._block:
                loose &= ~(1 << (other - first))
        for other in _bits(loose):
            self._report(i, other + first, f"live at {time:,}")
            if self._findings.full(Code.UNORDERED):
                return

    def _report(self, one: int, other: int, when: str) -> None:
        pair = (min(one, other), max(one, other))
        if pair in self._reported:
            return
        self._reported.add(pair)
        index = self._meetings.index
        names = (index.id_of(pair[0]), index.id_of(pair[1]))
        text = "neither of {!r} and {!r} is above the other in {!r}, and both are {}"
        pool = index.pools[self._meetings.pool[one]].id
        self._findings.add(Code.UNORDERED, text, *names, pool, when, buffers=names, pool=pool)


def _ended(levels: _Levels, block: range) -> list[int]:
    """For each level the buffers of the block that end at or below it, at every size."""
    first, inside = block.start, block.__contains__
    found: list[int] = []
    for number, members in enumerate(levels.members):
        here = 0 if levels.is_first[number] else found[-1]
        for i in levels.ends_by[number]:
            if inside(i):
                here |= 1 << (i - first)
        for i in members:
            for other in levels.below[i]:
                here |= found[levels.level[other]]
                if inside(other):
                    here |= 1 << (other - first)
        found.append(here)
    return found


def _begun(levels: _Levels, block: range) -> list[int]:
    """For each level the buffers of the block that begin at or above it, at every size."""
    first, inside = block.start, block.__contains__
    found = [0] * levels.count
    for number in range(levels.count - 1, -1, -1):
        is_last = number + 1 == levels.count or levels.is_first[number + 1]
        here = 0 if is_last else found[number + 1]
        for i in levels.members[number]:
            if inside(i):
                here |= 1 << (i - first)
            for other in levels.above[i]:
                here |= found[levels.level[other]]
        found[number] = here
    return found


def _bits(number: int) -> Iterator[int]:
    """The places of its bits, lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
