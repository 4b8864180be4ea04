"""Refutes claims that cannot be counted again (a bound, that nothing fits) by layouts of the judge's own.

In: the open claims of a plan. Out: those that a layout contradicts, as violations. Layouts are made by
stacking all buffers, then by first fit in several orders, and count only if the judge finds them valid.
Where none contradicts a claim, the claim stays open.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from memstow.planner.model.objective import Term, terms_of
from memstow.planner.model.plan import PLANNED, Plan, TermValue
from memstow.planner.verify.cost_term import CostTerm
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.layout import Layout, check_places
from memstow.planner.verify.objective_values import ObjectiveValues
from memstow.planner.verify.overlaps import check_overlaps
from memstow.planner.verify.packing import Body, Packing, Prefer, Steps, bodies
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.verdict import Claim, Claims, Subject

MOST_BUFFERS: Final = 100_000
"""For more buffers no layout is made: it would take as long as the whole judgement."""
MOST_STEPS: Final = 1_000_000
"""Rounds of the innermost loop over all layouts for one plan: a fraction of a second."""


def refute_claims(
    index: ProblemIndex,
    plan: Plan,
    hint: Plan | None,
    claims: Claims,
    findings: Findings,
    cost: CostTerm | None = None,
) -> None:
    """Refute the open claims that a valid layout of the judge contradicts."""
    open_claims = claims.only_claimed()
    if not open_claims or len(index.buffers) > MOST_BUFFERS:
        return
    steps = Steps(MOST_STEPS)
    if any(claim.subject is Subject.NOTHING_FITS for claim in open_claims):
        _refute_misfit(index, plan, steps, claims, findings)
    bounds = [claim for claim in open_claims if claim.subject is Subject.BOUND]
    if bounds:
        _refute_bounds(index, plan, hint, bounds, steps, claims, findings, cost)


def _refute_misfit(index: ProblemIndex, plan: Plan, steps: Steps, claims: Claims, findings: Findings) -> None:
    """Lay out the buffers named by the explanation, or all buffers if it names none."""
    named = plan.explanation.buffers if plan.explanation is not None else ()
    chosen = [index.buffer_index[name] for name in named] or range(len(index.buffers))
    if next(_layouts(index, plan, (), bodies(index, chosen), steps), None) is not None:
        claims.refute(Subject.NOTHING_FITS, None)
        findings.add(
            Code.EXPLANATION,
            "the explanation does not show that nothing fits: the judge has found places for {}",
            "these buffers" if named else "all buffers",
        )


def _refute_bounds(
    index: ProblemIndex,
    plan: Plan,
    hint: Plan | None,
    open_claims: Sequence[Claim],
    steps: Steps,
    claims: Claims,
    findings: Findings,
    cost: CostTerm | None,
) -> None:
    waiting = {claim.name for claim in open_claims}
    everything = bodies(index, range(len(index.buffers)))
    terms = terms_of(index.problem)
    for layout in _layouts(index, plan, terms, everything, steps):
        values = ObjectiveValues(index, layout, hint, cost)
        for claim in plan.objective:
            value = values.value(claim.term)
            if value is not None and value < claim.bound and claim.term in waiting:
                _note(claim, value, claims, findings)
                waiting.remove(claim.term)
            # A bound holds for plans that are worth the same in the terms before.
            if value != claim.value:
                break
        if not waiting:
            return


def _note(claim: TermValue, value: int, claims: Claims, findings: Findings) -> None:
    claims.refute(Subject.BOUND, claim.term)
    findings.add(
        Code.CERTIFICATE,
        "the bound {} of {} is too high: the judge has found a plan with {}",
        claim.bound,
        claim.term,
        value,
    )


def _layouts(
    index: ProblemIndex, plan: Plan, terms: Sequence[Term], chosen: Sequence[Body], steps: Steps
) -> Iterator[Layout]:
    """Valid layouts of these bodies."""
    preferences = _preferences(index, terms)
    for prefer in preferences:
        yield from _valid(index, Packing(index, steps).place_all(chosen, prefer, stacked=True))
    # Each body is compared with those in its pool: where there are no steps for that, none are wasted.
    if len(chosen) ** 2 // (2 * len(index.pools)) > steps.left:
        return
    for order in _orders(index, plan, chosen):
        for prefer in preferences:
            yield from _valid(index, Packing(index, steps).place_all(order, prefer, stacked=False))


def _orders(index: ProblemIndex, plan: Plan, chosen: Sequence[Body]) -> Iterator[Sequence[Body]]:
    """Orders to place bodies in: as in the plan from below, by size, by length of life, by begin of life."""
    by_size = sorted(chosen, key=lambda body: -body.bytes)
    lives = {i: index.lives(i) for body in chosen for i in body.members}
    if plan.status in PLANNED:
        place_of = {place.buffer: place.offset for place in plan.placements}
        yield sorted(by_size, key=lambda body: place_of.get(index.id_of(body.members[0]), 0))
    yield by_size
    yield sorted(
        by_size,
        key=lambda body: -max(end - begin for i in body.members for begin, end in lives[i] or [(0, 0)]),
    )
    yield sorted(
        by_size, key=lambda body: min(begin for i in body.members for begin, _ in lives[i] or [(0, 0)])
    )


def _preferences(index: ProblemIndex, terms: Sequence[Term]) -> list[Prefer]:
    """Ways to choose a pool: the lowest end, the cheapest pool, any pool but one whose peak is a term."""
    if len(index.pools) == 1:
        return [lambda _, end: end]
    cost = [pool.cost for pool in index.pools]
    found: list[Prefer] = [lambda _, end: end, lambda pool, _: cost[pool]]
    for term in terms:
        if term.pool is not None:
            counted = index.pool_index[term.pool]
            found.append(lambda pool, _, counted=counted: int(pool == counted))  # type: ignore[misc]
    return found


def _valid(index: ProblemIndex, layout: Layout | None) -> Iterator[Layout]:
    """The layout if the judge finds no violation, else nothing."""
    if layout is None:
        return
    findings = Findings()
    check_places(index, layout, findings)
    check_overlaps(index, layout, findings)
    if not findings.total:
        yield layout
