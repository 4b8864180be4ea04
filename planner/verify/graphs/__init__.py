"""Judges a plan of a graph: replays its order with liveness of its own, then judges the places in that order.

In: a graph and a plan. Out: a verdict. Nothing is shared with `planner.graph`, which made the plan.
"""

from functools import partial

from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.order_proofs import Cut, RefutedOrders
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.verify import judge_problem
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.graphs.bounds import check_bounds
from memstow.planner.verify.graphs.order_claims import reason_against_orders
from memstow.planner.verify.graphs.problem import problem_in_order
from memstow.planner.verify.graphs.replay import Replay, replay
from memstow.planner.verify.graphs.structure import structure_errors
from memstow.planner.verify.verdict import Claims, Subject, Verdict


def judge_graph(graph: Graph, plan: Plan, hint: Plan | None = None, refutes: bool = True) -> Verdict:
    """The verdict on a plan of a graph; without `refutes`, only what can be counted is judged."""
    claims = Claims(plan)
    errors = Findings()
    for message in structure_errors(graph):
        errors.add(Code.INVALID_PROBLEM, "{}", message)
    if errors.total:
        return Verdict(tuple(errors.violations()), ())
    findings = Findings()
    replayed = _replayed(graph, plan, findings)
    says = f"the graph allows the order of its {len(graph.operators):,} operators"
    claims.counted(Subject.ORDER, None, says, replayed is not None)
    if replayed is not None:
        check_bounds(graph, plan, is_as_given(graph, replayed), findings)
    if replayed is None or findings.total:
        return Verdict(tuple(findings.violations()), claims.settled())
    problem = problem_in_order(graph, replayed)
    # With alternatives, a program may need less than without them.
    against_orders = None if graph.alternatives else partial(_against_orders, graph, refutes)
    return judge_problem(problem, plan, hint, refutes, claims, against_orders)


def _against_orders(graph: Graph, refutes: bool, bound: int, certificate: Cut | RefutedOrders) -> str | None:
    """Why the certificate proves nothing. A search is gone through again only where more than counting is."""
    if isinstance(certificate, RefutedOrders) and not refutes:
        return None
    return reason_against_orders(graph, bound, certificate)


def _replayed(graph: Graph, plan: Plan, findings: Findings) -> Replay | None:
    """The run of the plan's order; None, and findings, where it is none of the graph."""
    schedule = plan.schedule or Schedule(order=tuple(operator.id for operator in graph.operators))
    if schedule.alternatives:
        findings.add(Code.ORDER, "the schedule takes alternatives, which are not judged")
        return None
    return replay(graph, schedule.order, findings)


def is_as_given(graph: Graph, replayed: Replay) -> bool:
    """Whether the order is the one that the graph prescribes, so that bounds are about it alone."""
    return graph.order == GIVEN and replayed.as_listed
