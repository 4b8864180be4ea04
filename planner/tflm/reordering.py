"""A model with its operators in another order: 4 bytes for each that moves change, and no others.

The operators of a subgraph are a vector of offsets, each relative to its own place. Weights, tensors and the
operators themselves stay where they are; none is moved whose bytes another part of the model uses as well.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from memstow.planner.formats.flatbuffer import Flatbuffer, Table
from memstow.planner.formats.tflite_format import read_graph
from memstow.planner.formats.tflite_model import NPU, BufferField, MetadataField, ModelField, SubgraphField
from memstow.planner.graph.schedules import allowed_order
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph

Extent = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields of a table that refer to others: vectors by the width of their elements, tables, lists."""

    vectors: Mapping[int, int] = field(default_factory=dict)
    tables: "Mapping[int, _Shape]" = field(default_factory=dict)
    lists: "Mapping[int, _Shape]" = field(default_factory=dict)


# The lists within options and quantization details are those of many kinds of tables, and are not followed.
_OTHER: Final = _Shape()
_QUANTIZATION: Final = _Shape({0: 4, 1: 4, 2: 4, 3: 8}, {5: _OTHER})
_SPARSITY: Final = _Shape({0: 4, 1: 4}, lists={2: _OTHER})
_TENSOR: Final = _Shape({0: 4, 3: 1, 7: 4}, {4: _QUANTIZATION, 6: _SPARSITY}, {9: _OTHER})
_OPERATOR: Final = _Shape({1: 4, 2: 4, 5: 1, 7: 1, 8: 4}, {4: _OTHER, 12: _OTHER})
_SUBGRAPH: Final = _Shape({1: 4, 2: 4, 4: 1}, lists={0: _TENSOR, 3: _OPERATOR})
_NAMED: Final = _Shape({0: 1})
_SIGNATURE: Final = _Shape({2: 1}, lists={0: _NAMED, 1: _NAMED})
_MODEL: Final = _Shape(
    {3: 1, 5: 4},
    lists={1: _Shape({1: 1}), 2: _SUBGRAPH, 4: _NAMED, 6: _NAMED, 7: _SIGNATURE},
)


def extents(data: bytes) -> Iterator[Extent]:
    """The bytes of each table and vector of a model, as often as something refers to it."""
    model = Flatbuffer(data).root()
    yield 0, 8
    yield from _of_table(model, _MODEL)
    for buffer in model.tables(ModelField.BUFFERS):
        begin, size = buffer.number(BufferField.BEGIN, "<Q"), buffer.number(BufferField.SIZE, "<Q")
        if size:
            yield begin, begin + size


def _of_table(table: Table, shape: _Shape) -> Iterator[Extent]:
    yield from table.extents()
    for number, width in shape.vectors.items():
        yield from _of_vector(table, number, width)
    for number, inner in shape.tables.items():
        held = table.table(number)
        if held is not None:
            yield from _of_table(held, inner)
    for number, inner in shape.lists.items():
        yield from _of_vector(table, number, 4)
        for element in table.tables(number):
            yield from _of_table(element, inner)


def _of_vector(table: Table, number: int, width: int) -> Iterator[Extent]:
    vector = table.vector(number, width)
    if vector is not None:
        begin, length = vector
        yield begin - 4, begin + length * width


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
    for entry in Flatbuffer(model).root().tables(ModelField.METADATA):
        name = entry.text(MetadataField.NAME)
        what = _OF_ONE_ORDER.get(name)
        if what is not None:
            raise _fixed(f"it carries {what} ({name}); write the model before that is added")
    if any(operator.type == NPU for operator in read_graph(model).operators):
        raise _fixed(f"the commands of its operator {NPU} hold in one order only")
    begin, length = _operators(model)
    end = begin + 4 * length
    # The vector itself is one of them. An operator within it would be another, so all lie behind it.
    if sum(first < end and begin - 4 < last for first, last in extents(model)) > 1:
        raise _fixed("the list of its operators shares bytes with another part of the file")


def _operators(model: bytes) -> tuple[int, int]:
    """Where the vector of the operators of the first subgraph begins, and its length."""
    subgraph: Table = next(Flatbuffer(model).root().tables(ModelField.SUBGRAPHS))
    vector = subgraph.vector(SubgraphField.OPERATORS, 4)
    if vector is None:
        raise _fixed("it has no operators")
    return vector


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
    operator = graph.operators[index]
    return operator.type, operator.inputs, operator.outputs, operator.temporaries, operator.window


def _fixed(why: str) -> InputError:
    return InputError.single("cannot_reorder", "$", f"the operators of this model cannot be reordered: {why}")
