"""The tensors and operators of a graph by their ids, made once for each graph."""

from typing import Final, NamedTuple

from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.memory import Memo


class GraphIndex(NamedTuple):
    """What the ids of a graph stand for."""

    tensors: dict[str, Tensor]
    operators: dict[str, Operator]


_known: Final = Memo[Graph, GraphIndex]()


def index_of(graph: Graph) -> GraphIndex:
    """The tensors and operators by id."""
    found = _known.get(graph)
    if found is None:
        found = GraphIndex({it.id: it for it in graph.tensors}, {it.id: it for it in graph.operators})
        _known.note(graph, found)
    return found
