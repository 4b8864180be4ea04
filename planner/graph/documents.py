"""A problem or a graph: what plans and pages are made for, the problem itself and what its buffers are.

Every command starts with this, so that graphs are imported where there is one.
"""

from typing import TYPE_CHECKING, overload

from memstow.planner.model.errors import require_kind
from memstow.planner.model.problem import Problem, Target

if TYPE_CHECKING:
    from memstow.planner.graph.graph_document import Label
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.plan import Plan


def problem_of(document: "Problem | Graph", plan: "Plan | None" = None) -> Problem:
    """The problem itself, or that of a graph in the order of the plan; without a plan, as it is listed."""
    if isinstance(document, Problem):
        return document
    from memstow.planner.graph.schedules import scheduled_problem

    return scheduled_problem(document, None if plan is None else plan.schedule)


def labels_in(document: "Problem | Graph") -> "dict[str, Label]":
    """What the buffers of a graph are, by id; a problem says no more than their ids."""
    if isinstance(document, Problem):
        return {}
    from memstow.planner.graph.graph_document import buffer_labels

    return buffer_labels(document)


@overload
def retarget(document: Problem, target: Target) -> Problem: ...


@overload
def retarget(document: "Graph", target: Target) -> "Graph": ...


def retarget(document: "Problem | Graph", target: Target) -> "Problem | Graph":
    """The problem or the graph in the memories of the target; an InputError with all that is wrong then."""
    require_kind(target, Target, "retarget takes a Target, as memstow.shipped_target returns it by its name")
    if isinstance(document, Problem):
        from memstow.planner.targets import with_overrides

        return with_overrides(document, target, None, fit_only=False)
    from memstow.planner.graph.changes import in_memories

    return in_memories(document, target, None, fit_only=False)
