"""What it would take, against every capacity and every removal tried by brute force."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from memstow.planner.explain.needs import Needs, needs, removals
from memstow.planner.model import Status
from memstow.planner.model.problem import Buffer, Pool, Problem, Relative, Reserved
from tests.problems import random_problem
from tests.referee import judge

MOST_CAPACITY = 60


def fits(problem: Problem) -> bool:
    return judge(replace(problem, objective=())).status is Status.OPTIMAL


@cache
def asked(count: int = 16) -> list[tuple[int, Problem, Needs]]:
    """Tiny problems that no plan fits, most by a byte or a few, and what they are told to need."""
    pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")
    result: list[tuple[int, Problem, Needs]] = []
    seed = 0
    while len(result) < count:
        seed += 1
        problem = random_problem(Random(seed), most_buffers=4)
        if any(pool.capacity is not None for pool in problem.pools) and not fits(problem):
            result.append((seed, problem, needs(problem, 60.0)))
    return result


def least_capacity(problem: Problem, index: int) -> int | None:
    """By trying one capacity after the other."""
    pool = problem.pools[index]
    begin = max((r.offset + r.size for r in pool.reserved), default=0)
    for capacity in range(begin, MOST_CAPACITY):
        changed = replace(pool, capacity=capacity)
        if fits(replace(problem, pools=(*problem.pools[:index], changed, *problem.pools[index + 1 :]))):
            return capacity
    return None


def test_the_smallest_capacities_are_those_of_brute_force() -> None:
    exact = ranges = 0
    for seed, problem, result in asked():
        assert result.plan.status is Status.INFEASIBLE, seed
        output = {need.pool: need for need in result.pools}
        for index, pool in enumerate(problem.pools):
            if pool.capacity is None:
                assert pool.id not in output
                continue
            need, truth = output[pool.id], least_capacity(problem, index)
            if truth is None:
                assert (need.bound, need.enough) == (None, None), seed
            else:
                assert need.bound is not None, seed
                assert need.enough is not None, seed
                assert need.bound <= truth <= need.enough, seed
                exact += need.least == truth
                # Only where one without a size lies may be left open.
                ranges += need.least is None
                assert need.least is not None or any(not buffer.size for buffer in problem.buffers), seed
    assert exact > 10 * ranges


def test_a_constraint_helps_when_a_plan_exists_without_it() -> None:
    helped = 0
    for seed, problem, result in asked():
        output = {release.removal.path: release.helps for release in result.releases}
        for removal in removals(problem):
            # What is not told of touches none of the buffers that are in each other's way.
            assert output.get(removal.path, False) == fits(removal.without()), (seed, removal.path)
            helped += fits(removal.without())
    assert helped >= 4


def two(first: int, second: int) -> tuple[Buffer, ...]:
    return (
        Buffer(id="a", size=first, lifetime=(0, 2), alignment=4),
        Buffer(id="b", size=second, lifetime=(1, 3)),
    )


def helping(result: Needs) -> list[str]:
    return [release.removal.path for release in result.releases if release.helps]


def test_one_pool_that_is_too_small_needs_what_lives_together() -> None:
    result = needs(Problem(version=1, pools=(Pool(id="p", capacity=8),), buffers=two(6, 5)))
    (need,) = result.pools
    assert (need.capacity, need.least) == (8, 11)
    assert helping(result) == []


def test_a_pool_that_no_capacity_helps_is_told_apart() -> None:
    pools = (Pool(id="p", capacity=8), Pool(id="q", capacity=3))
    first, second = two(6, 5)
    result = needs(Problem(version=1, pools=pools, buffers=(first, replace(second, pool="q"))), 30.0)
    by_pool = {need.pool: need for need in result.pools}
    assert (by_pool["p"].bound, by_pool["p"].enough) == (None, None)
    assert by_pool["q"].least == 5
    assert helping(result) == []


def test_a_pin_to_a_pool_can_be_what_is_too_much() -> None:
    pools = (Pool(id="p", capacity=8), Pool(id="q", capacity=3))
    first, second = two(4, 4)
    need = needs(Problem(version=1, pools=pools, buffers=(first, replace(second, pool="q"))), 30.0)
    assert helping(need) == ["$.buffers[1].pool"]


POOL = Pool(id="p", capacity=11)
A, B = Buffer(id="a", size=5, lifetime=(0, 1)), Buffer(id="b", size=5, lifetime=(1, 2))


@pytest.mark.parametrize(
    ("problem", "path"),
    [
        (
            Problem(
                version=1,
                pools=(Pool(id="p", capacity=11, reserved=(Reserved(offset=10, size=1),)),),
                buffers=two(4, 7),
            ),
            "$.pools[0].reserved[0]",
        ),
        (
            Problem(
                version=1,
                pools=(Pool(id="p", capacity=10, alignment=2),),
                buffers=(A, replace(B, lifetime=(0, 2))),
            ),
            "$.pools[0].alignment",
        ),
        (
            Problem(
                version=1,
                pools=(Pool(id="p", capacity=12, reserved=(Reserved(offset=0, size=1),)),),
                buffers=(replace(A, alignment=4), Buffer(id="c", size=6, lifetime=(0, 1))),
            ),
            "$.buffers[0].alignment",
        ),
        (
            Problem(
                version=1,
                pools=(POOL,),
                buffers=(replace(A, pool="p", offset=3), Buffer(id="c", size=6, lifetime=(0, 1))),
            ),
            "$.buffers[0].offset",
        ),
        (
            Problem(
                version=1,
                pools=(POOL, Pool(id="q", capacity=5)),
                buffers=(replace(A, pools=("p",)), Buffer(id="c", size=7, lifetime=(0, 1))),
            ),
            "$.buffers[0].pools",
        ),
        (
            Problem(
                version=1,
                pools=(Pool(id="p", capacity=9),),
                buffers=(A, B),
                conflicts=(("a", "b"),),
            ),
            "$.conflicts[0]",
        ),
        (
            Problem(
                version=1,
                pools=(POOL,),
                buffers=(A, B),
                relative=(Relative(buffer="b", base="a", offset=7),),
            ),
            "$.relative[0]",
        ),
    ],
)
def test_each_kind_of_constraint_can_be_the_one_that_is_too_much(problem: Problem, path: str) -> None:
    assert path in helping(needs(problem, 30.0))


def test_a_problem_that_fits_is_told_how_small_its_pools_can_be() -> None:
    need = needs(Problem(version=1, pools=(Pool(id="p", capacity=99),), buffers=two(6, 5)))
    assert need.plan.placements
    assert need.pools[0].least == 11
    assert need.releases == ()


def test_without_time_nothing_is_claimed() -> None:
    result = needs(Problem(version=1, pools=(Pool(id="p", capacity=8),), buffers=two(6, 5)), 0.0)
    assert result.plan.status is Status.UNKNOWN
    (need,) = result.pools
    assert (need.bound, need.enough) == (0, None)
    assert result.releases == ()


def test_of_thousands_of_constraints_some_are_decided_and_the_rest_counted() -> None:
    aligned = tuple(
        Buffer(id=f"b{i}", size=8, lifetime=(0, 1), alignment=2 if i % 2 else 1) for i in range(4000)
    )
    problem = Problem(version=1, pools=(Pool(id="p", capacity=8 * 4000 - 1),), buffers=aligned)
    need = needs(problem, 1.5)
    assert need.pools[0].least == 8 * 4000
    assert len(need.releases) + need.untried == 2000
    assert not any(release.helps for release in need.releases)
