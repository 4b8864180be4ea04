"""Conflicting buffers that share bytes, found by sweeping over time.

At each moment the occupied ranges of a pool are kept in order, so a buffer that begins to live is compared
with its neighbours only. Ranges that overlap others, rightly or not, live in an interval tree that expects
overlaps. The sweep ends when enough violations are found: a plan with one is no better than a plan with a
million.
"""

from dataclasses import dataclass

from memstow.planner.verify.disjoint_ranges import DisjointRanges
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.interval_tree import IntervalTree
from memstow.planner.verify.layout import Layout
from memstow.planner.verify.lifetimes import ENTER, Lives
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.rigid import ALONE


@dataclass(frozen=True, slots=True)
class Pressure:
    """The most bytes live at once in a pool, and the first moment of that; None where nothing has a life.

    `shared` when some bytes may have been counted several times.
    """

    bytes: int
    time: int | None
    shared: bool


def check_conflicts(index: ProblemIndex, layout: Layout, findings: Findings) -> None:
    """Note every pair of `conflicts` that shares bytes."""
    for pair in index.conflicts:
        if layout.overlapping(*pair):
            _judge(index, layout, findings, *pair, when="listed as a conflict")


class Sweep:
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
