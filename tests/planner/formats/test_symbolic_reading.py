"""Symbolic problems and plans go to JSON and back, and have an identity."""

import json
from dataclasses import replace

import pytest

import memstow
from memstow.planner.formats.native import (
    is_symbolic,
    is_symbolic_plan,
    parse_symbolic,
    read_symbolic,
    read_symbolic_document,
    read_symbolic_plan,
    write_document,
    write_symbolic,
    write_symbolic_plan,
)
from memstow.planner.generate.symbolic import symbolic
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Point,
    PointPeak,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
    digest_symbolic,
)
from memstow.planner.reading.json_text import FEW_BYTES, parse_json
from tests.planner.formulas.test_at_point import random_problem


@pytest.mark.parametrize("seed", range(20))
def test_a_problem_is_read_as_it_was_written(seed: int) -> None:
    for problem in (random_problem(seed), symbolic(5 * seed, seed, symbols=1 + seed % 2)):
        written = write_symbolic(problem)
        assert read_symbolic(written) == problem
        assert write_symbolic(read_symbolic(written)) == written
        assert is_symbolic(json.loads(written))
        assert digest_symbolic(read_symbolic(written)) == digest_symbolic(problem)


def test_a_plan_is_read_as_it_was_written() -> None:
    order = Order(
        placements=[
            OrderedPlacement(buffer="a", pool="memory"),
            OrderedPlacement(buffer="b", pool="memory", above=["a"]),
            OrderedPlacement(buffer="c", pool="memory", shares="a"),
        ]
    )
    plan = SymbolicPlan(
        status=Status.FEASIBLE,
        shapes="order",
        orders=[order],
        points=[PointPeak(at={"s": 4}, peak=12, least=10)],
        worst=1.2,
        bound=1.1,
    )
    written = write_symbolic_plan(plan)
    assert read_symbolic_plan(written) == plan
    assert is_symbolic_plan(json.loads(written))
    assert not is_symbolic(json.loads(written))


def test_a_plan_of_many_buffers_is_written_as_one_of_few() -> None:
    names = ['plain"', "\u00e9", *(f"b{number}" for number in range(1_200))]
    placements = [
        OrderedPlacement(
            buffer=name,
            pool="m\u00e9mory",
            above=names[:number] if number < 4 else names[number - number % 3 : number],
            shares=names[0] if number == 7 else None,
            empty=number == 9,
        )
        for number, name in enumerate(names)
    ]
    point = PointPeak(at={"s": 1}, peak=3, least=2)
    orders = [Order(placements=placements), Order(placements=placements[:5]), Order(placements=())]
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="pieces", orders=orders, points=[point], worst=1.5)
    written = write_symbolic_plan(plan)
    assert written == write_document(plan)
    assert read_symbolic_plan(written) == plan


def _many(size: str) -> bytes:
    problem = symbolic(2_000, 1)
    changed = replace(problem.buffers[-1], size=size)
    return write_symbolic(replace(problem, buffers=(*problem.buffers[:-1], changed)))


def test_a_large_problem_is_read_like_a_small_one() -> None:
    name = symbolic(2_000, 1).symbols[0].id
    data = _many(f"4*{name}")
    assert len(data) > FEW_BYTES
    assert read_symbolic(data) == parse_symbolic(json.loads(data))
    assert read_symbolic_document(data) == read_symbolic(data)


def test_what_is_wrong_with_a_large_problem_is_said_as_of_a_small_one() -> None:
    for data in (_many("4*nothing"), _many("4*"), _many("1").replace(b'"lifetime"', b'"lifetme"', 1)):
        issues = []
        for read in (read_symbolic, lambda entry: parse_symbolic(parse_json(entry))):
            with pytest.raises(InputError) as refused:
                read(data)
            issues.append(refused.value.issues)
        assert issues[0] == issues[1]
        assert issues[0]


def test_a_plan_that_places_a_buffer_twice_is_refused() -> None:
    twice = {"placements": [{"buffer": "a", "pool": "memory"}] * 2}
    raw = {"status": "feasible", "shapes": "pieces", "orders": [{"placements": []}, twice]}
    with pytest.raises(memstow.InputError, match=r"orders\[1\]\.placements\[1\]"):
        read_symbolic_plan(json.dumps(raw).encode())


def test_other_documents_are_not_symbolic() -> None:
    others: tuple[object, ...] = ({"buffers": []}, {"operators": []}, [], None, 5)
    for raw in others:
        assert not is_symbolic(raw)
        assert not is_symbolic_plan(raw)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"symbols": 5}', b'{"buffers": []}', b"\xff"])
def test_what_is_no_symbolic_problem_is_refused(data: bytes) -> None:
    with pytest.raises(memstow.InputError):
        read_symbolic(data)


def test_the_digest_is_that_of_what_has_a_meaning() -> None:
    symbols = [Symbol(id="s", min=1, max=8), Symbol(id="b", min=1, max=2)]
    buffers = [SymbolicBuffer(id="x", size="4*s", lifetime=(0, 2)), SymbolicBuffer(id="y", size=8)]
    problem = SymbolicProblem(symbols=symbols, buffers=buffers)
    same = [
        replace(problem, name="other"),
        replace(problem, symbols=(replace(symbols[0], values=(1, 2, 4, 8)), symbols[1])),
        replace(problem, buffers=tuple(reversed(buffers))),
        replace(problem, buffers=(replace(buffers[0], size=" 4 * s"), buffers[1])),
    ]
    other = [
        replace(problem, symbols=(replace(symbols[0], max=4), symbols[1])),
        replace(problem, symbols=(replace(symbols[0], values=(1, 8)), symbols[1])),
        replace(problem, points=(Point(at={"s": 1, "b": 1}),)),
        replace(problem, aim="sum"),
        replace(problem, buffers=(replace(buffers[0], size="s*4"), buffers[1])),
        replace(problem, buffers=(replace(buffers[0], size=4), buffers[1])),
        replace(problem, objective=("max_peak",)),
    ]
    digests = {digest_symbolic(entry) for entry in other}
    assert {digest_symbolic(entry) for entry in same} == {digest_symbolic(problem)}
    assert len(digests) == len(other)
    assert digest_symbolic(problem) not in digests
    assert digest_symbolic(parse_symbolic(json.loads(write_symbolic(problem)))) == digest_symbolic(problem)
