"""The identity of a graph: SHA-256, in lower-case hex, of all of its fields but the name."""

from dataclasses import replace
from hashlib import sha256

from memstow.planner.model.graph import Graph
from memstow.planner.model.validators import validator_of


def graph_digest(graph: Graph) -> str:
    """The digest of a graph. One that lists operators or tensors in another order has another digest."""
    return sha256(b"memstow-graph 1\n" + validator_of(Graph).dump_json(replace(graph, name=None))).hexdigest()
