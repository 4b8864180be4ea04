"""The exact front of a tiny problem, by trying every plan."""

from dataclasses import replace
from itertools import combinations
from random import Random

from memstow.planner.model.front import Front
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, Reserved, ReuseCost
from tests import referee


def exact_front(
    problem: Problem, terms: tuple[str, str], within: float | None = None, hint: Plan | None = None
) -> list[tuple[int, int]]:
    """The values of the two terms at each point, by the first, ascending."""
    first, second = terms
    pools = tuple(
        replace(pool, capacity=None) if f"capacity:{pool.id}" in terms else pool for pool in problem.pools
    )
    by_first = replace(problem, pools=pools, objective=(_objective(first),))
    by_second = replace(problem, pools=pools, objective=(_objective(second),))
    points: list[tuple[int, int]] = []
    least = referee.least(replace(by_second, objective=()), _objective(second), (), hint)
    most = 10**9
    if least is not None and within is not None:
        most = int(within * least + 1e-9)
    limit = 10**9
    while True:
        value = referee.least(by_first, _objective(second), (limit,), hint)
        if value is None or value > most:
            return sorted(points)
        other = referee.least(by_second, _objective(first), (value,), hint)
        assert other is not None
        points.append((other, value))
        limit = other - 1


def _objective(term: str) -> str:
    return term.replace("capacity:", "peak:")


def values_of(front: Front) -> list[tuple[int, int]]:
    """The values of the two terms at each point."""
    first, second = front.terms
    return [(point.values[first], point.values[second]) for point in front.points]


def tense_problem(rng: Random, pool_count: int | None = None) -> Problem:
    """A tiny problem whose terms pull in different directions: dear pools, costs of overlaps."""
    names = [f"b{i}" for i in range(rng.randint(3, 4))]
    several = rng.random() < 0.7 if pool_count is None else pool_count > 1
    pools: tuple[Pool, ...] = (
        Pool(id="fast", cost=rng.randint(0, 1), reserved=_reserved(rng), capacity=rng.choice((None, 9))),
    )
    if several:
        pools += (Pool(id="slow", cost=rng.randint(1, 4)),)
    return Problem(
        pools=pools,
        buffers=[
            Buffer(
                id=name,
                size=rng.choice((0, 1, 2, 2, 3, 4)),
                lifetime=(begin := rng.randint(0, 3), begin + rng.randint(1, 3)),
                accesses=rng.choice((None, rng.randint(0, 6))),
                alignment=rng.choice((1, 1, 2)),
            )
            for name in names
        ],
        reuse_costs=[
            ReuseCost(buffers=pair, cost=rng.randint(1, 5))
            for pair in combinations(names, 2)
            if rng.random() < (0.3 if several else 0.8)
        ],
    )


def _reserved(rng: Random) -> tuple[Reserved, ...]:
    return (Reserved(offset=rng.randint(0, 4), size=1),) if rng.random() < 0.2 else ()
