"""One run for a symbolic graph: the order of its operators, and the plan of the problem in that order.

Planned in one order of its operators: as they are listed, or in the one that `order_symbolic` finds. That has
the fewest live bytes; where its plan needs more than those and another order may need less, or it does not
fit, the order of the list is planned as well, and the better plan counts.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from memstow.planner.formulas.sizes import values_text
from memstow.planner.graph.symbolic_graph import lower_symbolic, order_as_listed
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options, Phase
from memstow.planner.model.plan import Explanation, Schedule
from memstow.planner.model.symbolic import SymbolicGraph, SymbolicPlan, points_of
from memstow.planner.shapes.operator_order import OrderedGraph, order_symbolic
from memstow.planner.shapes.point_plans import Scale, Score, better
from memstow.planner.shapes.symbolic_run import PlanRequest, accepted, plan_problem
from memstow.planner.solve.portfolio import Allowance
from memstow.planner.solve.schedules import OrderBound, no_order

# Of the limits: the search for an order; of the rest, the plan in it where that of the list may be better.
_ORDER_SHARE: Final = 0.4
_FIRST_SHARE: Final = 0.6
_WHOLE: Final = 1.0
# What the gaps of a plan cost at most, nearly always.
_CLOSE: Final = Fraction(21, 20)


class GraphRun:
    """One call for a graph."""

    def __init__(self, graph: SymbolicGraph, options: Options, request: PlanRequest) -> None:
        self._graph = graph
        self._allowance = Allowance(options)
        self._request = request
        self._best: SymbolicPlan | None = None

    def plan(self) -> SymbolicPlan:
        listed = order_as_listed(self._graph)
        if self._graph.order == "given":
            return self._planned(listed, None, _WHOLE)
        self._phase("order")
        part = self._allowance.share(_ORDER_SHARE)
        ordered = order_symbolic(self._graph, part, shapes=self._request.shapes, cancel=self._request.cancel)
        self._allowance.spend(ordered.work)
        chosen = tuple(operator.id for operator in ordered.graph.operators)
        both = listed != chosen and self._are_close(ordered)
        best = self._planned(chosen, ordered, _FIRST_SHARE if both else _WHOLE)
        if listed != chosen and not self._over and self._may_be_better(best, ordered):
            plan = self._planned(listed, ordered, _WHOLE)
            best = plan if better(self._graph, plan, best) else best
        return replace(best, seconds=self._allowance.seconds, work=self._allowance.work)

    def _planned(self, order: tuple[str, ...], ordered: OrderedGraph | None, share: float) -> SymbolicPlan:
        """The accepted plan in this order, of the operators by their ids."""
        before, schedule = self._allowance.work, Schedule(order=order)

        def accept(plan: SymbolicPlan) -> SymbolicPlan:
            work = before + plan.work
            plan = replace(plan, schedule=schedule, seconds=self._allowance.seconds, work=work)
            return accepted(self._graph, plan if ordered is None else self._of_all_orders(plan, ordered))

        request = replace(self._request, on_better=None if self._request.on_better is None else self._tell)
        least = None if ordered is None else ordered.least
        problem = lower_symbolic(self._graph, order)
        plan = plan_problem(problem, self._allowance.share(share), request, accept, least)
        self._allowance.spend(plan.work - before)
        if self._best is None or better(self._graph, plan, self._best):
            self._best = plan
        return plan

    def _tell(self, plan: SymbolicPlan) -> None:
        """Tell of a plan on the way, unless one in another order was better."""
        if self._request.on_better is not None and (
            self._best is None or better(self._graph, plan, self._best)
        ):
            self._best = plan
            self._request.on_better(plan)

    def _of_all_orders(self, plan: SymbolicPlan, ordered: OrderedGraph) -> SymbolicPlan:
        """The plan of one order, with what holds for all: what was proven of this one alone is no proof."""
        if plan.status in PLANNED:
            known = zip(plan.points, ordered.least, ordered.certificates, strict=True)
            points = tuple(
                replace(point, bound=bound, certificate=certificate) if bound else point
                for point, bound, certificate in known
            )
            proven = bool(points) and all(point.bound == point.peak for point in points)
            return replace(plan, points=points, status=Status.OPTIMAL if proven else Status.FEASIBLE)
        explanation = self._no_order(ordered)
        if explanation is not None:
            return replace(plan, status=Status.INFEASIBLE, explanation=explanation)
        if plan.explanation is not None:
            message = f"in the order of the operators that was chosen, {plan.explanation.message}"
            message += "; another order may fit, such as one that is found with more time"
            return replace(
                plan,
                status=Status.UNKNOWN,
                explanation=replace(plan.explanation, message=message),
                prover=None,
            )
        return replace(plan, status=Status.UNKNOWN, prover=None)

    def _no_order(self, ordered: OrderedGraph) -> Explanation | None:
        """Why no order fits at one of the points; None where that is not known."""
        for point, bound, certificate in zip(
            points_of(self._graph), ordered.least, ordered.certificates, strict=True
        ):
            explanation = no_order(self._graph.pools, OrderBound(bound, certificate, None))
            if explanation is not None:
                message = f"at {values_text(point.at)}, {explanation.message}"
                return replace(explanation, message=message)
        return None

    def _are_close(self, ordered: OrderedGraph) -> bool:
        """Whether the order of the list is worth a part of the time, which it may take to do without gaps."""
        if self._request.shapes == "fixed":
            return False
        limited = any(pool.capacity is not None for pool in self._graph.pools)
        mine, others = (self._score(ordered, live) for live in (ordered.live, ordered.live_as_listed))
        return limited or others[0] <= _CLOSE * mine[0]

    def _may_be_better(self, plan: SymbolicPlan, ordered: OrderedGraph) -> bool:
        """Whether a plan in the order of the list may be better than this one."""
        if plan.status not in PLANNED or self._request.shapes == "fixed":
            return plan.status is Status.UNKNOWN
        peaks = [point.peak for point in plan.points]
        return self._score(ordered, ordered.live_as_listed) < self._score(ordered, peaks)

    def _score(self, ordered: OrderedGraph, peaks: Sequence[int]) -> Score:
        weights = tuple(point.weight for point in points_of(self._graph))
        return Scale(ordered.least, weights, self._graph.aim).score(peaks)

    @property
    def _over(self) -> bool:
        cancel = self._request.cancel
        return self._allowance.over or (cancel is not None and cancel.is_set())

    def _phase(self, name: str) -> None:
        if self._request.on_event is not None:
            self._request.on_event(Phase(name, self._allowance.seconds))
