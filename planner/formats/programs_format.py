"""Several programs that take turns in the same memories, read as one problem; and a plan for each of them.

A plan has places in the names of each program, and how many bytes of each pool all of them need together.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from memstow.planner.formats import document_of
from memstow.planner.formats.format import Format
from memstow.planner.formats.native import write_document
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import REPEATED, Plan, peaks, repeated_placements
from memstow.planner.model.printable import shown
from memstow.planner.model.problem import Problem
from memstow.planner.model.programs import Arena, ProgramPlan, ProgramPlans, Programs
from memstow.planner.programs import joint_problem, parse_programs, plan_of_all, program_plans
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_whole
from memstow.planner.reading.sections import Findings

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph


def read_programs(data: bytes, read_file: Callable[[str], Problem] | None = None) -> Programs:
    """The programs that a JSON document describes; `read_file` reads the problems in files that it names."""
    return parse_programs(parse_json(data), problem_of_program, read_file)


def problem_of_program(raw: object) -> Problem:
    """The problem of a program, in any format that is JSON; of a graph that of its operators as listed."""
    return problem_as_listed(document_of(raw))


def problem_as_listed(document: "Problem | Graph") -> Problem:
    """The problem itself, or that of a graph as it is listed; an InputError where its order is free."""
    if isinstance(document, Problem):
        return document
    from memstow.planner.graph.lowering import listed_problem

    if document.order == "free":
        message = (
            "the order of this graph is free, and programs run in the order as listed: plan it alone, list "
            "its operators in the `order` of that plan's schedule, and give `order` as given"
        )
        raise InputError.single("order_not_given", "$.order", message)
    return listed_problem(document)


def _read_problem(raw: Any) -> Problem:
    return joint_problem(parse_programs(raw, problem_of_program))


def _read_plan(raw: Any, problem: Problem) -> Plan:
    """The plan of all; an InputError where it goes beyond the arenas that the document says are enough."""
    findings = Findings(raw)
    document = parse_whole(ProgramPlans, raw, findings)
    for index, entry in enumerate(document.programs):
        for at, message in repeated_placements(entry.plan.placements):
            findings.add(REPEATED, ("programs", index, "plan", "placements", at), message)
    plan = plan_of_all([(entry.id, entry.plan) for entry in document.programs])
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    bytes_of = {arena.pool: arena.bytes for arena in document.arenas}
    pools = {pool.id for pool in problem.pools}
    named: set[str] = set()
    for index, arena in enumerate(document.arenas):
        where = ("arenas", index, "pool")
        if arena.pool not in pools:
            findings.add("unknown_pool", where, f"there is no pool {shown(arena.pool)}")
        if arena.pool in named:
            findings.add("duplicate_pool", where, f"{shown(arena.pool)} has an arena already")
        named.add(arena.pool)
    programs: set[str] = set()
    for index, entry in enumerate(document.programs):
        if entry.id in programs:
            message = f"{shown(entry.id)} has a plan already"
            findings.add("duplicate_program", ("programs", index, "id"), message)
        programs.add(entry.id)
    for place in plan.placements:
        end = place.offset + size_of.get(place.buffer, 0)
        most = bytes_of.get(place.pool, end)
        if end > most and size_of.get(place.buffer, 1):
            message = (
                f"{shown(place.buffer)} ends at {end:,}, beyond the {most:,} bytes of {shown(place.pool)}"
            )
            findings.add("beyond_arena", ("arenas",), message)
    if findings:
        raise findings.error()
    return plan


def _write_plan(problem: Problem, plan: Plan) -> bytes:
    """A plan for each program; an InputError for a problem that is none of several programs."""
    plans = program_plans(plan)
    return write_document(
        ProgramPlans(
            version=1,
            name=problem.name,
            programs=[ProgramPlan(id=name, plan=own) for name, own in plans.items()],
            arenas=[Arena(pool=pool, bytes=most) for pool, most in peaks(problem, plan.placements).items()],
        )
    )


FORMAT: Final = Format(
    name="programs",
    is_json=True,
    read_problem=_read_problem,
    read_plan=_read_plan,
    write_plan=_write_plan,
)
