"""ONNX models whose open dimensions are symbols: at each value as the model with this value."""

from collections.abc import Callable
from typing import Any

import pytest

from memstow.planner.formats.onnx.models import read_graph, read_symbolic_model, symbol_for
from memstow.planner.formulas.sizes import problem_at
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.graph.symbolic_graph import lower_symbolic
from memstow.planner.model.problem import Problem
from memstow.planner.model.symbolic import Symbol, points_of
from tests.onnx_models import MODELS, model, node, numbers, value, weights
from tests.planner.refusal import refusal


def ranges(**given: tuple[int, int]) -> dict[str, Symbol]:
    """Symbols by the names of dimensions; `__` stands for a colon."""
    made = {name.replace("__", ":"): Symbol(id="x", min=low, max=high) for name, (low, high) in given.items()}
    return {name: symbol_for(name, symbol) for name, symbol in made.items()}


def decoder(**more: Any) -> bytes:
    """A step of decoding with a cache: reshapes, joins, and what inference cannot say alone."""
    nodes = [
        node("MatMul", "x wq", "q"),
        node("Reshape", "q apart", "qh"),
        node("Transpose", "qh", "qt", perm=[0, 2, 1, 3]),
        node("Concat", "past qt", "keys", axis=2),
        node("Transpose", "keys", "kt", perm=[0, 1, 3, 2]),
        node("MatMul", "qt kt", "scores"),
        node("Softmax", "scores", "weights", axis=-1),
        node("MatMul", "weights keys", "mixed"),
        node("Transpose", "mixed", "back", perm=[0, 2, 1, 3]),
        node("Reshape", "back together", "joined"),
        node("Flatten", "joined", "flat", axis=2),
        node("MatMul", "flat wo", "y"),
    ]
    constants = [
        weights("wq", 32, 32),
        weights("wo", 32, 5),
        numbers("apart", 0, 0, 4, 8),
        numbers("together", 0, 0, 32),
    ]
    inputs = [value("x", ["batch", "tokens", 32]), value("past", ["batch", 4, "past", 8])]
    return model(nodes, inputs, [value("y", ["rows", 5])], initializer=constants, **more)


def without_name(problem: Problem) -> list[object]:
    """All but what a symbolic problem has no place for."""
    return [problem.buffers, problem.in_place, problem.relative, problem.pools]


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("in_place", [False, True])
def test_at_a_value_it_is_the_model_with_this_value(name: str, in_place: bool) -> None:
    make: Callable[..., bytes] = MODELS[name]
    data = make("N")
    problem = lower_symbolic(read_symbolic_model(data, ranges(N=(1, 64)), in_place))
    assert [symbol.id for symbol in problem.symbols] == ["N"]
    for n in (1, 2, 17, 64):
        ordinary = listed_problem(read_graph(data, in_place, {"N": n}))
        assert without_name(problem_at(problem, {"N": n})) == without_name(ordinary)


def test_reshapes_and_joins_are_followed() -> None:
    given = ranges(batch=(1, 4), tokens=(1, 16), past=(1, 1024))
    problem = lower_symbolic(read_symbolic_model(decoder(), given))
    sizes = {buffer.id: buffer.size for buffer in problem.buffers}
    assert sizes["keys"] == "128*batch*(past + tokens)"
    assert [len(symbol.values) for symbol in problem.symbols] == [0, 4, 4]
    assert len(points_of(problem)) <= 64
    for at in ({"batch": 1, "tokens": 1, "past": 1}, {"batch": 3, "tokens": 5, "past": 77}):
        assert problem_at(problem, at).buffers == listed_problem(read_graph(decoder(), dims=at)).buffers


def test_some_dimensions_may_have_a_value() -> None:
    given = ranges(tokens=(1, 16), past=(1, 64))
    problem = lower_symbolic(read_symbolic_model(decoder(), given, dims={"batch": 2}))
    ordinary = listed_problem(read_graph(decoder(), dims={"batch": 2, "tokens": 3, "past": 9}))
    assert problem_at(problem, {"tokens": 3, "past": 9}).buffers == ordinary.buffers


def test_a_dimension_without_a_name_is_a_symbol_by_its_position() -> None:
    data = model([node("Relu", "x", "y")], [value("x", [None, 3])], [value("y", [None, None])])
    graph = read_symbolic_model(data, ranges(x__0=(1, 9)))
    assert [symbol.id for symbol in graph.symbols] == ["x_0"]
    assert [buffer.size for buffer in lower_symbolic(graph).buffers] == ["12*x_0", "12*x_0"]


def test_names_that_are_formulas_are_taken_and_compared() -> None:
    outputs = [value("y", ["2*N", 3])]
    nodes = [node("Concat", "x x", "y", axis=0)]
    graph = read_symbolic_model(model(nodes, [value("x", ["N", 3])], outputs), ranges(N=(1, 9)))
    assert lower_symbolic(graph).buffers[1].size == "12*(2*N)"
    assert graph.tensors[1].shape == ("2*N", 3)
    wrong = model(nodes, [value("x", ["N", 3])], [value("y", ["3*N", 3])])
    (issue,) = refusal(lambda: read_symbolic_model(wrong, ranges(N=(1, 9))))
    assert (issue.code, issue.path) == ("contradicting_shapes", '$.graph["y"]')
    assert "27 and 18 at N=9" in issue.message


def test_a_shape_that_does_not_follow_is_named() -> None:
    nodes = [node("Reshape", "x s", "a"), node("Relu", "a", "y")]
    constants = [numbers("s", 4, -1)]
    inputs, outputs = [value("x", ["N", 6])], [value("y", None)]
    data = model(nodes, inputs, outputs, initializer=constants)
    result = refusal(lambda: read_symbolic_model(data, ranges(N=(2, 8))))
    (issue,) = result  # What follows from "a" is not told.
    assert (issue.code, issue.path) == ("underivable_shape", '$.graph["a"]')
    assert "Reshape" in issue.message
    assert "--symbol N=2..2" in issue.message
    even = {"N": symbol_for("N", Symbol(id="x", min=2, max=8, step=2))}
    assert read_symbolic_model(data, even).tensors[-1].shape == (4, "(3*N)//2")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (ranges(M=(1, 2)), "no_such_dimension"),
        (ranges(batch=(1, 2)), "unknown_dimension"),
        ({"batch": Symbol(id="b", min=1, max=6, step=2)}, "max_off_step"),
        (ranges(batch=(1, 2), tokens=(1, 2), past=(1, 1 << 40)), "out_of_range"),
        ({"batch": Symbol(id="a", min=1, max=2), "past": Symbol(id="a", min=1, max=2)}, "repeated"),
    ],
)
def test_ranges_that_no_dimension_has_are_refused(given: dict[str, Symbol], code: str) -> None:
    assert refusal(lambda: read_symbolic_model(decoder(), given))[0].code == code
