"""A format of graphs: its name and its readers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """The reader gets the JSON value where `is_json`, the bytes otherwise."""

    name: str
    is_json: bool
    read_graph: Callable[[Any], Graph]
    read_model: Callable[[bytes, bool, Mapping[str, int]], Graph] | None = None
    """Of a model: the same; where asked, with pairs in place for operators that work element by element; and
    with values for the dimensions that it leaves open."""


def no_open_dimensions() -> InputError:
    """The error about values for dimensions of what has no open ones."""
    message = "only ONNX models have dimensions that are open, and this is something else; leave it out"
    return InputError.single("no_open_dimensions", "--dim", message)
