"""Tensors and operators as they come about, node after node: what is known of values, and how they get where
operators want them.

What a node becomes (`nodes`) asks here for a value in some order of its axes, and says what it makes. A value
whose bytes lie in another order goes through TRANSPOSE; reshapes are only another way to read.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, prod
from typing import TYPE_CHECKING, Final

from memstow.planner.firmware.full_model import RANGES, FullOperator, FullTensor, refuse
from memstow.planner.firmware.onnx.layouts import (
    Layout,
    channels_last,
    image_shape,
    merged,
    of_order,
    plain,
    reordered,
)
from memstow.planner.formats.onnx.dimensions import path_of, said_of, text_of
from memstow.planner.formats.onnx.rules import Operation
from memstow.planner.formats.onnx.terms import TermArithmetic
from memstow.planner.formats.tflite_model import ModelOperator
from memstow.planner.model.graph import Window

if TYPE_CHECKING:
    import onnx

    from memstow.planner.firmware.onnx.constants import Array, Floats

_SPATIAL: Final = (3, 4)


INTEGERS: Final = ("int8", "uint8")


@dataclass(frozen=True, slots=True)
class Quantisation:
    """What integers stand for: the difference from a zero times a scale, one or one for each channel."""

    type: str
    scales: tuple[float, ...]
    zeros: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class QuantisedArray:
    """A constant as the integers that it was made from."""

    array: "Array"
    scales: "Floats"
    zeros: "Array"
    axis: int
    """Of the scales, where there are several."""

    @property
    def quantisation(self) -> Quantisation | None:
        """What all of it stands for; None where channels differ."""
        if self.scales.size != 1 or self.zeros.size != 1 or str(self.array.dtype) not in INTEGERS:
            return None
        return Quantisation(str(self.array.dtype), (float(self.scales[0]),), (int(self.zeros[0]),))


@dataclass(frozen=True, slots=True)
class Value:
    """What a node makes: a tensor, and how the value is read from it."""

    tensor: int
    shape: tuple[int, ...]
    layout: Layout
    is_quantised: bool = False
    """Whether it is a value of floats of which the tensor has integers."""

    @property
    def has_channels_last(self) -> bool:
        """Whether it is an image as kernels have it, and is not plain as well."""
        if len(self.shape) not in _SPATIAL or self.layout.is_plain:
            return False
        return merged(self.layout) == merged(of_order(self.shape, channels_last(len(self.shape))))


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an operator, by the numbers that they have in TensorFlow Lite or in `layers`."""

    values: Mapping[int, float]

    def number(self, field_: int, _: str, default: int = 0) -> int:
        """A whole number."""
        return int(self.values.get(field_, default))

    def real(self, field_: int, default: float = 0.0) -> float:
        """Any number."""
        return float(self.values.get(field_, default))


@dataclass(slots=True)
class Draft:
    """An operator that may still change: what follows may become a part of it."""

    kind: str
    path: str
    inputs: list[int]
    outputs: list[int]
    options: Mapping[int, float]
    window: Window | None
    limits: tuple[float, float] | None = None
    """What is less or more is cut off."""
    views: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """The shapes that it takes its input and its output for."""


class Node:
    """A node of the model and what it says."""

    def __init__(self, proto: "onnx.NodeProto", index: int, opset: int, said: str | None = None) -> None:
        self.proto = proto
        self.kind = text_of(proto.op_type)
        self.path = f"$.graph.node[{index}]"
        self.said = said or said_of(proto)
        self.goal: Quantisation | None = None
        """Of which integers its outputs are, where it works on integers."""
        self.weighed: Quantisation | None = None
        """Of its weights, which are in `replaced`."""
        self.replaced: dict[int, Array] = {}
        """By the place of an input, the integers that it reads there."""
        self.inputs = [text_of(name) for name in proto.input]
        self.outputs = [text_of(name) for name in proto.output]
        self._operation = Operation(proto, (), TermArithmetic(()), opset)
        # That of operators of integers says by which version of the standard it works.
        self.opset = self._operation.whole("opset", opset) if self.kind == "Softmax" else opset

    def whole(self, name: str, default: int) -> int:
        """A whole number."""
        return self._operation.whole(name, default)

    def real(self, name: str, default: float) -> float:
        """Any number."""
        attribute = self._operation.attribute(name)
        return default if attribute is None else attribute.f

    def text(self, name: str, default: str) -> str:
        """A text."""
        return self._operation.text(name, default)

    def wholes(self, name: str) -> tuple[int, ...] | None:
        """A list of whole numbers; None where there is none."""
        return self._operation.wholes(name)

    def reals(self, name: str) -> tuple[float, ...] | None:
        """A list of numbers; None where there is none."""
        attribute = self._operation.attribute(name)
        return None if attribute is None else tuple(attribute.floats)

    def need(self, condition: bool, message: str, code: str = "not_supported") -> None:
        """Refuse the node, where this does not hold."""
        if not condition:
            raise refuse(code, self.path, f"{self.said}: {message}")

    @property
    def is_integer(self) -> bool:
        """Whether it works on integers."""
        return self.goal is not None

    def has(self, place: int) -> bool:
        """Whether this input is not left out."""
        return place < len(self.inputs) and bool(self.inputs[place])


def dequantised(array: "Array", quantisation: Quantisation) -> "Floats":
    """What integers stand for, as DequantizeLinear has it."""
    import numpy

    scale, zero = numpy.float32(quantisation.scales[0]), quantisation.zeros[0]
    floats: Floats = (array.astype(numpy.int32) - zero).astype(numpy.float32) * scale
    return floats


def quantised(array: "Array", quantisation: Quantisation) -> "Array":
    """The integers that stand for floats, as QuantizeLinear has it: halves to even, NaN to the least."""
    import numpy

    least, most = RANGES[quantisation.type]
    zero = quantisation.zeros[0]
    with numpy.errstate(all="ignore"):
        real = array.astype(numpy.float32) / numpy.float32(quantisation.scales[0])
    inside = numpy.clip(numpy.where(numpy.isnan(real), -numpy.inf, real), least - zero, most - zero)
    integers: Array = (numpy.rint(inside).astype(numpy.int32) + zero).astype(quantisation.type)
    return integers


@dataclass
class Lowering:
    """The model so far."""

    shapes: Mapping[str, tuple[int, ...]]
    """Of all values, by name."""
    types: Mapping[str, str]
    """Of their elements."""
    constants: "dict[str, Array]"
    uses: Counter[str] = field(default_factory=Counter)
    """How many read each value, the outputs of the model among them."""
    readers: dict[str, Node] = field(default_factory=dict)
    """The last node that reads a value."""
    quantised: dict[str, QuantisedArray] = field(default_factory=dict)
    """Of constants of floats, the integers that they were made from."""
    tensors: list[FullTensor] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    _owner: dict[int, str] = field(default_factory=dict)
    """By tensor, the value that was the first to be it."""
    _known: dict[tuple[int, Layout, tuple[int, ...]], int] = field(default_factory=dict)
    _floats: dict[int, int] = field(default_factory=dict)
    """By tensor of integers, that of the floats for which they stand."""
    _makers: dict[int, Draft] = field(default_factory=dict)
    _read: Counter[int] = field(default_factory=Counter)
    """How many operators read a tensor."""

    # Values.

    def value(self, node: Node, place: int = 0) -> Value:
        """An input that is computed when the program runs; a constant becomes a tensor."""
        node.need(node.has(place), f"it has no input {place}", "missing_input")
        name = node.inputs[place]
        integers = self.quantised.get(name)
        if integers is not None and node.is_integer:
            tensor = self.constant(integers.array, name, integers.quantisation)
            shape = tuple(integers.array.shape)
            return Value(tensor, shape, plain(shape), is_quantised=True)
        array = self.constants.get(name)
        if array is not None:
            return Value(self.constant(array, name), tuple(array.shape), plain(array.shape))
        value = self.values.get(name)
        if value is None:
            message = "no node before the one that reads it makes it, and it is no input and no initializer"
            raise refuse("not_written", path_of(name), message)
        return self.as_floats(value) if value.is_quantised and not node.is_integer else value

    def is_constant(self, node: Node, place: int) -> bool:
        """Whether an input is known when the program is written."""
        return node.has(place) and node.inputs[place] in self.constants

    def array(self, node: Node, place: int) -> "Array":
        """An input that is known when the program is written."""
        node.need(node.has(place), f"it has no input {place}", "missing_input")
        if place in node.replaced:
            return node.replaced[place]
        array = self.constants.get(node.inputs[place])
        if array is None:
            message = (
                f"its input {node.inputs[place]!r} is computed when the model runs; a constant is needed"
            )
            node.need(False, message, "not_constant")
        return self.constants[node.inputs[place]]

    def integers(self, node: Node, place: int, attribute: str | None = None) -> tuple[int, ...] | None:
        """Whole numbers of an input, or in older opsets of an attribute; None where they are left out."""
        if node.has(place):
            return tuple(int(entry) for entry in self.array(node, place).reshape(-1))
        return node.wholes(attribute) if attribute else None

    # Tensors.

    def tensor(
        self, name: str, shape: Sequence[int], kind: str = "float32", content: bytes | None = None
    ) -> int:
        """A new tensor."""
        self.tensors.append(
            FullTensor(path_of(name), name, tuple(shape), kind, (), (), 0, content, is_variable=False)
        )
        return len(self.tensors) - 1

    def output(self, node: Node, shape: Sequence[int], number: int = 0) -> int:
        """A new tensor for an output of a node, of integers where it works on them."""
        tensor = self.tensor(node.outputs[number], shape)
        if node.goal is not None:
            self._stand_for(tensor, node.goal)
        return tensor

    def _stand_for(self, tensor: int, quantisation: Quantisation) -> None:
        self.tensors[tensor] = replace(
            self.tensors[tensor],
            type=quantisation.type,
            scales=quantisation.scales,
            zeros=quantisation.zeros,
        )

    def quantisation(self, tensor: int) -> Quantisation:
        """What the integers of a tensor stand for."""
        entry = self.tensors[tensor]
        return Quantisation(entry.type, entry.scales, entry.zeros)

    def constant(self, array: "Array", name: str, quantisation: Quantisation | None = None) -> int:
        """A tensor that never changes."""
        import numpy

        kind = str(array.dtype)
        if kind not in ("float32", "int32", "int64", *INTEGERS):
            raise refuse("unknown_type", path_of(name), f"a constant of {kind} cannot be built; float32 can")
        dense = numpy.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
        tensor = self.tensor(name, array.shape, kind, dense.tobytes())
        if quantisation is not None:
            self._stand_for(tensor, quantisation)
        return tensor

    def numbers(self, numbers: Sequence[int], name: str) -> int:
        """A list of whole numbers that an operator is given."""
        import numpy

        return self.constant(numpy.array(numbers, numpy.int32), name)

    def stored(self, value: Value, order: Sequence[int], shape: Sequence[int] | None = None) -> int:
        """The tensor that has the axes of the value in this order; of this shape, where one is wanted."""
        extents = tuple(value.shape[axis] for axis in order)
        wanted = extents if shape is None else tuple(shape)
        layout = reordered(value.layout, value.shape, order)
        if layout is None:
            value = self.plain(value)
            layout = reordered(value.layout, value.shape, order)
        assert layout is not None  # noqa: S101
        least = merged(layout)
        source = self.tensors[value.tensor]
        if len(least.stored) <= 1 and source.shape == wanted:
            return value.tensor
        if source.content is not None:
            import numpy

            array = numpy.frombuffer(source.content, source.type).reshape(least.stored)
            turned = array.transpose(least.turn).reshape(wanted)
            return self.constant(turned, source.name, self.quantisation(value.tensor))
        key = value.tensor, least, wanted
        if key not in self._known:
            target = self.tensor(source.name, wanted)
            self._stand_for(target, self.quantisation(value.tensor))
            if len(least.stored) <= 1:
                self.emit("RESHAPE", [value.tensor], [target], path=source.path)
            else:
                order_ = self.numbers(least.turn, f"{source.name} order")
                draft = self.emit("TRANSPOSE", [value.tensor, order_], [target], path=source.path)
                draft.views = least.stored, least.turned
            self._known[key] = target
        return self._known[key]

    def plain(self, value: Value) -> Value:
        """The value in the order in which ONNX has it."""
        tensor = value.tensor if value.layout.is_plain else self.stored(value, range(len(value.shape)))
        return replace(value, tensor=tensor, layout=plain(value.shape))

    # What integers stand for.

    def integers_of(self, source: FullTensor, quantisation: Quantisation) -> int:
        """A new tensor of integers in place of another."""
        target = self.tensor(source.name, source.shape)
        self._stand_for(target, quantisation)
        return target

    def as_floats(self, value: Value) -> Value:
        """A value of which there are integers, as floats: once, whoever reads it."""
        target = self._floats.get(value.tensor)
        source = self.tensors[value.tensor]
        if target is None:
            target = self._floats[value.tensor] = self.tensor(source.name, source.shape)
            self.emit("DEQUANTIZE", [value.tensor], [target], path=source.path)
        return replace(value, tensor=target, is_quantised=False)

    def as_integers(self, value: Value, wanted: Quantisation) -> Value:
        """A value of which there are integers, as others."""
        have = self.quantisation(value.tensor)
        if have == wanted:
            return value
        source = self.tensors[value.tensor]
        if source.content is not None:
            import numpy

            array = numpy.frombuffer(source.content, source.type).reshape(source.shape)
            other = quantised(dequantised(array, have), wanted)
            return replace(value, tensor=self.constant(other, source.name, wanted))
        target = self.integers_of(source, wanted)
        self.emit("REQUANTIZE", [value.tensor], [target], path=source.path)
        return replace(value, tensor=target)

    def read_as(self, value: Value, wanted: Quantisation) -> Value:
        """A value of integers as that of the floats for which they stand."""
        source = self.tensors[value.tensor]
        if not source.scales:
            self._stand_for(value.tensor, wanted)
        elif self.quantisation(value.tensor) != wanted:
            # The same integers are read as others elsewhere.
            target = self.integers_of(source, wanted)
            self.emit("RESHAPE", [value.tensor], [target], path=source.path)
            value = replace(value, tensor=target)
        return replace(value, is_quantised=True)

    def image(self, node: Node, place: int = 0) -> tuple[int, Value]:
        """An input as an image with rows, columns and channels."""
        value = self.value(node, place)
        node.need(
            len(value.shape) in _SPATIAL,
            f"its input has {len(value.shape)} dimensions; images have rows, or rows and columns",
        )
        node.need(
            value.shape[0] == 1, f"{value.shape[0]} images at a time; a program takes one: export it for one"
        )
        return self.stored(value, channels_last(len(value.shape)), image_shape(value.shape)), value

    # What nodes make.

    def shape_of(self, node: Node, number: int = 0) -> tuple[int, ...]:
        """The shape of an output."""
        name = node.outputs[number]
        shape = self.shapes.get(name)
        if shape is None:
            raise refuse("unknown_shape", path_of(name), "its shape is not known before the model runs")
        return shape

    def makes(self, node: Node, tensor: int, layout: Layout, number: int = 0) -> None:
        """Note what an output is."""
        name, shape = node.outputs[number], self.shape_of(node, number)
        kind = self.types.get(name, "unknown")
        stored = self.tensors[tensor].type
        sound = kind == stored or (kind == "float32" and node.goal is not None)
        node.need(sound and stored in ("float32", *INTEGERS), f"it makes {kind}", "unknown_type")
        node.need(
            prod(layout.stored) == prod(shape) == self.tensors[tensor].elements,
            f"it makes {prod(layout.stored):,} elements, and its output has {prod(shape):,}",
            "contradicting_shapes",
        )
        self.values[name] = Value(tensor, shape, layout, is_quantised=kind == "float32" != stored)
        self._owner.setdefault(tensor, name)

    def is_input(self, name: str, tensor: int, shape: tuple[int, ...], layout: Layout) -> None:
        """Note what an input of the model is."""
        self.values[name] = Value(tensor, shape, layout)

    def makes_image(self, node: Node, number: int = 0) -> int:
        """A new tensor for an output that is an image with channels last."""
        shape = self.shape_of(node, number)
        tensor = self.output(node, image_shape(shape), number)
        self.makes(node, tensor, of_order(shape, channels_last(len(shape))), number)
        return tensor

    def makes_plain(self, node: Node, number: int = 0, shape: Sequence[int] | None = None) -> int:
        """A new tensor for an output in the order of ONNX."""
        tensor = self.output(node, self.shape_of(node, number) if shape is None else shape, number)
        self.makes(node, tensor, plain(self.shape_of(node, number)), number)
        return tensor

    def same(self, node: Node, value: Value) -> None:
        """The output is the input, perhaps of another shape."""
        self.makes(node, value.tensor, value.layout)

    def emit(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        path: str,
        options: Mapping[int, float] | None = None,
        window: Window | None = None,
    ) -> Draft:
        """A new operator."""
        draft = Draft(kind, path, list(inputs), list(outputs), options or {}, window)
        self.drafts.append(draft)
        self._makers.update(dict.fromkeys(outputs, draft))
        self._read.update(inputs)
        return draft

    def undo(self, draft: Draft) -> None:
        """Take an operator back of which nothing reads what it makes."""
        self.drafts.remove(draft)
        self._read.subtract(draft.inputs)

    def maker(self, node: Node, place: int = 0) -> Draft | None:
        """The operator that makes an input that nothing else reads: the node may become a part of it."""
        name = node.inputs[place]
        value = self.values.get(name)
        if value is None or self.uses[name] != 1 or self._owner.get(value.tensor) != name:
            return None
        if value.is_quantised and not node.is_integer:
            return None
        draft = self._makers.get(value.tensor)
        if draft is None or self._read[value.tensor] or len(draft.outputs) != 1:
            return None
        return draft

    def becomes_part(self, node: Node, value: Value) -> None:
        """The output is what the operator makes that made the input."""
        self._owner.pop(value.tensor, None)
        self.makes(node, value.tensor, value.layout)

    def operators(self) -> list[FullOperator]:
        """The operators as layers are made from them."""
        listed = []
        for index, draft in enumerate(self.drafts):
            inputs, outputs = tuple(draft.inputs), tuple(draft.outputs)
            read = [self.tensors[entry] for entry in inputs]
            written = [self.tensors[entry] for entry in outputs]
            if draft.views is not None:
                read[0] = replace(read[0], shape=draft.views[0])
                written[0] = replace(written[0], shape=draft.views[1])
            listed.append(
                FullOperator(
                    index=index,
                    path=draft.path,
                    name=draft.kind,
                    inputs=tuple(read),
                    outputs=tuple(written),
                    source=ModelOperator(draft.kind, inputs, outputs, None, is_custom=False, places=inputs),
                    options=Options(draft.options),
                    window=draft.window,
                    limits=draft.limits or (-inf, inf),
                )
            )
        return listed
