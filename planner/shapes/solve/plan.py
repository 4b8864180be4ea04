"""The way from a symbolic problem to an accepted plan."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Final

import memstow
from memstow.planner.model.errors import InputError, RefusedPlanError
from memstow.planner.model.events import Listener, Phase
from memstow.planner.model.memory import collector_at_rest
from memstow.planner.model.options import Options
from memstow.planner.model.plan import PLANNED, Explanation, Status
from memstow.planner.model.problem import LIMIT, Problem
from memstow.planner.model.symbolic import (
    MOST_ORDERS,
    Order,
    PointPeak,
    Shapes,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.model.symbolic_digest import digest_symbolic
from memstow.planner.shapes.at_point import largest_problem
from memstow.planner.shapes.check import require_valid_symbolic
from memstow.planner.shapes.layout import Layout
from memstow.planner.shapes.sizes import sizes_of
from memstow.planner.shapes.solve.arrays import ShapedArrays, make_arrays, require_few, require_room
from memstow.planner.shapes.solve.misfit import largest_values, why_not
from memstow.planner.shapes.solve.orders import OrderSearch
from memstow.planner.shapes.solve.pieces import Piece, PieceSearch
from memstow.planner.shapes.solve.points import PointPlan, plans_at_points, without_capacities
from memstow.planner.shapes.solve.quality import Scale
from memstow.planner.shapes.solve.ties import NONE, all_ties, likely_ties
from memstow.planner.solve.allowance import Allowance
from memstow.planner.solve.engine import plan as plan_problem
from memstow.planner.verify.symbolic_verdict import judge_symbolic

OnBetterPlan = Callable[[SymbolicPlan], None]
"""Hears of each better plan on the way."""

SOLVER: Final = "orders"
_WHOLE: Final = 0.9
# What comes after the search: an order without what follows from the rest, its peaks, and the judge.
_SECONDS_PER_BUFFER: Final = 250e-6
_MOST_RESERVED: Final = 0.5
_FIRST_PIECE: Final = 0.4
# Where no plan holds everywhere, an order only tells up to where one might: that is worth little time.
_SECONDS_OF_REFUTED: Final = 0.2
# Telling of plans on the way takes at most one part in this many of the time.
_TELLING_PART: Final = 5


def plan_symbolic(
    problem: SymbolicProblem,
    options: Options | None = None,
    *,
    shapes: Shapes = "order",
    pieces: int = 2,
    on_event: Listener | None = None,
    on_better: OnBetterPlan | None = None,
    cancel: threading.Event | None = None,
) -> SymbolicPlan:
    """Lay out every value of the symbols, within the limits of the options.

    `shapes` says what the plan consists of: offsets for every value (fixed), an order from which they follow
    (order), or several orders, at most `pieces`. When `cancel` is set, the best plan so far is returned. The
    judge has accepted every plan, also those that `on_better` hears of on the way.
    Raises InputError for a problem that contradicts itself, DeclinedError for what an order cannot honour.
    """
    if not 1 <= pieces <= MOST_ORDERS:
        raise InputError.single("pieces", "pieces", f"use 1 to {MOST_ORDERS} orders")
    if shapes != "fixed":
        require_few(problem)
    require_valid_symbolic(problem)
    return _Run(problem, options or Options(), shapes, pieces, on_event, on_better, cancel).plan()


@dataclass(frozen=True, slots=True)
class _Made:
    """A plan without its values."""

    plan: SymbolicPlan
    proven: bool = False


class _Run:
    """One call."""

    def __init__(
        self,
        problem: SymbolicProblem,
        options: Options,
        shapes: Shapes,
        pieces: int,
        on_event: Listener | None,
        on_better: OnBetterPlan | None,
        cancel: threading.Event | None,
    ) -> None:
        self._problem = problem
        self._options = options
        self._shapes = shapes
        self._pieces = pieces
        self._on_event = on_event
        self._on_better = on_better
        self._cancel = cancel
        self._told_at = -inf
        self._telling = 0.0
        reserved = min(_SECONDS_PER_BUFFER * len(problem.buffers), _MOST_RESERVED * options.time_limit)
        self._relaxed = False
        self._allowance = Allowance(replace(options, time_limit=options.time_limit - reserved))

    def plan(self) -> SymbolicPlan:
        largest, how = largest_problem(self._problem)
        if self._shapes != "fixed":
            require_room(largest)
        self._phase("points")
        points = plans_at_points(self._problem, self._allowance, self._cancel)
        scale = Scale(tuple(it.least for it in points), tuple(it.weight for it in points), self._problem.aim)
        self._phase("search")
        if self._shapes == "fixed":
            made = self._fixed(largest, points)
        else:
            made = self._ordered(largest, points, scale, exact=all(it != "interval" for it in how.values()))
        if made.plan.status not in PLANNED:
            return self._judged(self._stamped(made.plan))
        self._phase("judge")
        return self._judged(self._stamped(self._with_values(made, points, scale)))

    def _fixed(self, largest: Problem, points: Sequence[PointPlan]) -> _Made:
        """Offsets at which every buffer has room for its largest size."""
        solved = plan_problem(largest, self._allowance.share(_WHOLE), cancel=self._cancel)
        self._allowance.spend(solved.work)
        if solved.status in PLANNED:
            return _Made(
                SymbolicPlan(
                    status=Status.FEASIBLE, shapes="fixed", placements=solved.placements, solver=solved.solver
                )
            )
        explanation = solved.explanation
        sizes = tuple(buffer.size for buffer in largest.buffers)
        if sizes_of(self._problem).at(largest_values(self._problem)) == sizes or explanation is None:
            return _Made(SymbolicPlan(status=solved.status, shapes="fixed", explanation=explanation))
        message = f"with each buffer at its largest size, which may not occur together, {explanation.message}"
        status = Status.INFEASIBLE if any(it.nothing for it in points) else Status.UNKNOWN
        told = replace(explanation, message=message)
        return _Made(SymbolicPlan(status=status, shapes="fixed", explanation=told))

    def _ordered(self, largest: Problem, points: Sequence[PointPlan], scale: Scale, *, exact: bool) -> _Made:
        sizes = [sizes_of(self._problem).at(it.at) for it in points]
        sizes.append(tuple(buffer.size for buffer in largest.buffers))
        sets = self._sets(largest, points, sizes)
        no_place = sets if isinstance(sets, Explanation) else None
        if isinstance(sets, Explanation):
            # The best order without capacities tells up to where it fits.
            sets = self._sets(without_capacities(largest), points, sizes)
        if isinstance(sets, Explanation):
            status = Status.INFEASIBLE if exact else Status.UNKNOWN
            return _Made(SymbolicPlan(status=status, shapes=self._shapes, explanation=sets))
        self._relaxed = no_place is not None
        refuted = any(it.nothing for it in points) or (self._relaxed and exact)
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
        share = _WHOLE * (_FIRST_PIECE if several else 1.0)
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
        made = SymbolicPlan(
            status=Status.FEASIBLE,
            shapes=self._shapes,
            orders=tuple(it.order for it in pieces),
            solver=SOLVER,
        )
        fits = all(it.fits for it in pieces) and not self._relaxed
        misfit = None if fits else why_not(self._problem, made, points, no_place)
        if misfit is None:
            return _Made(made, prove and whole.proven and pieces[0].peaks == best.peaks)
        status = Status.INFEASIBLE if refuted else Status.UNKNOWN
        return _Made(SymbolicPlan(status=status, shapes=self._shapes, explanation=misfit))

    def _tell(self, points: Sequence[PointPlan], scale: Scale, pieces: Sequence[Piece]) -> None:
        """Tell of the plan of these orders, where somebody listens, it can be used, and there is time."""
        if self._on_better is None or self._relaxed or not all(it.fits for it in pieces):
            return
        begin = time.monotonic()
        took = max(self._telling, _SECONDS_PER_BUFFER * len(self._problem.buffers))
        if begin < self._told_at + took * _TELLING_PART or not self._allowance.affords(took * _TELLING_PART):
            return
        orders = tuple(it.order for it in pieces)
        made = SymbolicPlan(status=Status.FEASIBLE, shapes=self._shapes, orders=orders, solver=SOLVER)
        self._on_better(self._judged(self._stamped(self._with_values(_Made(made), points, scale))))
        self._told_at = time.monotonic()
        self._telling = self._told_at - begin

    def _peaks(self, points: Sequence[PointPlan], order: Order) -> list[int]:
        """What an order needs at each point, whatever the capacities."""
        plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=(order,))
        layout = Layout(without_capacities(self._problem), plan)
        try:
            return [layout.lay_out(it.at).objective for it in points]
        except InputError:
            # Something is above a pin: no order to use.
            return [LIMIT] * len(points)

    def _sets(
        self, largest: Problem, points: Sequence[PointPlan], sizes: Sequence[Sequence[int]]
    ) -> list[ShapedArrays] | Explanation:
        """Arrays of the sets of tied pairs that are worth a try, the most promising first."""
        found: list[ShapedArrays] = []
        reason: Explanation | None = None
        for ties in likely_ties(largest, points):
            made = make_arrays(largest, ties, sizes)
            if isinstance(made, ShapedArrays):
                found.append(made)
            elif ties == NONE:
                reason = made
        return found if found or reason is None else reason

    def _every_set(
        self, largest: Problem, sets: Sequence[ShapedArrays], sizes: Sequence[Sequence[int]]
    ) -> list[ShapedArrays] | None:
        """All sets there are, for a proof; None where there are many."""
        ties = all_ties(largest)
        if ties is None:
            return None
        known = {it.ties: it for it in sets}
        made = [known.get(it) or make_arrays(largest, it, sizes) for it in ties]
        return [it for it in made if isinstance(it, ShapedArrays)]

    def _with_values(self, made: _Made, points: Sequence[PointPlan], scale: Scale) -> SymbolicPlan:
        """The plan with what it needs at the points."""
        try:
            with collector_at_rest():
                layout = Layout(self._problem, made.plan)
                peaks = [layout.lay_out(it.at).objective for it in points]
        except InputError as error:
            # What was found is wrong, and not what was given.
            raise RefusedPlanError(f"the plan was refused; please report it: {error}") from error
        # Nothing is below what was found, whatever a bound says.
        worst = scale.worst(peaks)
        proven = made.proven or (worst is not None and scale.is_least(peaks))
        bound = None if worst is None else worst if proven else 1.0
        return replace(
            made.plan,
            status=Status.OPTIMAL if proven and worst is not None else Status.FEASIBLE,
            points=tuple(
                PointPeak(at=it.at, peak=peak, least=it.least) for it, peak in zip(points, peaks, strict=True)
            ),
            worst=worst,
            bound=bound,
            prover=SOLVER if proven and worst is not None else None,
        )

    def _stamped(self, plan: SymbolicPlan) -> SymbolicPlan:
        return replace(
            plan,
            seconds=self._allowance.seconds,
            work=self._allowance.work,
            digest=digest_symbolic(self._problem),
            version=memstow.__version__,
        )

    def _judged(self, plan: SymbolicPlan) -> SymbolicPlan:
        with collector_at_rest():
            violations = judge_symbolic(self._problem, plan).violations
        if violations:
            message = "; ".join(it.message for it in violations[:3])
            raise RefusedPlanError(f"the plan was refused; please report it: {message}")
        return plan

    def _phase(self, name: str) -> None:
        if self._on_event is not None:
            self._on_event(Phase(name, self._allowance.seconds))
