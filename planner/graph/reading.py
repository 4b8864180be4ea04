"""JSON values to a graph, with every error of the document at once."""

from typing import Any, Final

from memstow.planner.graph.check import find_issues
from memstow.planner.model.errors import Issue
from memstow.planner.model.graph import Graph
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.json_text import Path, parse_path
from memstow.planner.reading.parse import first_quoted, names_left_out
from memstow.planner.reading.sections import Findings, Section, index_before, read_section

# Issues of an element alone: they stay when other elements of the document cannot be read.
_OF_ONE: Final = frozenset(
    {
        "no_size",
        "size_contradicts_shape",
        "too_large",
        "duplicate_id",
        "empty_phases",
        "window_contradicts_shape",
        "window_without_tensors",
        "two_producers",
        "view_beyond",
        "view_of_itself",
        "view_twice",
        "in_place_of_another",
        "cycle",
    }
)
_REFERENCES: Final = {"unknown_tensor": "tensors", "unknown_operator": "operators"}


def parse_graph(raw: object) -> Graph:
    """The graph a JSON value describes; an InputError with all that is wrong otherwise."""
    with collector_at_rest():
        findings = Findings(raw)
        section = read_section(Graph, raw, findings)
        if findings.full or not isinstance(raw, dict):
            raise findings.error()
        stand_ins = {"version": 1, "tensors": (), "operators": ()}
        graph = Graph(**{**stand_ins, **section.values})
        for issue in find_issues(graph):
            if section.sound or issue.code in _OF_ONE or _is_of_a_name(issue, raw, section):
                findings.add(issue.code, _place(parse_path(issue.path), section), issue.message)
        if findings:
            raise findings.error()
        return graph


def _is_of_a_name(issue: Issue, raw: dict[str, Any], section: Section) -> bool:
    """Whether it is about a name that no element of the document has, those that were left out included."""
    if issue.code not in _REFERENCES:
        return False
    names = names_left_out(_REFERENCES[issue.code], raw, section)
    return names is not None and first_quoted(issue.message) not in names


def _place(path: Path, section: Section) -> Path:
    """The place of an issue, counted with the elements that were left out."""
    if len(path) > 1 and isinstance(path[0], str) and isinstance(path[1], int):
        return (path[0], index_before(section.lost.get(path[0], []), path[1]), *path[2:])
    return path
