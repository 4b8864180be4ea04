"""Write a small network as an ONNX model, to have one to try: python3 make_model.py net.onnx"""

import random
import sys
from math import prod

import onnx
from onnx import TensorProto, helper


def weights(name: str, *shape: int) -> onnx.TensorProto:
    numbers = random.Random(name)
    values = [numbers.uniform(-0.3, 0.3) for _ in range(prod(shape))]
    return helper.make_tensor(name, TensorProto.FLOAT, shape, values)


def model() -> onnx.ModelProto:
    """Two convolutions with a shortcut around the second, for N images of 16 x 16."""
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["first"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["first"], ["active"]),
        helper.make_node("Conv", ["active", "w2"], ["second"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["second", "first"], ["sum"]),
        helper.make_node("GlobalAveragePool", ["sum"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w3"], ["classes"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 16, 16])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["N", 4])],
        [weights("w1", 8, 3, 3, 3), weights("w2", 8, 8, 3, 3), weights("w3", 8, 4)],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


onnx.save(model(), sys.argv[1])
