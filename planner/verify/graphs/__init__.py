"""Judges a plan of a graph: replays its order with liveness of its own, then judges the places in that order.

A schedule that does more than order is turned into the graph that it stands for first (`scheduled`).
In: a graph and a plan. Out: a verdict. Nothing is shared with `planner.graph`, which made the plan.
"""

from functools import partial

from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.objective import COST
from memstow.planner.model.order_proofs import Cut, RefutedOrders
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.verify import judge_problem
from memstow.planner.verify.cost_term import CostTerm
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.graphs.bounds import check_bounds, check_bounds_of_schedule
from memstow.planner.verify.graphs.order_claims import reason_against_orders
from memstow.planner.verify.graphs.problem import problem_in_order
from memstow.planner.verify.graphs.refused import Refused
from memstow.planner.verify.graphs.replay import Replay, replay
from memstow.planner.verify.graphs.scheduled import does_more_than_order, scheduled
from memstow.planner.verify.graphs.structure import structure_errors
from memstow.planner.verify.graphs.work import cost_once, least_cost
from memstow.planner.verify.verdict import Claims, Subject, Verdict


def judge_graph(graph: Graph, plan: Plan, hint: Plan | None = None, refutes: bool = True) -> Verdict:
    """The verdict on a plan of a graph; without `refutes`, only what can be counted is judged."""
    claims = Claims(plan)
    errors = Findings()
    for message in structure_errors(graph):
        errors.add(Code.INVALID_PROBLEM, "{}", message)
    if errors.total:
        return Verdict(tuple(errors.violations()), ())
    schedule = plan.schedule or Schedule(order=tuple(operator.id for operator in graph.operators))
    if does_more_than_order(schedule):
        return _judge_scheduled(graph, schedule, plan, hint, refutes, claims)
    findings = Findings()
    replayed = replay(graph, schedule.order, findings)
    says = f"the graph allows the order of its {len(graph.operators):,} operators"
    claims.counted(Subject.ORDER, None, says, replayed is not None)
    if replayed is not None:
        check_bounds(graph, plan, is_as_given(graph, replayed), findings)
    if replayed is None or findings.total:
        return Verdict(tuple(findings.violations()), claims.settled())
    problem = problem_in_order(graph, replayed)
    # With alternatives, a program may need less than without them.
    against_orders = None if graph.alternatives else partial(_against_orders, graph, refutes)
    cost = _cost_term(graph, plan, None)
    return judge_problem(problem, plan, hint, refutes, claims, against_orders, cost)


def _judge_scheduled(
    graph: Graph, schedule: Schedule, plan: Plan, hint: Plan | None, refutes: bool, claims: Claims
) -> Verdict:
    """The verdict on a plan whose schedule does more than order: it is the plan of what that stands for."""
    findings = Findings()
    allowed = f"the graph allows the order of the {len(schedule.order):,} runs of its operators"
    try:
        found = scheduled(graph, schedule)
    except Refused as refused:
        findings.add(Code.SCHEDULE, "{}", refused)
        claims.counted(Subject.ORDER, None, allowed, holds=False)
        return Verdict(tuple(findings.violations()), claims.settled())
    replayed = replay(found.graph, [operator.id for operator in found.graph.operators], findings)
    claims.counted(Subject.ORDER, None, allowed, replayed is not None)
    for says in found.says:
        claims.counted(Subject.SCHEDULE, None, says, replayed is not None)
    if schedule.stripes:
        stripes = len(schedule.stripes)
        says = f"replayed {stripes:,} {'stripe' if stripes == 1 else 'stripes'}: {found.rows:,} rows"
        claims.counted(Subject.STRIPES, None, f"{says}, each there when it was read", replayed is not None)
    check_bounds_of_schedule(plan, findings)
    if replayed is None or findings.total:
        return Verdict(tuple(findings.violations()), claims.settled())
    problem = problem_in_order(found.graph, replayed)
    return judge_problem(problem, plan, hint, refutes, claims, cost=_cost_term(graph, plan, found.cost))


def _cost_term(graph: Graph, plan: Plan, counted: int | None) -> CostTerm | None:
    """What the schedule costs, where the plan or the graph speaks of it; by default, each operator once."""
    if COST not in (graph.objective or ()) and all(it.term != COST for it in plan.objective):
        return None
    # What alternatives cost at least is not known without choosing among them.
    least = 0 if graph.alternatives else least_cost(graph)
    return CostTerm(cost_once(graph) if counted is None else counted, least, graph.terms())


def _against_orders(graph: Graph, refutes: bool, bound: int, certificate: Cut | RefutedOrders) -> str | None:
    """Why the certificate proves nothing. A search is gone through again only where more than counting is."""
    if isinstance(certificate, RefutedOrders) and not refutes:
        return None
    return reason_against_orders(graph, bound, certificate)


def is_as_given(graph: Graph, replayed: Replay) -> bool:
    """Whether the order is the one that the graph prescribes, so that bounds are about it alone."""
    return graph.order == GIVEN and replayed.as_listed
