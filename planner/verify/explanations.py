"""Checks the explanation of an infeasible plan: does it concern this problem, and does it prove its point?

Bytes needed at one moment (`over_capacity`) and buffers without a place (`no_place`) are counted again. Any
other explanation, such as a search that found no layout, stays a claim.
"""

from memstow.planner.model.plan import Explanation, Plan, Status
from memstow.planner.model.ranges import measure
from memstow.planner.verify.empty_pools import EmptyPools
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.live_bytes import against_misfit
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.verdict import Claims, Subject

COUNTED_AGAIN = frozenset({"over_capacity", "no_place"})
"""Codes of explanations that the judge can check by counting."""
_ABOUT_BUFFERS = COUNTED_AGAIN | {"no_layout"}


def check_explanation(index: ProblemIndex, plan: Plan, findings: Findings, claims: Claims) -> None:
    """Note where the explanation is missing, out of place, or false."""
    before = findings.total
    _check(index, plan, findings)
    explanation = plan.explanation
    if explanation is None and plan.status is not Status.INFEASIBLE:
        return
    holds = findings.total == before
    code = "nothing" if explanation is None else explanation.code[:64]
    says = f"nothing fits ({code})"
    if code in COUNTED_AGAIN:
        claims.proven(Subject.NOTHING_FITS, None, says, code, holds)
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
            Code.EXPLANATION, "the explanation names {!r}, which is no buffer", name, buffers=(name,)
        )
    _check_pool(index, explanation, findings)
    _check_amounts(explanation, findings)
    if not unknown and (explanation.pool is None or explanation.pool in index.pool_index):
        reason = _reason_against(index, explanation)
        if reason is not None:
            findings.add(Code.EXPLANATION, "the explanation does not show that nothing fits: {}", reason)


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
        findings.add(Code.EXPLANATION, "the explanation names {!r}, which is no pool", name, pool=name)
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
    if not explanation.buffers:
        return None
    if explanation.code == "over_capacity":
        return against_misfit(index, explanation)
    if explanation.code == "no_place":
        empty_pools = EmptyPools(index)
        for name in explanation.buffers:
            if empty_pools.pools_of(index.buffer_index[name]):
                return f"{name!r} has a place when it is alone"
    return None
