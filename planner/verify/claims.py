"""Checks the claims of a plan (status, pools, objective) against values counted again.

In: a plan and the values of its layout. Out: violations, and for each claim its standing.
"""

from memstow.planner.model.objective import parse_term, peak_of
from memstow.planner.model.plan import PLANNED, Plan, PoolUse, Status, TermValue, gap_of
from memstow.planner.verify.cost_term import CostTerm, expected_terms
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.live_bytes import reason_against
from memstow.planner.verify.objective_values import ObjectiveValues
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.proofs import AgainstOrders, Proofs, by_word_of, check_explanation
from memstow.planner.verify.verdict import Claims, Subject, use_in_words


def check_status(
    index: ProblemIndex,
    plan: Plan,
    findings: Findings,
    claims: Claims,
    against_orders: AgainstOrders | None = None,
) -> None:
    """Note where the status contradicts the rest of the plan."""
    planned = plan.status in PLANNED
    if planned and index.buffers and not plan.placements:
        findings.add(Code.STATUS, "the status is {} but no buffer has a place", plan.status.value)
    if not planned and (plan.placements or plan.pools or plan.objective):
        findings.add(
            Code.STATUS, "the status is {}: it has no placements, pools or objective", plan.status.value
        )
    if planned:
        proven = all(claim.bound == claim.value for claim in plan.objective)
        if proven != (plan.status is Status.OPTIMAL):
            findings.add(
                Code.STATUS,
                "the status is {} but {} of the objective is proven",
                plan.status.value,
                "all" if proven else "not all",
            )
    check_explanation(index, plan, findings, claims, against_orders)
    _check_closest(index, plan, findings, claims)


def _check_closest(index: ProblemIndex, plan: Plan, findings: Findings, claims: Claims) -> None:
    if plan.closest and plan.status in PLANNED:
        findings.add(Code.CLOSEST, "there is a plan, and a closest attempt that did not fit")
    named: set[str] = set()
    for overflow in plan.closest:
        before = findings.total
        pool = index.pool_index.get(overflow.pool)
        if pool is None or overflow.pool in named:
            findings.add(
                Code.CLOSEST, "{!r} is not a pool, or is named twice", overflow.pool, pool=overflow.pool
            )
        elif overflow.capacity != index.pools[pool].capacity or overflow.peak <= overflow.capacity:
            findings.add(
                Code.CLOSEST,
                "a peak of {} in {!r} is not an overflow: its capacity is {}",
                overflow.peak,
                overflow.pool,
                "unlimited" if index.pools[pool].capacity is None else index.pools[pool].capacity,
                pool=overflow.pool,
            )
        named.add(overflow.pool)
        says = f"the closest attempt needs {overflow.peak:,} bytes of {overflow.pool!r}"
        holds = findings.total == before and plan.status not in PLANNED
        claims.claimed(Subject.CLOSEST, overflow.pool, says, None, holds)


def check_pools(
    index: ProblemIndex, plan: Plan, values: ObjectiveValues, findings: Findings, claims: Claims
) -> dict[int, PoolUse]:
    """Compare capacities and peaks; return the pools of the plan, whose live bytes are compared later."""
    uses: dict[int, PoolUse] = {}
    planned = plan.status in PLANNED
    for use in plan.pools:
        pool = index.pool_index.get(use.pool)
        if pool is None or pool in uses:
            findings.add(Code.POOL_USE, "{!r} is not a pool, or is named twice", use.pool, pool=use.pool)
            continue
        uses[pool] = use
        before = findings.total
        _check_use(index, use, values.peaks[pool] if planned else None, findings)
        says = use_in_words(use.pool, use.capacity, use.peak)
        claims.counted(Subject.POOL, use.pool, says, findings.total == before and planned)
        if planned:
            before = findings.total
            said_by = _said_by(index, plan, use)
            _check_pool_bound(index, use, said_by, findings)
            _say_pool_bound(use, said_by, findings.total == before, claims)
    if planned:
        for pool, it in enumerate(index.pools):
            if pool not in uses:
                findings.add(Code.POOL_USE, "the plan does not say how {!r} is used", it.id, pool=it.id)
    return uses


def _capacity(capacity: int | None) -> str:
    return "unlimited" if capacity is None else f"{capacity:,}"


def _check_use(index: ProblemIndex, use: PoolUse, peak: int | None, findings: Findings) -> None:
    capacity = index.pools[index.pool_index[use.pool]].capacity
    if use.capacity != capacity:
        findings.add(
            Code.CAPACITY,
            "the capacity of {!r} is {}, not {}",
            use.pool,
            _capacity(capacity),
            _capacity(use.capacity),
            pool=use.pool,
        )
    if peak is not None and use.peak != peak:
        findings.add(Code.PEAK, "the peak of {!r} is {}, not {}", use.pool, peak, use.peak, pool=use.pool)


def _said_by(index: ProblemIndex, plan: Plan, use: PoolUse) -> TermValue | None:
    """The first term, where it is the peak of this pool."""
    first = plan.objective[0] if plan.objective else None
    term = None if first is None else parse_term(first.term)
    return first if term is not None and term.is_peak_of(use.pool, len(index.pools)) else None


def _say_pool_bound(use: PoolUse, said_by: TermValue | None, holds: bool, claims: Claims) -> None:
    says = f"no plan has a peak below {use.bound:,} in {use.pool!r}"
    if holds and use.bound and use.certificate is None and said_by is not None:
        claims.resting(Subject.POOL_BOUND, use.pool, says, (Subject.BOUND, said_by.term))
    elif use.bound:
        kind = "counted" if use.certificate is None else use.certificate.kind
        claims.proven(Subject.POOL_BOUND, use.pool, says, kind, holds)


def _check_pool_bound(
    index: ProblemIndex, use: PoolUse, said_by: TermValue | None, findings: Findings
) -> None:
    """A bound has a certificate of its own, or the one that the objective has for the same bound."""
    if use.bound > use.peak:
        findings.add(
            Code.POOL_BOUND,
            "the bound {} of {!r} is above its peak {}",
            use.bound,
            use.pool,
            use.peak,
            pool=use.pool,
        )
        return
    if said_by is not None and use.certificate is None:
        if use.bound > said_by.bound:
            findings.add(
                Code.POOL_BOUND,
                "the bound {} of {!r} is above the bound {} of {}",
                use.bound,
                use.pool,
                said_by.bound,
                said_by.term,
                pool=use.pool,
            )
        return
    reason = _against_pool_bound(index, use)
    if reason is not None:
        code = Code.UNCERTIFIED if use.certificate is None else Code.CERTIFICATE
        findings.add(
            code,
            "nothing proves that the peak of {!r} is at least {}: {}",
            use.pool,
            use.bound,
            reason,
            pool=use.pool,
        )


def _against_pool_bound(index: ProblemIndex, use: PoolUse) -> str | None:
    if use.certificate is None:
        return "it has no certificate" if use.bound else None
    return reason_against(index, peak_of(use.pool), use.bound, use.certificate, cheapest_only=False)


def check_objective(
    index: ProblemIndex,
    plan: Plan,
    values: ObjectiveValues,
    findings: Findings,
    claims: Claims,
    against_orders: AgainstOrders | None,
    cost: CostTerm | None = None,
    search_steps: int = 0,
) -> None:
    """Compare terms, values, bounds and gaps, and judge the certificates.

    `search_steps`: that a search of windows may take.
    """
    claimed = tuple(claim.term for claim in plan.objective)
    terms = expected_terms(index.problem.terms(), claimed, cost)
    if claimed != terms:
        findings.add(Code.TERMS, "the objective is [{}], not [{}]", ", ".join(terms), ", ".join(claimed[:20]))
        return
    proofs = Proofs(index, plan.objective, against_orders, cost, search_steps)
    for position, claim in enumerate(plan.objective):
        before = findings.total
        value = values.value(claim.term)
        _check_value(claim, value, values, findings)
        gap = gap_of(claim.value, claim.bound)
        if claim.gap != gap:
            findings.add(Code.GAP, "the gap of {} is {}, not {}", claim.term, gap, claim.gap)
        _say_value(claim, value, findings.total == before, claims)
        before = findings.total
        _check_bound(claim, proofs.reason_against(position), findings)
        _say_bound(claim, findings.total == before, position not in proofs.unchecked, claims)


def _check_bound(claim: TermValue, reason: str | None, findings: Findings) -> None:
    if claim.bound > claim.value:
        findings.add(
            Code.BOUND, "the bound {} of {} is above its value {}", claim.bound, claim.term, claim.value
        )
    if claim.certificate is None and claim.bound > 0:
        findings.add(Code.UNCERTIFIED, "nothing says why {} is at least {}", claim.term, claim.bound)
    if reason is not None:
        findings.add(
            Code.CERTIFICATE,
            "the certificate does not prove that {} is at least {}: {}",
            claim.term,
            claim.bound,
            reason,
        )


def _say_value(claim: TermValue, value: int | None, holds: bool, claims: Claims) -> None:
    says = f"{claim.term} is {claim.value:,}"
    if value is None:
        claims.claimed(Subject.VALUE, claim.term, says, None, holds)
    else:
        claims.counted(Subject.VALUE, claim.term, says, holds)


def _say_bound(claim: TermValue, holds: bool, checked: bool, claims: Claims) -> None:
    if not claim.bound:
        return
    says = f"no plan has {claim.term} below {claim.bound:,}"
    author = by_word_of(claim.certificate, checked=checked)
    if author is not None or not checked:
        claims.claimed(Subject.BOUND, claim.term, says, author, holds)
    else:
        kind = "counted" if claim.certificate is None else claim.certificate.kind
        claims.proven(Subject.BOUND, claim.term, says, kind, holds)


def _check_value(claim: TermValue, value: int | None, values: ObjectiveValues, findings: Findings) -> None:
    if value is not None:
        if claim.value != value:
            findings.add(Code.VALUE, "{} is {}, not {}", claim.term, value, claim.value)
        return
    greatest = values.greatest(claim.term)
    if greatest is not None and claim.value > greatest:
        findings.add(Code.VALUE, "{} is at most {}, not {}", claim.term, greatest, claim.value)
