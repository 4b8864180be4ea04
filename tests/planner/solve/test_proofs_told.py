"""What a run tells of its bounds: as much as solvers have proven, and how."""

from random import Random

import pytest

from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Exhausted, Model
from memstow.planner.model.problem import Buffer, Pool, Problem, ReuseCost
from memstow.planner.solve.engine import plan
from memstow.solvers.registry import is_installed
from tests.campaign import gate_first
from tests.graphs import live_bytes_of


@pytest.mark.parametrize("solver", ["auto", "assign", "cpsat", "highs"])
@pytest.mark.parametrize("term", ["max_peak", "peak:p0"])
@pytest.mark.parametrize("capacity", gate_first([1999, 2000], 1))
def test_a_bound_that_is_no_multiple_of_all_sizes_does_not_hide_what_is_proven(
    solver: str, term: str, capacity: int
) -> None:
    """Of 2,000 bytes at once 1,999 could be in the other pool: one byte is left, and so a whole buffer."""
    if not is_installed("cpsat" if solver == "auto" else solver):
        pytest.skip(f"{solver} is not installed here, or what it needs")
    problem = Problem(
        version=1,
        pools=(Pool(id="p0"), Pool(id="p1", capacity=capacity)),
        buffers=tuple(Buffer(id=name, size=1000, lifetime=(0, 1)) for name in "ab"),
        objective=(term,),
    )
    made = plan(problem, Options(solver=solver, time_limit=60))
    least = 1000 if term == "max_peak" or capacity == 1999 else 0
    assert (made.status, made.objective[0].value, made.objective[0].bound) == (Status.OPTIMAL, least, least)


def with_costs(count: int, seed: int) -> Problem:
    """Buffers at random in a tight pool, half of whose pairs that may share bytes cost something."""
    rng = Random(seed)
    sizes = [rng.randint(1, 9) for _ in range(count)]
    lives = [(begin := rng.randrange(count), begin + rng.randint(1, max(count // 6, 1))) for _ in sizes]
    costs = tuple(
        ReuseCost(buffers=(f"b{i}", f"b{j}"), cost=1)
        for i in range(count)
        for j in range(i)
        if not (lives[i][0] < lives[j][1] and lives[j][0] < lives[i][1]) and rng.random() < 0.5
    )
    buffers = tuple(Buffer(id=f"b{i}", size=sizes[i], lifetime=lives[i]) for i in range(count))
    live = max(live_bytes_of(Problem(version=1, buffers=buffers), 2 * count))
    pools = (Pool(id="p", capacity=live * 11 // 10),)
    return Problem(version=1, pools=pools, buffers=buffers, reuse_costs=costs, objective=("reuse_cost",))


def test_a_bound_of_addresses_is_no_search_that_ran_dry() -> None:
    """Cores stay far behind in most of these, and what each address holds shows more."""
    options = Options(solver="reuse", deterministic=True, work_limit=40_000_000)
    kinds = []
    for seed in range(4):
        cost = plan(with_costs(40, seed), options).objective[0]
        if 0 < cost.bound < cost.value:
            kinds.append(cost.certificate)
    assert Model(solver="reuse") in kinds


def test_a_bound_of_cores_is_of_searches_that_ran_dry() -> None:
    kinds = []
    for seed in range(20):
        cost = plan(with_costs(12, seed), Options(solver="reuse", time_limit=60)).objective[0]
        assert cost.value == cost.bound
        kinds += [type(cost.certificate)] if cost.bound else []
    assert kinds
    assert set(kinds) == {Exhausted}
