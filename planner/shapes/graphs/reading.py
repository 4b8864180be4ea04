"""Documents of symbolic graphs: from JSON and to JSON, with every error of one at once."""

from collections.abc import Mapping

from memstow.planner.formats.native import encode_document, plain
from memstow.planner.model.memory import collector_at_rest
from memstow.planner.model.symbolic_graph import SymbolicGraph
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import add_issues
from memstow.planner.reading.sections import read_whole
from memstow.planner.shapes.graphs.check import checked


def is_symbolic_graph(raw: object) -> bool:
    """Whether a JSON value is a symbolic graph: an object with `symbols` and `operators`."""
    return isinstance(raw, Mapping) and "symbols" in raw and "operators" in raw and "buffers" not in raw


def read_symbolic_graph(data: bytes) -> SymbolicGraph:
    """The symbolic graph in the bytes; an InputError with all that is wrong otherwise."""
    return parse_symbolic_graph(parse_json(data))


def parse_symbolic_graph(raw: object) -> SymbolicGraph:
    """The symbolic graph that a JSON value describes."""
    with collector_at_rest():
        findings = Findings(raw)
        graph = read_whole(SymbolicGraph, raw, findings)
        if not isinstance(graph, SymbolicGraph):
            raise findings.error()
        add_issues(findings, checked(graph).issues)
        if findings:
            raise findings.error()
        return graph


def write_symbolic_graph(graph: SymbolicGraph) -> bytes:
    """The symbolic graph as JSON."""
    with collector_at_rest():
        return encode_document(plain(graph))
