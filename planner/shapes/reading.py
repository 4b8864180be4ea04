"""Documents of symbolic problems and their plans: from JSON and to JSON, with every error of one at once."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from memstow.planner.formats.native import encode_document, plain
from memstow.planner.model.memory import collector_at_rest
from memstow.planner.model.plan import REPEATED, repeated_placements
from memstow.planner.model.problem import DEFAULT_POOL, Pool
from memstow.planner.model.symbolic import Symbol, SymbolicPlan, SymbolicProblem
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import add_issues, add_issues_of_the_rest
from memstow.planner.reading.sections import read_section, read_whole
from memstow.planner.shapes.check import find_symbolic_issues
from memstow.planner.shapes.graphs.lowering import lower_symbolic
from memstow.planner.shapes.graphs.reading import is_symbolic_graph, parse_symbolic_graph

_T = TypeVar("_T")

_STAND_INS: Final[dict[str, Any]] = {
    "version": 1,
    "symbols": (Symbol(id="_", min=0, max=0),),
    "buffers": (),
    "pools": (Pool(id=DEFAULT_POOL),),
    "objective": ("peak",),
}


def is_symbolic(raw: object) -> bool:
    """Whether a JSON value is a symbolic problem, or a graph that becomes one: an object with `symbols`."""
    return isinstance(raw, Mapping) and "symbols" in raw


def is_symbolic_plan(raw: object) -> bool:
    """Whether a JSON value is a plan of a symbolic problem: an object that says its `shapes`."""
    return isinstance(raw, Mapping) and "shapes" in raw


def read_symbolic(data: bytes) -> SymbolicProblem:
    """The symbolic problem in the bytes; an InputError with all that is wrong otherwise."""
    return parse_symbolic(parse_json(data))


def parse_symbolic(raw: object) -> SymbolicProblem:
    """The symbolic problem that a JSON value describes; a symbolic graph is that of its given order."""
    if is_symbolic_graph(raw):
        return lower_symbolic(parse_symbolic_graph(raw))
    with collector_at_rest():
        findings = Findings(raw)
        section = read_section(SymbolicProblem, raw, findings)
        if findings.full or not isinstance(raw, dict):
            raise findings.error()
        stand_ins = {name: value for name, value in _STAND_INS.items() if not section.values.get(name)}
        problem = SymbolicProblem(**{**section.values, **stand_ins})
        if section.sound:
            add_issues(findings, find_symbolic_issues(problem))
        else:
            add_issues_of_the_rest(findings, find_symbolic_issues(problem), raw, section)
        if findings:
            raise findings.error()
        return problem


def write_symbolic(problem: SymbolicProblem) -> bytes:
    """The symbolic problem as JSON."""
    with collector_at_rest():
        return encode_document(plain(problem))


def read_symbolic_plan(data: bytes) -> SymbolicPlan:
    """The plan in the bytes; whether it is right is for the judge to say."""
    return parse_symbolic_plan(parse_json(data))


def parse_symbolic_plan(raw: object) -> SymbolicPlan:
    """The plan that a JSON value describes."""
    with collector_at_rest():
        findings = Findings(raw)
        plan = _whole(SymbolicPlan, raw, findings)
        for at, message in repeated_placements(plan.placements):
            findings.add(REPEATED, ("placements", at), message)
        for index, order in enumerate(plan.orders):
            for at, message in repeated_placements(order.placements):
                findings.add(REPEATED, ("orders", index, "placements", at), message)
        if findings:
            raise findings.error()
        return plan


def write_symbolic_plan(plan: SymbolicPlan) -> bytes:
    """The plan as JSON."""
    with collector_at_rest():
        return encode_document(plain(plan))


def _whole(holder: type[_T], raw: object, findings: Findings) -> _T:
    value = read_whole(holder, raw, findings)
    if not isinstance(value, holder):
        raise findings.error()
    return value
