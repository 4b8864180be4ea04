"""Hostile ONNX models: files that they name, overflows, depth, types of less than a byte, strings."""

from pathlib import Path
from typing import Any

import pytest

from memstow.planner.formats.onnx.models import read_graph
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model.problem import LIMIT
from tests.onnx_models import T, helper, model, node, numbers, onnx, value
from tests.planner.refusal import refusal


def code_of(data: bytes) -> str:
    return refusal(lambda: read_graph(data))[0].code


def outside(name: str, kind: int, shape: list[int], where: Path) -> Any:
    tensor = onnx.TensorProto(name=name, data_type=kind, dims=shape, data_location=1)
    tensor.external_data.add(key="location", value=str(where))
    return tensor


def test_data_outside_of_the_model_is_never_read(tmp_path: Path) -> None:
    weights = outside("w", T.FLOAT, [4, 2], tmp_path / "there is no such file")
    graph = read_graph(
        model([node("MatMul", "x w", "y")], [value("x", [3, 4])], [value("y", None)], initializer=[weights])
    )
    assert {tensor.id: tensor.shape for tensor in graph.tensors}["y"] == (3, 2)
    # A shape that lies outside is not known, even though the file is there.
    (tmp_path / "shape").write_bytes((12).to_bytes(8, "little"))
    shape = outside("s", T.INT64, [1], tmp_path / "shape")
    data = model([node("Reshape", "x s", "y")], [value("x", [3, 4])], [value("y", None)], initializer=[shape])
    assert code_of(data) in ("external_data", "unknown_shape")


@pytest.mark.parametrize(
    ("nodes", "shape", "more"),
    [
        ([node("Tile", "x n", "y")], [1 << 24], [numbers("n", 1 << 40)]),
        ([node("Pad", "x n", "y")], [4], [numbers("n", (1 << 63) - 1, (1 << 63) - 1)]),
        ([node("Relu", "x", "y")], [1 << 32], []),
        ([node("Relu", "x", "y")], [1 << 31, 1 << 31], []),
        ([node("Relu", "x", "y")], [1 << 20] * 64, []),
        ([node("Relu", "x", "y")], [1] * 65, []),
        (
            [node("ConvTranspose", "x w", "y", strides=[1 << 40])],
            [1, 1, 1 << 24],
            [helper.make_tensor("w", T.FLOAT, [1, 1, 1], [1.0])],
        ),
        ([node("Expand", "x n", "y")], [1], [numbers("n", 1 << 30, 1 << 30, 1 << 30)]),
        ([node("ConstantOfShape", "n", "a"), node("Add", "a x", "y")], [1], [numbers("n", 1 << 62)]),
    ],
)
def test_what_passes_all_bounds_is_refused(nodes: list[Any], shape: list[int], more: list[Any]) -> None:
    data = model(nodes, [value("x", shape)], [value("y", None)], initializer=more)
    assert code_of(data) in ("too_large", "contradicting_shapes")


def test_sums_beyond_the_limit_are_refused_by_the_checks_of_problems() -> None:
    nodes = [node("Relu", "x", "y")]
    shape = [1 << 31, 1 << 26]
    problem = listed_problem(read_graph(model(nodes, [value("x", shape)], [value("y", shape)])))
    assert max(buffer.size for buffer in problem.buffers) == 1 << 59 < LIMIT


def test_a_slice_may_end_at_the_largest_number() -> None:
    nodes = [node("Slice", "x from to", "y")]
    cuts = [numbers("from", 2), numbers("to", (1 << 63) - 1)]
    graph = read_graph(model(nodes, [value("x", [9])], [value("y", None)], initializer=cuts))
    assert {tensor.id: tensor.shape for tensor in graph.tensors}["y"] == (7,)


def test_operators_of_other_domains_have_any_numbers() -> None:
    strange = node("Strange", "x", "y", domain="elsewhere", salt=1 << 60)
    assert read_graph(model([strange], [value("x", [3])], [value("y", [5])])).operators


def test_depth_is_bounded() -> None:
    inner = helper.make_graph([], "inner", [], [value("x", [4])])
    for i in range(20):
        inner = helper.make_graph(
            [node("If", "t", "x", then_branch=inner, else_branch=inner)]
            if i < 3
            else [node("If", "t", "x", then_branch=inner)],
            "more",
            [],
            [value("x", [4])],
        )
    data = model([node("If", "t", "y", then_branch=inner)], [value("t", [1], T.BOOL)], [value("y", [4])])
    assert code_of(data) in ("not_supported", "damaged")
    # Far deeper than any reader follows.
    graph = b""
    for _ in range(2000):
        for tag in (b"\x32", b"\x2a", b"\x0a"):
            graph = tag + _varint(len(graph)) + graph
    assert code_of(b"\x08\x08\x3a" + _varint(len(graph)) + graph) in ("damaged", "not_supported")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


@pytest.mark.parametrize(
    ("kind", "size"),
    [(T.INT4, 5), (T.UINT4, 5), (T.FLOAT4E2M1, 5), (25, 3), (26, 3), (T.FLOAT8E4M3FN, 9), (T.BFLOAT16, 18)],
)
def test_types_of_less_than_a_byte_are_packed(kind: int, size: int) -> None:
    described = [value(name, [9], kind) for name in ("x", "y")]
    graph = read_graph(model([node("Strange", "x", "y", domain="elsewhere")], described[:1], described[1:]))
    assert {buffer.size for buffer in listed_problem(graph).buffers} == {size}


def test_elements_are_aligned() -> None:
    for kind, alignment in (
        (T.INT8, 1),
        (T.INT4, 1),
        (T.FLOAT16, 2),
        (T.FLOAT, 4),
        (T.DOUBLE, 8),
        (T.COMPLEX128, 8),
    ):
        strange = node("Strange", "x", "y", domain="elsewhere")
        graph = read_graph(model([strange], [value("x", [9], kind)], [value("y", [9], kind)]))
        assert {buffer.alignment for buffer in listed_problem(graph).buffers} == {alignment}


def test_strings_and_sequences_are_refused_by_name() -> None:
    words = value("words", [2], T.STRING)
    (issue,) = refusal(
        lambda: read_graph(
            model([node("Strange", "words", "y", domain="elsewhere")], [words], [value("y", [1])])
        )
    )
    assert (issue.path, issue.message.startswith("strings are not supported")) == ('$.graph["words"]', True)
    listed = helper.make_tensor_sequence_value_info("several", T.FLOAT, [2])
    (issue,) = refusal(
        lambda: read_graph(
            model(
                [node("SequenceAt", "several i", "y")], [listed, value("i", [], T.INT64)], [value("y", [2])]
            )
        )
    )
    assert (issue.path, issue.code) == ('$.graph["several"]', "not_supported")


def shape_arithmetic(last: str, doublings: int, **more: Any) -> bytes:
    nodes = [node("Shape", "x", "s0")]
    nodes += [node("Concat", f"s{i} s{i}", f"s{i + 1}", axis=0) for i in range(doublings)]
    return model(
        [*nodes, node("ConstantOfShape", last, "y")], [value("x", [2, 3])], [value("y", None)], **more
    )


def test_shapes_that_are_computed_are_followed() -> None:
    graph = read_graph(shape_arithmetic("s1", 1))
    assert {tensor.id: tensor.shape for tensor in graph.tensors}["y"] == (2, 3, 2, 3)


def test_arithmetic_that_needs_any_amount_of_memory_ends_with_an_error() -> None:
    (issue,) = refusal(lambda: read_graph(shape_arithmetic("s50", 50)))
    assert issue.code in ("too_large", "contradicting_shapes")
