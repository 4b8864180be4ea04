"""Conflicting buffers that share bytes, and the most bytes in use at one moment, by sweeping over time.

A sweep in native code goes through the lives in a pool and says which share bytes; here they get names, or
are let go because the problem allows it. The sweep ends when enough violations are found: a plan with one is
no better than a plan with a million. It also adds up the sizes of what lives, which is exact until buffers
share bytes; where they do (in place, exclusive, rigid groups) `Lives.most_occupied` counts each byte once.
"""

from array import array
from typing import Final

from memstow.planner.judge._judge import Sweep, most_occupied
from memstow.planner.model.problem import LIMIT
from memstow.planner.verify.layout import ALONE, Layout, ProblemIndex
from memstow.planner.verify.verdict import Code, Findings
from memstow.records import record

_PAIRS: Final = 1024
"""So many pairs that meet are looked at together."""


class Lives:
    """The live ranges of buffers in one pool that have a size: an entry for each range of each of them."""

    def __init__(self, index: ProblemIndex, layout: Layout, placed: list[int]) -> None:
        self.buffer, begins, ends = index.life_columns(placed)
        self._times: list[int] | None = None
        try:
            self._begins, self._ends = array("q", begins), array("q", ends)
        except OverflowError:
            # Which time is before which is all that counts.
            self._times = sorted({*begins, *ends})
            rank = {time: number for number, time in enumerate(self._times)}
            self._begins = array("q", [rank[time] for time in begins])
            self._ends = array("q", [rank[time] for time in ends])
        offsets = list(map(layout.offset.__getitem__, self.buffer))
        if offsets and not 0 <= min(offsets) <= max(offsets) <= LIMIT:
            # No document has such an offset. From there on, nothing that overlaps is taken apart.
            offsets = [min(max(offset, 0), LIMIT) for offset in offsets]
        self._offsets = array("q", offsets)
        self._sizes = array("q", list(map(index.sizes.__getitem__, self.buffer)))
        group = index.rigid.group if index.rigid.members else None
        alone = array("q", [ALONE]) * len(self.buffer)
        self._groups = alone if group is None else array("q", [group[i] for i in self.buffer])
        self.grouped = group is not None and any(number != ALONE for number in self._groups)

    def begin(self, life: int) -> int:
        """When this life begins."""
        return self._time(self._begins[life])

    def sweep(self) -> Sweep:
        """A sweep over all of them."""
        return Sweep(*self._columns())

    def most_live(self, sweep: Sweep) -> tuple[int, int | None]:
        """The most bytes of those that a sweep over them has seen, and the first moment of that."""
        most, moment = sweep.most()
        return most, self._time(moment) if most else None

    def most_occupied(self) -> tuple[int, int | None]:
        """The most bytes occupied at one moment, and the first such moment."""
        most, moment = most_occupied(*self._columns())
        return most, self._time(moment) if most else None

    def _time(self, number: int) -> int:
        return number if self._times is None else self._times[number]

    def _columns(self) -> "tuple[array[int], array[int], array[int], array[int], array[int]]":
        return self._begins, self._ends, self._offsets, self._sizes, self._groups


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
    """The lives in one pool, and the pressure unless the sweep ended early."""

    lives: Lives
    pressure: Pressure | None


def check_overlaps(index: ProblemIndex, layout: Layout, findings: Findings) -> list[Swept]:
    """Note every pair that conflicts and shares bytes; return each pool as the sweep has found it."""
    for pair in layout.sharing(index.conflicts):
        _judge(index, layout, findings, *pair, when="listed as a conflict")
    pools = []
    for placed in layout.by_pool():
        lives = Lives(index, layout, placed)
        pools.append(Swept(lives, _pressure(index, layout, lives, findings)))
    return pools


def _pressure(index: ProblemIndex, layout: Layout, lives: Lives, findings: Findings) -> Pressure | None:
    """Note the pairs that live together and share bytes; the pressure, unless the sweep ended early."""
    sweep, shared = lives.sweep(), lives.grouped
    noted: set[tuple[int, int]] = set()
    while pairs := sweep.next(_PAIRS):
        shared = True
        for life, other in pairs:
            one, two = lives.buffer[life], lives.buffer[other]
            pair = (one, two) if one < two else (two, one)
            if pair in noted or pair in index.conflicts:
                continue
            if _judge(index, layout, findings, *pair, when=f"live at {lives.begin(life):,}"):
                noted.add(pair)
                if findings.full(Code.OVERLAP) or findings.full(Code.IN_PLACE):
                    findings.cut_short(Code.OVERLAP)
                    return None
    return Pressure(*lives.most_live(sweep), shared)


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
