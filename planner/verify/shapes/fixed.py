"""Offsets that are to hold at every value: whether they do.

With every buffer at its largest size nothing may overlap or reach too far. Where something does, a point is
looked for at which it really does; sizes that cannot be so large together at any point do no harm.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, product
from math import prod
from typing import Final

from memstow.planner.model.objective import Term
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import Pool
from memstow.planner.verify.findings import Code, Findings, Violation
from memstow.planner.verify.layout import Layout, check_places
from memstow.planner.verify.overlaps import check_overlaps
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.shapes.everywhere import UPPER_BOUNDS, say_most
from memstow.planner.verify.shapes.heights import value_of
from memstow.planner.verify.shapes.sizes import Sizes
from memstow.planner.verify.shapes.space import Space, Values
from memstow.planner.verify.verdict import COUNTED, Claims, Subject

MOST_POINTS: Final = 65_536
"""Points at which two buffers are looked at together."""
_MOST_LOOKS: Final = 500_000
"""The same, over all pairs."""
_OF_SIZES: Final = frozenset({Code.OVERLAP, Code.IN_PLACE, Code.BEYOND_CAPACITY, Code.RESERVED})


class Fixed:
    """The offsets of a plan."""

    def __init__(
        self, index: ProblemIndex, placements: tuple[Placement, ...], term: Term, findings: Findings
    ) -> None:
        self.index = index
        self.layout = Layout(index)
        self.layout.read(placements, findings)
        self._term = term

    def value(self, sizes: Sequence[int]) -> int:
        """The objective with these sizes."""
        return value_of(self.index, self._term, self.peaks(sizes))

    def peaks(self, sizes: Sequence[int]) -> list[int]:
        """The peak of each pool with these sizes."""
        peaks = [0] * len(self.index.pools)
        for pool, offset, size in zip(self.layout.pool, self.layout.offset, sizes, strict=True):
            if size:
                peaks[pool] = max(peaks[pool], offset + size)
        return peaks


def check_fixed(fixed: Fixed, sizes: Sizes, space: Space, findings: Findings, claims: Claims) -> None:
    """Note what these offsets break at some value, or may break."""
    trial = Findings()
    check_places(fixed.index, fixed.layout, trial)
    check_overlaps(fixed.index, fixed.layout, trial)
    before = findings.total
    doubts = _Doubts(fixed, sizes, space)
    for violation in trial.violations():
        _note(violation, doubts, findings)
    if findings.total == before:
        claim_fixed(fixed.index.pools, fixed.peaks(sizes.largest()), sizes, claims)
    else:
        _claim_places(sizes, claims, holds=False)


def claim_fixed(pools: Sequence[Pool], peaks: Sequence[int], sizes: Sizes, claims: Claims) -> None:
    """Claim what has been shown of offsets that hold, with these peaks where all sizes are largest."""
    _claim_places(sizes, claims, holds=True)
    say_most(pools, peaks, COUNTED if sizes.largest_are_reached else UPPER_BOUNDS, claims)


def _claim_places(sizes: Sizes, claims: Claims, *, holds: bool) -> None:
    says = "no two that conflict share a byte, and every buffer is where it may be, at every value"
    claims.proven(Subject.PLACES, None, says, f"the largest sizes ({sizes.say_how()})", holds)


def _note(violation: Violation, doubts: "_Doubts", findings: Findings) -> None:
    """Note this violation with the largest sizes as what it is: true everywhere, at a point, or perhaps."""
    names, pool = violation.buffers, violation.pool
    if violation.code not in _OF_SIZES:
        findings.add(violation.code, "{}", violation.message, buffers=names, pool=pool)
    elif not names:
        text = "with the largest sizes there are more such places, which were not looked at: {}"
        findings.add(Code.NOT_SHOWN, text, violation.message)
    else:
        found = doubts.settle(violation)
        if isinstance(found, tuple):
            text = "at {}, with sizes of {}, this does not hold; with the largest sizes {}"
            said = ", ".join(f"{size:,} for {name!r}" for name, size in zip(names, found[1], strict=True))
            findings.add(violation.code, text, found[0], said, violation.message, buffers=names, pool=pool)
        elif not found:
            text = "it could not be shown for every value: with upper bounds of all sizes {}"
            findings.add(Code.NOT_SHOWN, text, violation.message, buffers=names, pool=pool)


class _Doubts:
    """Looks for points at which something really is wrong."""

    def __init__(self, fixed: Fixed, sizes: Sizes, space: Space) -> None:
        self._fixed = fixed
        self._sizes = sizes
        self._space = space
        self._looks = _MOST_LOOKS

    def settle(self, violation: Violation) -> tuple[str, list[int]] | bool:
        """A point at which it is true, and the sizes there; else whether it is true at no point."""
        buffers = [self._fixed.index.buffer_index[name] for name in violation.buffers]
        points, complete = self._points_for(buffers)
        for values in points:
            sizes = [self._sizes.size_at(i, values) for i in buffers]
            if self._is_broken(violation.code, buffers, sizes):
                return self._space.say(values), sizes
        return complete

    def _points_for(self, buffers: Sequence[int]) -> tuple[Iterator[Values], bool]:
        """Points to look at, and whether there is nothing else to see at all others."""
        used = self._sizes.symbols_of(buffers)
        axes = self._space.axes
        count = prod(axes[s].count for s in used)
        likely = (self._sizes.point_of_largest(i) for i in buffers)
        some = chain(likely, self._space.corners(), self._space.points)
        if count > min(MOST_POINTS, self._looks):
            return some, False
        self._looks -= count
        every = product(
            *(
                range(axis.first, axis.last + 1, axis.step) if s in used else (axis.first,)
                for s, axis in enumerate(axes)
            )
        )
        return chain(some, every), True

    def _is_broken(self, code: Code, buffers: Sequence[int], sizes: Sequence[int]) -> bool:
        layout, index = self._fixed.layout, self._fixed.index
        starts = [layout.offset[i] for i in buffers]
        ends = [start + size for start, size in zip(starts, sizes, strict=True)]
        pool = layout.pool[buffers[0]]
        if code is Code.BEYOND_CAPACITY:
            return ends[0] > index.ends[pool]
        if not all(sizes):
            return False
        if code is Code.RESERVED:
            return any(begin < ends[0] and starts[0] < end for begin, end in index.reserved[pool])
        return max(starts) < min(ends)
