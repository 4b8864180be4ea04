"""The identity of a graph: SHA-256, in lower-case hex, of all of its fields but the name."""

from dataclasses import replace
from functools import cache
from hashlib import sha256

from pydantic import TypeAdapter

from memstow.planner.model.graph import Graph


def graph_digest(graph: Graph) -> str:
    """The digest of a graph. One that lists operators or tensors in another order has another digest."""
    return sha256(b"memstow-graph 1\n" + _adapter().dump_json(replace(graph, name=None))).hexdigest()


@cache
def _adapter() -> TypeAdapter[Graph]:
    return TypeAdapter(Graph)
