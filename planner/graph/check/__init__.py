"""Checks what must hold between the fields of a graph.

In: a graph. Out: all of its issues, each with a code, a path and a way out: elements by themselves, who makes
and reads what, cycles, views, alternatives.
"""

from collections.abc import Iterator
from typing import Final

from memstow.planner.check import find_issues as find_problem_issues
from memstow.planner.check import issues_once
from memstow.planner.graph.check.alternatives import alternative_issues
from memstow.planner.graph.check.cycles import cycle_issues, given_order_issues
from memstow.planner.graph.check.elements import element_issues
from memstow.planner.graph.check.flow import flow_issues
from memstow.planner.graph.check.views import view_issues
from memstow.planner.graph.links import links_of
from memstow.planner.graph.lowering import Places, timeless_problem
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph
from memstow.planner.model.records import Memo

_valid: Final = Memo[Graph, bool]()


def find_issues(graph: Graph) -> list[Issue]:
    """All issues of a well-formed graph, up to a thousand."""
    return issues_once(_valid, graph, _issues)


def is_valid(graph: Graph) -> bool:
    """Whether it is known to have no issues."""
    return _valid.get(graph) is True


def take_as_valid(graph: Graph) -> None:
    """Note that a graph has no issues: it was made of one that has none."""
    _valid.note(graph, True)


def require_valid(graph: Graph) -> None:
    """Raise InputError with every issue there is."""
    issues = find_issues(graph)
    if issues:
        raise InputError(issues)


def _issues(graph: Graph) -> Iterator[Issue]:
    sound = True
    for issue in (*element_issues(graph), *flow_issues(graph)):
        sound = False
        yield issue
    yield from view_issues(graph)
    yield from _problem_issues(graph)
    cyclic = False
    # Where nobody waits for one that is listed later, there is no cycle, and the given order can run.
    if not links_of(graph).as_listed:
        for issue in cycle_issues(graph):
            cyclic = True
            yield issue
        if not cyclic:
            yield from given_order_issues(graph)
    yield from alternative_issues(graph, sound and not cyclic)


def _problem_issues(graph: Graph) -> Iterator[Issue]:
    """Issues of what a graph shares with a problem: pools, alignments, rigid groups, the objective."""
    # The names are checked as those of a graph already.
    ours = ("duplicate_buffer", "unknown_buffer", "relative_cycle", "two_distances", "pair_of_one")
    problem = timeless_problem(graph)
    issues = [issue for issue in find_problem_issues(problem) if issue.code not in ours]
    places = Places(graph) if issues else None
    for issue in issues:
        yield Issue(issue.code, issue.path if places is None else places.of_issue(issue.path), issue.message)
