"""A problem taken apart for a team, and put together again: independent parts are solved on their own."""

from typing import TYPE_CHECKING

from memstow.api.operations.encoding import document_bytes
from memstow.api.workers.team.share import Share
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.solve.assembling import assembled, independent_parts, part_of, plan_of_part
from memstow.planner.solve.run_state import Stamp

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

_AT_THE_START = Stamp(seconds=0.0, work=0)


def shares_of(
    document: "Problem | Graph", body: bytes, options: Options, start: Plan | None, most: int
) -> list[Share]:
    """The whole, or at most so many bundles of the parts that decide, by the plan that is known."""
    whole = Share(document, body, options, start)
    start = whole.plan
    if not isinstance(document, Problem) or start is None:
        return [whole]
    if options.hint is not None:
        return [whole]
    bundles = _bundles(document, start, whole.bound, most)
    if len(bundles) < 2:
        return [whole]
    shares = []
    for numbers in bundles:
        part = part_of(document, numbers)
        places = plan_of_part(start, part).placements
        plan = assembled(part, options, places, start.solver or "", None, _AT_THE_START)
        shares.append(Share(part, document_bytes(part), options, plan))
    # Of what is settled the bound remains.
    shares[0].bound = max(shares[0].bound, whole.bound)
    return shares


def joint_plan(
    document: "Problem | Graph", options: Options, shares: list[Share], start: Plan | None, stamp: Stamp
) -> Plan | None:
    """The plan of the whole with the highest bound that is proven; None where nothing is known."""
    if len(shares) == 1:
        return _whole_plan(document, options, shares[0], stamp)
    if not isinstance(document, Problem) or start is None:
        raise AssertionError("only a problem with a plan is taken apart")
    place_of = {place.buffer: place for place in start.placements}
    for share in shares:
        if share.plan is not None:
            place_of |= {place.buffer: place for place in share.plan.placements}
    best = max(shares, key=lambda it: it.value or 0)
    proofs = [share.proven for share in shares if share.proven is not None]
    proven = max(proofs, key=lambda it: it.term.bound, default=None)
    solver = (best.plan.solver if best.plan is not None else None) or ""
    places = tuple(place_of[buffer.id] for buffer in document.buffers)
    return assembled(document, options, places, solver, proven, stamp)


def _whole_plan(document: "Problem | Graph", options: Options, share: Share, stamp: Stamp) -> Plan | None:
    plan, proven = share.plan, share.proven
    if plan is None:
        return share.answer
    if not isinstance(document, Problem) or len(plan.objective) != 1:
        return plan
    if proven is None or proven.term.bound <= plan.objective[0].bound:
        return plan
    return assembled(document, options, plan.placements, plan.solver or "", proven, stamp)


def _bundles(problem: Problem, plan: Plan, floor: int, most: int) -> list[list[int]]:
    """The buffers of parts that end above the floor, in at most so many bundles of about as many buffers."""
    parts = independent_parts(problem)
    if len(parts) < 2:
        return []
    offset_of = {place.buffer: place.offset for place in plan.placements}
    end_of = [offset_of[buffer.id] + buffer.size for buffer in problem.buffers]
    high = [part for part in parts if max(end_of[number] for number in part) > floor]
    bundles: list[list[int]] = [[] for _ in range(min(most, len(high)))]
    for part in sorted(high, key=len, reverse=True):
        min(bundles, key=len).extend(part)
    return [sorted(bundle) for bundle in bundles]
