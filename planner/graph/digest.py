"""The identity of a graph: SHA-256, in lower-case hex, of all but what it and its tensors are called."""

from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from memstow.planner.model.graph import Graph
from memstow.planner.model.validators import validator_of

_NAMES: Final[Any] = {"__all__": {"name"}}
_WITHOUT_NAMES: Final[Any] = {"tensors": _NAMES, "alternatives": {"__all__": {"tensors": _NAMES}}}


def graph_digest(graph: Graph) -> str:
    """The digest of a graph. One that lists operators or tensors in another order has another digest."""
    written = validator_of(Graph).dump_json(replace(graph, name=None), exclude=_WITHOUT_NAMES)
    return sha256(b"memstow-graph 1\n" + written).hexdigest()
