"""Small ONNX models for tests: convolutions, branches, a residual network, an encoder, mixed types."""

from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any, Final

import pytest

onnx = pytest.importorskip("onnx", reason="the [onnx] extra is not installed")
helper, T = onnx.helper, onnx.TensorProto


def value(name: str, shape: Sequence[object] | None, kind: int = T.FLOAT) -> Any:
    """A described value; None as the shape says nothing of it."""
    return helper.make_tensor_value_info(name, kind, shape)


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    """A node with inputs and outputs, separated by spaces."""
    return helper.make_node(kind, inputs.split(), output.split(), **attributes)


def model(
    nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], opset: int = 17, **more: Any
) -> bytes:
    """The model of these nodes, in a domain of the standard and one of somebody else."""
    graph = helper.make_graph(nodes, "net", inputs, outputs, **more)
    opsets = [helper.make_opsetid(domain, opset) for domain in ("", "elsewhere")]
    made = helper.make_model(graph, ir_version=8, opset_imports=opsets)
    data: bytes = made.SerializeToString()
    return data


def weights(name: str, *shape: int) -> Any:
    """A constant of floats, the same each time."""
    rng = Random(name)
    return helper.make_tensor(name, T.FLOAT, shape, [rng.uniform(-0.4, 0.4) for _ in range(prod(shape))])


def numbers(name: str, *values: int) -> Any:
    """A constant of whole numbers."""
    return helper.make_tensor(name, T.INT64, [len(values)], values)


def convolutions(first: object = "N") -> bytes:
    """Convolutions one after the other, with pooling between them."""
    nodes = [
        node("Conv", "x w1", "a", pads=[1, 1, 1, 1]),
        node("Relu", "a", "b"),
        node("MaxPool", "b", "c", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "c w2", "d", pads=[1, 1, 1, 1]),
        node("Relu", "d", "e"),
        node("GlobalAveragePool", "e", "f"),
        node("Flatten", "f", "g"),
        node("Gemm", "g w3", "y"),
    ]
    constants = [weights("w1", 8, 3, 3, 3), weights("w2", 12, 8, 3, 3), weights("w3", 12, 5)]
    return model(nodes, [value("x", [first, 3, 12, 12])], [value("y", [first, 5])], initializer=constants)


def branches(first: object = "N") -> bytes:
    """Three ways of different width, put side by side."""
    nodes = [
        node("Conv", "x w1", "narrow"),
        node("Conv", "narrow w3", "left", pads=[1, 1, 1, 1]),
        node("Conv", "x w2", "middle"),
        node("AveragePool", "x", "pooled", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
        node("Conv", "pooled w4", "right"),
        node("Concat", "left middle right", "all", axis=1),
        node("Relu", "all", "active"),
        node("ReduceMean", "active", "y", axes=[2, 3], keepdims=0),
    ]
    constants = [
        weights("w1", 3, 4, 1, 1),
        weights("w2", 6, 4, 1, 1),
        weights("w3", 8, 3, 3, 3),
        weights("w4", 2, 4, 1, 1),
    ]
    return model(nodes, [value("x", [first, 4, 9, 9])], [value("y", [first, 16])], initializer=constants)


def residual(first: object = "N") -> bytes:
    """Blocks with a shortcut around each."""
    nodes, last, constants = [], "x", []
    for i in range(3):
        nodes += [
            node("Conv", f"{last} w{i}", f"conv{i}", pads=[1, 1, 1, 1]),
            node("BatchNormalization", f"conv{i} scale shift mean spread", f"norm{i}"),
            node("Clip", f"norm{i} low high", f"active{i}"),
            node("Add", f"active{i} {last}", f"sum{i}"),
        ]
        last = f"sum{i}"
        constants.append(weights(f"w{i}", 6, 6, 3, 3))
    nodes.append(node("Identity", last, "y"))
    for name in ("scale", "shift", "mean"):
        constants.append(weights(name, 6))
    constants.append(helper.make_tensor("spread", T.FLOAT, [6], [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]))
    constants += [helper.make_tensor(name, T.FLOAT, [], [v]) for name, v in (("low", 0.0), ("high", 6.0))]
    shape = [first, 6, 8, 8]
    return model(nodes, [value("x", shape)], [value("y", shape)], initializer=constants)


def encoder(first: object = "N") -> bytes:
    """A layer of a transformer with one head."""
    nodes = [
        node("MatMul", "x wq", "q"),
        node("MatMul", "x wk", "k"),
        node("MatMul", "x wv", "v"),
        node("Transpose", "k", "kt", perm=[0, 2, 1]),
        node("MatMul", "q kt", "scores"),
        node("Mul", "scores scale", "scaled"),
        node("Softmax", "scaled", "attention", axis=-1),
        node("MatMul", "attention v", "mixed"),
        node("Add", "mixed x", "sum"),
        node("LayerNormalization", "sum gain offset", "norm"),
        node("MatMul", "norm wa", "wide"),
        node("Erf", "wide", "erf"),
        node("Mul", "wide erf", "active"),
        node("MatMul", "active wb", "back"),
        node("Add", "back norm", "y"),
    ]
    shapes = {"wq": (16, 16), "wk": (16, 16), "wv": (16, 16), "wa": (16, 48), "wb": (48, 16)}
    constants = [weights(name, *shape) for name, shape in shapes.items()]
    constants += [
        weights("gain", 16),
        weights("offset", 16),
        helper.make_tensor("scale", T.FLOAT, [], [0.25]),
    ]
    shape = [first, 10, 16]
    return model(nodes, [value("x", shape)], [value("y", shape)], initializer=constants)


def mixed_types(first: object = "N") -> bytes:
    """Bytes, numbers of 8 bytes and truth values, some of odd sizes."""
    nodes = [
        node("Greater", "x zero", "above"),
        node("Cast", "above", "bytes", to=T.UINT8),
        node("ArgMax", "x", "best", axis=1, keepdims=1),
        node("Cast", "best", "place", to=T.FLOAT),
        node("Cast", "bytes", "weight", to=T.FLOAT),
        node("Mul", "weight place", "product"),
        node("Where", "above product x", "y"),
    ]
    constants = [helper.make_tensor("zero", T.FLOAT, [], [0.0])]
    return model(nodes, [value("x", [first, 7])], [value("y", [first, 7])], initializer=constants)


MODELS: Final[dict[str, Callable[..., bytes]]] = {
    made.__name__: made for made in (convolutions, branches, residual, encoder, mixed_types)
}
