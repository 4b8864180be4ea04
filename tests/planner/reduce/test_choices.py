"""The choices of an item: one for each pool it may go to, and what it takes to build them for many pools."""

from random import Random

from memstow.planner.model.problem import Buffer, Pool, Problem, allowed_pools
from memstow.planner.reduce import Reduction, reduce
from tests.calls import calls_of


def reduced(problem: Problem) -> Reduction:
    reduction = reduce(problem)
    assert isinstance(reduction, Reduction)
    return reduction


def with_many_pools(buffers: int, pools: int) -> Problem:
    """Buffers of ten sizes, of which the larger ones do not fit into every pool."""
    return Problem(
        pools=[Pool(id=f"p{i}", capacity=4 + i, cost=i) for i in range(pools)],
        buffers=[Buffer(id=str(i), size=1 + i % 10, lifetime=(i, i + 1)) for i in range(buffers)],
        objective=("placement_cost", "preference"),
    )


def test_every_choice_has_the_cost_and_the_preference_of_its_pool() -> None:
    rng = Random(3)
    pools = [Pool(id=f"p{i}", capacity=10 + 9 * i, cost=rng.randint(0, 5)) for i in range(6)]
    names = [pool.id for pool in pools]
    buffers = [
        Buffer(
            id=f"b{i}",
            size=rng.randint(1, 30),
            lifetime=(0, 1),
            pools=rng.sample(names, rng.randint(3, 6)) if rng.random() < 0.5 else None,
            accesses=rng.choice([None, 0, 7]),
        )
        for i in range(40)
    ]
    buffers = [
        buffer
        for buffer in buffers
        if buffer.pools is None or any(10 + 9 * int(n[1]) >= buffer.size for n in buffer.pools)
    ]
    problem = Problem(pools=pools, buffers=buffers, objective=("placement_cost", "preference"))
    arrays = reduced(problem).instance
    result, expected = [], []
    for item, buffer in enumerate(buffers):
        for at in range(arrays.choice_start[item], arrays.choice_start[item + 1]):
            result.append((arrays.choice_pool[at], arrays.choice_cost[at], arrays.choice_rank[at]))
        for place, name in enumerate(allowed_pools(problem, buffer)):
            pool = names.index(name)
            accesses = buffer.size if buffer.accesses is None else buffer.accesses
            if buffer.size <= (pools[pool].capacity or 0):
                expected.append((pool, pools[pool].cost * accesses, place * buffer.size))
    assert result == expected


def test_choices_take_work_by_buffers_plus_pools_not_by_their_product() -> None:
    buffers, pools = 300, 300
    problem = with_many_pools(buffers, pools)
    assert len(reduced(problem).instance.choice_pool) > buffers * (pools - 10)
    assert calls_of(lambda: reduce(problem)) < 60 * (buffers + pools)


def test_equal_neighbours_are_written_at_once() -> None:
    def extends(buffers: int) -> int:
        problem = Problem(
            pools=[Pool(id="one"), Pool(id="other")],
            buffers=[Buffer(id=str(i), size=8, lifetime=(i, i + 1)) for i in range(buffers)],
        )
        return calls_of(lambda: reduce(problem), builtin="extend")

    assert extends(10) == extends(100)


def test_pools_of_equal_alignment_share_the_grid_of_a_buffer() -> None:
    pools = 50
    problem = Problem(
        pools=[Pool(id=f"p{i}", alignment=1 + i % 2) for i in range(pools)],
        buffers=[Buffer(id=str(i), size=8, lifetime=(0, 1), alignment=3 + i) for i in range(20)],
    )
    assert calls_of(lambda: reduce(problem), "lcm") < 20 * pools
