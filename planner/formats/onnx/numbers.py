"""Bounds on the numbers that shapes are computed from, so that no product of two of them passes 2^63.

Shape inference computes in 64 bits and does not look for overflow: a tensor repeated 2^40 times could seem to
be empty. What is refused here is a thousand times what programs have.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.dimensions import LARGEST
from memstow.planner.formats.onnx.texts import path_of, text_of
from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import printable, shown

if TYPE_CHECKING:
    import onnx

_LARGEST_FACTOR: Final = 1 << 30
_MOST_NUMBERS: Final = 64
# A slice may end at the largest number, for "all that follow".
_FREE: Final = frozenset(("Slice", "Gather", "GatherND", "GatherElements", "Constant"))
_COUNTS: Final = frozenset(
    ("Tile", "Pad", "Range", "Resize", "Upsample", "Col2Im", "CenterCropPad", "OneHot", "STFT")
)
# Shapes are inferred for no other operators.
_INFERRED: Final = ("", "ai.onnx")


def refuse_large_numbers(model: "onnx.ModelProto") -> None:
    """Raise InputError for attributes, counts and dimensions that no program has."""
    constants = dict(small_constants(model))
    for i, node in enumerate(model.graph.node):
        kind = text_of(node.op_type)
        if kind in _FREE or node.domain not in _INFERRED:
            continue
        numbers = [number for it in node.attribute for number in (it.i, *it.ints)]
        if kind in _COUNTS:
            numbers += [number for name in node.input for number in constants.get(name, ())]
        _refuse(numbers, _LARGEST_FACTOR, f"$.graph.node[{i}]", f"{printable(kind, 60)} has the number")


def refuse_large_dimensions(model: "onnx.ModelProto") -> None:
    """Raise InputError for a value with a dimension that no tensor has."""
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        extents = [it.dim_value for it in value.type.tensor_type.shape.dim]
        _refuse(extents, LARGEST, path_of(text_of(value.name)), "it has the dimension")


def _refuse(numbers: Iterable[int], most: int, path: str, what: str) -> None:
    for number in numbers:
        if abs(number) > most:
            message = f"{what} {shown(number)}, which is more than {most:,}"
            raise InputError.single("too_large", path, message)


def small_constants(model: "onnx.ModelProto") -> "Iterator[tuple[str, list[int]]]":
    """The whole numbers in constants that may be counts."""
    graph = model.graph
    tensors = [(it.name, it) for it in graph.initializer]
    for node in graph.node:
        if node.op_type == "Constant":
            for it in node.attribute:
                for name in node.output:
                    yield name, [it.i, *it.ints]
                    tensors += [(name, it.t)] if it.HasField("t") else []
    for name, tensor in tensors:
        numbers = _numbers(tensor)
        if numbers is not None:
            yield name, numbers


def _numbers(tensor: "onnx.TensorProto") -> list[int] | None:
    if tensor.data_type not in (6, 7) or tensor.data_location == 1:
        return None
    width = 4 if tensor.data_type == 6 else 8
    raw = tensor.raw_data[: width * _MOST_NUMBERS]
    packed = [
        int.from_bytes(raw[at : at + width], "little", signed=True)
        for at in range(0, len(raw) - width + 1, width)
    ]
    return [*packed, *tensor.int64_data[:_MOST_NUMBERS], *tensor.int32_data[:_MOST_NUMBERS]]
