"""Operators of integers as operators of floats between pairs of QuantizeLinear and DequantizeLinear.

Models are quantised in two ways: with such pairs, or with operators that have scales and zero points as
inputs (QLinearConv). Those of the second that are no part of the standard have no shapes by inference; as
pairs they have, and what is known of the first holds for them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.dimensions import STANDARD, said_of, text_of
from memstow.planner.model.errors import InputError

if TYPE_CHECKING:
    import onnx

RUNTIME: Final = "com.microsoft"
_PAIR: Final = ("QuantizeLinear", "DequantizeLinear")


@dataclass(frozen=True, slots=True)
class _Operator:
    """What an operator of integers is of floats, and where its inputs have what."""

    kind: str
    operands: tuple[int, ...]
    """Where each begins: the integers, their scale and their zero point."""
    made: int
    """Where the scale of the output is; its zero point follows."""
    bias: int | None = None


_OPERATORS: Final[Mapping[str, _Operator]] = {
    "QLinearConv": _Operator("Conv", (0, 3), 6, 8),
    "QLinearMatMul": _Operator("MatMul", (0, 3), 6),
    "QGemm": _Operator("Gemm", (0, 3), 7, 6),
    "QLinearAdd": _Operator("Add", (0, 3), 6),
    "QLinearMul": _Operator("Mul", (0, 3), 6),
    "QLinearConcat": _Operator("Concat", (), 0),
    "QLinearGlobalAveragePool": _Operator("GlobalAveragePool", (0,), 3),
    "QLinearAveragePool": _Operator("AveragePool", (0,), 3),
    "QLinearSigmoid": _Operator("Sigmoid", (0,), 3),
    "QLinearLeakyRelu": _Operator("LeakyRelu", (0,), 3),
    "QLinearSoftmax": _Operator("Softmax", (0,), 3),
}
OPERATORS: Final = tuple(sorted(_OPERATORS))
"""Operators of integers that can be built."""
Origins = list[tuple[int, str]]
"""By node, the place in the file of the one that it is a part of, and what that is called."""


EVERYWHERE: Final = (*STANDARD, RUNTIME)


def has_operators(model: "onnx.ModelProto") -> bool:
    """Whether there are operators of integers that are no part of the standard."""
    return any(
        text_of(node.domain) == RUNTIME and text_of(node.op_type) in (*_OPERATORS, *_PAIR)
        for node in model.graph.node
    )


def as_pairs(model: "onnx.ModelProto", domains: Collection[str] = EVERYWHERE) -> Origins:
    """Write operators of integers of these domains as operators of floats between pairs, in the model."""
    made: list[onnx.NodeProto] = []
    origins: Origins = []
    pairs = _Pairs(model)
    for index, node in enumerate(model.graph.node):
        kind, domain = text_of(node.op_type), text_of(node.domain)
        listed = [node]
        if domain == RUNTIME and kind in _PAIR:
            node.domain = ""
        elif kind in _OPERATORS and domain in domains:
            listed = pairs.of(node, _OPERATORS[kind], f"$.graph.node[{index}]")
        pairs.note(listed)
        origins += [(index, said_of(node))] * len(listed)
        made += [type(node).FromString(entry.SerializeToString()) for entry in listed]
    del model.graph.node[:]
    model.graph.node.extend(made)
    return origins


class _Pairs:
    def __init__(self, model: "onnx.ModelProto") -> None:
        self._graph = model.graph
        self._constants = {text_of(entry.name): entry for entry in model.graph.initializer}
        self._types = {
            text_of(entry.name): entry.type.tensor_type.elem_type
            for entry in (*model.graph.value_info, *model.graph.input, *model.graph.output)
        }
        self._types |= {name: tensor.data_type for name, tensor in self._constants.items()}
        self._taken = {text_of(name) for node in model.graph.node for name in (*node.input, *node.output)}
        self._taken |= set(self._types)

    def note(self, nodes: "Sequence[onnx.NodeProto]") -> None:
        """Keep in mind constants and types that nodes make."""
        for node in nodes:
            kind = text_of(node.op_type)
            if kind == "Constant":
                for entry in node.attribute:
                    if text_of(entry.name) == "value" and node.output:
                        self._constants[text_of(node.output[0])] = entry.t
                        self._types[text_of(node.output[0])] = entry.t.data_type
            elif kind == "QuantizeLinear" and len(node.input) > 2 and node.output:
                self._types.setdefault(text_of(node.output[0]), self._types.get(text_of(node.input[2]), 0))

    def of(self, node: "onnx.NodeProto", operator: _Operator, path: str) -> "list[onnx.NodeProto]":
        """The nodes in place of one."""
        from onnx import helper

        inputs = [text_of(name) for name in node.input]
        places = operator.operands or tuple(range(2, len(inputs), 3))
        if len(node.output) != 1 or len(inputs) <= max((*(place + 1 for place in places), 1)):
            raise InputError.single("missing_input", path, f"{said_of(node)}: it has {len(inputs)} inputs")
        attributes = {text_of(entry.name): entry for entry in node.attribute}
        last = attributes.pop("channels_last", None)
        if last is not None and last.i:
            message = f"{said_of(node)}: channels last; build the model from before it was optimised"
            raise InputError.single("not_supported", path, message)
        name = text_of(node.output[0])
        nodes, operands = [], []
        kinds = [self._types.get(inputs[place], 0) for place in places]
        for number, place in enumerate(places):
            triple = [entry for entry in inputs[place : place + 3] if entry]
            operands.append(self._name(f"{name} input {number}"))
            axis = self._axis(operator.kind, attributes, number)
            nodes.append(helper.make_node("DequantizeLinear", triple, [operands[-1]], axis=axis))
            kinds.append(self._types.get(triple[-1], 0) if len(triple) > 2 else 0)
        if operator.bias is not None and len(inputs) > operator.bias and inputs[operator.bias]:
            alpha = attributes["alpha"].f if "alpha" in attributes else 1.0
            scales = self._product(alpha, [inputs[place + 1] for place in places], f"{name} bias scale", path)
            operands.append(self._name(f"{name} bias"))
            bias = [inputs[operator.bias], scales]
            nodes.append(helper.make_node("DequantizeLinear", bias, [operands[-1]], axis=-1))
        body = helper.make_node(operator.kind, operands, [name])
        body.attribute.extend(attributes.values())
        nodes.append(body)
        if len(inputs) > operator.made and inputs[operator.made]:
            body.output[0] = self._name(f"{name} as floats")
            triple = [entry for entry in inputs[operator.made : operator.made + 2] if entry]
            if len(triple) == 1 and self._signed in kinds:
                triple.append(self._zero())
            nodes.append(helper.make_node("QuantizeLinear", [body.output[0], *triple], [name]))
        return nodes

    _signed: Final = 3
    """The number of int8 among types."""

    def _axis(self, kind: str, attributes: "Mapping[str, onnx.AttributeProto]", number: int) -> int:
        """Along which axis an operand may have several scales."""
        if number == 0 or kind == "Conv":
            return 0
        turned = "transB" in attributes and attributes["transB"].i != 0
        return 0 if kind == "Gemm" and turned else 1

    def _product(self, alpha: float, names: Sequence[str], name: str, path: str) -> str:
        """The constant of what a step of sums stands for."""
        import numpy
        from onnx import numpy_helper

        product = numpy.array(alpha, numpy.float32)
        for factor in names:
            tensor = self._constants.get(factor)
            if tensor is None:
                message = f"its scale {factor!r} is computed when the model runs; a constant is needed"
                raise InputError.single("not_constant", path, message)
            try:
                product = (product * numpy_helper.to_array(tensor).reshape(-1)).astype(numpy.float32)
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RuntimeError):
                raise InputError.single("damaged", path, f"its scale {factor!r} cannot be read") from None
        array = product.reshape(-1) if product.size != 1 else product.reshape(())
        self._graph.initializer.append(numpy_helper.from_array(array, self._name(name)))
        return str(self._graph.initializer[-1].name)

    def _zero(self) -> str:
        import numpy
        from onnx import numpy_helper

        self._graph.initializer.append(
            numpy_helper.from_array(numpy.array(0, numpy.int8), self._name("zero"))
        )
        return str(self._graph.initializer[-1].name)

    def _name(self, name: str) -> str:
        while name in self._taken:
            name += "'"
        self._taken.add(name)
        return name
