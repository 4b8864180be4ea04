"""One run for a symbolic problem: offsets for every value, one order, or several.

In: a symbolic problem, options, and the kind of plan. Out: a symbolic plan that the judge has accepted.
The problem at each point is solved as an ordinary one, which gives the least peak and an order to start
from; the search then improves orders at all points at once.

From top to bottom: the search for one order (starts from the plans at single points, a search over all
points, and a proof), the search for several orders of which each value uses the one with the least peak,
why a plan does not hold at every value, and the way from a problem to an accepted plan.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Final

import memstow
from memstow.planner.check import require_valid
from memstow.planner.formulas.sizes import largest_are_reached, sizes_of, values_text, with_largest_sizes
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError, RefusedPlanError
from memstow.planner.model.options import Callbacks, Listener, Options, Phase
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.model.problem import LIMIT, Problem
from memstow.planner.model.symbolic import (
    DEFAULT_ORDERS,
    Order,
    PointPeak,
    Shapes,
    Symbol,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
    digest_symbolic,
)
from memstow.planner.shapes.point_plans import (
    NONE,
    ItemOrder,
    ObjectsAtPoints,
    PointPlan,
    Scale,
    Score,
    ShapedArrays,
    Ties,
    all_ties,
    likely_ties,
    make_arrays,
    plans_at_points,
    require_few,
    require_room,
    scale_of,
    tied,
    without_capacities,
)
from memstow.planner.shapes.symbolic_layout import Layout
from memstow.planner.solve.engine import plan_problem as plan_ordinary
from memstow.planner.solve.portfolio import Allowance, cancelling
from memstow.planner.solve.problem_plans import unjudged
from memstow.planner.verify import recount
from memstow.planner.verify.symbolic_columns import has_columns
from memstow.records import collector_at_rest, record
from memstow.solvers.core import Budget
from memstow.solvers.shapes import AIMS, MOST_PAIRS, BestSequence, Shaped

# Of what is left, for the first search of each set of ties; then for a proof; the rest is for the best set.
_FIRST_SHARE: Final = 0.15
_PROOF_SHARE: Final = 0.5
# A complete search with more items than this takes time from the other and hardly ever ends.
_FEW_ITEMS: Final = 48
# What it takes to list a pair that conflicts and to lay out a sequence. Of a few pairs, no time.
_SECONDS_PER_PAIR: Final = 0.25e-6
_FEW_PAIRS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Best:
    """The best sequence so far; `fits` where it keeps capacities and pins at the largest sizes."""

    arrays: ShapedArrays
    item_order: ItemOrder
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
            tuple(scale.least[number] for number in numbers),
            tuple(scale.weights[number] for number in numbers),
            scale.aim,
        )
        self._allowance = allowance
        self._seed = seed
        self._cancel = cancel
        self._on_better = on_better
        self._shaped: dict[Ties, Shaped] = {}
        self._known_starts: dict[Ties, list[ItemOrder]] = {}
        self.best: Best | None = None
        self.proven = False

    def run(self, share: float, *, prove: bool, every_set: Sequence[ShapedArrays] | None) -> Best:
        """Search within a share of what is left. `every_set`: all sets of ties there are, for a proof."""
        for number, arrays in enumerate(self._arrays):
            if number > 0 and (self._done() or self._allowance.over):
                break
            self._improve(arrays, self._starts(arrays), share * _FIRST_SHARE)
        if self._may_fit():
            self._improve_at_largest(self._best().arrays, share * _FIRST_SHARE)
        if prove and every_set is not None and not self._done():
            self._prove(every_set, share * _PROOF_SHARE)
        if not self._done() and not self._allowance.over and self.native_of(self._best()).linked:
            best = self._best()
            self._improve(best.arrays, [best.item_order, *self._starts(best.arrays)], share)
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

    def _may_fit(self) -> bool:
        """Whether no order fits so far, of all points, and none is known where nothing fits."""
        limited = any(pool.capacity is not None for pool in self._best().arrays.problem.pools)
        is_whole = len(self._numbers) == len(self._points)
        refuted = any(point.nothing for point in self._points)
        return limited and is_whole and not refuted and not self._best().fits

    def _improve_at_largest(self, arrays: ShapedArrays, share: float) -> None:
        """Search from a layout of the largest sizes: in its order nothing is higher, so all fits there."""
        callbacks = Callbacks(cancel=self._cancel)
        tied_problem = tied(arrays.problem, arrays.ties)
        solved = plan_ordinary(tied_problem, self._allowance.share(share), callbacks, unjudged)
        self._allowance.spend(solved.work)
        if solved.placements:
            self._improve(arrays, [arrays.start(solved.placements)], share)

    def _starts(self, arrays: ShapedArrays) -> list[ItemOrder]:
        """Items by height in the plan at each point, and by their mean height."""
        starts = self._known_starts.get(arrays.ties)
        if starts is None:
            starts = self._known_starts[arrays.ties] = self._new_starts(arrays)
        return starts

    def _new_starts(self, arrays: ShapedArrays) -> list[ItemOrder]:
        planned = [self._points[number].plan for number in self._numbers]
        placed = [plan.placements for plan in planned if plan.placements]
        starts = [arrays.start(placements) for placements in placed]
        if len(placed) > 1:
            height: dict[str, float] = {}
            for plan in planned:
                top = max((pool.peak for pool in plan.pools), default=0) or 1
                for placement in plan.placements:
                    height[placement.buffer] = height.get(placement.buffer, 0.0) + placement.offset / top
            pool = {entry.buffer: entry.pool for entry in placed[-1]}
            starts.append(arrays.by_height(height, pool))
        if not starts or any(buffer.offset is not None for buffer in arrays.problem.buffers):
            starts.insert(0, arrays.by_height(_heights_without_plan(arrays.problem), {}))
        return starts

    def _improve(self, arrays: ShapedArrays, starts: Sequence[ItemOrder], share: float) -> None:
        budget = self._allowance.budget(share)
        with cancelling(budget, self._cancel):
            result = self._ready(arrays).search(
                AIMS[self._scale.aim],
                [start.sequence for start in starts],
                [start.choices for start in starts],
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
            if result.best is None:
                return result.complete
            self._keep(arrays, result.best)

    def _keep(self, arrays: ShapedArrays, result: BestSequence) -> None:
        orders = ItemOrder(tuple(result.sequence), tuple(result.choices))
        peaks = tuple(result.peaks)
        best = Best(arrays, orders, peaks, result.fits, self._scale.score(peaks))
        if best.better_than(self.best):
            self.best = best
            if self._on_better is not None:
                self._on_better(self, best)

    def _ready(self, arrays: ShapedArrays) -> Shaped:
        shaped = self._shaped.get(arrays.ties)
        if shaped is None:
            shaped = self._shaped[arrays.ties] = arrays.shaped(self._numbers, self._most_linked())
            arrays.measure(shaped, self._scale.least, self._scale.weights)
        return shaped

    def _most_linked(self) -> int:
        """So many pairs that conflict can be listed in the time that is left, or in no time at all."""
        if self._allowance.affords(_SECONDS_PER_PAIR * MOST_PAIRS):
            return MOST_PAIRS
        return max(_FEW_PAIRS, int(self._allowance.seconds_left / _SECONDS_PER_PAIR))

    def peaks_everywhere(self, best: Best) -> tuple[int, ...] | None:
        """What the best needs at all points, where the search says that of the order as well."""
        is_whole = len(self._numbers) == len(self._points)
        if not is_whole or any(pool.reserved for pool in best.arrays.problem.pools):
            return None
        # What a pin is in the way of is elsewhere in an order.
        return best.peaks if best.fits or self.native_of(best).anywhere else None

    def native_of(self, best: Best) -> Shaped:
        """What knows the arcs of the best."""
        return self._ready(best.arrays)


def _heights_without_plan(problem: Problem) -> dict[str, int]:
    """The largest are at the bottom, above what is pinned: so nothing is in the way of a pin."""
    return {
        buffer.id: -buffer.size if buffer.offset is None else buffer.offset - 2 * LIMIT
        for buffer in problem.buffers
    }


_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """An order, and what it needs at each point."""

    order: Order
    peaks: tuple[int, ...]
    fits: bool


class PieceSearch:
    """Points are dealt out to orders, an order is sought for each share, and points are dealt out again."""

    def __init__(
        self,
        arrays: Sequence[ShapedArrays],
        points: Sequence[PointPlan],
        peaks_of: Callable[[Order], Sequence[int]],
        scale: Scale,
        allowance: Allowance,
        seed: int,
        cancel: threading.Event | None,
        on_better: "Callable[[Sequence[Piece]], None] | None" = None,
    ) -> None:
        """`on_better` hears of orders that are better together than those before."""
        self._arrays = arrays
        self._points = points
        self._peaks_of = peaks_of
        self._scale = scale
        self._allowance = allowance
        self._seed = seed
        self._cancel = cancel
        self._on_better = on_better

    def run(self, first: Piece, count: int) -> list[Piece]:
        """At most `count` orders, of which the first may be one."""
        pieces = [first]
        while len(pieces) < count and not self._over(pieces):
            ratios = self._scale.ratios(least_of(pieces))
            worst = max(range(len(ratios)), key=lambda number: (ratios[number], -number))
            pieces.append(self._piece([worst], 0.5 / count))
        for turn in range(_ROUNDS):
            if self._over(pieces):
                break
            share = 0.9 / (_ROUNDS - turn) / len(pieces)
            better = [self._piece(numbers, share) for numbers in self._dealt(pieces) if numbers]
            before, pieces = pieces, self._best(pieces, better, count)
            if self._on_better is not None and pieces != before:
                self._on_better(pieces)
        # Without those that are the best nowhere.
        return [piece for piece, numbers in zip(pieces, self._dealt(pieces), strict=True) if numbers] or [
            pieces[0]
        ]

    def piece_of(self, search: OrderSearch, best: Best) -> Piece:
        """What was found, with what it needs at all points."""
        order = best.arrays.order(search.native_of(best), best.item_order)
        return Piece(order, search.peaks_everywhere(best) or tuple(self._peaks_of(order)), best.fits)

    def _over(self, pieces: Sequence[Piece]) -> bool:
        stopped = self._cancel is not None and self._cancel.is_set()
        return stopped or self._allowance.over or self._scale.is_least(least_of(pieces))

    def _dealt(self, pieces: Sequence[Piece]) -> list[list[int]]:
        """By order, the points at which it is the best."""
        dealt: list[list[int]] = [[] for _ in pieces]
        for number in range(len(self._points)):
            best = min(range(len(pieces)), key=lambda index: (pieces[index].peaks[number], index))
            dealt[best].append(number)
        return dealt

    def _piece(self, numbers: Sequence[int], share: float) -> Piece:
        search = OrderSearch(
            self._arrays, self._points, numbers, self._scale, self._allowance, self._seed, self._cancel
        )
        best = search.run(share, prove=False, every_set=None)
        return self.piece_of(search, best)

    def _best(self, old: Sequence[Piece], new: Sequence[Piece], count: int) -> list[Piece]:
        """Of all of these, so many that are good together: always the one that helps most."""
        chosen: list[Piece] = []
        rest = [*old, *new]
        while rest and len(chosen) < count:
            best = min(
                range(len(rest)),
                key=lambda number: (not rest[number].fits, self._score([*chosen, rest[number]]), number),
            )
            chosen.append(rest.pop(best))
        return min((chosen, list(old)), key=self._score)

    def _score(self, pieces: Sequence[Piece]) -> Score:
        return self._scale.score(least_of(pieces))


def least_of(pieces: Sequence[Piece]) -> list[int]:
    """At each point, the peak of the best."""
    return [min(peaks) for peaks in zip(*(piece.peaks for piece in pieces), strict=True)]


def largest_values(problem: SymbolicProblem) -> dict[str, int]:
    """The largest value of each symbol."""
    return {symbol.id: symbol.max - (symbol.max - symbol.min) % symbol.step for symbol in problem.symbols}


def why_not(
    problem: SymbolicProblem,
    plan: SymbolicPlan,
    points: Sequence[PointPlan],
    no_place: Explanation | None = None,
) -> Explanation | None:
    """None where it holds everywhere after all: sizes need not be largest together.

    `no_place`: why some buffer has no place at its largest, even alone.
    """
    violations = recount(problem, plan)
    if not violations:
        return None
    reach = _reach(problem, plan)
    for point in points:
        if point.nothing is not None:
            message = f"at {values_text(point.at)} {point.nothing.message}; {reach}"
            return replace(point.nothing, message=message)
    if no_place is not None:
        return replace(no_place, message=f"{no_place.message}; {reach}")
    message = f"the best order found does not hold at every value: {violations[0].message}; {reach}"
    return Explanation(code="does_not_hold", message=message, pool=violations[0].pool)


def _reach(problem: SymbolicProblem, plan: SymbolicPlan) -> str:
    """Of each symbol, the largest value at which the plan fits while the others are at their largest."""
    layout = Layout(problem, plan)
    top = largest_values(problem)
    said: list[str] = []
    for symbol in problem.symbols:
        largest = _largest(layout, symbol, top)
        others = {name: value for name, value in top.items() if name != symbol.id}
        beside = f" where {values_text(others)}" if others else ""
        if largest is None:
            said.append(f"at no value of {symbol.id}{beside}")
        else:
            said.append(f"up to {symbol.id}={largest:,}{beside}")
    return "the best order found fits " + "; ".join(said)


def _largest(layout: Layout, symbol: Symbol, top: Mapping[str, int]) -> int | None:
    """The last value before the first that does not fit, where fitting ends once."""

    def fits(step: int) -> bool:
        try:
            layout.lay_out({**top, symbol.id: symbol.min + step * symbol.step})
        except InputError:
            return False
        return True

    if not fits(0):
        return None
    low, high = 0, (symbol.max - symbol.min) // symbol.step
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return symbol.min + low * symbol.step


OnBetterPlan = Callable[[SymbolicPlan], None]
"""Hears of each better plan on the way."""

SOLVER: Final = "orders"
WHOLE: Final = 0.9
"""Of what is left, for the last search."""
# By buffer, of an order and of offsets, what comes after the search: an order without what follows from the
# rest, the peaks, the digest and the judge. Those of problems in columns are judged without objects.
_SECONDS_OF_COLUMNS: Final = (25e-6, 12e-6)
_SECONDS_OF_OTHERS: Final = (250e-6, 250e-6)
MOST_RESERVED: Final = 0.5
"""But no more of the time limit than this share."""
_FIRST_PIECE: Final = 0.4
# Where no plan holds everywhere, an order only tells up to where one might: that is worth little time.
_SECONDS_OF_REFUTED: Final = 0.2
# Telling of plans on the way takes at most one part in this many of the time.
_TELLING_PART: Final = 5


@record
class PlanRequest:
    """What a plan consists of, and who hears of the run."""

    shapes: Shapes = "order"
    pieces: int | None = None
    """The most orders of a plan of several; None: the default."""
    on_event: Listener | None = None
    on_better: OnBetterPlan | None = None
    """Hears of plans that are accepted."""
    cancel: threading.Event | None = None


def accepted(problem: SymbolicProblem | SymbolicGraph, plan: SymbolicPlan) -> SymbolicPlan:
    """The plan, if the judge accepts it; RefusedPlanError if not."""
    with collector_at_rest():
        violations = recount(problem, plan)
    if violations:
        message = "; ".join(violation.message for violation in violations[:3])
        raise RefusedPlanError(f"the plan was refused; please report it: {message}")
    return plan


def plan_problem(
    problem: SymbolicProblem,
    options: Options,
    request: PlanRequest,
    accept: Callable[[SymbolicPlan], SymbolicPlan] | None = None,
    least: Sequence[int] | None = None,
) -> SymbolicPlan:
    """The plan of a problem, which was accepted.

    `accept`: makes of each plan one that was accepted; by default, as one of the problem. `least`: what no
    plan is below at each point, as far as that is known. Raises InputError for a problem that contradicts
    itself, DeclinedError for what an order cannot honour.
    """
    if request.shapes != "fixed":
        require_few(problem)
    require_valid(problem)
    return _Run(problem, options, request, accept or partial(accepted, problem), least).plan()


def no_offsets(
    problem: SymbolicProblem, largest: Problem, solved: Plan, points: Sequence[PointPlan]
) -> SymbolicPlan:
    """The plan without offsets, where the problem with the largest sizes was solved without a plan."""
    explanation = solved.explanation
    sizes = tuple(buffer.size for buffer in largest.buffers)
    if sizes_of(problem).at(largest_values(problem)) == sizes or explanation is None:
        return SymbolicPlan(status=solved.status, shapes="fixed", explanation=explanation)
    message = f"with each buffer at its largest size, which may not occur together, {explanation.message}"
    status = Status.INFEASIBLE if any(point.nothing for point in points) else Status.UNKNOWN
    explained = replace(explanation, message=message)
    return SymbolicPlan(status=status, shapes="fixed", explanation=explained)


def with_values(
    plan: SymbolicPlan, points: Sequence[PointPlan], scale: Scale, peaks: Sequence[int], *, proven: bool
) -> SymbolicPlan:
    """The plan with what it needs at the points, these peaks."""
    # Nothing is below what was found, whatever a bound says.
    worst = scale.worst(peaks)
    proven = proven or (worst is not None and scale.is_least(peaks))
    bound = None if worst is None else worst if proven else 1.0
    return replace(
        plan,
        status=Status.OPTIMAL if proven and worst is not None else Status.FEASIBLE,
        points=tuple(
            PointPeak(at=point.at, peak=peak, least=point.least)
            for point, peak in zip(points, peaks, strict=True)
        ),
        worst=worst,
        bound=bound,
        prover=SOLVER if proven and worst is not None else None,
    )


def stamped(plan: SymbolicPlan, allowance: Allowance, digest: str) -> SymbolicPlan:
    """The plan with the time and the work of the call, for the problem of this digest."""
    return replace(
        plan,
        seconds=allowance.seconds,
        work=allowance.work,
        digest=digest,
        version=memstow.__version__,
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """A plan without its values."""

    plan: SymbolicPlan
    proven: bool = False
    peaks: Sequence[int] | None = None
    """What it needs at each point, if that is known."""


class _Run:
    """One call."""

    def __init__(
        self,
        problem: SymbolicProblem,
        options: Options,
        request: PlanRequest,
        accept: Callable[[SymbolicPlan], SymbolicPlan],
        least: Sequence[int] | None,
    ) -> None:
        self._problem = problem
        self._least = least
        self._options = options
        self._shapes = request.shapes
        self._pieces = DEFAULT_ORDERS if request.pieces is None else request.pieces
        self._on_event = request.on_event
        self._on_better = request.on_better
        self._cancel = request.cancel
        self._accept = accept
        self._reported_at = -inf
        self._telling = 0.0
        by_buffer = _SECONDS_OF_COLUMNS if has_columns(problem) else _SECONDS_OF_OTHERS
        self._seconds_after = by_buffer[request.shapes == "fixed"] * len(problem.buffers)
        reserved = min(self._seconds_after, MOST_RESERVED * options.time_limit)
        self._relaxed = False
        self._allowance = Allowance(replace(options, time_limit=options.time_limit - reserved))

    def plan(self) -> SymbolicPlan:
        largest = with_largest_sizes(self._problem)
        if self._shapes != "fixed":
            require_room(largest)
        self._phase("points")
        points = self._points()
        scale = scale_of(points, self._problem.aim)
        self._phase("search")
        if self._shapes == "fixed":
            draft = self._fixed(largest, points)
        else:
            draft = self._ordered(largest, points, scale, exact=largest_are_reached(self._problem))
        if draft.plan.status not in PLANNED:
            return self._accept(self._stamped(draft.plan))
        self._phase("judge")
        return self._accept(self._stamped(self._with_values(draft, points, scale)))

    def _points(self) -> Sequence[PointPlan]:
        points = plans_at_points(ObjectsAtPoints(self._problem), self._allowance, self._cancel)
        if self._least is None:
            return points
        pairs = zip(points, self._least, strict=True)
        return tuple(replace(point, least=max(point.least, known)) for point, known in pairs)

    def _fixed(self, largest: Problem, points: Sequence[PointPlan]) -> _Draft:
        """Offsets at which every buffer has room for its largest size."""
        # Judged at every value, so at these sizes as well.
        callbacks = Callbacks(cancel=self._cancel)
        solved = plan_ordinary(largest, self._allowance.share(WHOLE), callbacks, unjudged)
        self._allowance.spend(solved.work)
        if solved.status in PLANNED:
            return _Draft(
                SymbolicPlan(
                    status=Status.FEASIBLE, shapes="fixed", placements=solved.placements, solver=solved.solver
                )
            )
        return _Draft(no_offsets(self._problem, largest, solved, points))

    def _ordered(self, largest: Problem, points: Sequence[PointPlan], scale: Scale, *, exact: bool) -> _Draft:
        sizes = [sizes_of(self._problem).at(point.at) for point in points]
        sizes.append(tuple(buffer.size for buffer in largest.buffers))
        sets = self._sets(largest, points, sizes)
        no_place = sets if isinstance(sets, Explanation) else None
        if isinstance(sets, Explanation):
            # The best order without capacities tells up to where it fits.
            sets = self._sets(without_capacities(largest), points, sizes)
        if isinstance(sets, Explanation):
            status = Status.INFEASIBLE if exact else Status.UNKNOWN
            return _Draft(SymbolicPlan(status=status, shapes=self._shapes, explanation=sets))
        self._relaxed = no_place is not None
        refuted = any(point.nothing for point in points) or (self._relaxed and exact)
        dealer = PieceSearch(
            sets,
            points,
            partial(self._peaks, points),
            scale,
            self._allowance,
            self._options.seed,
            self._cancel,
            partial(self._tell, points, scale),
        )
        whole = OrderSearch(
            sets,
            points,
            range(len(points)),
            scale,
            self._allowance,
            self._options.seed,
            self._cancel,
            None
            if self._on_better is None
            else lambda search, best: self._tell(points, scale, [dealer.piece_of(search, best)]),
        )
        several = self._shapes == "pieces" and self._pieces > 1 and not refuted
        prove = self._problem.aim == "worst" and not several and not self._relaxed and not refuted
        share = WHOLE * (_FIRST_PIECE if several else 1.0)
        if refuted:
            share = min(share, _SECONDS_OF_REFUTED / max(self._options.time_limit, _SECONDS_OF_REFUTED))
        best = whole.run(
            share,
            prove=prove,
            every_set=self._every_set(largest, sets, sizes) if prove else None,
        )
        pieces = [dealer.piece_of(whole, best)]
        if several:
            pieces = dealer.run(pieces[0], self._pieces)
        plan = SymbolicPlan(
            status=Status.FEASIBLE,
            shapes=self._shapes,
            orders=tuple(piece.order for piece in pieces),
            solver=SOLVER,
        )
        fits = all(piece.fits for piece in pieces) and not self._relaxed
        misfit = None if fits else why_not(self._problem, plan, points, no_place)
        if misfit is None:
            proven = prove and whole.proven and pieces[0].peaks == best.peaks
            return _Draft(plan, proven, self._final_peaks(pieces))
        status = Status.INFEASIBLE if refuted else Status.UNKNOWN
        return _Draft(SymbolicPlan(status=status, shapes=self._shapes, explanation=misfit))

    def _tell(self, points: Sequence[PointPlan], scale: Scale, pieces: Sequence[Piece]) -> None:
        """Tell of the plan of these orders, where somebody listens, it can be used, and there is time."""
        if self._on_better is None or self._relaxed or not all(piece.fits for piece in pieces):
            return
        begin = time.monotonic()
        took = max(self._telling, self._seconds_after)
        if begin < self._reported_at + took * _TELLING_PART or not self._allowance.affords(
            took * _TELLING_PART
        ):
            return
        orders = tuple(piece.order for piece in pieces)
        plan = SymbolicPlan(status=Status.FEASIBLE, shapes=self._shapes, orders=orders, solver=SOLVER)
        draft = _Draft(plan, peaks=self._final_peaks(pieces))
        self._on_better(self._accept(self._stamped(self._with_values(draft, points, scale))))
        self._reported_at = time.monotonic()
        self._telling = self._reported_at - begin

    def _peaks(self, points: Sequence[PointPlan], order: Order) -> Sequence[int]:
        """What an order needs at each point, whatever the capacities."""
        plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=(order,))
        try:
            return self._objectives(without_capacities(self._problem), plan, points)
        except InputError:
            # Something is above a pin: no order to use.
            return [LIMIT] * len(points)

    @staticmethod
    def _objectives(
        problem: SymbolicProblem, plan: SymbolicPlan, points: Sequence[PointPlan]
    ) -> Sequence[int]:
        layout = Layout(problem, plan)
        return [layout.lay_out(point.at).objective for point in points]

    def _final_peaks(self, pieces: Sequence[Piece]) -> list[int] | None:
        """What the orders need at each point, where no capacity rules out one that needs less."""
        peaks = least_of(pieces)
        fits = all(piece.fits for piece in pieces) and not self._relaxed
        limited = not fits and any(pool.capacity is not None for pool in self._problem.pools)
        return None if limited or max(peaks) == LIMIT else peaks

    def _sets(
        self, largest: Problem, points: Sequence[PointPlan], sizes: Sequence[Sequence[int]]
    ) -> list[ShapedArrays] | Explanation:
        """Arrays of the sets of tied pairs that are worth a try, the most promising first."""
        arrays: list[ShapedArrays] = []
        reason: Explanation | None = None
        for ties in likely_ties(largest, points):
            arrays_of_tie = make_arrays(largest, ties, sizes)
            if isinstance(arrays_of_tie, ShapedArrays):
                arrays.append(arrays_of_tie)
            elif ties == NONE:
                reason = arrays_of_tie
        return arrays if arrays or reason is None else reason

    def _every_set(
        self, largest: Problem, sets: Sequence[ShapedArrays], sizes: Sequence[Sequence[int]]
    ) -> list[ShapedArrays] | None:
        """All sets there are, for a proof; None where there are many."""
        ties = all_ties(largest)
        if ties is None:
            return None
        known = {part.ties: part for part in sets}
        results = [known.get(tie) or make_arrays(largest, tie, sizes) for tie in ties]
        return [entry for entry in results if isinstance(entry, ShapedArrays)]

    def _with_values(self, draft: _Draft, points: Sequence[PointPlan], scale: Scale) -> SymbolicPlan:
        """The plan with what it needs at the points."""
        try:
            with collector_at_rest():
                peaks = draft.peaks or self._objectives(self._problem, draft.plan, points)
        except InputError as error:
            # What was found is wrong, and not what was given.
            raise RefusedPlanError(f"the plan was refused; please report it: {error}") from error
        return with_values(draft.plan, points, scale, peaks, proven=draft.proven)

    def _stamped(self, plan: SymbolicPlan) -> SymbolicPlan:
        return stamped(plan, self._allowance, digest_symbolic(self._problem))

    def _phase(self, name: str) -> None:
        if self._on_event is not None:
            self._on_event(Phase(name, self._allowance.seconds))
