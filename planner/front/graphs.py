"""The points of the front of a graph."""

from memstow.planner.front.request import FrontCallbacks, FrontRequest, Points
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph


def graph_points(
    graph: Graph,  # noqa: ARG001
    request: FrontRequest,  # noqa: ARG001
    callbacks: FrontCallbacks,  # noqa: ARG001
) -> Points:
    """The points of this front, as they are found."""
    yield from ()
    message = "fronts of graphs are not built in yet; convert it to a problem with `memstow convert`"
    raise InputError.single("no_graph_fronts", "$", message)
