"""Parts that have nothing to do with each other: no conflict crosses them, and the highest decides."""

from dataclasses import replace
from random import Random

from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import Buffer, Problem, subproblem
from memstow.planner.solve.assembling import independent_parts, plan_of_part
from memstow.planner.solve.engine import plan
from memstow.planner.verify import recount
from tests.problems import random_problem
from tests.referee import best

SURE = Options(deterministic=True)


def one_pool(seed: int) -> Problem | None:
    """A tiny problem whose peak in one pool is all that counts, if this seed has one."""
    problem = replace(random_problem(Random(seed), 5), objective=("peak",))
    return problem if len(problem.pools) == 1 else None


def alone_of(problem: Problem, part: list[int]) -> Problem:
    """The problem of a part by itself."""
    return subproblem(problem, [problem.buffers[number].id for number in part])


def test_the_highest_part_is_as_high_as_the_whole() -> None:
    apart = 0
    for seed in range(1_500):
        problem = one_pool(seed)
        if problem is None:
            continue
        parts = independent_parts(problem)
        assert sorted(number for part in parts for number in part) == list(range(len(problem.buffers)))
        if len(parts) < 2:
            continue
        status, values = best(problem)
        found = [best(alone_of(problem, part)) for part in parts]
        if status is Status.INFEASIBLE:
            assert any(it[0] is Status.INFEASIBLE for it in found)
            continue
        apart += 1
        assert values is not None
        assert max(it[1][0] for it in found if it[1] is not None) == values[0]
    assert apart > 20


def test_places_of_the_parts_are_a_plan_of_the_whole() -> None:
    tried = 0
    for seed in range(1_500):
        problem = one_pool(seed)
        parts = [] if problem is None else independent_parts(problem)
        if problem is None or len(parts) < 2:
            continue
        whole = plan(problem, SURE)
        if whole.status is not Status.OPTIMAL:
            continue
        tried += 1
        places: dict[str, Placement] = {}
        for part in parts:
            alone = plan(alone_of(problem, part), SURE)
            assert len(plan_of_part(whole, alone_of(problem, part)).placements) == len(part)
            places |= {place.buffer: place for place in alone.placements}
        joint = replace(whole, placements=tuple(places[buffer.id] for buffer in problem.buffers))
        assert [it for it in recount(problem, joint) if it.code != "wrong_live"] == []
    assert tried > 20


def test_what_cannot_be_told_apart_is_one_part() -> None:
    apart = Problem(
        version=1,
        buffers=(Buffer(id="a", size=1, lifetime=(0, 1)), Buffer(id="b", size=1, lifetime=(1, 2))),
    )
    assert independent_parts(apart) == [[0], [1]]
    assert len(independent_parts(replace(apart, conflicts=(("a", "b"),)))) == 1
    assert len(independent_parts(replace(apart, objective=()))) == 1
    always = replace(apart, buffers=(*apart.buffers, Buffer(id="c", size=1, lifetime="always")))
    assert len(independent_parts(always)) == 1
    twice = replace(apart, buffers=(*apart.buffers, Buffer(id="c", size=1, lifetimes=((0, 1), (1, 2)))))
    assert len(independent_parts(twice)) == 1
