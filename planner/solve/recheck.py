"""Solving again to check what a plan claims and counting cannot: a verdict with fewer open claims.

What the engine proves is checked as far as the engine is believed; what a plan of its own contradicts is a
violation, and that plan is judged like any other. What it does not decide within the time stays a claim.
"""

import threading
from collections.abc import Collection
from dataclasses import replace
from itertools import takewhile

from memstow.planner.model.options import Options
from memstow.planner.model.plan import PLANNED, Plan, Status
from memstow.planner.model.problem import Problem
from memstow.planner.model.rigid_groups import with_groups
from memstow.planner.solve import engine
from memstow.planner.verify import Claim, Code, Standing, Subject, Verdict, Violation
from memstow.planner.verify.verdict import SOLVED_AGAIN

_DECIDED = (Subject.NOTHING_FITS, Subject.BOUND)


def recheck(
    problem: Problem,
    plan: Plan,
    verdict: Verdict,
    time_limit: float = 10.0,
    hint: Plan | None = None,
    cancel: threading.Event | None = None,
) -> Verdict:
    """The verdict on this plan after solving again for no longer than that, in seconds.

    Where something is wrong already nothing is solved.
    """
    if not verdict.valid or not any(claim.subject in _DECIDED for claim in verdict.unchecked):
        return verdict
    options = Options(time_limit=time_limit, hint=hint)
    if plan.status is Status.INFEASIBLE:
        named = plan.explanation.buffers if plan.explanation is not None else ()
        concerned = replace(only(problem, named) if named else problem, objective=())
        return _after_misfit(verdict, engine.plan(concerned, options, cancel=cancel))
    if plan.status not in PLANNED:
        return verdict
    if hint is None:
        # It only has to be proven, or beaten. What `moves` counts from nobody knows here.
        options = replace(options, hint=plan)
        problem = replace(problem, objective=tuple(takewhile(lambda term: term != "moves", problem.terms())))
    return _after_bounds(verdict, plan, engine.plan(problem, options, cancel=cancel))


def _after_misfit(verdict: Verdict, again: Plan) -> Verdict:
    """What another run says of the claim that nothing fits."""
    if again.status is Status.INFEASIBLE:
        return _with(verdict, (Subject.NOTHING_FITS, None), Standing.CHECKED)
    if again.status in PLANNED:
        message = "the explanation does not show that nothing fits: solving again has found places"
        found = _with(verdict, (Subject.NOTHING_FITS, None), Standing.REFUTED)
        return _also(found, Violation(Code.EXPLANATION, message))
    return verdict


def _after_bounds(verdict: Verdict, plan: Plan, again: Plan) -> Verdict:
    """What another run of the same terms, or of the first of them, says of the bounds.

    Each holds for plans worth the same in the terms before.
    """
    if again.status not in PLANNED:
        return verdict
    claimed = {claim.name for claim in verdict.unchecked if claim.subject is Subject.BOUND}
    for mine, theirs in zip(plan.objective, again.objective, strict=False):
        if mine.term in claimed and theirs.value < mine.bound:
            message = (
                f"the bound {mine.bound} of {mine.term} is too high: solving again has found a plan with "
                f"{theirs.value}"
            )
            verdict = _with(verdict, (Subject.BOUND, mine.term), Standing.REFUTED)
            verdict = _also(verdict, Violation(Code.CERTIFICATE, message))
        elif mine.term in claimed and theirs.bound >= mine.bound:
            verdict = _with(verdict, (Subject.BOUND, mine.term), Standing.CHECKED)
        if mine.value != theirs.value:
            break
    return verdict


def _with(verdict: Verdict, about: tuple[Subject, str | None], standing: Standing) -> Verdict:
    """The verdict with another standing of that claim, and of those that rest on it."""

    def changed(claim: Claim) -> Claim:
        mine = (claim.subject, claim.name) == about or claim.rests_on == about
        if not mine or claim.standing is not Standing.CLAIMED:
            return claim
        return replace(claim, standing=standing, by=SOLVED_AGAIN)

    return replace(verdict, claims=tuple(map(changed, verdict.claims)))


def _also(verdict: Verdict, violation: Violation) -> Verdict:
    return replace(verdict, violations=(*verdict.violations, violation))


def only(problem: Problem, names: Collection[str]) -> Problem:
    """The problem of these buffers alone, each with all of its rigid group."""
    kept = with_groups(problem, names)
    return replace(
        problem,
        buffers=tuple(buffer for buffer in problem.buffers if buffer.id in kept),
        conflicts=tuple(pair for pair in problem.conflicts if kept.issuperset(pair)),
        exclusive=tuple(pair for pair in problem.exclusive if kept.issuperset(pair)),
        relative=tuple(tie for tie in problem.relative if tie.buffer in kept),
        in_place=tuple(it for it in problem.in_place if kept.issuperset((it.input, it.output))),
        reuse_costs=tuple(entry for entry in problem.reuse_costs if kept.issuperset(entry.buffers)),
    )
