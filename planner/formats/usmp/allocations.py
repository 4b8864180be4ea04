"""The answer of TVM's Unified Static Memory Planner: a PoolAllocation for every buffer."""

from typing import Any, Final

from memstow.planner.formats.native import encode_document
from memstow.planner.model import Status
from memstow.planner.model.model_class import model_class
from memstow.planner.model.plan import REPEATED, Placement, Plan, repeated_placements
from memstow.planner.model.problem import Bytes, Id, Problem
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.sections import read_whole

ALLOCATIONS: Final = "pool_allocations"


@model_class
class PoolAllocation:
    """Where a buffer is."""

    name_hint: Id
    pool_name: Id
    byte_offset: Bytes


@model_class
class PoolAllocations:
    """Where all of them are."""

    pool_allocations: tuple[PoolAllocation, ...]


def write_plan(_problem: Problem, plan: Plan) -> bytes:
    """The placements of a plan as pool allocations."""
    listed = [
        {"name_hint": one.buffer, "pool_name": one.pool, "byte_offset": one.offset} for one in plan.placements
    ]
    return encode_document({ALLOCATIONS: listed})


def read_plan(raw: Any, _problem: Problem) -> Plan:
    """The plan of pool allocations."""
    findings = Findings(raw)
    with collector_at_rest():
        document = read_whole(PoolAllocations, raw, findings)
    if document is None:
        raise findings.error()
    placements = tuple(
        Placement(buffer=one.name_hint, pool=one.pool_name, offset=one.byte_offset)
        for one in document.pool_allocations
    )
    for index, message in repeated_placements(placements):
        findings.add(REPEATED, (ALLOCATIONS, index), message)
    if findings:
        raise findings.error()
    return Plan(status=Status.FEASIBLE, placements=placements)
