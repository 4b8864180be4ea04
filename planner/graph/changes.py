"""Changes to a graph from the command line or a request: its order, pairs in place, memories, objective."""

from dataclasses import replace
from typing import TYPE_CHECKING

from memstow.planner.graph.check import is_valid, require_valid, take_as_valid
from memstow.planner.graph.check.cycles import given_order_issues
from memstow.planner.graph.links import links_of, share_links
from memstow.planner.graph.lowering import Places, timeless_problem
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Order
from memstow.planner.model.problem import Target
from memstow.planner.targets import with_overrides

if TYPE_CHECKING:
    from memstow.planner.model.problem import Problem


def with_order(graph: Graph, order: Order) -> Graph:
    """The graph with this order of its operators; an InputError where it is to run as listed, and cannot."""
    if order == graph.order:
        return graph
    changed = replace(graph, order=order)
    if not is_valid(graph):
        require_valid(changed)
        return changed
    # Nothing else depends on the order that is wanted than whether it can run.
    share_links(graph, changed)
    issues = [] if links_of(changed).as_listed else list(given_order_issues(changed))
    if issues:
        raise InputError(issues)
    take_as_valid(changed)
    return changed


def without_in_place(graph: Graph) -> Graph:
    """The graph without its pairs in place."""
    return replace(graph, operators=tuple(replace(operator, in_place=()) for operator in graph.operators))


def in_memories(graph: Graph, target: Target | None, capacity: int | None, fit_only: bool) -> Graph:
    """The graph in the memories of the target, its single pool of this capacity, without an objective."""
    places = Places(graph)
    try:
        changed: Problem = with_overrides(timeless_problem(graph), target, capacity, fit_only)
    except InputError as error:
        raise InputError(replace(issue, path=places.of_issue(issue.path)) for issue in error.issues) from None
    return replace(graph, pools=changed.pools, objective=changed.objective)
