"""The search for orders: starts from the plans at single points, a search over all points, and a proof."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.shapes.solve.arrays import Found, ShapedArrays
from memstow.planner.shapes.solve.points import PointPlan
from memstow.planner.shapes.solve.quality import Scale, Score
from memstow.planner.shapes.solve.ties import Ties
from memstow.planner.solve.allowance import Allowance
from memstow.planner.solve.cancelling import cancelling
from memstow.solvers.core import Budget
from memstow.solvers.shapes import AIMS, FoundSequence, Shaped

# Of what is left, for the first search of each set of ties; then for a proof; the rest is for the best set.
_FIRST_SHARE: Final = 0.15
_PROOF_SHARE: Final = 0.5
# A complete search with more items than this takes time from the other and hardly ever ends.
_FEW_ITEMS: Final = 48


@dataclass(frozen=True, slots=True)
class Best:
    """The best sequence so far; `fits` where it keeps capacities and pins at the largest sizes."""

    arrays: ShapedArrays
    found: Found
    peaks: tuple[int, ...]
    fits: bool
    score: Score

    def better_than(self, other: "Best | None") -> bool:
        """Whether this fits and the other does not, or it is better."""
        if other is None or self.fits != other.fits:
            return other is None or self.fits
        return self.score < other.score


class OrderSearch:
    """The search for one order that is good at some of the points."""

    def __init__(
        self,
        arrays: Sequence[ShapedArrays],
        points: Sequence[PointPlan],
        numbers: Sequence[int],
        scale: Scale,
        allowance: Allowance,
        seed: int,
        cancel: threading.Event | None,
        on_better: "Callable[[OrderSearch, Best], None] | None" = None,
    ) -> None:
        """`numbers`: which of the points count. `on_better` hears of each better sequence that is found."""
        self._arrays = arrays
        self._points = points
        self._numbers = numbers
        self._scale = Scale(
            tuple(scale.least[it] for it in numbers), tuple(scale.weights[it] for it in numbers), scale.aim
        )
        self._allowance = allowance
        self._seed = seed
        self._cancel = cancel
        self._on_better = on_better
        self._shaped: dict[Ties, Shaped] = {}
        self._known_starts: dict[Ties, list[Found]] = {}
        self.best: Best | None = None
        self.proven = False

    def run(self, share: float, *, prove: bool, every_set: Sequence[ShapedArrays] | None) -> Best:
        """Search within a share of what is left. `every_set`: all sets of ties there are, for a proof."""
        for number, arrays in enumerate(self._arrays):
            if number > 0 and (self._done() or self._allowance.over):
                break
            self._improve(arrays, self._starts(arrays), share * _FIRST_SHARE)
        if prove and every_set is not None and not self._done():
            self._prove(every_set, share * _PROOF_SHARE)
        if not self._done():
            best = self._best()
            self._improve(best.arrays, [best.found, *self._starts(best.arrays)], share)
        best = self._best()
        self.proven = self.proven or (best.fits and self._scale.is_least(best.peaks))
        return best

    def _best(self) -> Best:
        """The best so far: the first search has found one."""
        if self.best is None:
            raise AssertionError("the search has not begun")
        return self.best

    def _done(self) -> bool:
        best = self.best
        stopped = self._cancel is not None and self._cancel.is_set()
        return stopped or self.proven or (best is not None and best.fits and self._scale.is_least(best.peaks))

    def _starts(self, arrays: ShapedArrays) -> list[Found]:
        """Items by height in the plan at each point, and by their mean height."""
        starts = self._known_starts.get(arrays.ties)
        if starts is None:
            starts = self._known_starts[arrays.ties] = self._new_starts(arrays)
        return starts

    def _new_starts(self, arrays: ShapedArrays) -> list[Found]:
        planned = [self._points[it].plan for it in self._numbers]
        placed = [plan.placements for plan in planned if plan.placements]
        starts = [arrays.start(placements) for placements in placed]
        if len(placed) > 1:
            height: dict[str, float] = {}
            for plan in planned:
                top = max((pool.peak for pool in plan.pools), default=0) or 1
                for it in plan.placements:
                    height[it.buffer] = height.get(it.buffer, 0.0) + it.offset / top
            pool = {it.buffer: it.pool for it in placed[-1]}
            starts.append(arrays.by_height(height, pool))
        # Without a plan the largest are at the bottom.
        return starts or [arrays.by_height({it.id: -it.size for it in arrays.problem.buffers}, {})]

    def _improve(self, arrays: ShapedArrays, starts: Sequence[Found], share: float) -> None:
        budget = self._allowance.budget(share)
        with cancelling(budget, self._cancel):
            result = self._ready(arrays).search(
                AIMS[self._scale.aim],
                [it.sequence for it in starts],
                [it.choices for it in starts],
                self._seed,
                budget,
            )
        self._allowance.spend(budget.work)
        self._keep(arrays, result)

    def _prove(self, every_set: Sequence[ShapedArrays], share: float) -> None:
        """Ask for less, set by set, until there is nothing: then the best is proven."""
        budget = self._allowance.budget(share)
        with cancelling(budget, self._cancel):
            self.proven = all(self._refuted(arrays, budget) for arrays in every_set)
        self._allowance.spend(budget.work)

    def _refuted(self, arrays: ShapedArrays, budget: Budget) -> bool:
        """Whether these ties allow nothing better than the best, which may become better meanwhile."""
        while True:
            best = self.best
            if best is None or not best.fits or arrays.instance.item_count > _FEW_ITEMS:
                return False
            result = self._ready(arrays).below(self._scale.limits_below(best.peaks), budget)
            if result.found is None:
                return result.complete
            self._keep(arrays, result.found)

    def _keep(self, arrays: ShapedArrays, result: FoundSequence) -> None:
        found = Found(tuple(result.sequence), tuple(result.choices))
        peaks = tuple(result.peaks)
        best = Best(arrays, found, peaks, result.fits, self._scale.score(peaks))
        if best.better_than(self.best):
            self.best = best
            if self._on_better is not None:
                self._on_better(self, best)

    def _ready(self, arrays: ShapedArrays) -> Shaped:
        shaped = self._shaped.get(arrays.ties)
        if shaped is None:
            shaped = self._shaped[arrays.ties] = arrays.shaped(self._numbers)
            arrays.measure(shaped, self._scale.least, self._scale.weights)
        return shaped

    def native_of(self, best: Best) -> Shaped:
        """What knows the arcs of the best."""
        return self._ready(best.arrays)
