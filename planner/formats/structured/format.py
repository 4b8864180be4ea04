"""The structured JSON of kernel compilers, schema version 1: problems in and out, solutions out and in."""

from typing import Any, Final

from memstow.planner.formats.format import Format
from memstow.planner.formats.native import encode_document
from memstow.planner.formats.structured.document import Document, Solution
from memstow.planner.formats.structured.numbering import number_ids
from memstow.planner.formats.structured.reading import Reading
from memstow.planner.formats.structured.writing import document_of
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import REPEATED, Placement, Plan, repeated_placements
from memstow.planner.model.problem import Problem
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.printable import shown
from memstow.planner.reading.sections import read_whole


def read_problem(raw: Any) -> Problem:
    """The problem of a structured document."""
    findings = Findings(raw)
    with collector_at_rest():
        document = read_whole(Document, raw, findings)
        if document is None:
            raise findings.error()
        reading = Reading(document, findings)
        problem = reading.problem()
        check_made(problem, findings, reading.place)
    if findings:
        raise findings.error()
    return problem


def write_problem(problem: Problem) -> bytes:
    """The problem as a structured document."""
    return encode_document(document_of(problem))


def read_plan(raw: Any, problem: Problem) -> Plan:
    """The plan of a solution, numbers resolved; one that the problem does not know is kept as it is."""
    findings = Findings(raw)
    with collector_at_rest():
        solution = read_whole(Solution, raw, findings)
    if solution is None:
        raise findings.error()
    buffers = _ids([buffer.id for buffer in problem.buffers])
    pools = _ids([pool.id for pool in problem.pools])
    placements = tuple(
        Placement(
            buffer=buffers.get(one.buffer, str(one.buffer)),
            pool=pools.get(one.pool, str(one.pool)),
            offset=one.offset,
        )
        for one in solution.placements
    )
    for index, message in repeated_placements(placements):
        findings.add(REPEATED, ("placements", index), message)
    if findings:
        raise findings.error()
    return Plan(status=Status.FEASIBLE, placements=placements)


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The placements of a plan as a solution."""
    buffers = _numbers([buffer.id for buffer in problem.buffers])
    pools = _numbers([pool.id for pool in problem.pools])
    for one in plan.placements:
        if one.buffer not in buffers or one.pool not in pools:
            message = f"{shown(one.buffer)} in {shown(one.pool)} is not of this problem: it has no numbers"
            raise InputError.single("unknown_buffer", "$.placements", message)
    return encode_document(
        {
            "placements": [
                {"buffer": buffers[one.buffer], "pool": pools[one.pool], "offset": one.offset}
                for one in plan.placements
            ]
        }
    )


def _ids(ids: list[str]) -> dict[int, str]:
    return {one.number: name for one, name in zip(number_ids(ids), ids, strict=True)}


def _numbers(ids: list[str]) -> dict[str, int]:
    return {name: one.number for one, name in zip(number_ids(ids), ids, strict=True)}


FORMAT: Final = Format(
    name="structured",
    is_json=True,
    read_problem=read_problem,
    write_problem=write_problem,
    read_plan=read_plan,
    write_plan=write_plan,
)
