"""Conflicting buffers that share bytes, and the most bytes in use at one moment, by sweeping over time.

At each moment the occupied ranges of a pool are kept in order, so a buffer that begins to live is compared
with its neighbours only. Ranges that overlap others, rightly or not, live in an interval tree that expects
overlaps. The sweep ends when enough violations are found: a plan with one is no better than a plan with a
million. It also adds up the sizes of what lives, which is exact until buffers share bytes; where they do (in
place, exclusive, rigid groups) `most_occupied` counts each byte once.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from memstow.planner.judge._judge import Defect, judge_plan
from memstow.planner.model.problem import LIMIT, measure
from memstow.planner.verify.layout import ALONE, Layout, ProblemIndex
from memstow.planner.verify.verdict import Code, Findings
from memstow.records import record

_NOBODY: Final = -2


class IntervalTree:
    """Ranges [starts[tag], ends[tag]) with their groups; `ALONE` is a group that no query skips."""

    def __init__(self, starts: Sequence[int], ends: Sequence[int], groups: Sequence[int]) -> None:
        self._ends = ends
        self._groups = groups
        self._tags = sorted(range(len(starts)), key=starts.__getitem__)
        self._starts = [starts[tag] for tag in self._tags]
        self._rank = [0] * len(starts)
        for rank, tag in enumerate(self._tags):
            self._rank[tag] = rank
        self._leaves = 1 << max(len(starts) - 1, 0).bit_length()
        self._end = [0] * (2 * self._leaves)
        self._group = [_NOBODY] * (2 * self._leaves)
        self._other_end = [0] * (2 * self._leaves)

    def __bool__(self) -> bool:
        return self._end[1] > 0

    def enter(self, tag: int) -> None:
        self._set(tag, self._ends[tag], self._groups[tag])

    def leave(self, tag: int) -> None:
        self._set(tag, 0, _NOBODY)

    def overlapped(self, start: int, end: int, group: int, skip_group: bool) -> Iterator[int]:
        """Tags of the ranges here that share an integer with [start, end), not those of the group to skip."""
        below = bisect_left(self._starts, end)
        leaves = self._leaves
        todo = [(1, 0, leaves)]
        while todo:
            node, first, width = todo.pop()
            furthest = self._end[node]
            if skip_group and self._group[node] == group:
                furthest = self._other_end[node]
            if furthest <= start or first >= below:
                continue
            if node >= leaves:
                yield self._tags[node - leaves]
                continue
            half = width // 2
            todo.append((2 * node + 1, first + half, half))
            todo.append((2 * node, first, half))

    def _set(self, tag: int, end: int, group: int) -> None:
        ends, groups, others = self._end, self._group, self._other_end
        node = self._leaves + self._rank[tag]
        ends[node], groups[node] = end, group
        node //= 2
        while node:
            left, right = 2 * node, 2 * node + 1
            if ends[left] < ends[right]:
                left, right = right, left
            ends[node], groups[node] = ends[left], groups[left]
            others[node] = max(others[left], others[right] if groups[right] == groups[left] else ends[right])
            node //= 2


ENTER: Final = True
LEAVE: Final = False
_CHUNK: Final = 4096
"""The most starts in one chunk of `DisjointRanges`."""


class Lives:
    """The live ranges of buffers in one pool that have a size: one tag for each live range of each of them.

    Tags are in order of time, so that a sweep walks through memory instead of jumping about in it.
    """

    def __init__(self, index: ProblemIndex, layout: Layout, placed: list[int]) -> None:
        lives = index.lives_of(placed)
        lives.sort(key=itemgetter(1))
        self.buffer = [i for i, _, _ in lives]
        self.begin = [begin for _, begin, _ in lives]
        self.end = [end for _, _, end in lives]
        self.low = [layout.offset[i] for i in self.buffer]
        self.high = [layout.ends[i] for i in self.buffer]
        self.group = [index.rigid.group[i] for i in self.buffer]
        self.grouped = any(group != ALONE for group in self.group)

    def events(self) -> Iterator[tuple[bool, int, int]]:
        """(ENTER or LEAVE, tag, time); at one moment whatever ends leaves before anything enters."""
        end = self.end
        leaving = sorted(range(len(end)), key=end.__getitem__)
        next_out = 0
        for tag, now in enumerate(self.begin):
            while end[leaving[next_out]] <= now:
                yield LEAVE, leaving[next_out], now
                next_out += 1
            yield ENTER, tag, now


@record
class Pressure:
    """The most bytes live at once in a pool, and the first moment of that; None where nothing has a life.

    `shared` when some bytes may have been counted several times.
    """

    bytes: int
    time: int | None
    shared: bool


@record
class Swept:
    """The buffers with a size in one pool, and the pressure unless the sweep ended early."""

    placed: list[int]
    pressure: Pressure | None


def check_overlaps(index: ProblemIndex, layout: Layout, findings: Findings) -> list[Swept]:
    """Note every pair that conflicts and shares bytes; return each pool as the sweep has found it."""
    for pair in index.conflicts:
        if layout.overlapping(*pair):
            _judge(index, layout, findings, *pair, when="listed as a conflict")
    pools = []
    for placed in layout.by_pool():
        pressure = _pressure_apart(index, layout, placed)
        if pressure is None:
            pressure = _Sweep(index, layout, Lives(index, layout, placed), findings).run()
        pools.append(Swept(placed, pressure))
    return pools


def _pressure_apart(index: ProblemIndex, layout: Layout, placed: list[int]) -> Pressure | None:
    """The pressure where no two that live together share a byte; None where that is left to the sweep."""
    if index.rigid.members and any(index.rigid.group[i] != ALONE for i in placed):
        return None
    lives = index.lives_of(placed)
    if not lives:
        return None
    try:
        begin, end = array("q", [life[1] for life in lives]), array("q", [life[2] for life in lives])
        low = array("q", [layout.offset[life[0]] for life in lives])
        size = array("q", [index.sizes[life[0]] for life in lives])
    except OverflowError:
        return None
    (defect, _, _), _, most, moment = judge_plan(size, begin, end, array("q", [1]), low, LIMIT)
    # The judge of columns counts to 2^63; what it refuses, the sweep looks at and names.
    return Pressure(most, moment, shared=False) if defect == Defect.NONE and most < LIMIT else None


class _Sweep:
    """One pass over the lives in one pool."""

    def __init__(self, index: ProblemIndex, layout: Layout, lives: Lives, findings: Findings) -> None:
        self._index = index
        self._layout = layout
        self._findings = findings
        self._lives = lives
        self._occupied = DisjointRanges(lives.low, lives.high)
        self._tree: IntervalTree | None = None
        self._shared = lives.grouped
        self._reported: set[tuple[int, int]] = set()

    def run(self) -> Pressure | None:
        """Note the pairs that live together and share bytes; the pressure, unless the sweep ended early."""
        lives, occupied = self._lives, self._occupied
        live = most = 0
        first = None
        for what, tag, now in lives.events():
            if what is ENTER:
                live += lives.high[tag] - lives.low[tag]
                if live > most:
                    most, first = live, now
                if self._tree is None and not lives.grouped and occupied.enter(tag):
                    continue
                self._enter(tag)
                if self._exhausted():
                    self._findings.cut_short(Code.OVERLAP)
                    return None
            else:
                live -= lives.high[tag] - lives.low[tag]
                if not occupied.leave(tag) and self._tree is not None:
                    self._tree.leave(tag)
        return Pressure(most, first, self._shared)

    def _exhausted(self) -> bool:
        return self._findings.full(Code.OVERLAP) or self._findings.full(Code.IN_PLACE)

    def _enter(self, tag: int) -> None:
        lives = self._lives
        low, high, group = lives.low[tag], lives.high[tag], lives.group[tag]
        if self._tree:
            for other in self._tree.overlapped(low, high, group, skip_group=group != ALONE):
                self._meet(tag, other)
                if self._exhausted():
                    return
        if group == ALONE and self._occupied.enter(tag):
            return
        for other in self._occupied.overlapped(low, high):
            self._meet(tag, other)
            if self._exhausted():
                return
        if self._tree is None:
            self._tree = IntervalTree(lives.low, lives.high, lives.group)
        self._tree.enter(tag)

    def _meet(self, tag: int, other: int) -> None:
        """Two ranges that overlap in memory and in time."""
        self._shared = True
        one, two = self._lives.buffer[tag], self._lives.buffer[other]
        pair = (one, two) if one < two else (two, one)
        if pair in self._reported or pair in self._index.conflicts:
            return
        if _judge(
            self._index, self._layout, self._findings, *pair, when=f"live at {self._lives.begin[tag]:,}"
        ):
            self._reported.add(pair)


def _judge(index: ProblemIndex, layout: Layout, findings: Findings, one: int, other: int, when: str) -> bool:
    """Note the overlap of a pair that conflicts, unless something lifts the conflict."""
    pair = (one, other)
    if index.conflict_lifted(pair, same_offset=layout.offset[one] == layout.offset[other]):
        return False
    names = (index.id_of(one), index.id_of(other))
    in_place = pair in index.in_place
    findings.add(
        Code.IN_PLACE if in_place else Code.OVERLAP,
        "{!r} [{:d}, {:d}) and {!r} [{:d}, {:d}) overlap in {!r}, both {}"
        + (": in place they must start at one offset" if in_place else ""),
        names[0],
        layout.offset[one],
        layout.ends[one],
        names[1],
        layout.offset[other],
        layout.ends[other],
        index.pools[layout.pool[one]].id,
        when,
        buffers=names,
        pool=index.pools[layout.pool[one]].id,
    )
    return True


class DisjointRanges:
    """A sorted set of disjoint ranges: the occupied bytes of one pool at the current moment of a sweep.

    Ranges are half-open, [starts[tag], ends[tag]), of non-negative integers, by tag. Starts are kept sorted
    in chunks, so that adding, removing and searching stay cheap with a million ranges.
    """

    def __init__(self, starts: Sequence[int], ends: Sequence[int]) -> None:
        self._starts = starts
        self._ends = ends
        self._tag_at: dict[int, int] = {}
        # Chunk c holds the starts in [floors[c - 1], floors[c]); only a single chunk may be empty.
        self._chunks: list[list[int]] = [[]]
        self._floors: list[int] = []

    def __len__(self) -> int:
        return len(self._tag_at)

    def enter(self, tag: int) -> bool:
        """Add this range, unless it overlaps one that is here."""
        start = self._starts[tag]
        c = bisect_right(self._floors, start)
        chunk = self._chunks[c]
        position = bisect_right(chunk, start)
        if position < len(chunk):
            if chunk[position] < self._ends[tag]:
                return False
        elif c + 1 < len(self._chunks) and self._chunks[c + 1][0] < self._ends[tag]:
            return False
        before = chunk[position - 1] if position else self._chunks[c - 1][-1] if c else None
        if before is not None and self._ends[self._tag_at[before]] > start:
            return False
        self._tag_at[start] = tag
        chunk.insert(position, start)
        if len(chunk) > _CHUNK:
            self._chunks[c : c + 1] = [chunk[: _CHUNK // 2], chunk[_CHUNK // 2 :]]
            self._floors.insert(c, chunk[_CHUNK // 2])
        return True

    def leave(self, tag: int) -> bool:
        """Remove this range; whether it was here."""
        start = self._starts[tag]
        if self._tag_at.get(start) != tag:
            return False
        del self._tag_at[start]
        c = bisect_right(self._floors, start)
        chunk = self._chunks[c]
        del chunk[bisect_left(chunk, start)]
        if not chunk and len(self._chunks) > 1:
            del self._chunks[c], self._floors[max(c - 1, 0)]
        return True

    def overlapped(self, start: int, end: int) -> Iterator[int]:
        """Tags of the ranges here that share an integer with [start, end), lowest first."""
        c = bisect_right(self._floors, start)
        position = bisect_right(self._chunks[c], start)
        before = self._chunks[c][position - 1] if position else self._chunks[c - 1][-1] if c else None
        if before is not None and self._ends[self._tag_at[before]] > start:
            yield self._tag_at[before]
        while c < len(self._chunks):
            chunk = self._chunks[c]
            while position < len(chunk):
                if chunk[position] >= end:
                    return
                yield self._tag_at[chunk[position]]
                position += 1
            c, position = c + 1, 0


def occupied_at(index: ProblemIndex, layout: Layout, placed: list[int], time: int) -> int:
    """Bytes occupied by those of these buffers that live at that time."""
    return measure((layout.offset[i], layout.ends[i]) for i in placed if index.lives_at(i, time))


def most_occupied(lives: Lives) -> tuple[int, int | None]:
    """The most bytes occupied at one moment, and the first such moment."""
    cuts = sorted({*lives.low, *lives.high})
    cover = _Cover(cuts)
    most, first = 0, None
    for what, tag, now in lives.events():
        cover.add(
            bisect_left(cuts, lives.low[tag]), bisect_left(cuts, lives.high[tag]), 1 if what is ENTER else -1
        )
        if cover.total() > most:
            most, first = cover.total(), now
    return most, first


class _Cover:
    """Counts over elementary ranges [cuts[i], cuts[i + 1]); knows the total length of those above zero."""

    def __init__(self, cuts: list[int]) -> None:
        last = len(cuts) - 1
        self._leaves = 1 << max(last - 1, 0).bit_length()
        self._width = [0] * (2 * self._leaves)
        for i in range(last):
            self._width[self._leaves + i] = cuts[i + 1] - cuts[i]
        for node in range(self._leaves - 1, 0, -1):
            self._width[node] = self._width[2 * node] + self._width[2 * node + 1]
        self._count = [0] * (2 * self._leaves)
        self._covered = [0] * (2 * self._leaves)

    def total(self) -> int:
        return self._covered[1]

    def add(self, first: int, last: int, count: int) -> None:
        """Add `count` to the elementary ranges first, ..., last - 1."""
        left, right = first + self._leaves, last + self._leaves
        low, high = left, right - 1
        while left < right:
            if left & 1:
                self._add_node(left, count)
                left += 1
            if right & 1:
                right -= 1
                self._add_node(right, count)
            left //= 2
            right //= 2
        self._pull(low // 2)
        self._pull(high // 2)

    def _add_node(self, node: int, count: int) -> None:
        self._count[node] += count
        self._refresh(node)

    def _pull(self, node: int) -> None:
        while node:
            self._refresh(node)
            node //= 2

    def _refresh(self, node: int) -> None:
        if self._count[node]:
            self._covered[node] = self._width[node]
        elif node >= self._leaves:
            self._covered[node] = 0
        else:
            self._covered[node] = self._covered[2 * node] + self._covered[2 * node + 1]
