"""Shapes that inference of ONNX gets wrong: those that runtimes make are read, with symbols and without."""

from functools import partial

import pytest

from memstow.planner.formats.onnx.inference import made_from
from memstow.planner.formats.onnx.models import read_graph, read_symbolic_model, symbol_for
from memstow.planner.formulas.formula import parse_formula
from memstow.planner.model.symbolic import Symbol
from tests.onnx_models import model, node, numbers, value, weights
from tests.planner.refusal import refusal


def _pooled(size: object, *more: object) -> bytes:
    """A pool whose last window would begin in what is padded, and what follows from its output."""
    nodes = [
        node("MaxPool", "x", "p", kernel_shape=[2], strides=[3], pads=[0, 1], ceil_mode=1),
        node("Relu", "p", "r"),
        node("Concat", "r r", "y", axis=2),
        *more,
    ]
    return model(nodes, [value("x", [1, 4, size])], [value("y", None)])


@pytest.mark.parametrize(("size", "windows"), [(3, 1), (4, 2), (5, 2), (6, 2), (7, 3)])
def test_windows_that_begin_behind_the_input_are_left_out(size: int, windows: int) -> None:
    shapes = {tensor.id: tensor.shape for tensor in read_graph(_pooled(size)).tensors}
    assert shapes == {"x": (1, 4, size), "p": (1, 4, windows), "r": (1, 4, windows), "y": (1, 4, 2 * windows)}


def test_the_same_with_a_symbol() -> None:
    graph = read_symbolic_model(_pooled("N"), {"N": symbol_for("N", Symbol(id="x", min=3, max=40))})
    for size in range(3, 41):
        known = {tensor.id: tensor.shape for tensor in read_graph(_pooled(size)).tensors}
        result = {
            tensor.id: tuple(
                parse_formula(str(extent), ("N",)).value({"N": size}) for extent in tensor.shape or ()
            )
            for tensor in graph.tensors
        }
        assert result == known, size


def test_what_follows_from_such_a_window_and_cannot_be_derived_is_refused() -> None:
    custom = node("Own", "r", "z", domain="elsewhere")
    made = model(
        [node("MaxPool", "x", "r", kernel_shape=[2], strides=[3], pads=[0, 1], ceil_mode=1), custom],
        [value("x", [1, 4, 3])],
        [value("z", [1, 4, 2])],
    )
    (issue,) = refusal(lambda: read_graph(made))
    assert (issue.code, issue.path) == ("unknown_shape", '$.graph["z"]')


def test_an_einsum_repeats_a_1() -> None:
    inputs = [value("a", [1, 3]), value("b", [5, 3])]
    data = model([node("Einsum", "a b", "y", equation="ij,ij->ij")], inputs, [value("y", None)])
    assert {tensor.id: tensor.shape for tensor in read_graph(data).tensors}["y"] == (5, 3)


def test_a_slice_backwards_to_the_largest_number_is_refused() -> None:
    def sliced(end: int) -> bytes:
        constants = [numbers("s", -1), numbers("e", end), numbers("axes", 0), numbers("steps", -1)]
        nodes = [node("Slice", "x s e axes steps", "y")]
        return model(nodes, [value("x", [9])], [value("y", None)], initializer=constants)

    assert read_graph(sliced(-(1 << 31))).tensors[-1].shape == (9,)
    for end in ((1 << 31) - 1, (1 << 63) - 1):
        (issue,) = refusal(partial(read_graph, sliced(end)))
        assert issue.code == "unknown_shape"
        assert "backwards" in issue.message


def test_what_follows_from_a_value_is_found() -> None:
    nodes = [
        node("Einsum", "a b", "c", equation="ij,ij->ij"),
        node("Relu", "c", "d"),
        node("Relu", "a", "e"),
        node("Add", "d e", "f"),
    ]
    assert made_from(nodes, ["c"]) == {"c", "d", "f"}
    assert made_from(nodes, ["e"]) == {"e", "f"}
    assert made_from(nodes, []) == frozenset()


def test_what_inference_cannot_follow_is_derived_without_symbols_as_well() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Max", "s least", "m"),
        node("Expand", "one m", "e"),
        node("Add", "x e", "y"),
    ]
    constants = [numbers("least", 1, 4), weights("one", 1, 1)]
    data = model(nodes, [value("x", ["N", 4])], [value("y", None)], initializer=constants)
    shapes = {tensor.id: tensor.shape for tensor in read_graph(data, dims={"N": 5}).tensors}
    assert shapes["e"] == shapes["y"] == (5, 4)
    symbolic = read_symbolic_model(data, {"N": symbol_for("N", Symbol(id="x", min=1, max=9))})
    assert {tensor.id: tensor.shape for tensor in symbolic.tensors}["y"] == ("N", 4)


def test_what_the_file_says_of_such_shapes_is_compared() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Max", "s least", "m"),
        node("Expand", "one m", "e"),
        node("Relu", "e", "y"),
    ]
    constants = [numbers("least", 1, 4), weights("one", 1, 1)]

    def said(count: int) -> bytes:
        return model(nodes, [value("x", [5, 4])], [value("y", [count, 4])], initializer=constants)

    assert read_graph(said(5)).tensors[-1].shape == (5, 4)
    (issue,) = refusal(lambda: read_graph(said(6)))
    assert (issue.code, issue.path) == ("contradicting_shapes", '$.graph["y"]')
    assert "[5, 4] by what makes it" in issue.message
