"""What a Python program does with a graph: the problem that it becomes, in a given order or in another."""

from collections.abc import Sequence

from memstow.planner.graph.check import require_valid
from memstow.planner.graph.links import NOBODY, links_of, listed_order
from memstow.planner.graph.lowering import lower
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Problem


def lower_graph(graph: "Graph", order: "Sequence[str] | None" = None) -> "Problem":
    """The problem of a graph whose operators run in the order of these ids; by default, as they are listed.

    Raises InputError for a graph that contradicts itself, and for an order that it does not allow.
    """
    require_valid(graph)
    return lower(graph, listed_order(graph) if order is None else allowed_order(graph, order))


def allowed_order(graph: "Graph", order: "Sequence[str]") -> list[int]:
    """The indices of these operators; an InputError where the graph does not allow them in this order."""
    links = links_of(graph)
    indices = [links.operator_index.get(name, NOBODY) for name in order]
    if sorted(indices) != list(range(len(graph.operators))):
        raise InputError.single("not_an_order", "order", "name each operator of the graph once")
    place = {operator: at for at, operator in enumerate(indices)}
    for first, them in enumerate(links.successors()):
        for then in them:
            if place[then] < place[first]:
                names = graph.operators[first].id, graph.operators[then].id
                message = f"{names[1]!r} needs {names[0]!r}, which comes later; put it before"
                raise InputError.single("not_an_order", "order", message)
    return indices
