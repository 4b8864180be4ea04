"""What the service plans: a problem, or a graph; told apart here alone."""

from typing import TYPE_CHECKING

from memstow.planner import formats
from memstow.planner.model.digest import digest
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.json_text import parse_json

if TYPE_CHECKING:
    from memstow.planner.graph.labels import Label
    from memstow.planner.model.graph import Graph


def document_from(body: bytes) -> "Problem | Graph":
    """The problem or the graph as the store keeps it."""
    return formats.document_of(parse_json(body))


def document_bytes(document: "Problem | Graph") -> bytes:
    """The problem or the graph as the store keeps it."""
    if isinstance(document, Problem):
        return formats.write_problem(document)
    return formats.write_graph(document)


def digest_of(document: "Problem | Graph") -> str:
    """The identity of the problem or the graph."""
    if isinstance(document, Problem):
        return digest(document)
    from memstow.planner.graph.digest import graph_digest

    return graph_digest(document)


def problem_of(document: "Problem | Graph", plan: Plan | None = None) -> Problem:
    """The problem itself, or that of a graph in the order of the plan; without a plan, as it is listed."""
    if isinstance(document, Problem):
        return document
    from memstow.planner.graph.lowering import scheduled_problem

    return scheduled_problem(document, None if plan is None else plan.schedule)


def labels_in(document: "Problem | Graph") -> "dict[str, Label]":
    """What the buffers of a graph are, by id; a problem says no more than their ids."""
    if isinstance(document, Problem):
        return {}
    from memstow.planner.graph.labels import buffer_labels

    return buffer_labels(document)


def buffer_ids(document: "Problem | Graph") -> list[str]:
    """The ids of the buffers, in the order in which a plan places them."""
    return [buffer.id for buffer in problem_of(document).buffers]
