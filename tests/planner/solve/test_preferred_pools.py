"""Of pools that are as good by the objective, the one that a buffer names first is taken."""

from random import Random

import pytest

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve.engine import plan
from tests.waiting import PATIENCE

NAMES = ("a", "b", "c")


@pytest.mark.parametrize(
    "objective", [(), ("peak",), ("placement_cost",), ("placement_cost", "peak")], ids=str
)
@pytest.mark.parametrize("solver", ["auto", "greedy"])
def test_where_nothing_is_at_stake_each_buffer_is_in_its_first_pool(
    objective: tuple[str, ...], solver: str
) -> None:
    rng = Random(1)
    for _ in range(10):
        buffers = tuple(
            Buffer(
                id=f"x{i}",
                size=rng.randint(1, 9),
                lifetime=(rng.randint(0, 5), rng.randint(6, 9)),
                pools=tuple(rng.sample(NAMES, rng.randint(1, 3))),
            )
            for i in range(6)
        )
        pools = tuple(Pool(id=name, capacity=100) for name in NAMES)
        problem = Problem(version=1, pools=pools, buffers=buffers, objective=objective)
        planned = plan(problem, Options(solver=solver, time_limit=PATIENCE))
        first = [buffer.pools[0] for buffer in buffers if buffer.pools]
        assert [place.pool for place in planned.placements] == first


def test_a_buffer_without_a_size_costs_nothing_anywhere_and_goes_where_it_prefers() -> None:
    pools = (Pool(id="fast", cost=1), Pool(id="slow", cost=5))
    empty = Buffer(id="x", size=0, lifetime=(0, 1), accesses=9, pools=("slow", "fast"))
    planned = plan(Problem(version=1, pools=pools, buffers=(empty,)))
    assert [place.pool for place in planned.placements] == ["slow"]
