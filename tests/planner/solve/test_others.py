"""A run beside others of its problem: it takes in their plans and bounds, and claims nothing of theirs."""

import threading
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.generate.planted import planted
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.solve.engine import plan, plan_with_others
from memstow.planner.solve.turns import Others
from memstow.planner.verify import verify
from tests.problems import random_problem
from tests.referee import best

SOLVERS = ("auto", "exact", "improve")


def beside(problem: Problem, others: Others, solver: str = "auto", seconds: float = 5.0) -> Plan:
    options = Options(solver=solver, time_limit=seconds, workers=2)
    return plan_with_others(
        problem, options, lambda _event: None, threading.Event(), lambda _verified: None, others
    )


def one_pool(seed: int) -> Problem | None:
    problem = replace(random_problem(Random(seed), 5), objective=("peak",))
    return problem if len(problem.pools) == 1 and not problem.reuse_costs else None


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_is_told_makes_no_plan_wrong_and_no_bound_too_high(solver: str) -> None:
    tried = 0
    for seed in range(150):
        problem = one_pool(seed)
        if problem is None:
            continue
        _, values = best(problem)
        given = plan(problem, Options(solver="greedy", deterministic=True))
        others = Others(rank=seed % 9)
        if given.status in PLANNED:
            others.tell(given, None)
        if values is not None:
            others.tell(None, values[0])
        found = beside(problem, others, solver, 0.2 if solver == "improve" else 5.0)
        assert verify(problem, found) == []
        if values is None:
            assert found.status in (Status.INFEASIBLE, Status.UNKNOWN)
            continue
        tried += 1
        assert found.status in PLANNED
        assert found.objective[0].bound <= values[0] <= found.objective[0].value
        if solver != "improve":
            assert found.objective[0].value == values[0]
    assert tried > 20


def test_a_bound_of_others_ends_a_run_that_could_not_have_proven_it() -> None:
    problem = planted(300, 3, slack=0.1)
    start = plan(problem, Options(solver="greedy", deterministic=True, work_limit=100_000))
    others = Others(rank=1)
    others.tell(start, start.objective[0].value)
    found = beside(problem, others, "exact", 60.0)
    assert found.status is Status.FEASIBLE, "nothing is claimed that was not proven here"
    assert found.seconds < 55, "there was nothing left to find"
    assert found.objective[0].value == start.objective[0].value


@pytest.mark.parametrize("solver", ["exact", "improve"])
def test_a_plan_that_comes_on_the_way_is_taken_in(solver: str) -> None:
    tiles = planted(300, 5)
    # A little above the bound, so that the run goes on after it has it.
    problem = replace(tiles, buffers=tuple(_shorter(buffer) for buffer in tiles.buffers))
    good = Plan(
        status=Status.FEASIBLE,
        placements=plan(tiles, Options(time_limit=20.0)).placements,
    )
    others = Others(rank=0)
    timer = threading.Timer(0.3, others.tell, (good, None))
    timer.start()
    found = beside(problem, others, solver, 2.0)
    assert verify(problem, found) == []
    peak = max(
        place.offset + buffer.size for place, buffer in zip(good.placements, problem.buffers, strict=True)
    )
    assert found.objective[0].value <= peak


def _shorter(buffer: Buffer) -> Buffer:
    return replace(buffer, size=max(buffer.size - buffer.size // 64, 1))


def test_parts_that_are_being_searched_are_taken_in() -> None:
    one, other = planted(250, 1, slack=0.1), planted(250, 2, slack=0.01)
    end = max(life[1] for life in (it.lifetime for it in one.buffers) if isinstance(life, tuple))
    later = [
        replace(it, id=f"x{it.id}", lifetime=(it.lifetime[0] + end, it.lifetime[1] + end))
        for it in other.buffers
        if isinstance(it.lifetime, tuple)
    ]
    problem = Problem(version=1, buffers=(*one.buffers, *later))
    told = plan(problem, Options(time_limit=1.5, seed=7))
    others = Others(rank=2)
    timer = threading.Timer(0.4, others.tell, (told, None))
    timer.start()
    found = beside(problem, others, "exact", 1.2)
    assert verify(problem, found) == []
    assert found.objective[0].value <= told.objective[0].value
