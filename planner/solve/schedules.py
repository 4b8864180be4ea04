"""Plans of graphs in which operators run as a schedule says, and the choice among alternatives."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.graph.operators import operator_costs
from memstow.planner.graph.schedules import allowed_order, only_orders, scheduled_graph
from memstow.planner.graph.stripe_front import Candidate, order_front
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.solve.graphs import (
    NOTHING,
    plan_in_order,
    plan_without_alternatives,
    with_order_bound,
)
from memstow.planner.solve.problem_plans import plan_for_judge, refuse_for, unjudged
from memstow.planner.solve.run_state import better
from memstow.planner.verify.graph_verdict import judge_graph
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import MOST


def plan_schedule(graph: Graph, schedule: Schedule, options: Options, callbacks: Callbacks) -> Plan:
    """The plan of the problem that a valid graph becomes with this schedule, judged as of the graph."""
    if only_orders(schedule):
        order = allowed_order(graph, schedule.order)
        bound = None if is_only_order(graph, schedule) else NOTHING
        return plan_in_order(graph, order, options, callbacks, bound)
    problem = listed_problem(scheduled_graph(graph, schedule))
    heard = Callbacks(callbacks.on_event, callbacks.cancel)
    # The judge of the graph judges the plan of the problem with it; once is enough.
    return judged(graph, plan_for_judge(problem, options, heard, unjudged), schedule)


def is_only_order(graph: Graph, schedule: Schedule) -> bool:
    """Whether the graph allows no other schedule than this, so that what is proven of it is of the graph."""
    names = tuple(graph.operators[entry].id for entry in listed_order(graph))
    return graph.order == GIVEN and not graph.alternatives and schedule.order == names


def judged(graph: Graph, plan: Plan, schedule: Schedule) -> Plan:
    """The plan of a schedule's problem as one of the graph; RefusedPlanError if the judge refuses it."""
    plan = replace(plan, schedule=schedule)
    refuse_for(judge_graph(graph, plan, refutes=False).violations, plan.solver, " for a schedule")
    return plan


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
        (entry for order in orders for entry in _chosen(graph, order, options)), key=_by_bytes, default=None
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


def _chosen(graph: Graph, order: Sequence[int], options: Options) -> list[Candidate]:
    """The choice of the least live bytes in an order; nothing where that has no alternative."""
    limit = graph.limits.cost if graph.limits is not None else None
    most = MOST if limit is None else int(Fraction(str(limit)) * sum(operator_costs(graph)))
    part = _part(options, _CHOICE_SHARE / 2)
    budget = Budget(-1.0, part.work_limit or 0) if options.deterministic else Budget(part.time_limit, -1)
    found = order_front(graph, order, budget, most, stripes=False).points[:1]
    return [entry for entry in found if entry.schedule.alternatives]


def _by_bytes(order: Candidate) -> tuple[int, int]:
    return order.bytes, order.cost


def _part(options: Options, share: float) -> Options:
    from memstow.planner.solve.portfolio import DEFAULT_WORK

    if options.deterministic:
        limit = DEFAULT_WORK if options.work_limit is None else options.work_limit
        return replace(options, work_limit=int(limit * share))
    return replace(options, time_limit=options.time_limit * share)
