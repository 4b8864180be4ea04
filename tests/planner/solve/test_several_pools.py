"""Several pools without a model: deterministic runs and the library have no other answer than native code."""

from dataclasses import replace
from random import Random

import pytest

from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.problem import BankConflict, Banks, Buffer, Pool, Problem, spans
from memstow.planner.model.programs import Kept, Program, Programs
from memstow.planner.programs import joint_problem
from memstow.planner.solve.engine import plan
from tests.referee import best

OBJECTIVES = (
    ["max_peak"],
    ["max_peak", "peak"],
    ["peak:y", "peak:x"],
    ["placement_cost", "peak"],
    ["preference", "max_peak"],
)


def some(rng: Random, count: int, most: int) -> list[Buffer]:
    buffers = []
    for at in range(count):
        begin = rng.randrange(max(4, count // 2))
        end = begin + rng.randint(1, max(2, count // 4))
        buffers.append(
            Buffer(id=f"b{at}", size=rng.randint(1, most), lifetime=(begin, end), accesses=rng.randint(1, 9))
        )
    return buffers


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_few_buffers_are_proven_without_a_model(objective: list[str]) -> None:
    infeasible = 0
    for seed in range(40):
        rng = Random(seed)
        pools = [
            Pool(id="x", cost=rng.randint(0, 3), capacity=rng.choice((None, 6))),
            Pool(id="y", cost=rng.randint(0, 3), capacity=rng.choice((None, 8))),
        ]
        problem = Problem(pools=pools, buffers=some(rng, rng.randint(2, 5), 4), objective=objective)
        planned = plan(problem, Options(deterministic=True))
        status, values = best(problem)
        assert planned.status is status, seed
        infeasible += status is Status.INFEASIBLE
        if values is not None:
            assert tuple(term.value for term in planned.objective) == values, seed
            assert all(term.value == term.bound for term in planned.objective), seed
    assert infeasible < 40


@pytest.mark.parametrize("pools", [2, 3])
def test_the_largest_peak_is_kept_low(pools: int) -> None:
    """As many pools share what is live; the bound is at most a buffer below that."""
    for seed in range(20):
        rng = Random(seed)
        buffers = some(rng, 60, 20)
        problem = Problem(
            pools=[Pool(id=f"p{at}") for at in range(pools)], buffers=buffers, objective=["max_peak"]
        )
        planned = plan(problem, Options(deterministic=True))
        (term,) = planned.objective
        assert -(-most_live(buffers) // pools) <= term.bound <= term.value <= term.bound * 1.1 + 20


def test_buffers_that_programs_keep_as_one_are_proven_as_well() -> None:
    proven = 0
    for seed in range(40):
        rng = Random(seed)
        pools = [Pool(id="x", cost=1, capacity=6, banks=[Banks(size=3, count=2)]), Pool(id="y", cost=2)]
        programs = []
        for name in "pq":
            buffers = [
                replace(buffer, size=3 if buffer.id == "b0" else buffer.size) for buffer in some(rng, 2, 4)
            ]
            apart = [BankConflict(buffers=["b0", "b1"], cost=rng.choice((None, 2)))]
            programs.append(Program(id=name, problem=Problem(buffers=buffers, bank_conflicts=apart)))
        kept = [Kept(buffers=[("p", "b0"), ("q", "b0")], life="always" if seed % 2 else "used")]
        objective = ["bank_cost", "max_peak"] if seed % 3 else ["placement_cost", "peak"]
        joint = joint_problem(Programs(programs=programs, kept=kept, pools=pools, objective=objective))
        planned = plan(joint, Options(deterministic=True))
        status, values = best(joint)
        assert planned.status is status, seed
        assert values is None or tuple(term.value for term in planned.objective) == values, seed
        proven += planned.prover == "banks"
    assert proven > 10


def most_live(buffers: list[Buffer]) -> int:
    """The most bytes that are live at one time."""
    lives = [(buffer.size, spans(buffer)[0]) for buffer in buffers]
    return max(sum(size for size, (begin, end) in lives if begin <= time < end) for time in range(60))
