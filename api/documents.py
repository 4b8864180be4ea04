"""A problem or a graph, as what plans and pages are made for: the problem itself, and what its buffers are.

Every command starts with this, so that graphs are imported where there is one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstow.planner.graph.graph_document import Label
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem


def problem_of(document: "Problem | Graph", plan: "Plan | None" = None) -> "Problem":
    """The problem itself, or that of a graph in the order of the plan; without a plan, as it is listed."""
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        return document
    from memstow.planner.graph.schedules import scheduled_problem

    return scheduled_problem(document, None if plan is None else plan.schedule)


def labels_in(document: "Problem | Graph") -> "dict[str, Label]":
    """What the buffers of a graph are, by id; a problem says no more than their ids."""
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        return {}
    from memstow.planner.graph.graph_document import buffer_labels

    return buffer_labels(document)
