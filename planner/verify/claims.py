"""What the plan says about itself: status, pools, objective; each figure against our own."""

from planner.plan import PLANNED, Plan, PoolUse, Status, TermValue, gap_of
from planner.verify.certificates import Proofs
from planner.verify.explanations import check_explanation
from planner.verify.facts import PEAK_OF, Facts
from planner.verify.figures import Figures
from planner.verify.findings import Code, Findings
from planner.verify.live_bytes import reason_against


def check_status(facts: Facts, plan: Plan, findings: Findings) -> None:
    """Note where the status contradicts what else is there."""
    planned = plan.status in PLANNED
    if planned and facts.buffers and not plan.placements:
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
    check_explanation(facts, plan, findings)
    _check_closest(facts, plan, findings)


def _check_closest(facts: Facts, plan: Plan, findings: Findings) -> None:
    if plan.closest and plan.status in PLANNED:
        findings.add(Code.CLOSEST, "there is a plan, and a closest attempt that did not fit")
    named: set[str] = set()
    for overflow in plan.closest:
        pool = facts.pool_index.get(overflow.pool)
        if pool is None or overflow.pool in named:
            findings.add(Code.CLOSEST, "{!r} is no pool, or named twice", overflow.pool, pool=overflow.pool)
        elif overflow.capacity != facts.pools[pool].capacity or overflow.peak <= overflow.capacity:
            findings.add(
                Code.CLOSEST,
                "a peak of {} in {!r} is no overflow: its capacity is {}",
                overflow.peak,
                overflow.pool,
                "unlimited" if facts.pools[pool].capacity is None else facts.pools[pool].capacity,
                pool=overflow.pool,
            )
        named.add(overflow.pool)


def check_pools(facts: Facts, plan: Plan, figures: Figures, findings: Findings) -> dict[int, PoolUse]:
    """Compare pools and peaks; the claims about each pool, to compare its live bytes with."""
    claims: dict[int, PoolUse] = {}
    planned = plan.status in PLANNED
    for use in plan.pools:
        pool = facts.pool_index.get(use.pool)
        if pool is None or pool in claims:
            findings.add(Code.POOL_USE, "{!r} is no pool, or named twice", use.pool, pool=use.pool)
            continue
        claims[pool] = use
        capacity = facts.pools[pool].capacity
        if use.capacity != capacity:
            findings.add(
                Code.CAPACITY,
                "the capacity of {!r} is {}, not {}",
                use.pool,
                "unlimited" if capacity is None else capacity,
                "unlimited" if use.capacity is None else use.capacity,
                pool=use.pool,
            )
        if planned and use.peak != figures.peaks[pool]:
            findings.add(
                Code.PEAK,
                "the peak of {!r} is {}, not {}",
                use.pool,
                figures.peaks[pool],
                use.peak,
                pool=use.pool,
            )
        if planned and use.bound > use.peak:
            findings.add(
                Code.POOL_BOUND,
                "the bound {} of {!r} is above its peak {}",
                use.bound,
                use.pool,
                use.peak,
                pool=use.pool,
            )
        elif planned:
            _check_pool_bound(facts, plan, use, findings)
    if planned:
        for pool, it in enumerate(facts.pools):
            if pool not in claims:
                findings.add(Code.POOL_USE, "the plan does not say how {!r} is used", it.id, pool=it.id)
    return claims


def _check_pool_bound(facts: Facts, plan: Plan, use: PoolUse, findings: Findings) -> None:
    """A bound has a certificate of its own, or the one that the objective has for the same bound."""
    first = plan.objective[0] if plan.objective else None
    alone = len(facts.pools) == 1 and first is not None and first.term in ("peak", "max_peak")
    if first is not None and (alone or first.term == PEAK_OF + use.pool):
        if use.bound > first.bound:
            findings.add(
                Code.POOL_BOUND,
                "the bound {} of {!r} is above the bound {} of {}",
                use.bound,
                use.pool,
                first.bound,
                first.term,
                pool=use.pool,
            )
            return
        if use.certificate is None:
            return
    reason = _against_pool_bound(facts, use)
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


def _against_pool_bound(facts: Facts, use: PoolUse) -> str | None:
    if not use.bound:
        return None
    if use.certificate is None:
        return "it has no certificate"
    return reason_against(facts, PEAK_OF + use.pool, use.bound, use.certificate, cheapest_only=False)


def check_objective(facts: Facts, plan: Plan, figures: Figures, findings: Findings) -> None:
    """Compare terms, values, bounds and gaps, and judge the certificates."""
    terms = facts.problem.terms()
    claimed = tuple(claim.term for claim in plan.objective)
    if claimed != terms:
        findings.add(Code.TERMS, "the objective is [{}], not [{}]", ", ".join(terms), ", ".join(claimed[:20]))
        return
    proofs = Proofs(facts, plan.objective)
    for position, claim in enumerate(plan.objective):
        _check_value(claim, figures, findings)
        if claim.bound > claim.value:
            findings.add(
                Code.BOUND, "the bound {} of {} is above its value {}", claim.bound, claim.term, claim.value
            )
        gap = gap_of(claim.value, claim.bound)
        if claim.gap != gap:
            findings.add(Code.GAP, "the gap of {} is {}, not {}", claim.term, gap, claim.gap)
        if claim.certificate is None:
            if claim.bound > 0:
                findings.add(Code.UNCERTIFIED, "nothing says why {} is at least {}", claim.term, claim.bound)
            continue
        reason = proofs.reason_against(position)
        if reason is not None:
            findings.add(
                Code.CERTIFICATE,
                "the certificate does not prove that {} is at least {}: {}",
                claim.term,
                claim.bound,
                reason,
            )


def _check_value(claim: TermValue, figures: Figures, findings: Findings) -> None:
    value = figures.value(claim.term)
    greatest = figures.greatest(claim.term)
    if value is not None and claim.value != value:
        findings.add(Code.VALUE, "{} is {}, not {}", claim.term, value, claim.value)
    elif value is None and greatest is not None and claim.value > greatest:
        findings.add(Code.VALUE, "{} is at most {}, not {}", claim.term, greatest, claim.value)
