"""A model without its weights: enough to infer shapes at many values."""

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import onnx

_MOST_ELEMENTS: Final = 1024


def is_heavy(tensor: "onnx.TensorProto") -> bool:
    """Whether nothing in it can say what a shape is."""
    return prod(tensor.dims) > _MOST_ELEMENTS or tensor.data_location == 1


def described(tensor: "onnx.TensorProto") -> "onnx.ValueInfoProto":
    """A constant as a value: its type and its shape."""
    from onnx import helper

    return helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))


def without_weights(
    model: "onnx.ModelProto", instead: "Mapping[str, onnx.ValueInfoProto] | None" = None
) -> "onnx.ModelProto":
    """The model with large constants as inputs of the same shape.

    `instead`: values that become inputs; the nodes that make them are left out.
    """
    given = instead or {}
    light = type(model)()
    light.ir_version = max(4, model.ir_version)
    light.opset_import.extend(model.opset_import)
    graph, source = light.graph, model.graph
    graph.name = "light"
    initial = {it.name for it in source.initializer}
    graph.input.extend(it for it in source.input if it.name not in initial)
    graph.input.extend(given.values())
    graph.output.extend(it for it in source.output if it.name not in given)
    graph.value_info.extend(it for it in source.value_info if it.name not in initial and it.name not in given)
    graph.sparse_initializer.extend(source.sparse_initializer)
    for tensor in source.initializer:
        if is_heavy(tensor):
            graph.input.append(described(tensor))
        else:
            graph.initializer.append(tensor)
    for node in source.node:
        if given and any(it in given for it in node.output):
            continue
        large = next((it.t for it in node.attribute if it.HasField("t") and is_heavy(it.t)), None)
        if node.op_type == "Constant" and large is not None:
            value = described(large)
            value.name = node.output[0]
            graph.input.append(value)
        else:
            graph.node.append(node)
    return light
