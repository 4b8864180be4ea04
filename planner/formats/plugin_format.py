"""Formats of other packages: each of their methods runs in a process of its own, with limits.

What a plug-in reads comes as native JSON and is checked as a file of it would be; what it writes is what it
writes.
"""

from collections.abc import Iterable
from functools import partial

from memstow.planner.formats.format import Format
from memstow.planner.formats.native import FORMAT, write_document
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.plugins import installed
from memstow.planner.plugins.installed import PlugIn
from memstow.planner.plugins.process import converted
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_plan

_CANNOT = {
    "read_problem": "has no problems that can be read",
    "write_problem": "has no problems that can be written",
    "read_plan": "has no plans that can be read",
    "write_plan": "has no plans that can be written",
}


def names(taken: Iterable[str]) -> tuple[str, ...]:
    """The names of formats of other packages that are not taken."""
    return installed.names("format", taken)


def find(name: str) -> Format | None:
    """The format of this name; None if no package has it."""
    plug_in = installed.find("format", name)
    if plug_in is None:
        return None
    return Format(
        name=name,
        is_json=False,
        read_problem=partial(_read_problem, plug_in),
        write_problem=partial(_write_problem, plug_in),
        read_plan=partial(_read_plan, plug_in),
        write_plan=partial(_write_plan, plug_in),
    )


def document_in(name: str, data: bytes) -> bytes:
    """The problem or the graph in the bytes, as native JSON; there is a format of this name."""
    plug_in = installed.find("format", name)
    if plug_in is None:
        raise AssertionError("it was there before")
    return _converted(plug_in, "read_problem", data=data)


def _read_problem(plug_in: PlugIn, data: bytes) -> Problem:
    return FORMAT.read_problem(parse_json(_converted(plug_in, "read_problem", data=data)))


def _write_problem(plug_in: PlugIn, problem: Problem) -> bytes:
    return _converted(plug_in, "write_problem", problem=write_document(problem))


def _read_plan(plug_in: PlugIn, data: bytes, problem: Problem) -> Plan:
    return parse_plan(
        parse_json(_converted(plug_in, "read_plan", data=data, problem=write_document(problem)))
    )


def _write_plan(plug_in: PlugIn, problem: Problem, plan: Plan) -> bytes:
    return _converted(plug_in, "write_plan", problem=write_document(problem), plan=write_document(plan))


def _converted(plug_in: PlugIn, call: str, **documents: bytes) -> bytes:
    data = converted(plug_in, call, **documents)
    if data is None:
        message = f"the format {plug_in.name!r} of {plug_in.origin} {_CANNOT[call]}"
        raise InputError.single("not_of_this_format", "format", message)
    return data
