"""The points of the front of a graph: memory against the cost of its operators.

Schedules are found first, with the bytes that live at their fullest moment; then each is placed, the ends of
the front first.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from memstow.planner.front.candidates import Candidate, Candidates, ends_first
from memstow.planner.front.graph_orders import Orders, orders_of
from memstow.planner.front.order_search import moved_orders
from memstow.planner.front.request import GRAPH_TERMS, Ending, FrontCallbacks, FrontRequest, Points
from memstow.planner.front.time_left import TimeLeft
from memstow.planner.graph.check import require_valid
from memstow.planner.graph.stripes.costs import with_cost_unit
from memstow.planner.graph.stripes.front import order_front
from memstow.planner.model.errors import InputError, RefusedPlanError
from memstow.planner.model.front import FrontPoint
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import PLANNED, Plan, Status
from memstow.planner.solve.graphs import Callbacks
from memstow.planner.solve.schedules import plan_schedule
from memstow.planner.verify.graphs.schedule_cost import schedule_cost
from memstow.solvers.stripes import MOST

_PEAK, _COST = GRAPH_TERMS
# Of what is left: to look for orders, and for schedules in them.
_ORDERS_SHARE: Final = 0.3
_SCHEDULES_SHARE: Final = 0.4
_MOVES_SHARE: Final = 0.3


def graph_points(graph: Graph, request: FrontRequest, callbacks: FrontCallbacks) -> Points:
    """The points of this front, as they are found."""
    _check(graph, request)
    require_valid(graph)
    return (yield from _Run(with_cost_unit(graph, request.cost_unit), request, callbacks).points())


def _check(graph: Graph, request: FrontRequest) -> None:
    if request.terms != GRAPH_TERMS:
        message = (
            "the front of a graph is about peak and cost; leave `terms` away, or convert it to a problem"
        )
        raise InputError.single("front_terms", "terms", message)
    if len(graph.pools) > 1 and "stripes" in request.generators:
        message = "stripes are chosen for one pool; name other ways with `--with`, or give the graph one pool"
        raise InputError.single("several_pools", "$.pools", message)


class _Run:
    def __init__(self, graph: Graph, request: FrontRequest, callbacks: FrontCallbacks) -> None:
        self._graph = graph
        self._request = request
        self._callbacks = Callbacks(callbacks.on_event, callbacks.cancel)
        self._stop = callbacks
        self._time = TimeLeft(request.options)
        self._complete = graph.order == GIVEN

    def points(self) -> Points:
        """Each point when it is placed."""
        orders = orders_of(self._graph, self._time.part(_ORDERS_SHARE), self._callbacks)
        self._time.spend(orders.work)
        found = self._candidates(orders)
        wanted = ends_first(len(found))[: self._request.points]
        if len(wanted) < len(found):
            self._complete = False
        known = {it.plan.schedule: it for it in self._request.start}
        unproven = False
        for number, at in enumerate(wanted):
            if self._stop.cancelled or (number and self._time.is_over):
                self._complete = False
                break
            it = found.items[at]
            before = known.get(it.schedule)
            plan = before.plan if before is not None else self._plan(it, len(wanted) - number)
            if plan.status in PLANNED:
                point = self._point(plan, it, found)
                unproven = unproven or not point.proven
                yield point
            elif plan.status is not Status.INFEASIBLE:
                self._complete = False
        return Ending(complete=self._complete and not unproven, work=self._time.work)

    def _candidates(self, orders: Orders) -> Candidates:
        found: list[Candidate] = []
        for number, order in enumerate(orders.orders):
            budget = self._time.budget(_SCHEDULES_SHARE / (len(orders.orders) - number))
            front = order_front(
                self._graph,
                order,
                budget,
                MOST,
                "stripes" in self._request.generators,
            )
            self._time.spend(budget.work)
            self._complete = self._complete and front.complete
            found += (Candidate(it.bytes, it.cost, it.schedule) for it in front.points)
            if number == 0 and self._graph.order != GIVEN and "stripes" in self._request.generators:
                for other in moved_orders(self._graph, order, front, self._time, _MOVES_SHARE):
                    found += (Candidate(it.bytes, it.cost, it.schedule) for it in other.points)
        most = self._request.most(min((it.cost for it in found), default=0))
        near = found if most is None else (it for it in found if it.cost <= most)
        return Candidates(self._fitting(near))

    def _fitting(self, found: Iterable[Candidate]) -> Iterable[Candidate]:
        """Those whose live bytes are no more than there is."""
        capacity = self._graph.pools[0].capacity if len(self._graph.pools) == 1 else None
        return found if capacity is None else (it for it in found if it.bytes <= capacity)

    def _plan(self, it: Candidate, left: int) -> Plan:
        options = self._time.part(1 / left)
        plan = plan_schedule(self._graph, it.schedule, replace(options, hint=None), self._callbacks)
        self._time.spend(plan.work)
        counted = schedule_cost(self._graph, it.schedule)
        if counted != it.cost:
            message = f"a schedule costs {counted:,}, not {it.cost:,}; please report it"
            raise RefusedPlanError(message)
        return plan

    def _point(self, plan: Plan, it: Candidate, found: Candidates) -> FrontPoint:
        """What is known of others holds for the order of the document and the ways that were asked for."""
        peak = sum(use.peak for use in plan.pools)
        values = {_PEAK: peak, _COST: it.cost}
        if not self._complete or self._graph.order != GIVEN or len(self._graph.pools) > 1:
            return FrontPoint(values=values, plan=plan)
        bounds = {_PEAK: found.least_bytes(it.cost) or 0, _COST: found.least_cost(peak) or 0}
        return FrontPoint(values=values, bounds=bounds, proven=bounds == values, plan=plan)
