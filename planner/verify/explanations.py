"""Whether an explanation speaks of this problem, and whether what it names can indeed not fit.

That a search found no layout cannot be repeated here; what buffers need at one moment, and whether one has a
place at all, is counted again.
"""

from planner.plan import PLANNED, Explanation, LiveBytes, Plan, Status
from planner.ranges import measure
from planner.verify.facts import Facts
from planner.verify.findings import Code, Findings
from planner.verify.live_bytes import against_misfit
from planner.verify.room import Rooms


def check_explanation(facts: Facts, plan: Plan, findings: Findings) -> None:
    """Note where the explanation is missing, out of place, or false."""
    explanation = plan.explanation
    if explanation is None:
        if plan.status is Status.INFEASIBLE:
            findings.add(Code.EXPLANATION, "the plan is infeasible and does not say why")
        return
    if plan.status in PLANNED:
        findings.add(Code.EXPLANATION, "there is a plan, and an explanation why there is none")
    if not explanation.code or not explanation.message:
        findings.add(Code.EXPLANATION, "the explanation says nothing")
    unknown = [name for name in explanation.buffers if name not in facts.index]
    for name in unknown:
        findings.add(
            Code.EXPLANATION, "the explanation names {!r}, which is no buffer", name, buffers=(name,)
        )
    _check_pool(facts, explanation, findings)
    needed, capacity = explanation.needed, explanation.capacity
    if needed is not None and capacity is not None and needed + (explanation.reserved or 0) <= capacity:
        findings.add(Code.EXPLANATION, "the explanation needs {} bytes and has {}", needed, capacity)
    if not unknown and (explanation.pool is None or explanation.pool in facts.pool_index):
        reason = _reason_against(facts, explanation)
        if reason is not None:
            findings.add(Code.EXPLANATION, "the explanation does not show that nothing fits: {}", reason)


def _check_pool(facts: Facts, explanation: Explanation, findings: Findings) -> None:
    name = explanation.pool
    if name is None:
        return
    pool = facts.pool_index.get(name)
    if pool is None:
        findings.add(Code.EXPLANATION, "the explanation names {!r}, which is no pool", name, pool=name)
        return
    for what, claimed, true in (
        ("bytes", explanation.capacity, facts.pools[pool].capacity),
        ("reserved bytes", explanation.reserved, measure(facts.reserved[pool])),
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


def _reason_against(facts: Facts, explanation: Explanation) -> str | None:
    """Why it does not follow that nothing fits; None where it does, or where only a search can tell."""
    if explanation.code == "over_capacity":
        certificate = LiveBytes(pool=explanation.pool, time=explanation.time, buffers=explanation.buffers)
        return against_misfit(facts, certificate, explanation.needed or 0)
    if explanation.code == "no_place":
        rooms = Rooms(facts)
        for buffer in (facts.index[name] for name in explanation.buffers):
            if not any(rooms.has(buffer, pool) for pool in facts.allowed(buffer)):
                return None
        return "each of these buffers has a place when it is alone"
    return None
