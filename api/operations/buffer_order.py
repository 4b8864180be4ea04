"""Plans in the order of the problem that was asked about: one answer serves equal problems in any order."""

import json
from collections.abc import Sequence
from dataclasses import replace

from memstow.api.operations.body import plan_bytes, plan_of
from memstow.planner.model.plan import Plan


def in_order(buffers: Sequence[str], plan: Plan) -> Plan:
    """The plan with its placements in the order of these buffers."""
    if not plan.placements or [placement.buffer for placement in plan.placements] == list(buffers):
        return plan
    place_of = {placement.buffer: placement for placement in plan.placements}
    return replace(plan, placements=tuple(place_of[name] for name in buffers if name in place_of))


def written_in_order(buffers: Sequence[str], plan: bytes) -> bytes:
    """The same of a plan of ours as it is written; the very bytes where the order is right."""
    found = plan_of(plan)
    ordered = in_order(buffers, found)
    return plan if ordered is found else plan_bytes(ordered)


def buffers_of(problem: bytes) -> list[str]:
    """The buffers of a problem as the store has it."""
    return [buffer["id"] for buffer in json.loads(problem)["buffers"]]
