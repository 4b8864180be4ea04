"""Shapes that runtimes make and the inference of ONNX does not: windows, letters, slices backwards."""

from typing import Any

import pytest

from memstow.planner.formats.onnx.models import read_graph
from tests.onnx_models import model, node, numbers, onnx, value
from tests.planner.refusal import refusal


def shapes(data: bytes) -> dict[str, Any]:
    return {tensor.id: tensor.shape for tensor in read_graph(data).tensors}


def pools(**more: Any) -> bytes:
    """Two pools one after the other; inference counts one window more in each."""
    strided = {"kernel_shape": [1, 2], "strides": [2, 3], "ceil_mode": 1}
    nodes = [
        node("MaxPool", "x", "a places", **strided),
        node("AveragePool", "a", "b", **strided),
        node("Concat", "b z", "y", axis=1),
    ]
    inputs = [value("x", [1, 2, 8, 13]), value("z", [1, 1, 2, 2])]
    return model(nodes, inputs, [value("y", None)], **more)


def test_windows_that_begin_behind_the_input_are_not_counted() -> None:
    result = shapes(pools())
    # By inference "a" has a width of 5 as well, and "b" the height 2; of 10 both would be one more.
    assert (result["a"], result["places"], result["b"], result["y"]) == (
        *((1, 2, 4, 5), (1, 2, 4, 5)),
        *((1, 2, 2, 2), (1, 3, 2, 2)),
    )
    short = [value("x", [1, 2, 5, 10])]
    nodes = [node("MaxPool", "x", "y", kernel_shape=[1, 1], strides=[2, 3], ceil_mode=1)]
    assert shapes(model(nodes, short, [value("y", None)]))["y"] == (1, 2, 3, 4)
    nodes = [node("MaxPool", "x", "y", kernel_shape=[1, 1], strides=[2, 4], ceil_mode=1)]
    assert shapes(model(nodes, [value("x", [1, 2, 4, 10])], [value("y", None)]))["y"] == (1, 2, 2, 3)


def test_shapes_that_inference_wrote_into_the_file_are_refused() -> None:
    right = pools(value_info=[value("a", [1, 2, 4, 5])])
    assert shapes(right)["b"] == (1, 2, 2, 2)
    said = pools(value_info=[value("b", [1, 2, 3, 2])])
    (issue,) = refusal(lambda: shapes(said))
    assert (issue.code, issue.path) == ("contradicting_shapes", '$.graph["b"]')
    assert "value_info" in issue.message


def test_letters_along_which_one_input_has_1_are_repeated() -> None:
    nodes = [node("Einsum", "x z", "a", equation="...ij,...jk->...ik"), node("Add", "a a", "y")]
    inputs = [value("x", [1, 4, 5]), value("z", [3, 1, 2])]
    assert shapes(model(nodes, inputs, [value("y", None)]))["y"] == (3, 4, 2)


@pytest.mark.parametrize("end", [(1 << 31) - 1, (1 << 63) - 1])
def test_slices_that_are_read_in_different_ways_are_refused(end: int) -> None:
    constants = [numbers("s", -1), numbers("e", end), numbers("a", 0), numbers("d", -1)]
    data = model(
        [node("Slice", "x s e a d", "y")], [value("x", [5])], [value("y", None)], initializer=constants
    )
    (issue,) = refusal(lambda: shapes(data))
    assert (issue.code, "smallest number" in issue.message) == ("unknown_shape", True)
    assert onnx.load_from_string(data).graph.node[0].op_type == "Slice"
