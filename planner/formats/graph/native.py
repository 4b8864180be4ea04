"""The native JSON of a graph."""

from typing import Any, Final

from memstow.planner.formats.graph.format import GraphFormat
from memstow.planner.formats.native import encode_document, plain
from memstow.planner.graph.reading import parse_graph
from memstow.planner.model.graph import Graph
from memstow.planner.model.records import collector_at_rest


def to_bytes(graph: Graph) -> bytes:
    """The graph as native JSON."""
    with collector_at_rest():
        return encode_document(plain(graph))


def _read(raw: Any) -> Graph:
    return parse_graph(raw)


FORMAT: Final = GraphFormat(name="graph", is_json=True, read_graph=_read)
