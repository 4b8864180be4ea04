"""Bounds of a plan for a graph: what holds in one order or schedule proves nothing about others."""

from memstow.planner.model.graph import Graph
from memstow.planner.model.objective import COST
from memstow.planner.model.order_proofs import Cut, RefutedOrders
from memstow.planner.model.plan import LiveBytes, Plan, Sum
from memstow.planner.verify.findings import Code, Findings


def check_bounds(graph: Graph, plan: Plan, as_given: bool, findings: Findings) -> None:
    """Note bounds that are proven for the order of the plan alone; `as_given`: there is no other."""
    if graph.alternatives:
        _refuse_all(plan, findings)
        return
    if as_given:
        return
    for term in plan.objective:
        if isinstance(term.certificate, LiveBytes | Sum):
            findings.add(
                Code.CERTIFICATE,
                "the bound {} of {} is proven for this order alone, and the graph allows others",
                term.bound,
                term.term,
            )
    for use in plan.pools:
        if use.certificate is not None:
            findings.add(
                Code.CERTIFICATE,
                "the bound {} of {!r} is proven for this order alone, and the graph allows others",
                use.bound,
                use.pool,
                pool=use.pool,
            )


def check_bounds_of_schedule(plan: Plan, findings: Findings) -> None:
    """Note bounds about all orders, where the schedule does more than order.

    Such a plan is the plan of its schedule: its bounds are about the places in it.
    """
    for term in plan.objective:
        if isinstance(term.certificate, Cut | RefutedOrders):
            message = (
                "the bound {} of {} is proven for orders in which each operator runs once by itself, and the "
                "schedule does more"
            )
            findings.add(Code.CERTIFICATE, message, term.bound, term.term)


def _refuse_all(plan: Plan, findings: Findings) -> None:
    """With alternatives, a program may need less than without them."""
    for term in plan.objective:
        if term.bound and term.term != COST:
            message = "the bound {} of {} is proven without the graph's alternatives"
            findings.add(Code.CERTIFICATE, message, term.bound, term.term)
    for use in plan.pools:
        if use.bound:
            message = "the bound {} of {!r} is proven without the graph's alternatives"
            findings.add(Code.CERTIFICATE, message, use.bound, use.pool, pool=use.pool)
