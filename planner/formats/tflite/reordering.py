"""A model with its operators in another order: 4 bytes for each that moves change, and no others.

The operators of a subgraph are a vector of offsets, each relative to its own place. Weights, tensors and the
operators themselves stay where they are.
"""

import struct
from collections.abc import Sequence
from typing import Final

from memstow.planner.formats.tflite.extents import extents
from memstow.planner.formats.tflite.flatbuffer import Flatbuffer, Table
from memstow.planner.formats.tflite.format import read_graph
from memstow.planner.formats.tflite.operator_names import NPU
from memstow.planner.graph.program import allowed_order
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph

_SUBGRAPHS, _METADATA, _OPERATORS = 2, 6, 3
# Metadata that count operators or steps, so that they would be wrong in another order.
_OF_ONE_ORDER: Final = {
    "OfflineMemoryAllocation": "a memory plan that holds in this order only",
    "model_control_dependencies": "dependencies that number its operators",
}


def reorder_model(model: bytes, order: Sequence[str]) -> bytes:
    """A TensorFlow Lite model whose operators run in the order of these ids, which are their indices.

    Raises InputError for an order that the model does not allow, and for a model that cannot be reordered.
    """
    graph = read_graph(model)
    indices = allowed_order(graph, order)
    require_movable(model)
    begin, length = _operators(model)
    if indices == list(range(length)):
        return model
    places = range(begin, begin + 4 * length, 4)
    offsets = struct.unpack_from(f"<{length}I", model, begin)
    targets = [place + offset for place, offset in zip(places, offsets, strict=True)]
    moved = [targets[index] - place for place, index in zip(places, indices, strict=True)]
    written = bytearray(model)
    struct.pack_into(f"<{length}I", written, begin, *moved)
    _require_same(graph, indices, read_graph(bytes(written)))
    return bytes(written)


def require_movable(model: bytes) -> None:
    """Raise an InputError where the operators of a model cannot change places, whatever the order."""
    for entry in Flatbuffer(model).root().tables(_METADATA):
        what = _OF_ONE_ORDER.get(entry.text(0))
        if what is not None:
            raise _fixed(f"it carries {what} ({entry.text(0)}); write the model before that is added")
    if any(operator.type == NPU for operator in read_graph(model).operators):
        raise _fixed(f"the commands of its operator {NPU} hold in one order only")
    begin, length = _operators(model)
    end = begin + 4 * length
    # The vector itself is one of them. An operator within it would be another, so all lie behind it.
    if sum(first < end and begin - 4 < last for first, last in extents(model)) > 1:
        raise _fixed("the list of its operators shares bytes with another part of the file")


def _operators(model: bytes) -> tuple[int, int]:
    """Where the vector of the operators of the first subgraph begins, and its length."""
    subgraph: Table = next(Flatbuffer(model).root().tables(_SUBGRAPHS))
    found = subgraph.vector(_OPERATORS, 4)
    if found is None:
        raise _fixed("it has no operators")
    return found


def _require_same(graph: Graph, indices: Sequence[int], written: Graph) -> None:
    """Judge what was written by reading it: the same tensors, and the same operators in the new order."""
    same = len(written.operators) == len(graph.operators) and all(
        _without_id(graph, index) == _without_id(written, at) for at, index in enumerate(indices)
    )
    if not same or (graph.tensors, graph.inputs, graph.outputs) != (
        written.tensors,
        written.inputs,
        written.outputs,
    ):
        raise _fixed("it would be another model in another order, since its parts share bytes")


def _without_id(graph: Graph, index: int) -> tuple[object, ...]:
    it = graph.operators[index]
    return it.type, it.inputs, it.outputs, it.temporaries, it.window


def _fixed(why: str) -> InputError:
    return InputError.single("cannot_reorder", "$", f"the operators of this model cannot be reordered: {why}")
