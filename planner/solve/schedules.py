"""Plans of graphs in one order, or in one schedule that does more, and bounds that hold for every order.

The plans claim what holds for every order that the graph allows, and nothing else.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from memstow.planner.check import take_as_valid
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.lowering import listed_problem, lower
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.options import Bound, Callbacks, Event, Listener, OnBetter, Options
from memstow.planner.model.plan import (
    Certificate,
    Cut,
    Exhausted,
    Explanation,
    Least,
    Plan,
    Refuted,
    RefutedOrders,
    Schedule,
    TermValue,
    gap_of,
)
from memstow.planner.model.problem import PLACEMENT_COST, Pool, measure, parse_term
from memstow.planner.solve.problem_plans import plan_for_judge, refuse_for, unjudged
from memstow.planner.verify.graph_verdict import judge_graph
from memstow.records import record, replace
from memstow.solvers.registry import name_with_version


@record
class OrderBound:
    """A proven lower bound on the live bytes of every order."""

    value: int
    certificate: Certificate | None
    prover: str | None


NOTHING = OrderBound(0, None, None)


def claimed(solver: str, bound: int, nodes: int) -> OrderBound:
    """The bound of a search that ran dry one byte below it."""
    if not bound:
        return NOTHING
    name = name_with_version(solver)
    refuted = (Refuted(height=bound - 1, nodes=max(nodes, 1)),)
    return OrderBound(bound, Exhausted(solver=name, refuted=refuted), name)


def with_order_bound(graph: Graph, plan: Plan, bound: OrderBound) -> Plan:
    """The plan of one order, as a plan of the graph: what was proven for this order alone is left out."""
    if plan.status not in PLANNED:
        explanation = None if graph.alternatives else no_order(graph.pools, bound)
        if explanation is not None:
            prover = bound.prover
            return replace(plan, status=Status.INFEASIBLE, explanation=explanation, prover=prover)
        # That nothing fits in one order says nothing about the others.
        return (
            replace(plan, status=Status.UNKNOWN, explanation=None, prover=None)
            if plan.status is Status.INFEASIBLE
            else plan
        )
    pools = len(plan.pools)
    covered = bound if pools == 1 and not graph.alternatives else NOTHING
    objective = tuple(_term(graph, entry, covered) for entry in plan.objective)
    first = parse_term(objective[0].term) if objective else None
    by_term = first is not None and pools == 1 and first.is_peak_of(plan.pools[0].pool, 1)
    proven = all(entry.value == entry.bound for entry in objective)
    return replace(
        plan,
        objective=objective,
        pools=tuple(
            replace(use, bound=(covered if by_term else NOTHING).value, certificate=None)
            for use in plan.pools
        ),
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        prover=covered.prover if any(entry.bound for entry in objective) else None,
    )


def no_order(pools: Sequence[Pool], bound: OrderBound) -> Explanation | None:
    """Why no order of a graph with these pools fits; None where the bound does not say so."""
    if len(pools) != 1:
        return None
    pool, capacity = pools[0], pools[0].capacity
    if capacity is None:
        return None
    reserved = measure((entry.offset, entry.offset + entry.size) for entry in pool.reserved)
    needed = bound.value + reserved
    if needed <= capacity:
        return None
    there = f"there are {capacity:,}" + (f", {reserved:,} of them reserved" if reserved else "")
    return Explanation(
        code="no_order",
        message=f"in each order of the operators, at least {bound.value:,} bytes are live at once; {there}",
        pool=pool.id,
        needed=needed,
        capacity=capacity,
        reserved=reserved,
        certificate=bound.certificate if isinstance(bound.certificate, Cut | RefutedOrders) else None,
    )


def _term(graph: Graph, claim: TermValue, bound: OrderBound) -> TermValue:
    term = parse_term(claim.term)
    if term == PLACEMENT_COST and isinstance(claim.certificate, Least) and not graph.alternatives:
        return claim
    if term is not None and term.is_peak_of(term.pool or "", 1):
        return replace(
            claim,
            bound=bound.value,
            certificate=bound.certificate,
            gap=gap_of(claim.value, bound.value),
        )
    return replace(claim, bound=0, certificate=None, gap=gap_of(claim.value, 0))


def plan_in_order(
    graph: Graph,
    order: Sequence[int],
    options: Options,
    callbacks: Callbacks,
    bound: OrderBound | None,
) -> Plan:
    """The accepted plan of a valid graph in one order; `bound` is that of all orders, if there are others."""
    schedule = Schedule(order=tuple(graph.operators[i].id for i in order))

    def accepted(plan: Plan) -> Plan:
        if bound is not None:
            plan = with_order_bound(graph, plan, bound)
        return _judged(graph, replace(plan, schedule=schedule), options.hint)

    problem = lower(graph, order)
    take_as_valid(problem)
    # The judge of the graph judges the plan of the problem with it; once is enough.
    hear = _without_bounds(callbacks.on_event) if bound is not None else callbacks.on_event
    passed_on = Callbacks(hear, callbacks.cancel, _passed_on(callbacks.on_better, accepted))
    return accepted(plan_for_judge(problem, options, passed_on, unjudged))


def with_bound(graph: Graph, plan: Plan, bound: OrderBound, hint: Plan | None) -> Plan:
    """The accepted plan with the bound of all orders, which was proven after it was made."""
    return _judged(graph, with_order_bound(graph, plan, bound), hint)


def _judged(graph: Graph, plan: Plan, hint: Plan | None) -> Plan:
    refuse_for(judge_graph(graph, plan, hint, refutes=False).violations, plan.solver, " for a graph")
    return plan


def _passed_on(on_better: OnBetter | None, accepted: Callable[[Plan], Plan]) -> OnBetter | None:
    """Tells of better plans of the problem as of plans of the graph."""
    if on_better is None:
        return None

    def pass_on(make: Callable[[], Plan]) -> None:
        on_better(lambda: accepted(make()))

    return pass_on


def _without_bounds(on_event: Listener | None) -> Listener | None:
    """Bounds of one order are none of the graph."""
    if on_event is None:
        return None

    def hear(event: Event) -> None:
        if not isinstance(event, Bound):
            on_event(event)

    return hear


# Judging a schedule replays it, which takes about so many times as long as making its problem. But the search
# has at least this share.
_JUDGING_TO_MAKING: Final = 2.0
_LEAST_SHARE: Final = 0.25


def plan_schedule(graph: Graph, schedule: Schedule, options: Options, callbacks: Callbacks) -> Plan:
    """The plan of the problem that a valid graph becomes with this schedule, judged as of the graph."""
    # Runs in one order do not wait for this import.
    from memstow.planner.graph.schedules import allowed_order, only_orders, scheduled_graph

    if only_orders(schedule):
        order = allowed_order(graph, schedule.order)
        bound = None if is_only_order(graph, schedule) else NOTHING
        return plan_in_order(graph, order, options, callbacks, bound)
    began = time.monotonic()
    problem = listed_problem(scheduled_graph(graph, schedule))
    beside = (1 + _JUDGING_TO_MAKING) * (time.monotonic() - began)
    options = replace(options, time_limit=max(options.time_limit - beside, _LEAST_SHARE * options.time_limit))
    heard = Callbacks(callbacks.on_event, callbacks.cancel)
    # The judge of the graph judges the plan of the problem with it; once is enough.
    return judged(graph, plan_for_judge(problem, options, heard, unjudged), schedule)


def is_only_order(graph: Graph, schedule: Schedule) -> bool:
    """Whether the graph allows no other schedule than this, so that what is proven of it is of the graph."""
    names = tuple(graph.operators[entry].id for entry in listed_order(graph))
    return graph.order == GIVEN and not graph.alternatives and schedule.order == names


def judged(graph: Graph, plan: Plan, schedule: Schedule) -> Plan:
    """The plan of a schedule's problem as one of the graph; RefusedPlanError if the judge refuses it.

    What is proven of one order alone is left out where the graph allows other schedules.
    """
    from memstow.planner.graph.schedules import only_orders

    if only_orders(schedule) and not is_only_order(graph, schedule):
        plan = with_order_bound(graph, plan, NOTHING)
    plan = replace(plan, schedule=schedule)
    refuse_for(judge_graph(graph, plan, refutes=False).violations, plan.solver, " for a schedule")
    return plan
