"""Plans of graphs with alternatives: those are chosen that need the least memory within the limit of cost."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from memstow.planner.graph.costs import operator_costs
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.stripes.front import StripedOrder, order_front
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.solve.better_plan import better
from memstow.planner.solve.graphs import Callbacks, plan_in_order, plan_without_alternatives
from memstow.planner.solve.order_bounds import NOTHING, with_order_bound
from memstow.planner.solve.schedules import plan_schedule
from memstow.solvers.core import Budget
from memstow.solvers.stripes import MOST

# Of the limits: to place what runs as the graph says; and to choose.
_FIRST_SHARE: Final = 0.4
_CHOICE_SHARE: Final = 0.2


def plan_with_alternatives(graph: Graph, options: Options, callbacks: Callbacks) -> Plan:
    """The best plan of a valid graph in the orders that are known, with or without its alternatives."""
    first = _as_given(graph, _part(options, _FIRST_SHARE), callbacks)
    orders = [listed_order(graph)]
    if first.schedule is not None:
        index = links_of(graph).operator_index
        orders.append([index[name] for name in first.schedule.order])
    chosen = min(
        (it for order in orders for it in _chosen(graph, order, options)), key=_by_bytes, default=None
    )
    if chosen is None:
        return first
    rest = _part(options, 1 - _FIRST_SHARE - _CHOICE_SHARE)
    plan = with_order_bound(graph, plan_schedule(graph, chosen.schedule, rest, callbacks), NOTHING)
    best = plan if better(plan, first) else first
    return replace(best, seconds=round(first.seconds + plan.seconds, 6), work=first.work + plan.work)


def _as_given(graph: Graph, options: Options, callbacks: Callbacks) -> Plan:
    if graph.order == GIVEN:
        return plan_in_order(graph, listed_order(graph), options, callbacks, NOTHING)
    return plan_without_alternatives(graph, options, callbacks)


def _chosen(graph: Graph, order: Sequence[int], options: Options) -> list[StripedOrder]:
    """The choice of the least live bytes in an order; nothing where that has no alternative."""
    limit = graph.limits.cost if graph.limits is not None else None
    most = MOST if limit is None else int(Fraction(str(limit)) * sum(operator_costs(graph)))
    part = _part(options, _CHOICE_SHARE / 2)
    budget = Budget(-1.0, part.work_limit or 0) if options.deterministic else Budget(part.time_limit, -1)
    found = order_front(graph, order, budget, most, stripes=False).points[:1]
    return [it for it in found if it.schedule.alternatives]


def _by_bytes(it: StripedOrder) -> tuple[int, int]:
    return it.bytes, it.cost


def _part(options: Options, share: float) -> Options:
    from memstow.planner.solve.portfolio import DEFAULT_WORK

    if options.deterministic:
        limit = DEFAULT_WORK if options.work_limit is None else options.work_limit
        return replace(options, work_limit=int(limit * share))
    return replace(options, time_limit=options.time_limit * share)
