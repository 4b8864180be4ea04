"""Judges a plan of a problem: places, overlaps, live bytes, and what the plan claims of itself.

In: a problem and a plan. Out: a verdict, with all violations, and for each claim its standing.
`judge_problem`, at the end, goes through it all. Before it stand the checks of what is claimed: of the
explanation, the pools and the objective, and of the certificates of their bounds.

`Proofs.reason_against` says in one sentence why a certificate does not prove its bound, or returns None. Of
explanations, bytes needed at one moment (`over_capacity`) and buffers without a place (`no_place`) are
counted again. The work of a search or a solver cannot be repeated here: it stays a claim, which is compared
with the rest of the plan.
"""

from collections.abc import Sequence
from typing import Protocol

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import digest
from memstow.planner.model.plan import (
    Certificate,
    Crowds,
    Cut,
    Exhausted,
    ExhaustedWindow,
    Explanation,
    Least,
    LiveBytes,
    Model,
    Plan,
    PoolUse,
    RefutedOrders,
    Sum,
    TermValue,
    gap_of,
    is_bare,
    repeated_placements,
)
from memstow.planner.model.problem import (
    COST,
    PEAK,
    PLACEMENT_COST,
    Kind,
    Problem,
    access_counts,
    measure,
    parse_term,
    peak_of,
)
from memstow.planner.verify.bank_bounds import reason_against_crowds
from memstow.planner.verify.layout import Layout, ObjectiveValues, ProblemIndex, check_places, expected_terms
from memstow.planner.verify.overlaps import Swept, check_overlaps
from memstow.planner.verify.peak_bounds import (
    EmptyPools,
    against_misfit,
    reason_against,
    reason_against_window,
)
from memstow.planner.verify.verdict import (
    STEPS_IN_A_RUN,
    STEPS_OF_A_VERDICT,
    AgainstOrders,
    Claims,
    Code,
    Findings,
    GraphFacts,
    Subject,
    TooMuch,
    Verdict,
    Violation,
    live_in_words,
    use_in_words,
)
from memstow.records import record

COUNTED_AGAIN = frozenset({"over_capacity", "no_place"})
"""Codes of explanations that the judge can check by counting."""
NO_ORDER = "no_order"
"""The code of the explanation that in each order of a graph too many bytes are live."""
GROUP_POOLS = "group_pools"
"""The code of the issue that buffers which are tied together have no pool in common."""
_ABOUT_BUFFERS = COUNTED_AGAIN | {"no_layout"}


def check_explanation(index: ProblemIndex, plan: Plan, findings: Findings, claims: Claims) -> None:
    """Note where the explanation is missing, out of place, or false."""
    explanation, against_orders = plan.explanation, claims.graph.against_orders
    if explanation is None:
        if plan.status is Status.INFEASIBLE:
            findings.add(Code.EXPLANATION, "the plan is infeasible and does not say why")
            claims.claimed(Subject.NOTHING_FITS, None, "nothing fits (nothing)", plan.prover, holds=False)
        return
    before = findings.total
    _check_statements(index, plan, explanation, findings)
    code = explanation.code[:64]
    kind = code if code in COUNTED_AGAIN else None
    if explanation.certificate is not None:
        counted = _check_orders(index, explanation, explanation.certificate, findings, against_orders)
        kind = explanation.certificate.kind if counted else None
    elif explanation.code == NO_ORDER and (against_orders is None or len(index.pools) != 1):
        message = "the explanation is about the orders of a graph of one pool, and this is none"
        findings.add(Code.EXPLANATION, message)
    holds = findings.total == before
    says = f"nothing fits ({code})"
    if claims.graph.has_other_schedules and kind in COUNTED_AGAIN:
        says = f"nothing fits ({code}, which is counted for this schedule alone)"
        kind = None
    if kind is not None:
        claims.proven(Subject.NOTHING_FITS, None, says, kind, holds)
    else:
        claims.claimed(Subject.NOTHING_FITS, None, says, plan.prover, holds)


def _check_statements(index: ProblemIndex, plan: Plan, explanation: Explanation, findings: Findings) -> None:
    """Note what the explanation says of buffers, pools and bytes that is not so."""
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
    pool = None if explanation.pool is None else index.pool_index.get(explanation.pool)
    if explanation.pool is not None and pool is None:
        message = "the explanation names {!r}, which is not a pool"
        findings.add(Code.EXPLANATION, message, explanation.pool, pool=explanation.pool)
    elif pool is not None:
        for what, claimed, true in (
            ("bytes", explanation.capacity, index.pools[pool].capacity),
            ("reserved bytes", explanation.reserved, measure(index.reserved[pool])),
        ):
            if claimed not in (None, true):
                findings.add(
                    Code.EXPLANATION,
                    "the explanation says that {!r} has {} {}, not {}",
                    explanation.pool,
                    claimed,
                    what,
                    "unlimited" if true is None else true,
                    pool=explanation.pool,
                )
    needed, capacity = explanation.needed, explanation.capacity
    if needed is not None and capacity is not None and needed <= capacity:
        findings.add(Code.EXPLANATION, "the explanation needs {} bytes and has {}", needed, capacity)
    if explanation.code == "no_place" and (explanation.time, needed) != (None, None):
        findings.add(Code.EXPLANATION, "that a buffer has no place is so at any time and whatever is needed")
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
        graph: GraphFacts,
        search_steps: int,
        least_cost: int | None = None,
    ) -> None:
        """`least_cost`: of all placements, where the index knows a part of the buffers alone."""
        windows = sum(isinstance(claim.certificate, ExhaustedWindow) for claim in claims)
        # The verdict has so many steps in all, however many windows there are.
        self._search_steps = search_steps // max(windows, 1)
        self._graph = graph
        self._index = index
        self._claims = claims
        self._least_cost = least_cost
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
                # An earlier term may say that every buffer is in its cheapest pool.
                cheapest_only = any(
                    parse_term(earlier.term) == PLACEMENT_COST and earlier.value == self._least(earlier.term)
                    for earlier in self._claims[:position]
                )
                return reason_against(self._index, term, claim.bound, certificate, cheapest_only)
            case Least():
                least = self._least(claim.term)
                if least < claim.bound:
                    return f"the least each can have alone adds up to {least:,}"
            case Crowds() as certificate:
                term = parse_term(claim.term)
                if term is None or term.kind is not Kind.BANK_COST:
                    return f"crowds say nothing about {claim.term!r}"
                return reason_against_crowds(self._index, claim.bound, certificate)
            case Exhausted() as certificate:
                if not certificate.solver:
                    return "the solver has no name"
                if not certificate.refuted:
                    return None if claim.bound == 0 else "no height was refuted"
                if any(refuted.nodes < 1 for refuted in certificate.refuted):
                    return "a height was refuted without a single node"
                highest = max(refuted.height for refuted in certificate.refuted)
                if highest != claim.bound - 1:
                    return f"{highest:,} is the highest value refuted, not {claim.bound - 1:,}"
            case ExhaustedWindow() as certificate:
                term = parse_term(claim.term)
                if term is None:
                    return f"a window says nothing about {claim.term!r}"
                try:
                    return reason_against_window(
                        self._index, term, claim.bound, certificate, self._search_steps
                    )
                except TooMuch:
                    self.unchecked.add(position)
                    return None
            case Cut() | RefutedOrders() as certificate:
                if self._graph.against_orders is None:
                    return "it is about the orders of a graph"
                term = parse_term(claim.term)
                pools = self._index.pools
                if len(pools) != 1 or term is None or not term.is_peak_of(pools[0].id, 1):
                    return "it is about the peak of a single pool"
                try:
                    return self._graph.against_orders(claim.bound, certificate)
                except TooMuch:
                    self.unchecked.add(position)
                    return None
            case Model() as certificate:
                return None if certificate.solver else "the solver has no name"
        return None

    def _least(self, term: str) -> int:
        if term == COST and self._graph.cost is not None:
            return self._graph.cost.least
        if parse_term(term) != PLACEMENT_COST:
            return 0
        if self._least_cost is None:
            index, total = self._index, 0
            costs = [pool.cost for pool in index.pools]
            kinds: Sequence[tuple[str, ...] | int | None]
            if index.columns is not None and not index.rigid.members:
                kinds = index.columns.kinds
            else:
                kinds = list(map(index.pool_kind, range(len(index.buffers))))
            cheapest: dict[tuple[str, ...] | int | None, int] = {}
            for i, (kind, accesses) in enumerate(zip(kinds, access_counts(index.problem), strict=True)):
                if accesses:
                    if kind not in cheapest:
                        cheapest[kind] = min((costs[pool] for pool in index.allowed(i)), default=0)
                    total += accesses * cheapest[kind]
            self._least_cost = total
        return self._least_cost


def check_status(index: ProblemIndex, plan: Plan, findings: Findings, claims: Claims) -> None:
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
    check_explanation(index, plan, findings, claims)
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


class Values(Protocol):
    """The values of a plan, counted again."""

    @property
    def peaks(self) -> Sequence[int]:
        """By pool."""

    @property
    def least_cost(self) -> int | None:
        """The least placement cost of any plan; None where that is to be counted when it is needed."""

    def value(self, text: str) -> int | None:
        """The value of the term; None where it cannot be counted."""

    def greatest(self, text: str) -> int | None:
        """An upper limit of a term whose value cannot be counted."""


@record
class Counted:
    """What native code has counted of a plan with the usual objective."""

    peaks: Sequence[int]
    cost: int
    least_cost: int

    def value(self, text: str) -> int | None:
        """The value of the term."""
        return {str(PEAK): sum(self.peaks), str(PLACEMENT_COST): self.cost}.get(text)

    def greatest(self, text: str) -> int | None:  # noqa: ARG002
        """Nothing is known of other terms."""
        return None


def judge_claims(named: Problem, plan: Plan, counted: Counted) -> list[Violation]:
    """What is wrong with the claims of a plan whose places and values were counted already.

    `named`: the problem, at least with the buffers that certificates name, and with what is between these.
    """
    findings, claims = Findings(), Claims(plan)
    index = ProblemIndex(named, findings)
    if not findings.total:
        check_pools(index, plan, counted, findings, claims)
        check_objective(index, plan, counted, findings, claims, STEPS_IN_A_RUN)
    return findings.violations()


def check_pools(
    index: ProblemIndex, plan: Plan, values: Values, findings: Findings, claims: Claims
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
        capacity = index.pools[pool].capacity
        if use.capacity != capacity:
            findings.add(
                Code.CAPACITY,
                "the capacity of {!r} is {}, not {}",
                use.pool,
                _capacity(capacity),
                _capacity(use.capacity),
                pool=use.pool,
            )
        peak = values.peaks[pool]
        if planned and use.peak != peak:
            findings.add(Code.PEAK, "the peak of {!r} is {}, not {}", use.pool, peak, use.peak, pool=use.pool)
        says = use_in_words(use.pool, use.capacity, use.peak)
        claims.counted(Subject.POOL, use.pool, says, findings.total == before and planned)
        if planned:
            before = findings.total
            # The first term, where it is the peak of this pool.
            first = plan.objective[0] if plan.objective else None
            term = None if first is None else parse_term(first.term)
            said_by = first if term is not None and term.is_peak_of(use.pool, len(index.pools)) else None
            _check_pool_bound(index, use, said_by, findings)
            holds = findings.total == before
            says = f"no plan has a peak below {use.bound:,} in {use.pool!r}"
            if holds and use.bound and use.certificate is None and said_by is not None:
                claims.resting(Subject.POOL_BOUND, use.pool, says, (Subject.BOUND, said_by.term))
            elif use.bound:
                kind = "counted" if use.certificate is None else use.certificate.kind
                claims.proven(Subject.POOL_BOUND, use.pool, says, kind, holds)
    if planned:
        for pool, entry in enumerate(index.pools):
            if pool not in uses:
                findings.add(Code.POOL_USE, "the plan does not say how {!r} is used", entry.id, pool=entry.id)
    return uses


def _capacity(capacity: int | None) -> str:
    return "unlimited" if capacity is None else f"{capacity:,}"


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
    reason = None
    if use.certificate is not None:
        reason = reason_against(index, peak_of(use.pool), use.bound, use.certificate, cheapest_only=False)
    elif use.bound:
        reason = "it has no certificate"
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


def check_objective(
    index: ProblemIndex,
    plan: Plan,
    values: Values,
    findings: Findings,
    claims: Claims,
    search_steps: int,
) -> None:
    """Compare terms, values, bounds and gaps, and judge the certificates.

    `search_steps`: that a search of windows may take.
    """
    claimed = tuple(claim.term for claim in plan.objective)
    terms = expected_terms(index.problem.terms(), claimed, claims.graph.cost)
    if claimed != terms:
        findings.add(Code.TERMS, "the objective is [{}], not [{}]", ", ".join(terms), ", ".join(claimed[:20]))
        return
    proofs = Proofs(index, plan.objective, claims.graph, search_steps, values.least_cost)
    for position, claim in enumerate(plan.objective):
        before = findings.total
        value = values.value(claim.term)
        if value is not None:
            if claim.value != value:
                findings.add(Code.VALUE, "{} is {}, not {}", claim.term, value, claim.value)
        else:
            greatest = values.greatest(claim.term)
            if greatest is not None and claim.value > greatest:
                findings.add(Code.VALUE, "{} is at most {}, not {}", claim.term, greatest, claim.value)
        gap = gap_of(claim.value, claim.bound)
        if claim.gap != gap:
            findings.add(Code.GAP, "the gap of {} is {}, not {}", claim.term, gap, claim.gap)
        holds = findings.total == before
        says = f"{claim.term} is {claim.value:,}"
        if value is None:
            claims.claimed(Subject.VALUE, claim.term, says, None, holds)
        else:
            claims.counted(Subject.VALUE, claim.term, says, holds)
        before = findings.total
        reason = proofs.reason_against(position)
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
        if not claim.bound:
            continue
        holds, checked = findings.total == before, position not in proofs.unchecked
        says = f"no plan has {claim.term} below {claim.bound:,}"
        author = by_word_of(claim.certificate, checked=checked)
        if author is not None or not checked:
            claims.claimed(Subject.BOUND, claim.term, says, author, holds)
        else:
            kind = "counted" if claim.certificate is None else claim.certificate.kind
            claims.proven(Subject.BOUND, claim.term, says, kind, holds)


def judge_problem(
    problem: Problem, plan: Plan, hint: Plan | None, refutes: bool, claims: Claims | None = None
) -> Verdict:
    """The verdict; `refutes`: test what cannot be counted. `claims`: where some were judged before.

    Everything that can be counted is, and windows are searched for as long as it is worth.
    """
    findings = Findings()
    claims = Claims(plan) if claims is None else claims
    index = ProblemIndex(problem, findings)
    if findings.total:
        return Verdict(tuple(findings.violations()), claims.settled())
    if plan.digest is not None and plan.digest != digest(problem):
        findings.add(Code.DIGEST, "the plan is for another problem: its digest is {}", plan.digest[:64])
    bare, planned = is_bare(plan), plan.status in PLANNED
    if not bare:
        check_status(index, plan, findings, claims)
    layout = Layout(index)
    before = findings.total
    if planned or plan.placements:
        layout.read(plan.placements, findings)
    check_places(index, layout, findings)
    swept = check_overlaps(index, layout, findings)
    if planned:
        says = "every buffer has a place, and no two that conflict share a byte"
        claims.counted(Subject.PLACES, None, says, findings.total == before)
    if bare:
        return Verdict(tuple(findings.violations()), claims.settled())
    if hint is not None and any(repeated_placements(hint.placements)):
        hint = None
    values = ObjectiveValues(index, layout, hint, claims.graph.cost)
    uses = check_pools(index, plan, values, findings, claims)
    if planned:
        for pool, use in uses.items():
            _check_live(swept[pool], use, findings, claims)
        steps = STEPS_OF_A_VERDICT if refutes else STEPS_IN_A_RUN
        check_objective(index, plan, values, findings, claims, steps)
    if refutes:
        # Imported late: plans of a run are not tested this way.
        from memstow.planner.verify.refutation import refute_claims

        refute_claims(index, plan, hint, claims, findings)
    return Verdict(tuple(findings.violations()), claims.settled())


def _check_live(swept: Swept, use: PoolUse, findings: Findings, claims: Claims) -> None:
    """Compare the live bytes of a pool with the most that are occupied at one moment, and its first such."""
    live, pressure = use.live, swept.pressure
    says = live_in_words(use.pool, live)
    if pressure is None:
        # The sweep ended at too many overlaps.
        claims.claimed(Subject.LIVE, use.pool, says, None, holds=True)
        return
    most, first = pressure.bytes, pressure.time
    if pressure.shared:
        most, first = swept.lives.most_occupied()
    holds = (live.bytes, live.time) == (most, first)
    claims.counted(Subject.LIVE, use.pool, says, holds)
    if not holds:
        findings.add(
            Code.LIVE,
            "{!r} has at most {} live bytes, first at {}, not {} at {}",
            use.pool,
            most,
            first,
            live.bytes,
            live.time,
            pool=use.pool,
        )
