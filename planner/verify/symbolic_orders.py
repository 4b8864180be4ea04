"""An order of a plan with symbols: read, laid out with given sizes, and whether it keeps buffers apart.

`Stack` notes what is wrong with the structure of an order: buffers without a place, pools, ties, pins,
circles. `Heights` lays out a sound one: a unit begins as low as what is reserved at the bottom, what its
members are above of, and its alignment allow; a pinned unit begins where the pin says. Larger sizes never put
anything lower, so the sizes that are never exceeded give heights that are never exceeded.

`check_apart`: what follows from an order is that a buffer begins at or after the *end* of another: it is
above that one; or above a buffer that begins there; or at a fixed distance from the other that is at least
its largest size; or it begins at a fixed distance above one that begins there. Buffers of a unit that begin
together are one *level*; levels with these relations form a graph without circles, because the units do.

The quick way compares neighbours alone. At each moment the buffers that live are in the sequence of the
order. Where each is joined to the next, every two are: who begins after the end of another that begins after
the end of a third begins after that end too. That shows all of an order of plain buffers, in time close to
linear. Where it shows nothing, sets of buffers decide, as bits of whole numbers: of each level the buffers
that end at or below it, and those that begin at or above it. Memory is bounded by taking some thousand
buffers at a time.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from math import lcm
from typing import Final

from memstow.planner.model.problem import Kind, Term
from memstow.planner.model.symbolic import Order, OrderedPlacement
from memstow.planner.verify.layout import (
    ALONE,
    NOWHERE,
    Event,
    Grid,
    ProblemIndex,
    both,
    check_pool,
    pool_peaks,
)
from memstow.planner.verify.symbolic_sizes import Units
from memstow.planner.verify.verdict import Code, Findings
from memstow.records import record

_SHOWN = 6


@lru_cache(maxsize=1 << 10)
def _aligned(alignment: int, of_pool: int, beyond: int) -> Grid:
    """Where a unit may begin so that a member this far beyond that, the base included, is aligned."""
    step = lcm(alignment, of_pool)
    return Grid(step, -beyond % step)


class Stack:
    """`pool[i]` of buffer i, `above[i]` the buffers that it is above of, its units and their sequence."""

    def __init__(self, index: ProblemIndex, order: Order, findings: Findings) -> None:
        self.index = index
        self.pool = [NOWHERE] * len(index.buffers)
        self.above: list[list[int]] = [[] for _ in index.buffers]
        self._findings = findings
        before = findings.total
        self._empty: set[int] = set()
        shared = self._read(order.placements)
        ties = [*index.relative, *((a, b, 0) for a, b in shared)]
        self.units = Units(len(index.buffers), ties, self._empty)
        self.grid: list[Grid] = []
        """Where the first member of each unit may begin."""
        self.pinned: list[int | None] = []
        """Where the first member of each unit must begin."""
        self.sequence: list[int] = []
        """The units, each after all that it is above of."""
        if findings.total == before:
            self._check_ties(shared)
            self._check_arcs()
        if findings.total == before:
            self._sort()
        self.sound = findings.total == before
        """Whether it can be laid out."""

    def _name(self, buffer: int) -> str:
        return self.index.id_of(buffer)

    def _read(self, placements: Iterable[OrderedPlacement]) -> list[tuple[int, int]]:
        """Read all placements; which buffer shares the offset of which."""
        index, findings = self.index, self._findings
        seen: set[int] = set()
        shared = []
        for place in placements:
            i = self._buffer(place.buffer)
            if i is None:
                continue
            if i in seen:
                findings.add(Code.REPEATED, "{!r} has several places", place.buffer, buffers=(place.buffer,))
                continue
            seen.add(i)
            pool = index.pool_index.get(place.pool)
            if pool is None:
                text = "{!r} is in {!r}, which is not a pool of the problem"
                findings.add(
                    Code.UNKNOWN_POOL,
                    text,
                    place.buffer,
                    place.pool,
                    buffers=(place.buffer,),
                    pool=place.pool,
                )
                continue
            self.pool[i] = pool
            check_pool(index, index.buffers[i], pool, findings)
            named = (self._buffer(name) for name in dict.fromkeys(place.above))
            self.above[i] = [other for other in named if other is not None]
            if place.empty:
                self._empty.add(i)
                if index.buffers[i].size:
                    text = "{!r} is said to be empty, and may have bytes at some value"
                    findings.add(Code.EMPTY, text, place.buffer, buffers=(place.buffer,))
            if place.shares is not None and (other := self._buffer(place.shares)) is not None:
                shared.append((i, other))
        for i, buffer in enumerate(index.buffers):
            if i not in seen:
                findings.add(Code.MISSING, "{!r} has no place", buffer.id, buffers=(buffer.id,))
        return shared

    def _buffer(self, name: str) -> int | None:
        index = self.index.buffer_index.get(name)
        if index is None:
            text = "{!r} is named but is not a buffer of the problem"
            self._findings.add(Code.UNKNOWN_BUFFER, text, name, buffers=(name,))
        return index

    def _check_ties(self, shared: list[tuple[int, int]]) -> None:
        """What keeps its distance must be a pair in place or tied, in one pool, aligned, and pinned alike."""
        index, findings, units = self.index, self._findings, self.units
        for one, other in shared:
            if (min(one, other), max(one, other)) not in index.in_place:
                text = "{!r} shares the offset of {!r}, and the two are no pair in place"
                names = (self._name(one), self._name(other))
                findings.add(Code.SHARES, text, *names, buffers=names)
        for one, other, distance in units.contradicted:
            names = (self._name(one), self._name(other))
            text = "{!r} cannot be {} above {!r}: other ties put it elsewhere"
            findings.add(Code.RELATIVE_DISTANCE, text, names[0], distance, names[1], buffers=names)
        for members in units.members:
            elsewhere = next((i for i in members if self.pool[i] != self.pool[members[0]]), None)
            if elsewhere is not None:
                names = (self._name(elsewhere), self._name(members[0]))
                text = "{!r} and {!r} keep their distance, and are in two pools"
                findings.add(Code.RELATIVE_POOL, text, *names, buffers=names)
            self._find_start(members, self.pool[members[0]])

    def _find_start(self, members: list[int], pool: int) -> None:
        """Where the first member may begin so that all are aligned, and where the pins put it."""
        index, at = self.index, self.units.at
        base, alignment = index.pools[pool].base or 0, index.pools[pool].alignment
        grid: Grid | None = None
        for number, i in enumerate(members):
            own = _aligned(index.buffers[i].alignment, alignment, base + at[i])
            grid = own if number == 0 else grid and both(grid, own)
        if grid is None:
            text = "{} cannot all be aligned at the distances that they keep"
            self._note_start(Code.MISALIGNED, text, members)
            grid = Grid(1, 0)
        pins = {offset - at[i] for i in members if (offset := index.buffers[i].offset) is not None}
        if len(pins) > 1:
            text = "{} are pinned to offsets that are not at the distances that they keep"
            self._note_start(Code.PINNED_OFFSET, text, members)
        pin = min(pins, default=None)
        if pin is not None and (pin - grid.first) % grid.step:
            self._note_start(Code.MISALIGNED, "{} are not aligned where the pin puts them", members)
        self.grid.append(Grid(grid.step, grid.first % grid.step) if len(members) > 1 else grid)
        self.pinned.append(pin)

    def _note_start(self, code: Code, text: str, members: list[int]) -> None:
        names = tuple(self._name(i) for i in members[:_SHOWN])
        self._findings.add(code, text, ", ".join(map(repr, names)), buffers=names)

    def _check_arcs(self) -> None:
        """Note what is above something in another pool, or at a fixed distance."""
        unit = self.units.unit
        for i, below in enumerate(self.above):
            for other in below:
                if unit[i] == unit[other]:
                    text = "{!r} is above {!r}, and the two begin at a fixed distance"
                elif self.pool[i] != self.pool[other]:
                    text = "{!r} is above {!r}, which is in another pool"
                else:
                    continue
                names = (self._name(i), self._name(other))
                self._findings.add(Code.ABOVE, text, *names, buffers=names)

    def _sort(self) -> None:
        """Put the units in sequence, or note a circle."""
        unit, members = self.units.unit, self.units.members
        follow: list[list[int]] = [[] for _ in members]
        waits = [0] * len(members)
        for i, below in enumerate(self.above):
            for other in below:
                follow[unit[other]].append(unit[i])
                waits[unit[i]] += 1
        self.sequence = [u for u, count in enumerate(waits) if not count]
        for u in self.sequence:
            for other in follow[u]:
                waits[other] -= 1
                if not waits[other]:
                    self.sequence.append(other)
        if len(self.sequence) < len(members):
            self._note_circle(waits)

    def _note_circle(self, waits: list[int]) -> None:
        """Each unit that still waits is above another that waits: walk down until one comes again."""
        unit, members = self.units.unit, self.units.members
        u = next(u for u, count in enumerate(waits) if count)
        trail: dict[int, int] = {}
        names: list[str] = []
        while u not in trail:
            trail[u] = len(names)
            i, other = next((i, p) for i in members[u] for p in self.above[i] if waits[unit[p]])
            names.append(self._name(i))
            u = unit[other]
        circle = names[trail[u] :]
        shown = " above ".join(map(repr, (*circle, circle[0]) if len(circle) < _SHOWN else circle[:_SHOWN]))
        text = "a circle of {}: {}" + ("" if len(circle) < _SHOWN else " and so on")
        self._findings.add(Code.ABOVE, text, len(circle), shown, buffers=tuple(circle[:_SHOWN]))


@record
class Broken:
    """Something that does not hold at some sizes."""

    code: Code
    message: str
    buffers: tuple[str, ...]
    pool: str


class Heights:
    """A sound stack, ready to be laid out again and again."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._index: ProblemIndex = stack.index
        # The end of what is reserved from 0 on.
        self.floors = [
            (ranges[0][1] if ranges and ranges[0][0] == 0 else 0) for ranges in self._index.reserved
        ]
        self._lids = [
            min((begin for begin, _ in ranges if begin > 0), default=None) for ranges in self._index.reserved
        ]
        """Where the first range is reserved that is not at the bottom: an order keeps below it."""
        units = stack.units
        self._steps: list[tuple[int, int, list[int], Grid, int]] = []
        """Of each unit: its only buffer, if any; the least offset; what is below; the grid; its number."""
        for u in stack.sequence:
            members = units.members[u]
            floor, first = self.floors[stack.pool[members[0]]], members[0]
            if len(members) == 1 and not units.at[first] and stack.pinned[u] is None:
                self._steps.append((first, floor, stack.above[first], stack.grid[u], u))
            else:
                least = floor - min(units.at[i] for i in members)
                self._steps.append((NOWHERE, least, [], stack.grid[u], u))

    def offsets(self, sizes: Sequence[int]) -> list[int]:
        """The offset of each buffer."""
        offsets, ends = [0] * len(sizes), [0] * len(sizes)
        units, above, pinned = self._stack.units, self._stack.above, self._stack.pinned
        for alone, start, below, (step, first), u in self._steps:
            if alone != NOWHERE:
                for other in below:
                    end = ends[other]
                    if end > start:
                        start = end
                start += (first - start) % step
                offsets[alone], ends[alone] = start, start + sizes[alone]
                continue
            members, at, pin = units.members[u], units.at, pinned[u]
            if pin is None:
                under = (ends[other] - at[i] for i in members for other in above[i])
                start = max(start, max(under, default=start))
                pin = start + (first - start) % step
            for i in members:
                offsets[i] = pin + at[i]
                ends[i] = offsets[i] + sizes[i]
        return offsets

    def peaks(self, sizes: Sequence[int], offsets: Sequence[int]) -> list[int]:
        """The peak of each pool."""
        return pool_peaks(len(self._index.pools), self._stack.pool, offsets, sizes)

    def broken(self, sizes: Sequence[int], offsets: Sequence[int]) -> Iterator[Broken]:
        """What does not hold at these sizes; where nothing is broken, nothing is at smaller ones."""
        index, pools = self._index, self._stack.pool
        for i, (size, offset) in enumerate(zip(sizes, offsets, strict=True)):
            pool = pools[i]
            lid, end = self._lids[pool], index.ends[pool]
            beyond = size and (offset + size > end or (lid and offset + size > lid))
            if beyond or offset < self.floors[pool]:
                yield self._misplaced(i, size, offset)
        yield from self._pushed(sizes, offsets)

    def _misplaced(self, i: int, size: int, offset: int) -> Broken:
        pool = self._stack.pool[i]
        name, home, floor = self._index.id_of(i), self._index.pools[pool].id, self.floors[pool]
        if offset < floor:
            code = Code.PINNED_OFFSET
            message = f"{name!r} would be at {offset:,} of {home!r}, below {floor:,}, where its room begins"
        elif offset + size > self._index.ends[pool]:
            code = Code.BEYOND_CAPACITY
            message = f"{name!r} ends at {offset + size:,} but {home!r} ends at {self._index.ends[pool]:,}"
        else:
            code = Code.RESERVED
            message = (
                f"{name!r} ends at {offset + size:,} of {home!r}, where bytes from {self._lids[pool]:,} are "
                "reserved: an order keeps below them"
            )
        return Broken(code, message, (name,), home)

    def _pushed(self, sizes: Sequence[int], offsets: Sequence[int]) -> Iterator[Broken]:
        """Pinned buffers that begin before something ends that they are above of."""
        stack = self._stack
        for u, pin in enumerate(stack.pinned):
            if pin is None:
                continue
            for i in stack.units.members[u]:
                for other in stack.above[i]:
                    if offsets[other] + sizes[other] > offsets[i]:
                        names = (self._index.id_of(i), self._index.id_of(other))
                        message = (
                            f"{names[0]!r} is pinned to {offsets[i]:,} and above {names[1]!r}, "
                            f"which ends at {offsets[other] + sizes[other]:,}"
                        )
                        pool = self._index.pools[stack.pool[i]].id
                        yield Broken(Code.PINNED_OFFSET, message, names, pool)


def value_of(index: ProblemIndex, term: Term, peaks: Sequence[int]) -> int:
    """The objective."""
    if term.kind is Kind.POOL_PEAK:
        return peaks[index.pool_index[term.pool or ""]]
    return max(peaks) if term.kind is Kind.MAX_PEAK else sum(peaks)


class Orders:
    """The orders of a plan, all sound."""

    def __init__(self, index: ProblemIndex, stacks: Sequence[Stack], term: Term) -> None:
        self._index = index
        self._term = term
        self.stacks = stacks
        self.all = [Heights(stack) for stack in stacks]

    def value(self, sizes: Sequence[int]) -> int:
        """The objective with these sizes."""
        return self._best(sizes)[0]

    def peaks(self, sizes: Sequence[int]) -> list[int]:
        """The peak of each pool with these sizes."""
        return self._best(sizes)[1]

    def broken(self, sizes: Sequence[int]) -> Iterator[Broken]:
        """What does not hold with these sizes."""
        _, _, offsets, heights = self._best(sizes)
        yield from heights.broken(sizes, offsets)

    def _best(self, sizes: Sequence[int]) -> tuple[int, list[int], list[int], Heights]:
        """The order with the least objective, the first of equals."""
        return min((self._laid(heights, sizes) for heights in self.all), key=lambda entry: entry[0])

    def _laid(self, heights: Heights, sizes: Sequence[int]) -> tuple[int, list[int], list[int], Heights]:
        offsets = heights.offsets(sizes)
        peaks = heights.peaks(sizes, offsets)
        return value_of(self._index, self._term, peaks), peaks, offsets, heights


_MOST_LOOKS: Final = 64
"""Buffers that are looked at to join one pair."""


def neighbours_are_joined(
    events: Iterable[Event],
    listed: Iterable[tuple[int, int]],
    pool: Sequence[int],
    place: Sequence[int],
    below: Sequence[Sequence[int]],
) -> bool:
    """Whether all that live together, and all pairs that are listed, are joined; False: perhaps not.

    `events`: begins and ends of lives, in order. `place`: the sequence, in which every buffer comes after
    those `below` it.
    """
    joined = _Joined(place, below)
    live: dict[int, list[int]] = {}
    owner = {place[i]: i for i in range(len(place))}
    for _, begins, i in events:
        here = live.setdefault(pool[i], [])
        at = bisect_left(here, place[i])
        if not begins:
            del here[at]
            continue
        if at and not joined(owner[here[at - 1]], i):
            return False
        if at < len(here) and not joined(i, owner[here[at]]):
            return False
        here.insert(at, place[i])
    return all(joined(*sorted(pair, key=place.__getitem__)) for pair in listed)


class _Joined:
    """Whether one buffer is below another, by a short way."""

    def __init__(self, place: Sequence[int], below: Sequence[Sequence[int]]) -> None:
        self._place = place
        self._below = below

    def __call__(self, low: int, high: int) -> bool:
        if low in self._below[high]:
            return True
        seen, waiting = {high}, [high]
        while waiting and len(seen) <= _MOST_LOOKS:
            # The lowest of what is at hand is the nearest to the aim.
            for other in self._below[waiting.pop()]:
                if other == low:
                    return True
                if self._place[other] > self._place[low] and other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return False


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
        self.events = index.events(sized)
        self.listed = [
            pair
            for pair in sorted(index.conflicts)
            if largest[pair[0]]
            and largest[pair[1]]
            and self.pool[pair[0]] == self.pool[pair[1]]
            and not (pair in index.in_place and self._units.same_offset(*pair))
        ]
        """Pairs that may not overlap whenever they live; those in place that begin together may."""
        self._lifted = {
            i: [other for other in others if self._is_lifted(i, other)] for i, others in index.sharing.items()
        }
        self.has_exceptions = any(self._lifted.values()) or len(stack.units.members) < len(stack.pool)
        """Whether some that live together may overlap, or buffers keep their distances."""

    def _is_lifted(self, one: int, other: int) -> bool:
        pair = (one, other) if one < other else (other, one)
        return self.index.conflict_lifted(pair, self._units.same_offset(one, other))

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
        begun_or_ended = self._ended[levels.level[i]]
        for other in levels.above[i]:
            begun_or_ended |= self._begun[levels.level[other]]
        past = levels.past[i]
        return begun_or_ended if past is None else begun_or_ended | self._begun[past]

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
    ended: list[int] = []
    for number, members in enumerate(levels.members):
        here = 0 if levels.is_first[number] else ended[-1]
        for i in levels.ends_by[number]:
            if inside(i):
                here |= 1 << (i - first)
        for i in members:
            for other in levels.below[i]:
                here |= ended[levels.level[other]]
                if inside(other):
                    here |= 1 << (other - first)
        ended.append(here)
    return ended


def _begun(levels: _Levels, block: range) -> list[int]:
    """For each level the buffers of the block that begin at or above it, at every size."""
    first, inside = block.start, block.__contains__
    begun = [0] * levels.count
    for number in range(levels.count - 1, -1, -1):
        is_last = number + 1 == levels.count or levels.is_first[number + 1]
        here = 0 if is_last else begun[number + 1]
        for i in levels.members[number]:
            if inside(i):
                here |= 1 << (i - first)
            for other in levels.above[i]:
                here |= begun[levels.level[other]]
        begun[number] = here
    return begun


def _bits(number: int) -> Iterator[int]:
    """The places of its bits, lowest first."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
