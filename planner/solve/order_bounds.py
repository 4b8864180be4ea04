"""What a plan of a graph may claim: bounds that hold for every order that the graph allows, and no others."""

from dataclasses import dataclass, replace

from memstow.planner.backends.registry import name_with_version
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import (
    Certificate,
    Cut,
    Exhausted,
    Explanation,
    Least,
    Plan,
    PoolUse,
    Refuted,
    RefutedOrders,
    TermValue,
    gap_of,
)
from memstow.planner.model.problem import PLACEMENT_COST, measure, parse_term


@dataclass(frozen=True, slots=True)
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
        explanation = _no_order(graph, bound)
        if explanation is not None:
            prover = bound.prover
            return replace(plan, status=Status.INFEASIBLE, explanation=explanation, prover=prover)
        return _without_proof(plan) if plan.status is Status.INFEASIBLE else plan
    pools = len(plan.pools)
    covered = bound if pools == 1 and not graph.alternatives else NOTHING
    objective = tuple(_term(graph, it, covered) for it in plan.objective)
    first = parse_term(objective[0].term) if objective else None
    by_term = first is not None and pools == 1 and first.is_peak_of(plan.pools[0].pool, 1)
    proven = all(it.value == it.bound for it in objective)
    return replace(
        plan,
        objective=objective,
        pools=tuple(_pool(use, covered if by_term else NOTHING) for use in plan.pools),
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        prover=covered.prover if any(it.bound for it in objective) else None,
    )


def _no_order(graph: Graph, bound: OrderBound) -> Explanation | None:
    """Why no order of the graph fits; None where the bound does not say so."""
    if len(graph.pools) != 1 or graph.alternatives:
        return None
    pool, capacity = graph.pools[0], graph.pools[0].capacity
    if capacity is None:
        return None
    reserved = measure((it.offset, it.offset + it.size) for it in pool.reserved)
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


def _without_proof(plan: Plan) -> Plan:
    """That nothing fits in one order says nothing about the others."""
    return replace(plan, status=Status.UNKNOWN, explanation=None, prover=None)


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


def _pool(use: PoolUse, bound: OrderBound) -> PoolUse:
    return replace(use, bound=bound.value, certificate=None)
