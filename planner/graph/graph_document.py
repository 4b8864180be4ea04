"""A graph as a document: read from JSON with every error at once, its digest, and labels for people.

The digest is SHA-256, in lower-case hex, of all but what the graph and its tensors are called. Labels say
in words what buffers and operators are, since ids of models are numbers, which say nothing; nothing is
found by them, and no digest depends on them.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from memstow.planner.graph.check import find_issues
from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.model.digest import sha256_of
from memstow.planner.model.errors import require_kind
from memstow.planner.model.graph import Graph, Operator, Tensor, is_planned
from memstow.planner.model.model_class import fields_of
from memstow.planner.reading.parse import parse_document
from memstow.records import collector_at_rest, replace

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
    return parse_document(
        Graph,
        raw,
        find_issues,
        stand_ins={"version": 1, "tensors": (), "operators": ()},
        references=_REFERENCES,
        may_end=lambda code, _: code not in _OF_ONE and code not in _REFERENCES,
    )


_NAMES: Final[Any] = {"__all__": {"name"}}
_WITHOUT_NAMES: Final[Any] = {"tensors": _NAMES, "alternatives": {"__all__": {"tensors": _NAMES}}}


def graph_digest(graph: Graph) -> str:
    """The digest of a graph. One that lists operators or tensors in another order has another digest."""
    return sha256_of(b"memstow-graph 1\n" + (_plain_json(graph) or checked_json(graph))).hexdigest()


def checked_json(graph: Graph) -> bytes:
    """The JSON of a graph without its names, as pydantic writes it."""
    # Who reads a graph does not wait for pydantic.
    from memstow.planner.model.validators import validator_of

    written = validator_of(Graph).dump_json(replace(graph, name=None), exclude=_WITHOUT_NAMES)
    return bytes(written)


def _plain_json(graph: Graph) -> bytes | None:
    """The same without pydantic, which takes longer to load than this takes; None for what it must write."""
    if graph.limits is not None:
        # A float, which may be written in more than one way.
        return None
    with collector_at_rest(), suppress(UnicodeEncodeError):
        document = {**_fields_without_names(graph), "name": None}
        text = json.dumps(
            document,
            default=_fields_without_names,
            ensure_ascii=False,
            separators=(",", ":"),
            check_circular=False,
        )
        return text.encode()
    return None


def _fields_without_names(instance: object) -> dict[str, object]:
    # A class can be hashed, whatever its instances can.
    kind: Any = type(instance)
    names, values_of = _digested_fields(kind)
    return dict(zip(names, values_of(instance), strict=True))


@cache
def _digested_fields(kind: Any) -> tuple[tuple[str, ...], Callable[[object], tuple[object, ...]]]:
    names = tuple(name for name in fields_of(kind) if not (kind is Tensor and name == "name"))
    return names, attrgetter(*names)


_INPUT: Final = "input"
_TEMPORARY: Final = "temporary"


class Label(NamedTuple):
    """What a buffer is."""

    what: str
    """The type of the operator that makes it, the type and the shape of its elements."""
    name: str | None = None
    """What the program calls it."""

    def __str__(self) -> str:
        return _words(self.what, self.name)


def buffer_labels(graph: Graph) -> dict[str, Label]:
    """By id what buffers are, without those of which nothing more is known."""
    require_kind(graph, Graph, "buffer_labels takes a Graph")
    producer = links_of(graph).producer
    inputs = set(graph.inputs)
    labels: dict[str, Label] = {}
    for i, tensor in enumerate(graph.tensors):
        if is_planned(tensor):
            maker = None if producer[i] == NOBODY else graph.operators[producer[i]].type
            origin = _INPUT if tensor.id in inputs else maker if tensor.kind == "data" else tensor.kind
            label = Label(_words(origin, tensor.type, _shape(tensor)), tensor.name)
            if str(label):
                labels[tensor.id] = label
    for operator in graph.operators:
        for temporary in operator.temporaries:
            labels[temporary.id] = Label(_words(operator.type, _TEMPORARY))
    return labels


def operator_label(operator: Operator) -> str:
    """The id and the type: `12 CONV_2D`."""
    return _words(operator.id, operator.type)


def _shape(tensor: Tensor) -> str | None:
    return None if tensor.shape is None else f"[{','.join(map(str, tensor.shape))}]"


def _words(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)
