"""Bounds of a plan for a graph whose order is free: what holds in one order proves nothing about others."""

from memstow.planner.model.graph import Graph
from memstow.planner.model.objective import parse_term
from memstow.planner.model.plan import Cut, LiveBytes, Plan, Sum, TermValue
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.graphs.cut import CutCheck


def check_bounds(graph: Graph, plan: Plan, as_given: bool, findings: Findings) -> None:
    """Note bounds that are proven for the order of the plan alone; `as_given`: there is no other."""
    if graph.alternatives:
        _refuse_all(plan, findings)
        return
    for term in plan.objective:
        if isinstance(term.certificate, Cut):
            _check_cut(graph, term, term.certificate, findings)
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


def _check_cut(graph: Graph, claim: TermValue, certificate: Cut, findings: Findings) -> None:
    term = parse_term(claim.term)
    if len(graph.pools) > 1 or term is None or not term.is_peak_of(term.pool or "", 1):
        reason: str | None = "it is about the peak of a single pool"
    else:
        reason = CutCheck(graph).reason_against(claim.bound, certificate)
    if reason is not None:
        message = "the certificate does not prove that {} is at least {}: {}"
        findings.add(Code.CERTIFICATE, message, claim.term, claim.bound, reason)


def _refuse_all(plan: Plan, findings: Findings) -> None:
    """With alternatives, a program may need less than without them."""
    for term in plan.objective:
        if term.bound:
            message = "the bound {} of {} is proven without the graph's alternatives"
            findings.add(Code.CERTIFICATE, message, term.bound, term.term)
    for use in plan.pools:
        if use.bound:
            message = "the bound {} of {!r} is proven without the graph's alternatives"
            findings.add(Code.CERTIFICATE, message, use.bound, use.pool, pool=use.pool)
