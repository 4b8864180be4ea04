"""A TensorFlow Lite model with all that computing it takes: weights, scales and options.

What is read is checked as far as it decides which bytes are read: a model that says one thing of a tensor and
has another is refused with the place that is wrong.
"""

import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import Final, Protocol

from memstow.planner.formats.tflite_format import PADS, TYPES, window_of
from memstow.planner.formats.tflite_model import (
    ABSENT,
    NPU,
    ModelOperator,
    ModelTensor,
    QuantizationField,
    Subgraph,
    read_subgraphs,
)
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Window

WIDTHS: Final = {"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "int32": 4, "float32": 4, "int64": 8}
LETTERS: Final = {
    "int8": "b",
    "uint8": "B",
    "bool": "B",
    "int16": "h",
    "int32": "i",
    "float32": "f",
    "int64": "q",
}
RANGES: Final = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "int32": (-(1 << 31), (1 << 31) - 1),
}
# By byte that holds two elements of 4 bits, the first and the second as bytes.
_LOW: Final = bytes(((byte & 15) ^ 8) - 8 & 255 for byte in range(256))
_HIGH: Final = bytes(((byte >> 4) ^ 8) - 8 & 255 for byte in range(256))
# Addresses in a program of 32 bits.
MOST_BYTES: Final = (1 << 31) - 1


def refuse(code: str, path: str, message: str) -> InputError:
    """The error about a place of the model."""
    return InputError.single(code, path, message)


def numbers_in(letter: str, content: bytes) -> "array[int] | array[float]":
    """Numbers of a kind from bytes as models have them; as a tuple they would take ten times the memory."""
    numbers: array[int] | array[float] = array(letter)
    numbers.frombytes(content)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


@dataclass(frozen=True, slots=True)
class FullTensor:
    """A tensor, with what its elements stand for."""

    path: str
    name: str
    shape: tuple[int, ...]
    type: str
    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int
    content: bytes | None
    """Of a constant."""
    is_variable: bool

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    @property
    def width(self) -> int:
        """The bytes of an element."""
        return WIDTHS[self.type]

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.elements * self.width

    @property
    def scale(self) -> float:
        """What one step of its elements stands for; an InputError where it has no one scale."""
        if len(self.scales) != 1:
            raise refuse(
                "no_scale", self.path, f"it has {len(self.scales)} scales; one is needed to compute with it"
            )
        return self.scales[0]

    @property
    def zero(self) -> int:
        """The element that stands for zero."""
        return self.zeros[0] if self.zeros else 0

    def values(self) -> Sequence[int | float]:
        """The elements of a constant."""
        if self.content is None:
            raise refuse(
                "not_constant", self.path, "it is computed when the model runs; a constant is needed"
            )
        return numbers_in(LETTERS[self.type], self.content)

    def integers(self) -> tuple[int, ...]:
        """The elements of a constant of integers."""
        if self.type.startswith("float"):
            raise refuse("unknown_type", self.path, f"it is of {self.type}, where whole numbers are needed")
        return tuple(map(int, self.values()))


class Options(Protocol):
    """The options of an operator, by the numbers of their fields."""

    def number(self, field: int, layout: str, default: int = 0, /) -> int:
        """A whole number."""

    def real(self, field: int, default: float = 0.0, /) -> float:
        """A number of floating point."""


@dataclass(frozen=True, slots=True)
class FullOperator:
    """An operator; an input that is left out is None."""

    index: int
    path: str
    name: str
    inputs: tuple[FullTensor | None, ...]
    outputs: tuple[FullTensor, ...]
    source: ModelOperator
    options: Options | None = None
    window: Window | None = None
    """Which rows and columns it reads; None: it has no window, or its shapes do not go with its options."""
    limits: tuple[float, float] | None = None
    """What is less or more is cut off, where no activation says so."""

    def input(self, place: int) -> FullTensor:
        """An input that has to be there."""
        tensor = self.optional(place)
        if tensor is None:
            raise refuse("missing_input", self.path, f"{self.name} has no input {place}")
        return tensor

    def optional(self, place: int) -> FullTensor | None:
        """An input that may be left out."""
        places = self.source.places
        if place >= len(places) or places[place] == ABSENT:
            return None
        tensor = self.inputs[place]
        if tensor is None:
            message = f"{self.name}: input {place} is of a type that no program can compute with"
            raise refuse("unknown_type", self.path, message)
        return tensor

    @property
    def output(self) -> FullTensor:
        """The only output."""
        if len(self.outputs) != 1:
            raise refuse(
                "missing_output", self.path, f"{self.name} has {len(self.outputs)} outputs; one is needed"
            )
        return self.outputs[0]

    def number(self, field: int, layout: str, default: int = 0) -> int:
        """A number of its options."""
        return default if self.options is None else self.options.number(field, layout, default)

    def real(self, field: int, default: float = 0.0) -> float:
        """A number of floating point of its options."""
        return default if self.options is None else self.options.real(field, default)


@dataclass(frozen=True, slots=True)
class FullModel:
    """What runs: the first subgraph, and what variables hold before it runs."""

    tensors: tuple[FullTensor | None, ...]
    """None: no memory, as a handle of a variable."""
    operators: tuple[FullOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    subgraphs: Sequence[Subgraph]


def read_model(data: bytes) -> FullModel:
    """The model; an InputError for what cannot be computed."""
    subgraphs = read_subgraphs(data)
    main = subgraphs[0]
    tensors = tuple(
        full_tensor(data, tensor, f"$.subgraphs[0].tensors[{index}]")
        for index, tensor in enumerate(main.tensors)
    )
    operators = tuple(
        _operator(index, operator, main, tensors) for index, operator in enumerate(main.operators)
    )
    for operator in operators:
        if operator.name == NPU:
            message = f"{NPU} is a neural processor's own, and has no kernel; build the model that Vela read"
            raise refuse("unknown_operator", operator.path, message)
    model = FullModel(tensors, operators, main.inputs, main.outputs, subgraphs)
    _require_written(model)
    return model


def _require_written(model: FullModel) -> None:
    """Refuse a model that reads what nobody wrote, or takes or makes what cannot be."""
    made = {place for operator in model.operators for place in operator.source.outputs}
    made.update(model.inputs)
    read = {place for operator in model.operators for place in operator.source.inputs}
    for index, tensor in enumerate(model.tensors):
        if tensor is not None and index in made:
            if index in model.inputs and tensor.content is not None:
                message = "it is an input of the model and a constant; let it be one of them"
                raise refuse("not_supported", tensor.path, message)
            if not tensor.size:
                message = f"shape {list(tensor.shape)[:8]} has no elements; leave out what computes with it"
                raise refuse("unknown_shape", tensor.path, message)
        if tensor is None or index in made:
            continue
        if index in model.outputs:
            raise refuse("not_written", tensor.path, "it is an output of the model that no operator makes")
        if index in read and tensor.content is None and not tensor.is_variable and tensor.size:
            raise refuse("not_written", tensor.path, "operators read it, and nobody writes it")


def full_tensor(data: bytes, tensor: ModelTensor, path: str) -> FullTensor | None:
    """A tensor with its bytes; None where it has none of its own. Constants of int4 become int8."""
    kind = TYPES.get(tensor.type)
    is_packed = kind == "int4" and tensor.is_constant
    if is_packed:
        kind = "int8"
    if kind not in WIDTHS:
        return None
    if any(extent < 0 for extent in tensor.shape):
        raise refuse(
            "unknown_shape", path, f"shape {list(tensor.shape)[:8]} is not known before the model runs"
        )
    size = prod(tensor.shape) * WIDTHS[kind]
    if size > MOST_BYTES:
        raise refuse("too_large", path, "the tensor has more than 2^31 bytes")
    content = None
    if tensor.is_constant:
        begin, length = tensor.content
        needed = -(-size // 2) if is_packed else size
        if length != needed:
            message = f"its shape and type need {needed:,} bytes, and the model has {length:,} for it"
            raise refuse("wrong_size", path, message)
        if begin + length > len(data):
            raise refuse("damaged", path, "its bytes reach beyond the end of the file")
        content = data[begin : begin + length]
        if is_packed:
            unpacked = bytearray(2 * length)
            unpacked[0::2], unpacked[1::2] = content.translate(_LOW), content.translate(_HIGH)
            content = bytes(unpacked[:size])
    table = tensor.quantization
    scales = (
        () if table is None else tuple(float(scale) for scale in table.numbers(QuantizationField.SCALES, "f"))
    )
    zeros = (
        ()
        if table is None
        else tuple(int(zero) for zero in table.numbers(QuantizationField.ZERO_POINTS, "q"))
    )
    if any(not isfinite(scale) or scale <= 0 for scale in scales):
        raise refuse("bad_scale", path, "a scale is not a positive number")
    if kind in RANGES and any(not RANGES[kind][0] <= zero <= RANGES[kind][1] for zero in zeros):
        raise refuse("bad_zero_point", path, f"a zero point is not in the range of {kind}")
    if len(zeros) not in (0, len(scales)):
        raise refuse("bad_zero_point", path, f"it has {len(scales)} scales and {len(zeros)} zero points")
    return FullTensor(
        path=path,
        name=tensor.name,
        shape=tensor.shape,
        type=kind,
        scales=scales,
        zeros=zeros,
        axis=0 if table is None else table.number(QuantizationField.AXIS, "<i"),
        content=content,
        is_variable=tensor.is_variable,
    )


def _operator(
    index: int, operator: ModelOperator, main: Subgraph, tensors: Sequence[FullTensor | None]
) -> FullOperator:
    path = f"$.subgraphs[0].operators[{index}]"
    inputs = tuple(None if place == ABSENT else tensors[place] for place in operator.places)
    outputs = tuple(tensor for place in operator.outputs if (tensor := tensors[place]) is not None)
    window = _window_of_images(operator, main.tensors)
    return FullOperator(index, path, operator.name, inputs, outputs, operator, operator.options, window)


def _window_of_images(operator: ModelOperator, tensors: Sequence[ModelTensor]) -> Window | None:
    """The window in which it reads each of its images; margins are put around one alone."""
    listed = list(tensors)
    ends = (*operator.inputs[:1], *operator.outputs[:1])
    batches = {tensors[place].shape[:1] for place in ends}
    if operator.name not in PADS and len(ends) == 2 and len(batches) == 1 and batches != {(0,)}:
        for place in ends:
            listed[place] = replace(tensors[place], shape=(1, *tensors[place].shape[1:]))
    return window_of(operator, listed)


def initial_variables(model: FullModel, data: bytes) -> Mapping[tuple[str, str], FullTensor]:
    """What variables hold before the first run, by container and name: what CALL_ONCE assigns, or zeros."""
    assigned = _zeros(model)
    for operator in model.operators:
        if operator.name != "CALL_ONCE":
            continue
        number = operator.number(0, "<i")
        if not 0 < number < len(model.subgraphs):
            raise refuse(
                "damaged", operator.path, f"it calls subgraph {number:,} of {len(model.subgraphs):,}"
            )
        subgraph = model.subgraphs[number]
        handles: dict[int, tuple[str, str]] = {}
        for at, called in enumerate(subgraph.operators):
            path = f"$.subgraphs[{number}].operators[{at}]"
            if called.name == "VAR_HANDLE" and called.outputs:
                handles[called.outputs[0]] = handle_of(called)
                continue
            if called.name != "ASSIGN_VARIABLE" or len(called.inputs) != 2 or called.inputs[0] not in handles:
                message = (
                    f"{called.name} in what CALL_ONCE calls cannot be built; only constants that are assigned"
                )
                raise refuse("not_supported", path, message)
            place = called.inputs[1]
            value = full_tensor(data, subgraph.tensors[place], f"$.subgraphs[{number}].tensors[{place}]")
            if value is None or value.content is None:
                raise refuse("not_supported", path, "what it assigns is no constant")
            assigned[handles[called.inputs[0]]] = value
    return assigned


def _zeros(model: FullModel) -> dict[tuple[str, str], FullTensor]:
    """Variables as the runtime has them at first: each byte is the zero point of what is assigned to them."""
    handles: dict[int, tuple[str, str]] = {}
    zeros: dict[tuple[str, str], FullTensor] = {}
    for operator in model.operators:
        inputs = operator.source.inputs
        if operator.name == "VAR_HANDLE" and operator.source.outputs:
            handles[operator.source.outputs[0]] = handle_of(operator.source)
        elif operator.name == "ASSIGN_VARIABLE" and inputs and inputs[0] in handles:
            value = operator.input(1)
            content = bytes([value.zero % 256]) * value.size
            zeros.setdefault(handles[inputs[0]], replace(value, content=content))
    return zeros


def handle_of(operator: ModelOperator) -> tuple[str, str]:
    """The container and the name of a variable."""
    options = operator.options
    return ("", "") if options is None else (options.text(0), options.text(1))
