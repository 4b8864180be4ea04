"""Which empty pools have room for a buffer, and how much work the judge does where there are many pools."""

from math import lcm
from random import Random

from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool, Problem, Reserved
from memstow.planner.solve import engine
from memstow.planner.verify import Subject, judge, verify
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.peak_bounds import EmptyPools
from memstow.planner.verify.verdict import Findings
from tests.calls import calls_of


def random_pool(rng: Random, name: str) -> Pool:
    capacity = rng.randint(1, 40)
    begins = [rng.randrange(capacity) for _ in range(rng.randint(0, 3))]
    return Pool(
        id=name,
        capacity=capacity,
        alignment=rng.choice([1, 1, 2, 6]),
        base=rng.choice([None, 0, 3]),
        reserved=[Reserved(offset=at, size=rng.randint(1, capacity - at)) for at in begins],
    )


def random_buffer(rng: Random, name: str, pools: list[str]) -> Buffer:
    pin = rng.choice(pools) if rng.random() < 0.2 else None
    return Buffer(
        id=name,
        size=rng.randint(0, 20),
        lifetime=(0, 1),
        alignment=rng.choice([1, 1, 4, 9]),
        pools=None if pin or rng.random() < 0.5 else rng.sample(pools, rng.randint(1, len(pools))),
        pool=pin,
        offset=rng.randint(0, 30) if pin and rng.random() < 0.5 else None,
    )


def has_place(buffer: Buffer, pool: Pool) -> bool:
    """By trying every offset."""
    step = lcm(buffer.alignment, pool.alignment)
    end = pool.capacity or 0
    return any(
        (offset + (pool.base or 0)) % step == 0
        and offset in (buffer.offset, offset if buffer.offset is None else None)
        and all(
            offset + buffer.size <= stretch.offset
            or stretch.offset + stretch.size <= offset
            or not buffer.size
            for stretch in pool.reserved
        )
        for offset in range(end - buffer.size + 1)
    )


def test_the_pools_found_are_those_where_some_offset_is_free() -> None:
    rng = Random(7)
    for _ in range(40):
        pools = [random_pool(rng, f"p{i}") for i in range(rng.randint(1, 5))]
        names = [pool.id for pool in pools]
        buffers = [random_buffer(rng, f"b{i}", names) for i in range(12)]
        problem = Problem(pools=pools, buffers=buffers)
        empty_pools = EmptyPools(ProblemIndex(problem, Findings()))
        for i, buffer in enumerate(buffers):
            allowed = [buffer.pool] if buffer.pool is not None else buffer.pools or names
            expected = {p for p, pool in enumerate(pools) if pool.id in allowed and has_place(buffer, pool)}
            assert empty_pools.pools_for(i) == expected, (buffer, pools)


def with_many_pools(buffers: int, pools: int) -> Problem:
    """All buffers live at once, have sizes of their own, and may go to any of the pools."""
    return Problem(
        pools=[Pool(id=f"p{i}", capacity=10_000 + i, cost=i) for i in range(pools)],
        buffers=[Buffer(id=str(i), size=i + 1, lifetime=(0, 1)) for i in range(buffers)],
        objective=("placement_cost", "peak"),
    )


def test_judging_takes_work_by_buffers_plus_pools_not_by_their_product() -> None:
    buffers, pools = 200, 200
    problem = with_many_pools(buffers, pools)
    plan = engine.plan(problem, Options(time_limit=10, solver="greedy", workers=1, deterministic=True))
    certificates = [term.certificate for term in plan.objective]
    assert len(plan.placements) == buffers
    assert None not in certificates
    calls = calls_of(lambda: verify(problem, plan))
    assert calls < 60 * (buffers + pools)


def test_nothing_is_live_at_no_moment_in_a_pool_without_buffers() -> None:
    pools = [Pool(id="used", capacity=8), Pool(id="spare", capacity=8)]
    problem = Problem(buffers=[Buffer(id="a", size=4, lifetime=(0, 1), pool="used")], pools=pools)
    claims = judge(problem, engine.plan(problem, Options())).claims
    said = [claim.says for claim in claims if claim.subject is Subject.LIVE]
    assert said == ["at most 4 bytes are live in 'used', first at 0", "at most 0 bytes are live in 'spare'"]
