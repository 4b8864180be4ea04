"""Problems made from a seed, of any size: the same arguments, the same problem.

Here are the generators by name, with plain arguments, so that a message can hold them in place of a problem.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem


def make(kind: str, arguments: Mapping[str, Any]) -> "Problem":
    """The problem of a generator, of a graph as it is listed; KeyError when there is none of that name."""
    # Each is imported when it is wanted: `mixed` is the largest and the rarest.
    match kind:
        case "planted":
            from memstow.planner.generate.planted import planted

            return planted(**arguments)
        case "network":
            from memstow.planner.generate.network import network

            return network(**arguments)
        case "random":
            from memstow.planner.generate.random_problems import mixed

            return mixed(**arguments)
        case "graph":
            from memstow.planner.graph.lowering import listed_problem

            return listed_problem(make_graph(arguments))
    raise KeyError(kind)


def make_graph(arguments: Mapping[str, Any]) -> "Graph":
    """The graph of the generator of graphs."""
    from memstow.planner.generate.graph import graph

    return graph(**arguments)
