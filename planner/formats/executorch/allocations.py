"""Where each tensor of ExecuTorch is, in its words: `mem_id`, which counts from 1, and `mem_offset`."""

from typing import Annotated, Any

from memstow.planner.formats.native import list_of_lines
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.plan import REPEATED, Placement, Plan, repeated_placements
from memstow.planner.model.problem import Bytes, Id, Problem
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.messages import wrong_type
from memstow.planner.reading.printable import shown
from memstow.planner.reading.sections import read_elements


@model_class
class Allocation:
    """The place of one tensor."""

    id: Id
    mem_id: Annotated[int, Field(strict=True, ge=1)]
    mem_offset: Bytes


def read_plan(raw: Any, problem: Problem) -> Plan:
    """The plan of a list of allocations; a memory that the problem does not have is kept as its number."""
    findings = Findings(raw)
    if not isinstance(raw, list):
        findings.add("wrong_root", (), wrong_type("a list", raw))
        raise findings.error()
    with collector_at_rest():
        allocations, _ = read_elements(Allocation, raw, findings, ())
    names = dict(enumerate((pool.id for pool in problem.pools), start=1))
    placements = tuple(
        Placement(buffer=one.id, pool=names.get(one.mem_id, str(one.mem_id)), offset=one.mem_offset)
        for one in allocations
    )
    for index, message in repeated_placements(placements):
        findings.add(REPEATED, (index,), message)
    if findings:
        raise findings.error()
    return Plan(status=Status.FEASIBLE, placements=placements)


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The placements of a plan as allocations."""
    numbers = {pool.id: number for number, pool in enumerate(problem.pools, start=1)}
    for one in plan.placements:
        if one.pool not in numbers:
            message = f"there is no pool {shown(one.pool)} in this problem: it has no number"
            raise InputError.single("unknown_pool", "$.placements", message)
    return list_of_lines(
        {"id": one.buffer, "mem_id": numbers[one.pool], "mem_offset": one.offset} for one in plan.placements
    )
