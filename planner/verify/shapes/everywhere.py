"""Whether capacities, reserved ranges and pins hold at every point.

First the heights with the largest sizes: where these fit, everything does. Then single points, to find one
that does not fit. Then every point there is, where these are few; else nothing is shown.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from memstow.planner.model.problem import Pool
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.shapes.chosen import Orders
from memstow.planner.verify.shapes.sizes import Sizes
from memstow.planner.verify.shapes.space import Space, Values
from memstow.planner.verify.verdict import COUNTED, Claims, Subject

MOST_POINTS: Final = 4_096
MOST_STEPS: Final = 4_000_000
"""Buffers laid out, over all points and orders."""
UPPER_BOUNDS: Final = "upper bounds of the sizes"
_SHOWN: Final = 5


def check_everywhere(
    index: ProblemIndex, orders: Orders, sizes: Sizes, space: Space, findings: Findings, claims: Claims
) -> None:
    """Note what does not hold at some point, or could not be shown to hold at all."""
    bound = _Bound(index, orders, sizes)
    if bound.fits:
        say_most(index.pools, bound.peaks, bound.how, claims)
        return
    each = len(index.buffers) * len(orders.all)
    room = MOST_STEPS // max(each, 1)
    few = space.count <= min(MOST_POINTS, room)
    peaks = [0] * len(index.pools)
    tried = chain(_some(sizes, space, room), space.all() if few else ())
    for values in tried:
        laid = sizes.at(values)
        broken = list(orders.broken(laid))
        if broken:
            for it in broken[:_SHOWN]:
                text = "at {}: {}"
                findings.add(it.code, text, space.say(values), it.message, buffers=it.buffers, pool=it.pool)
            _refute(claims)
            return
        peaks = [max(pair) for pair in zip(peaks, orders.peaks(laid), strict=True)]
    if few:
        say_most(index.pools, peaks, "looking at every value", claims)
        return
    for it in bound.doubts:
        text = "it could not be shown for every value: with upper bounds of all sizes {}"
        findings.add(Code.NOT_SHOWN, text, it.message, buffers=it.buffers, pool=it.pool)
    _refute(claims)


def _some(sizes: Sizes, space: Space, room: int) -> Iterator[Values]:
    """Points where something may be largest, as many as there is time for."""
    some = dict.fromkeys(chain(space.corners(), space.points, sizes.points_of_largest()))
    yield from list(some)[: max(room, 2)]


class _Bound:
    """The heights with sizes that are never exceeded."""

    def __init__(self, index: ProblemIndex, orders: Orders, sizes: Sizes) -> None:
        largest = sizes.largest()
        laid = [(heights, heights.offsets(largest)) for heights in orders.all]
        doubts = [list(heights.broken(largest, offsets)) for heights, offsets in laid]
        at = sizes.point_of_all()
        self.how = COUNTED if at is not None else UPPER_BOUNDS
        """`COUNTED` where all sizes are that large at one point."""
        self.doubts = next((found[:_SHOWN] for found in doubts if found), [])
        tops = [heights.peaks(largest, offsets) for heights, offsets in laid]
        fitting = [top for top, found in zip(tops, doubts, strict=True) if not found]
        self.fits = len(fitting) == len(laid)
        self.peaks = [max(pool) for pool in zip(*tops, strict=True)]
        if not self.fits and fitting and _only_the_peak_matters(index, orders):
            # The order that is used has no higher peak than this one.
            self.fits = True
            self.peaks = min(fitting)
        if len(laid) > 1:
            self.how = UPPER_BOUNDS


def _only_the_peak_matters(index: ProblemIndex, orders: Orders) -> bool:
    """Whether an order that needs no more than one that fits does fit."""
    simple = len(index.pools) == 1 and all(
        not ranges or (len(ranges) == 1 and ranges[0][0] == 0) for ranges in index.reserved
    )
    return simple and all(pin is None for stack in orders.stacks for pin in stack.pinned)


def say_most(pools: Sequence[Pool], peaks: Sequence[int], how: str, claims: Claims) -> None:
    """Claim the largest peak of each pool, and how it was found."""
    for pool, peak in zip(pools, peaks, strict=True):
        most = "" if pool.capacity is None else f" of its {pool.capacity:,}"
        says = f"{pool.id!r} needs at most {peak:,}{most} bytes at every value"
        claims.proven(Subject.EVERYWHERE, pool.id, says, how, holds=True)


def _refute(claims: Claims) -> None:
    says = "capacities, reserved ranges and pins hold at every value"
    claims.counted(Subject.EVERYWHERE, None, says, holds=False)
