"""What the buffers and operators of a graph are, in words: ids of models are numbers, which say nothing.

Labels are for people to read beside ids. Nothing is found by them, and no digest depends on them.
"""

from typing import Final, NamedTuple

from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.model.graph import Graph, Operator, Tensor, is_planned

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
