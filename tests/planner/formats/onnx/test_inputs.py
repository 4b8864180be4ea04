"""Open dimensions of inputs by names that are symbols or formulas; what a file says that nothing shows."""

from functools import partial

import pytest
from onnx import TensorProto, helper

from memstow.planner.formats.onnx.models import read_graph, read_symbolic_model, symbol_for
from memstow.planner.graph.symbolic_graph import lower_symbolic
from memstow.planner.model.symbolic import Symbol
from tests.onnx_models import model, node, numbers, value
from tests.planner.refusal import refusal


def _ranges(**given: tuple[int, int]) -> dict[str, Symbol]:
    return {name: symbol_for(name, Symbol(id="x", min=low, max=high)) for name, (low, high) in given.items()}


def test_an_id_made_for_a_symbol_is_not_the_name_of_another_dimension() -> None:
    inputs = [value("a", ["N.1", 3]), value("b", ["N_1", 3])]
    nodes = [node("Relu", "a", "y"), node("Relu", "b", "z")]
    data = model(nodes, inputs, [value("y", None), value("z", None)])
    given = _ranges(**{"N.1": (1, 5)})
    (issue,) = refusal(lambda: read_symbolic_model(data, given))
    assert (issue.code, issue.path) == ("unknown_dimension", '$.graph["b"]')
    read = read_symbolic_model(data, given, dims={"N_1": 4})
    assert {tensor.id: tensor.shape for tensor in read.tensors} == {
        "a": ("N_1", 3),
        "b": (4, 3),
        "y": ("N_1", 3),
        "z": (4, 3),
    }
    # What is said of a value between is somebody else's name as well: it is not compared with the symbol.
    said = model([node("Concat", "a a", "y", axis=0)], inputs[:1], [value("y", ["N_1", 3])])
    assert read_symbolic_model(said, given).tensors[-1].shape == ("2*N_1", 3)


def test_a_dimension_by_its_position_is_not_the_name_of_another() -> None:
    inputs = [value("a", [None, 3]), value("b", ["a_0", 3])]
    data = model(
        [node("Relu", "a", "y"), node("Relu", "b", "z")], inputs, [value("y", None), value("z", None)]
    )
    (issue,) = refusal(lambda: read_symbolic_model(data, _ranges(**{"a:0": (1, 5)})))
    assert (issue.code, issue.path) == ("unknown_dimension", '$.graph["b"]')


def _masked(name: str) -> bytes:
    """A step of decoding, whose mask is as long as the cache and the new tokens together."""
    nodes = [
        node("Concat", "past k", "keys", axis=2),
        node("Transpose", "keys", "kt", perm=[0, 1, 3, 2]),
        node("MatMul", "k kt", "scores"),
        node("Add", "scores mask", "y"),
    ]
    inputs = [
        value("past", ["b", 4, "past", 8]),
        value("k", ["b", 4, "s", 8]),
        value("mask", ["b", 1, 1, name]),
    ]
    return model(nodes, inputs, [value("y", None)])


@pytest.mark.parametrize("name", ["past + s", "s+past", "past+1*s"])
def test_a_dimension_of_an_input_may_be_named_by_its_formula(name: str) -> None:
    given = _ranges(b=(1, 3), past=(0, 8), s=(1, 8))
    problem = lower_symbolic(read_symbolic_model(_masked(name), given))
    sizes = {buffer.id: buffer.size for buffer in problem.buffers}
    assert sizes["mask"] == "4*b*(past + s)"
    assert sizes["y"] == "16*b*s*(past + s)"


def test_the_formula_has_a_value_where_its_names_have_one() -> None:
    graph = read_graph(_masked("past + s"), dims={"b": 2, "past": 3, "s": 1})
    assert {tensor.id: tensor.shape for tensor in graph.tensors}["mask"] == (2, 1, 1, 4)
    (issue,) = refusal(lambda: read_graph(_masked("past + s"), dims={"b": 2, "s": 1}))
    assert (issue.code, "--dim past=1" in issue.message) == ("unknown_dimension", True)


def test_a_formula_that_is_wrong_is_refused() -> None:
    (issue,) = refusal(
        lambda: read_symbolic_model(_masked("past + 2*s"), _ranges(b=(1, 3), past=(0, 8), s=(1, 8)))
    )
    assert issue.code == "contradicting_shapes"
    (issue,) = refusal(
        lambda: read_symbolic_model(_masked("past - 9*s"), _ranges(b=(1, 1), past=(0, 8), s=(1, 8)))
    )
    assert "Add" in issue.message


def test_a_dimension_that_would_be_below_0_is_refused() -> None:
    data = model(
        [node("Relu", "a", "y"), node("Relu", "b", "z")], [value("a", ["N"]), value("b", ["N - 3"])], []
    )
    assert read_symbolic_model(data, _ranges(N=(3, 9))).tensors[1].shape == ("N - 3",)
    (issue,) = refusal(lambda: read_symbolic_model(data, _ranges(N=(1, 9))))
    assert "below 0" in issue.message
    assert "N=1" in issue.message


def test_a_formula_with_other_names_is_a_dimension_like_any() -> None:
    data = model([node("Relu", "a", "y")], [value("a", ["N", "N + M"])], [value("y", None)])
    (issue,) = refusal(lambda: read_symbolic_model(data, _ranges(N=(1, 9))))
    assert (issue.code, issue.path) == ("unknown_dimension", '$.graph["a"]')
    both = {**_ranges(N=(1, 9)), "N + M": Symbol(id="both", min=1, max=18)}
    assert read_symbolic_model(data, both).tensors[0].shape == ("N", "both")


@pytest.mark.parametrize("kind", ["NonZero", "Compress", "ConstantOfShape"])
def test_a_number_in_the_file_is_not_believed_where_it_depends_on_what_tensors_hold(kind: str) -> None:
    nodes = {
        "NonZero": [node("NonZero", "d", "y")],
        "Compress": [node("Compress", "d c", "y", axis=0)],
        "ConstantOfShape": [node("ConstantOfShape", "s", "y")],
    }[kind]
    inputs = [
        value("x", ["N"]),
        value("d", [4]),
        value("c", [4], TensorProto.BOOL),
        value("s", [1], TensorProto.INT64),
    ]
    shape = [1, 3] if kind == "NonZero" else [3]
    made = value("y", shape, TensorProto.INT64 if kind == "NonZero" else TensorProto.FLOAT)
    data = model([*nodes, node("Relu", "x", "z")], inputs, [made, value("z", None)])
    (issue,) = refusal(lambda: read_symbolic_model(data, _ranges(N=(1, 9))))
    assert (issue.code, issue.path) == ("underivable_shape", '$.graph["y"]')


def test_what_cannot_run_is_told_and_not_met_by_an_error() -> None:
    inputs = [value("x", ["N", 2])]
    listed = model(
        [node("Shape", "x", "s"), node("Range", "s limit step", "y")],
        inputs,
        [value("y", None, TensorProto.INT64)],
        initializer=[numbers("limit", 9), numbers("step", 1)],
    )
    empty = helper.make_tensor("value", TensorProto.INT64, [0], [])
    nothing = model(
        [node("ConstantOfShape", "one", "s", value=empty), node("Expand", "x s", "y")],
        inputs,
        [value("y", None)],
        initializer=[numbers("one", 2)],
    )
    for data in (listed, nothing):
        (issue, *_) = refusal(partial(read_symbolic_model, data, _ranges(N=(1, 9))))
        assert issue.code in ("underivable_shape", "contradicting_shapes")


def test_a_batch_that_is_written_down_is_refused() -> None:
    inputs, outputs = [value("x", ["N", 8, 4])], [value("y", None)]
    baked = model([node("Reshape", "x s", "y")], inputs, outputs, initializer=[numbers("s", 1, 32)])
    (issue,) = refusal(lambda: read_symbolic_model(baked, _ranges(N=(1, 20))))
    assert (issue.code, issue.path) == ("contradicting_shapes", '$.graph["y"]')
    assert "number of elements than it makes: 32*N and 32" in issue.message
    assert "N=20" in issue.message
    free = model([node("Reshape", "x s", "y")], inputs, outputs, initializer=[numbers("s", 0, 32)])
    assert read_symbolic_model(free, _ranges(N=(1, 20))).tensors[-1].shape == ("N", 32)
    assert read_symbolic_model(baked, _ranges(N=(1, 1))).tensors[-1].shape == (1, 32)


@pytest.mark.parametrize(
    "name", ["*".join(["N"] * 900), "N*4611686018427387904*8", "4611686018427387905", "9" * 30]
)
def test_names_that_say_nothing_are_ignored(name: str) -> None:
    data = model([node("Relu", "x", "y")], [value("x", ["N", 3])], [value("y", [name, 3])])
    assert read_symbolic_model(data, _ranges(N=(1, 20))).tensors[-1].shape == ("N", 3)
    of_input = model([node("Relu", "x", "y")], [value("x", ["N", name])], [value("y", None)])
    (issue,) = refusal(lambda: read_symbolic_model(of_input, _ranges(N=(1, 20))))
    assert issue.code in ("unknown_dimension", "formula_overflow")


def test_no_more_dimensions_have_ranges_than_a_problem_has_symbols() -> None:
    inputs = [value(f"x{i}", [f"d{i}"]) for i in range(17)]
    data = model(
        [node("Relu", f"x{i}", f"y{i}") for i in range(17)],
        inputs,
        [value(f"y{i}", None) for i in range(17)],
    )
    many = _ranges(**{f"d{i}": (1, 4) for i in range(17)})
    (issue,) = refusal(lambda: read_symbolic_model(data, many))
    assert (issue.code, issue.path) == ("too_many_symbols", "--symbol")
    del many["d16"]
    assert len(read_symbolic_model(data, many, dims={"d16": 4}).symbols) == 16
