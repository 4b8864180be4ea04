"""Whether the sizes and costs of a graph can be added up by those who choose stripes or alternatives."""

from typing import Final

from memstow.planner.graph.costs import operator_costs
from memstow.planner.graph.storages import resident_bytes, storages
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph
from memstow.solvers.stripes import MOST

# Strips may make an element once for each column; without stripes everything counts once.
_TIMES: Final = 1 << 20
_ONCE: Final = 4


def require_countable(graph: Graph, stripes: bool) -> None:
    """Raise InputError where numbers are too large, whatever the order of the operators."""
    if is_countable(graph, stripes):
        return
    message = "sizes or costs are too large to add up; scale them"
    if stripes and is_countable(graph, stripes=False):
        message = "sizes or costs are too large to choose stripes; scale them, or leave stripes out"
    raise InputError.single("too_large", "$", message)


def is_countable(graph: Graph, stripes: bool) -> bool:
    """Whether they are small enough, with stripes or without."""
    most = MOST // (_TIMES if stripes else _ONCE)
    temporaries = (sum(it.size for it in operator.temporaries) for operator in graph.operators)
    live = sum(storage.size for storage in storages(graph)) + resident_bytes(graph)
    return max(sum(operator_costs(graph)), 2 * live + max(temporaries, default=0)) < most


def fits(bytes_: int, cost: int, among: int) -> bool:
    """Whether one of so many other ways to run operators is small enough to be added to all the others."""
    return max(bytes_, cost) < MOST // (_ONCE * among)
