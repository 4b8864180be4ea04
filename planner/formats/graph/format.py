"""A format of graphs: its name and its reader."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memstow.planner.model.graph import Graph


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """The reader gets the JSON value where `is_json`, the bytes otherwise."""

    name: str
    is_json: bool
    read_graph: Callable[[Any], Graph]
    read_in_place: Callable[[bytes], Graph] | None = None
    """Of a model: the same, with pairs in place for operators that work element by element."""
