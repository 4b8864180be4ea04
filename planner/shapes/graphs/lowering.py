"""The symbolic problem that a symbolic graph becomes: lifetimes by its order, sizes as its formulas say."""

from memstow.planner.graph.lowering import Places, listed_problem
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph
from memstow.planner.model.symbolic import SymbolicBuffer, SymbolicProblem
from memstow.planner.model.symbolic_graph import SymbolicGraph
from memstow.planner.shapes.check import find_symbolic_issues
from memstow.planner.shapes.graphs.check import Checked, checked


def lower_symbolic(graph: SymbolicGraph) -> SymbolicProblem:
    """The symbolic problem of a graph whose operators run as they are listed; InputError with all issues."""
    found = checked(graph)
    if found.issues:
        raise InputError(found.issues)
    problem = _lowered(graph, found)
    issues = find_symbolic_issues(problem)
    if issues:
        raise InputError(_in_the_graph(found.largest, issues))
    return problem


def _lowered(graph: SymbolicGraph, found: Checked) -> SymbolicProblem:
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
    return [Issue(it.code, places.of_issue(it.path), it.message) for it in issues]
