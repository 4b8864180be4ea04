"""The parts of a TensorFlow Lite model that decide about memory: tensors, operators, subgraphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.formats.tflite.flatbuffer import Flatbuffer, Table, damaged
from memstow.planner.formats.tflite.operator_names import operator_name
from memstow.planner.model.errors import InputError

INT32: Final = 2
"""The type of 32-bit integers."""
_MOST_NUMBERS: Final = 16
ABSENT: Final = -1
"""The index of a tensor that is left out."""


@dataclass(frozen=True, slots=True)
class ModelTensor:
    """A tensor of a subgraph."""

    shape: tuple[int, ...]
    type: int
    name: str
    is_constant: bool
    is_variable: bool
    numbers: tuple[int, ...] | None = None
    """What a small constant of 32-bit integers holds."""


@dataclass(frozen=True, slots=True)
class ModelOperator:
    """An operator of a subgraph; tensors by their index there."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Table | None
    is_custom: bool


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A part of the model; the first is what runs."""

    tensors: Sequence[ModelTensor]
    operators: Sequence[ModelOperator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def read_subgraphs(data: bytes) -> list[Subgraph]:
    """The subgraphs of a model; an InputError for bytes that are none."""
    if data[4:8] != b"TFL3":
        message = "a TensorFlow Lite model has TFL3 at byte 4, and this file does not"
        raise InputError.single("not_a_model", "$", message)
    model = Flatbuffer(data).root()
    codes = [(max(code.number(3, "<i"), code.number(0, "<b")), code.text(1)) for code in model.tables(1)]
    buffers = list(model.tables(4))
    filled = [bool(buffer.length(0)) or buffer.number(1, "<Q") > 1 for buffer in buffers]
    subgraphs = [_subgraph(table, codes, filled, buffers) for table in model.tables(2)]
    if not subgraphs:
        raise InputError.single("no_subgraph", "$.subgraphs", "the model has no subgraph; nothing runs")
    return subgraphs


def _subgraph(
    table: Table, codes: Sequence[tuple[int, str]], filled: Sequence[bool], buffers: Sequence[Table]
) -> Subgraph:
    tensors = [_tensor(tensor, filled, buffers) for tensor in table.tables(0)]
    count = len(tensors)
    return Subgraph(
        tensors,
        [_operator(operator, codes, count) for operator in table.tables(3)],
        _indices(table.integers(1), count),
        _indices(table.integers(2), count),
    )


def _tensor(table: Table, filled: Sequence[bool], buffers: Sequence[Table]) -> ModelTensor:
    buffer = table.number(2, "<I")
    if buffer >= len(filled) and buffer:
        raise damaged(0, f"a tensor has buffer {buffer:,} of {len(filled):,}")
    kind, is_constant = table.number(1, "<b"), buffer < len(filled) and filled[buffer]
    return ModelTensor(
        shape=tuple(table.integers(0) or ()),
        type=kind,
        name=table.text(3),
        is_constant=is_constant,
        is_variable=bool(table.number(5, "<B")),
        numbers=buffers[buffer].packed_integers(0, _MOST_NUMBERS) if is_constant and kind == INT32 else None,
    )


def _operator(table: Table, codes: Sequence[tuple[int, str]], tensors: int) -> ModelOperator:
    index = table.number(0, "<I")
    if index >= len(codes):
        raise damaged(0, f"an operator has code {index:,} of {len(codes):,}")
    code, custom = codes[index]
    return ModelOperator(
        name=operator_name(code, custom),
        inputs=_indices(table.integers(1), tensors),
        outputs=_indices(table.integers(2), tensors),
        options=table.table(4),
        is_custom=bool(custom),
    )


def _indices(numbers: list[int] | None, count: int) -> tuple[int, ...]:
    """Indices of tensors, without those that are left out."""
    for number in numbers or ():
        if number != ABSENT and not 0 <= number < count:
            raise damaged(0, f"it names tensor {number:,} of {count:,}")
    return tuple(number for number in numbers or () if number != ABSENT)
