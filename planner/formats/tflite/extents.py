"""Which bytes of a model its parts take up, so that none is changed that another part uses as well."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from memstow.planner.formats.tflite.flatbuffer import Flatbuffer, Table

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
_BUFFERS: Final = 4


def extents(data: bytes) -> Iterator[Extent]:
    """The bytes of each table and vector of a model, as often as something refers to it."""
    model = Flatbuffer(data).root()
    yield 0, 8
    yield from _of_table(model, _MODEL)
    for buffer in model.tables(_BUFFERS):
        begin, size = buffer.number(1, "<Q"), buffer.number(2, "<Q")
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
    found = table.vector(number, width)
    if found is not None:
        begin, length = found
        yield begin - 4, begin + length * width
