"""What the judge holds against claims that nobody can count: layouts of its own.

Everything in a row, as if all lived together; then the lowest free place for each, in several orders. What is
found is judged like any plan before it says anything. Where none is found, nothing is said.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from memstow.planner.model.objective import Term, terms_of
from memstow.planner.model.plan import PLANNED, Plan, TermValue
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.layout import Layout
from memstow.planner.verify.lifetimes import Lives
from memstow.planner.verify.objective_values import Figures
from memstow.planner.verify.overlaps import Sweep, check_conflicts
from memstow.planner.verify.packing import Body, Packing, Prefer, Steps, bodies
from memstow.planner.verify.places import check_distances, check_places
from memstow.planner.verify.problem_index import Facts
from memstow.planner.verify.verdict import Claim, Claims, Subject

MOST_BUFFERS: Final = 100_000
"""For more buffers no layout is made: it would take as long as all the rest."""
MOST_STEPS: Final = 1_000_000
"""Rounds of the innermost loop, over all attempts for one plan: a fraction of a second."""


def refute_claims(facts: Facts, plan: Plan, hint: Plan | None, claims: Claims, findings: Findings) -> None:
    """Note where a layout of our own shows that a claim is not so."""
    open_claims = claims.only_claimed()
    if not open_claims or len(facts.buffers) > MOST_BUFFERS:
        return
    steps = Steps(MOST_STEPS)
    if any(claim.subject is Subject.NOTHING_FITS for claim in open_claims):
        _refute_misfit(facts, plan, steps, claims, findings)
    bounds = [claim for claim in open_claims if claim.subject is Subject.BOUND]
    if bounds:
        _refute_bounds(facts, plan, hint, bounds, steps, claims, findings)


def _refute_misfit(facts: Facts, plan: Plan, steps: Steps, claims: Claims, findings: Findings) -> None:
    """Lay out the buffers that the explanation names, or all where it names none."""
    named = plan.explanation.buffers if plan.explanation is not None else ()
    chosen = [facts.index[name] for name in named] or range(len(facts.buffers))
    if next(_layouts(facts, plan, (), bodies(facts, chosen), steps), None) is not None:
        claims.refute(Subject.NOTHING_FITS, None)
        findings.add(
            Code.EXPLANATION,
            "the explanation does not show that nothing fits: the judge has found places for {}",
            "these buffers" if named else "all buffers",
        )


def _refute_bounds(
    facts: Facts,
    plan: Plan,
    hint: Plan | None,
    open_claims: Sequence[Claim],
    steps: Steps,
    claims: Claims,
    findings: Findings,
) -> None:
    waiting = {claim.name for claim in open_claims}
    everything = bodies(facts, range(len(facts.buffers)))
    terms = terms_of(facts.problem)
    for layout in _layouts(facts, plan, terms, everything, steps):
        figures = Figures(facts, layout, hint)
        for claim in plan.objective:
            value = figures.value(claim.term)
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
    facts: Facts, plan: Plan, terms: Sequence[Term], chosen: Sequence[Body], steps: Steps
) -> Iterator[Layout]:
    """Valid layouts of these bodies."""
    preferences = _preferences(facts, terms)
    for prefer in preferences:
        yield from _valid(facts, Packing(facts, steps).laid(chosen, prefer, stacked=True))
    # Each body is compared with those in its pool: where there are no steps for that, none are wasted.
    if len(chosen) ** 2 // (2 * len(facts.pools)) > steps.left:
        return
    for order in _orders(facts, plan, chosen):
        for prefer in preferences:
            yield from _valid(facts, Packing(facts, steps).laid(order, prefer, stacked=False))


def _orders(facts: Facts, plan: Plan, chosen: Sequence[Body]) -> Iterator[Sequence[Body]]:
    """As the plan has them from below, the largest first, the longest lives first, as they come."""
    by_size = sorted(chosen, key=lambda body: -body.bytes)
    lives = {i: facts.lives(i) for body in chosen for i in body.members}
    if plan.status in PLANNED:
        place_of = {place.buffer: place.offset for place in plan.placements}
        yield sorted(by_size, key=lambda body: place_of.get(facts.id_of(body.members[0]), 0))
    yield by_size
    yield sorted(
        by_size,
        key=lambda body: -max(end - begin for i in body.members for begin, end in lives[i] or [(0, 0)]),
    )
    yield sorted(
        by_size, key=lambda body: min(begin for i in body.members for begin, _ in lives[i] or [(0, 0)])
    )


def _preferences(facts: Facts, terms: Sequence[Term]) -> list[Prefer]:
    """The pool where it ends lowest, the cheapest, and any but the one whose peak counts."""
    if len(facts.pools) == 1:
        return [lambda _, end: end]
    cost = [pool.cost for pool in facts.pools]
    found: list[Prefer] = [lambda _, end: end, lambda pool, _: cost[pool]]
    for term in terms:
        if term.pool is not None:
            counted = facts.pool_index[term.pool]
            found.append(lambda pool, _, counted=counted: int(pool == counted))  # type: ignore[misc]
    return found


def _valid(facts: Facts, layout: Layout | None) -> Iterator[Layout]:
    """The layout, where the judge finds nothing wrong with it."""
    if layout is None:
        return
    findings = Findings()
    check_places(facts, layout, findings)
    check_distances(facts, layout, findings)
    check_conflicts(facts, layout, findings)
    for placed in layout.by_pool():
        Sweep(facts, layout, Lives(facts, layout, placed), findings).run()
    if not findings:
        yield layout
