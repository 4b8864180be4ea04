"""What is known of points, also where there is no time to plan them."""

from array import array
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.check import find_issues
from memstow.planner.formulas.sizes import problem_at, sizes_at, with_largest_sizes
from memstow.planner.generate.features import SYMBOLIC_FEATURES
from memstow.planner.generate.symbolic import symbolic
from memstow.planner.model import PLANNED
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool
from memstow.planner.model.symbolic import SHAPES, Shapes, points_of
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.shapes.point_plans import live_bytes_of, without_capacities
from memstow.planner.solve.engine import plan
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from tests.campaign import gate_first
from tests.planner.shapes.stacks import random_problem

QUICK = Options(deterministic=True, work_limit=20_000)


@pytest.mark.parametrize("block", gate_first(range(6), 2))
def test_no_layout_needs_less_than_the_live_bytes(block: int) -> None:
    reached = 0
    for seed in range(60 * block, 60 * (block + 1)):
        features = [name for at, name in enumerate(SYMBOLIC_FEATURES) if (seed * 7 + at * 11) % 5 == 0]
        some = symbolic(7, seed, family="random", symbols=1, features=features)
        for problem in map(without_capacities, (some, random_problem(Random(seed), 7))):
            if find_issues(problem):
                continue
            live = live_bytes_of(problem)
            for point in points_of(problem)[:8]:
                planned = plan(problem_at(problem, point.at), QUICK)
                if planned.status in PLANNED:
                    least = live.at(array("q", sizes_at(problem, point.at)))
                    assert least <= planned.objective[0].value, (seed, point.at)
                    reached += least == planned.objective[0].value
    assert reached > 20


@pytest.mark.parametrize("shapes", ["fixed", "order", "pieces"])
def test_without_time_there_is_a_plan_with_bounds(shapes: Shapes) -> None:
    problem = symbolic(600, 1)
    planned = plan_symbolic(problem, Options(time_limit=0.001), shapes=shapes)
    assert not judge_symbolic(problem, planned).violations
    assert all(0 < point.least <= point.peak for point in planned.points)


def test_without_time_nothing_is_in_the_way_of_pins() -> None:
    problem = symbolic(600, 1)
    largest, buffers, offset = with_largest_sizes(problem), list(problem.buffers), 0
    for number in range(0, 600, 60):
        step = buffers[number].alignment
        offset = -(-offset // step) * step
        buffers[number] = replace(buffers[number], pool=problem.pools[0].id, offset=offset)
        offset += largest.buffers[number].size
    pinned = without_capacities(replace(problem, buffers=tuple(buffers)))
    for shapes in SHAPES:
        planned = plan_symbolic(pinned, Options(time_limit=0.001), shapes=shapes)
        assert planned.status in PLANNED
        assert not judge_symbolic(pinned, planned).violations


@pytest.mark.parametrize("options", [Options(time_limit=0.001), QUICK])
@pytest.mark.parametrize("shapes", SHAPES)
def test_with_little_time_buffers_are_in_pools_that_hold_them(shapes: Shapes, options: Options) -> None:
    problem = symbolic(600, 1)
    largest = with_largest_sizes(problem)
    most = max(buffer.size for buffer in largest.buffers)
    pools = (Pool(id="fast", capacity=most), replace(problem.pools[0], capacity=None))
    crowded = replace(problem, pools=pools)
    planned = plan_symbolic(crowded, options, shapes=shapes)
    assert planned.status in PLANNED
    assert not judge_symbolic(crowded, planned).violations
