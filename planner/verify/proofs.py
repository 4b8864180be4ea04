"""Whether a plan proves what it claims: the certificates of its bounds, the explanation that nothing fits.

`Proofs.reason_against` says in one sentence why a certificate does not prove its bound, or returns None. Of
explanations, bytes needed at one moment (`over_capacity`) and buffers without a place (`no_place`) are
counted again. The work of a search or a solver cannot be repeated here: it stays a claim, which is compared
with the rest of the plan.
"""

from collections.abc import Callable, Sequence

from memstow.planner.model.objective import COST, PLACEMENT_COST, parse_term
from memstow.planner.model.order_proofs import Cut, RefutedOrders
from memstow.planner.model.plan import (
    Certificate,
    Exhausted,
    ExhaustedWindow,
    Explanation,
    Least,
    LiveBytes,
    Model,
    Plan,
    Status,
    Sum,
    TermValue,
)
from memstow.planner.model.problem import access_count
from memstow.planner.model.ranges import measure
from memstow.planner.verify.cost_term import CostTerm
from memstow.planner.verify.effort import TooMuch
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.live_bytes import against_misfit, reason_against
from memstow.planner.verify.pool_space import EmptyPools
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.verdict import Claims, Subject

COUNTED_AGAIN = frozenset({"over_capacity", "no_place"})
"""Codes of explanations that the judge can check by counting."""
NO_ORDER = "no_order"
"""The code of the explanation that in each order of a graph too many bytes are live."""
GROUP_POOLS = "group_pools"
"""The code of the issue that buffers which are tied together have no pool in common."""
_ABOUT_BUFFERS = COUNTED_AGAIN | {"no_layout"}


AgainstOrders = Callable[[int, Cut | RefutedOrders], str | None]
"""Why a certificate does not prove such a bound on what every order of a graph needs; None where it does.

Raises TooMuch where the judge would have too much to do."""


def check_explanation(
    index: ProblemIndex,
    plan: Plan,
    findings: Findings,
    claims: Claims,
    against_orders: AgainstOrders | None = None,
) -> None:
    """Note where the explanation is missing, out of place, or false."""
    before = findings.total
    _check(index, plan, findings)
    explanation = plan.explanation
    if explanation is None and plan.status is not Status.INFEASIBLE:
        return
    code = "nothing" if explanation is None else explanation.code[:64]
    kind = code if code in COUNTED_AGAIN else None
    if explanation is not None and explanation.certificate is not None:
        counted = _check_orders(index, explanation, explanation.certificate, findings, against_orders)
        kind = explanation.certificate.kind if counted else None
    elif (
        explanation is not None
        and explanation.code == NO_ORDER
        and (against_orders is None or len(index.pools) != 1)
    ):
        message = "the explanation is about the orders of a graph of one pool, and this is none"
        findings.add(Code.EXPLANATION, message)
    holds = findings.total == before
    says = f"nothing fits ({code})"
    if kind is not None:
        claims.proven(Subject.NOTHING_FITS, None, says, kind, holds)
    else:
        claims.claimed(Subject.NOTHING_FITS, None, says, plan.prover, holds)


def _check(index: ProblemIndex, plan: Plan, findings: Findings) -> None:
    explanation = plan.explanation
    if explanation is None:
        if plan.status is Status.INFEASIBLE:
            findings.add(Code.EXPLANATION, "the plan is infeasible and does not say why")
        return
    if plan.status is not Status.INFEASIBLE:
        findings.add(
            Code.EXPLANATION, "the status is {}, and there is an explanation why nothing fits", plan.status
        )
    if not explanation.code or not explanation.message:
        findings.add(Code.EXPLANATION, "the explanation says nothing")
    if not explanation.buffers and explanation.code in _ABOUT_BUFFERS:
        findings.add(Code.EXPLANATION, "the explanation names no buffer")
    unknown = [name for name in explanation.buffers if name not in index.buffer_index]
    for name in unknown:
        findings.add(
            Code.EXPLANATION, "the explanation names {!r}, which is not a buffer", name, buffers=(name,)
        )
    _check_pool(index, explanation, findings)
    _check_amounts(explanation, findings)
    if not unknown and (explanation.pool is None or explanation.pool in index.pool_index):
        reason = _reason_against(index, explanation)
        if reason is not None:
            findings.add(Code.EXPLANATION, "the explanation does not show that nothing fits: {}", reason)


def _check_orders(
    index: ProblemIndex,
    explanation: Explanation,
    certificate: Cut | RefutedOrders,
    findings: Findings,
    against_orders: AgainstOrders | None,
) -> bool:
    """Note where the certificate does not show that no order fits; whether it was not too much work."""
    needed, capacities = explanation.needed, [pool.capacity for pool in index.pools]
    if against_orders is None or explanation.code != NO_ORDER or needed is None or len(capacities) != 1:
        message = "the explanation has a certificate about the orders of a graph with one pool"
        findings.add(Code.EXPLANATION, message)
        return True
    if capacities[0] is None or needed <= capacities[0]:
        findings.add(Code.EXPLANATION, "the explanation does not show that nothing fits: there is room")
        return True
    try:
        reason = against_orders(needed - measure(index.reserved[0]), certificate)
    except TooMuch:
        return False
    if reason is not None:
        findings.add(Code.EXPLANATION, "the explanation does not show that nothing fits: {}", reason)
    return True


def _check_amounts(explanation: Explanation, findings: Findings) -> None:
    needed, capacity = explanation.needed, explanation.capacity
    if needed is not None and capacity is not None and needed <= capacity:
        findings.add(Code.EXPLANATION, "the explanation needs {} bytes and has {}", needed, capacity)
    if explanation.code == "no_place" and (explanation.time, needed) != (None, None):
        findings.add(Code.EXPLANATION, "that a buffer has no place is so at any time and whatever is needed")


def _check_pool(index: ProblemIndex, explanation: Explanation, findings: Findings) -> None:
    name = explanation.pool
    if name is None:
        return
    pool = index.pool_index.get(name)
    if pool is None:
        findings.add(Code.EXPLANATION, "the explanation names {!r}, which is not a pool", name, pool=name)
        return
    for what, claimed, true in (
        ("bytes", explanation.capacity, index.pools[pool].capacity),
        ("reserved bytes", explanation.reserved, measure(index.reserved[pool])),
    ):
        if claimed not in (None, true):
            findings.add(
                Code.EXPLANATION,
                "the explanation says that {!r} has {} {}, not {}",
                name,
                claimed,
                what,
                "unlimited" if true is None else true,
                pool=name,
            )


def _reason_against(index: ProblemIndex, explanation: Explanation) -> str | None:
    """Why it does not follow that nothing fits; None where it does, or where only a search can tell."""
    if explanation.code == GROUP_POOLS:
        return _against_group(index, explanation.buffers)
    if not explanation.buffers:
        return None
    if explanation.code == "over_capacity":
        return against_misfit(index, explanation)
    if explanation.code == "no_place":
        empty_pools = EmptyPools(index)
        for name in explanation.buffers:
            if empty_pools.pools_for(index.buffer_index[name]):
                return f"{name!r} has a place when it is alone"
    return None


def _against_group(index: ProblemIndex, names: Sequence[str]) -> str | None:
    """Why these buffers, or if none is named any, are not tied together without a pool in common."""
    tied = {name for tie in index.problem.relative for name in (tie.buffer, tie.base)}
    loose = [name for name in names if name not in tied]
    if loose or not tied:
        return f"{loose[0]!r} is tied to no other buffer" if loose else "no buffers are tied together"
    common = set(range(len(index.pools)))
    for name in names:
        common &= set(index.allowed(index.buffer_index[name]))
    if common and (names or len(index.pools) == 1):
        return f"all of them may be in {index.pools[min(common)].id!r}"
    return None


def by_word_of(certificate: Certificate | None, *, checked: bool = True) -> str | None:
    """Whose word the certificate is; None where the judge has counted all of it again."""
    if isinstance(certificate, Exhausted | Model):
        return certificate.solver
    return certificate.solver if isinstance(certificate, ExhaustedWindow) and not checked else None


class Proofs:
    """Judges the certificates of one plan. Bounds are conditional on the terms before, in their order."""

    def __init__(
        self,
        index: ProblemIndex,
        claims: Sequence[TermValue],
        against_orders: AgainstOrders | None = None,
        cost: CostTerm | None = None,
        search_steps: int = 0,
    ) -> None:
        windows = sum(isinstance(claim.certificate, ExhaustedWindow) for claim in claims)
        # The verdict has so many steps in all, however many windows there are.
        self._search_steps = search_steps // max(windows, 1)
        self._against_orders = against_orders
        self._cost = cost
        self._index = index
        self._claims = claims
        self._least_cost: int | None = None
        self.unchecked: set[int] = set()
        """Positions of claims whose certificates are too much work to check."""

    def reason_against(self, position: int) -> str | None:
        """Why the certificate of that claim does not prove its bound."""
        claim = self._claims[position]
        match claim.certificate:
            case LiveBytes() | Sum() as certificate:
                term = parse_term(claim.term)
                if term is None:
                    return f"bytes say nothing about {claim.term!r}"
                cheapest_only = self._cheapest_only(position)
                return reason_against(self._index, term, claim.bound, certificate, cheapest_only)
            case Least():
                least = self._least(claim.term)
                if least < claim.bound:
                    return f"the least each can have alone adds up to {least:,}"
            case Exhausted() as certificate:
                return self._against_search(position, certificate)
            case ExhaustedWindow() as certificate:
                return self._against_window(position, certificate)
            case Cut() | RefutedOrders() as certificate:
                return self._against_order_proof(position, certificate)
            case Model() as certificate:
                return None if certificate.solver else "the solver has no name"
        return None

    def _against_window(self, position: int, certificate: ExhaustedWindow) -> str | None:
        # Imported late: few plans have one.
        from memstow.planner.verify.windows import reason_against_window

        claim = self._claims[position]
        term = parse_term(claim.term)
        if term is None:
            return f"a window says nothing about {claim.term!r}"
        try:
            return reason_against_window(self._index, term, claim.bound, certificate, self._search_steps)
        except TooMuch:
            self.unchecked.add(position)
            return None

    def _against_order_proof(self, position: int, certificate: Cut | RefutedOrders) -> str | None:
        claim = self._claims[position]
        if self._against_orders is None:
            return "it is about the orders of a graph"
        term = parse_term(claim.term)
        pools = self._index.pools
        if len(pools) != 1 or term is None or not term.is_peak_of(pools[0].id, 1):
            return "it is about the peak of a single pool"
        try:
            return self._against_orders(claim.bound, certificate)
        except TooMuch:
            self.unchecked.add(position)
            return None

    def _cheapest_only(self, position: int) -> bool:
        """Whether an earlier term says that every buffer is in its cheapest pool."""
        return any(
            parse_term(claim.term) == PLACEMENT_COST and claim.value == self._least(claim.term)
            for claim in self._claims[:position]
        )

    def _least(self, term: str) -> int:
        if term == COST and self._cost is not None:
            return self._cost.least
        if parse_term(term) != PLACEMENT_COST:
            return 0
        if self._least_cost is None:
            self._least_cost = self._count_least_cost()
        return self._least_cost

    def _count_least_cost(self) -> int:
        index, total = self._index, 0
        costs = [pool.cost for pool in index.pools]
        cheapest: dict[tuple[str, ...] | int | None, int] = {}
        for i, buffer in enumerate(index.buffers):
            if buffer.size:
                kind = index.pool_kind(i)
                if kind not in cheapest:
                    cheapest[kind] = min((costs[pool] for pool in index.allowed(i)), default=0)
                total += access_count(buffer) * cheapest[kind]
        return total

    def _against_search(self, position: int, certificate: Exhausted) -> str | None:
        claim = self._claims[position]
        if not certificate.solver:
            return "the solver has no name"
        if not certificate.refuted:
            return None if claim.bound == 0 else "no height was refuted"
        if any(refuted.nodes < 1 for refuted in certificate.refuted):
            return "a height was refuted without a single node"
        highest = max(refuted.height for refuted in certificate.refuted)
        if highest != claim.bound - 1:
            return f"{highest:,} is the highest value refuted, not {claim.bound - 1:,}"
        return None
