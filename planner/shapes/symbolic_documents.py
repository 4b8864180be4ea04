"""Documents of symbolic problems, graphs and plans: from JSON and to JSON, with every error of one at once.

A symbolic graph becomes the symbolic problem of the order in which its operators are listed: lifetimes by
that order, sizes as its formulas say.
"""

from collections.abc import Mapping

from memstow.planner.formats.native import encode_document, plain
from memstow.planner.graph.lowering import Places, listed_problem
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import REPEATED, repeated_placements
from memstow.planner.model.problem import ONE_MEMORY
from memstow.planner.model.records import collector_at_rest
from memstow.planner.model.symbolic import (
    Symbol,
    SymbolicBuffer,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.reading.json_text import parse_json, parse_path
from memstow.planner.reading.parse import parse_document, parse_whole
from memstow.planner.reading.sections import Findings
from memstow.planner.shapes.symbolic_check import CheckedGraph, checked_graph, find_symbolic_issues


def lower_symbolic(graph: SymbolicGraph) -> SymbolicProblem:
    """The symbolic problem of a graph whose operators run as they are listed; InputError with all issues."""
    found = checked_graph(graph)
    if found.issues:
        raise InputError(found.issues)
    problem = _lowered(graph, found)
    issues = find_symbolic_issues(problem)
    if issues:
        raise InputError(_in_the_graph(found.largest, issues))
    return problem


def _lowered(graph: SymbolicGraph, found: CheckedGraph) -> SymbolicProblem:
    # Lifetimes, groups and pairs in place do not depend on sizes.
    ordinary = listed_problem(found.largest)
    return SymbolicProblem(
        name=graph.name,
        symbols=graph.symbols,
        points=graph.points,
        aim=graph.aim,
        pools=ordinary.pools,
        buffers=[
            SymbolicBuffer(
                id=buffer.id,
                size=found.sizes[buffer.id],
                lifetime=buffer.lifetime,
                alignment=buffer.alignment,
                pools=buffer.pools,
                group=buffer.group,
            )
            for buffer in ordinary.buffers
        ],
        relative=ordinary.relative,
        in_place=ordinary.in_place,
        objective=graph.objective,
    )


def _in_the_graph(graph: Graph, issues: list[Issue]) -> list[Issue]:
    places = Places(graph)
    return [Issue(issue.code, places.of_issue(issue.path), issue.message) for issue in issues]


def is_symbolic_graph(raw: object) -> bool:
    """Whether a JSON value is a symbolic graph: an object with `symbols` and `operators`."""
    return isinstance(raw, Mapping) and "symbols" in raw and "operators" in raw and "buffers" not in raw


def read_symbolic_graph(data: bytes) -> SymbolicGraph:
    """The symbolic graph in the bytes; an InputError with all that is wrong otherwise."""
    return parse_symbolic_graph(parse_json(data))


def parse_symbolic_graph(raw: object) -> SymbolicGraph:
    """The symbolic graph that a JSON value describes."""
    findings = Findings(raw)
    graph = parse_whole(SymbolicGraph, raw, findings)
    for issue in checked_graph(graph).issues:
        findings.add(issue.code, parse_path(issue.path), issue.message)
    if findings:
        raise findings.error()
    return graph


def write_symbolic_graph(graph: SymbolicGraph) -> bytes:
    """The symbolic graph as JSON."""
    with collector_at_rest():
        return encode_document(plain(graph))


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
    return parse_document(
        SymbolicProblem,
        raw,
        find_symbolic_issues,
        stand_ins={
            "version": 1,
            "symbols": (Symbol(id="_", min=0, max=0),),
            "buffers": (),
            "pools": ONE_MEMORY,
            "objective": ("peak",),
        },
    )


def write_symbolic(problem: SymbolicProblem) -> bytes:
    """The symbolic problem as JSON."""
    with collector_at_rest():
        return encode_document(plain(problem))


def read_symbolic_plan(data: bytes) -> SymbolicPlan:
    """The plan in the bytes; whether it is right is for the judge to say."""
    return parse_symbolic_plan(parse_json(data))


def parse_symbolic_plan(raw: object) -> SymbolicPlan:
    """The plan that a JSON value describes."""
    findings = Findings(raw)
    plan = parse_whole(SymbolicPlan, raw, findings)
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
