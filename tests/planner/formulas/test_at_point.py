"""A symbolic problem at a point and at its largest is the ordinary problem that it should be."""

from random import Random
from typing import Any

import pytest

import memstow
from memstow.planner.check import find_issues
from memstow.planner.formulas.sizes import all_values, largest_problem, problem_at, sizes_at
from memstow.planner.generate.features import SYMBOLIC_FEATURES
from memstow.planner.generate.symbolic import symbolic
from memstow.planner.model.symbolic import Point, Symbol, SymbolicBuffer, SymbolicProblem, points_of
from tests.planner.formulas.formulas import by_python
from tests.planner.refusal import told


def random_problem(seed: int) -> SymbolicProblem:
    """A problem with some of the features."""
    random = Random(seed)
    features = [name for name in SYMBOLIC_FEATURES if random.random() < 0.5]
    n, symbols = random.randint(0, 12), random.randint(1, 3)
    return symbolic(n, seed, family="random", symbols=symbols, features=features)


@pytest.mark.parametrize("seed", range(60))
def test_sizes_are_those_of_the_formulas_and_the_rest_stays(seed: int) -> None:
    problem = random_problem(seed)
    assert find_issues(problem) == []
    rows = list(all_values({symbol.id: symbol for symbol in problem.symbols}))
    result = [sizes_at(problem, at) for at in rows[:200]]
    for at, sizes in zip(rows, result, strict=False):
        for buffer, size in zip(problem.buffers, sizes, strict=True):
            expected = by_python(buffer.size, at) if isinstance(buffer.size, str) else buffer.size
            assert size == expected, (buffer.size, at)
    at = rows[0]
    ordinary = problem_at(problem, at)
    assert find_issues(ordinary) == []
    assert memstow.read_problem(memstow.write_problem(ordinary)) == ordinary
    for name in ("pools", "conflicts", "exclusive", "relative", "in_place", "name"):
        assert getattr(ordinary, name) == getattr(problem, name)
    assert ordinary.terms() == problem.objective
    for before, after in zip(problem.buffers, ordinary.buffers, strict=True):
        for name in ("id", "lifetime", "lifetimes", "alignment", "pools", "pool", "offset", "group"):
            assert getattr(after, name) == getattr(before, name)
    largest, how = largest_problem(problem)
    if len(rows) <= 200:
        for index, large in enumerate(largest.buffers):
            assert large.size == max(sizes[index] for sizes in result)
    assert set(how) == {buffer.id for buffer in problem.buffers}
    assert set(how.values()) <= {"monotone", "every value"}


@pytest.mark.parametrize("value", ["12", 12.0, None, True])
def test_a_value_that_is_no_whole_number_is_told(value: object) -> None:
    at: Any = {"s": value}
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=64)], buffers=[SymbolicBuffer(id="a", size="s")]
    )
    assert told(lambda: problem_at(problem, at)) == [("not_an_integer", "$.s")]


def test_a_size_beyond_all_tries_is_bounded_by_intervals() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=0, max=1 << 20)],
        buffers=[
            SymbolicBuffer(id="a", size="s % 1000 + 5"),
            SymbolicBuffer(id="b", size="3*s"),
            SymbolicBuffer(id="c", size=7),
        ],
    )
    largest, how = largest_problem(problem)
    assert [buffer.size for buffer in largest.buffers] == [1004, 3 << 20, 7]
    assert how == {"a": "interval", "b": "monotone", "c": "monotone"}


def test_points_are_given_or_made_from_the_values() -> None:
    symbols = [Symbol(id="s", min=3, max=21, step=1), Symbol(id="b", min=1, max=5, step=2, values=[5, 1])]
    problem = SymbolicProblem(symbols=symbols, buffers=[])
    assert [(point.at["s"], point.at["b"]) for point in points_of(problem)] == [
        (s, b) for s in (3, 4, 8, 16, 21) for b in (5, 1)
    ]
    given = SymbolicProblem(symbols=symbols, buffers=[], points=[Point(at={"s": 3, "b": 3})])
    assert points_of(given) == given.points
    stepped = Symbol(id="s", min=-3, max=21, step=4)
    assert [point.at["s"] for point in points_of(SymbolicProblem(symbols=[stepped], buffers=[]))] == [
        -3,
        1,
        21,
    ]


def test_values_that_a_symbol_does_not_take_are_refused_all_at_once() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=2, max=10, step=2), Symbol(id="b", min=1, max=4)], buffers=[]
    )
    with pytest.raises(memstow.InputError) as raised:
        problem_at(problem, {"s": 3, "t": 1})
    assert [(issue.code, issue.path) for issue in raised.value.issues] == [
        ("unknown_symbol", "$.t"),
        ("value_out_of_range", "$.s"),
        ("missing_symbol", "$.b"),
    ]
