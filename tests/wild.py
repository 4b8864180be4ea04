"""Tiny problems whose fields are drawn with no regard for each other; what contradicts itself is thrown away.

`tests.problems` keeps to combinations that are sure to be valid: alignments there are powers of two,
distances are multiples of them, and nothing in a group is pinned. Here they are not.
"""

from collections.abc import Sequence
from random import Random
from typing import Literal

from memstow.planner.check import find_issues
from memstow.planner.model.problem import (
    Buffer,
    InPlace,
    Interval,
    Pair,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
)
from tests.problems import TERMS

_TRIES = 1000


def wild_problem(rng: Random, most_buffers: int = 4) -> Problem:
    """A valid problem, though perhaps one that nothing fits."""
    for _ in range(_TRIES):
        problem = _drawn(rng, most_buffers)
        if not find_issues(problem):
            return problem
    raise AssertionError("nothing valid was drawn")


def _drawn(rng: Random, most_buffers: int) -> Problem:
    pools = tuple(_pool(rng, name) for name in ("fast", "slow", "far")[: rng.choice((1, 1, 2, 3))])
    names = [f"b{i}" for i in range(rng.randint(2, most_buffers))]
    terms = [*TERMS, *(f"peak:{pool.id}" for pool in pools)]
    return Problem(
        version=1,
        pools=pools,
        buffers=tuple(_buffer(rng, name, pools) for name in names),
        conflicts=_pairs(rng, names, 0.15),
        exclusive=_pairs(rng, names, 0.2),
        relative=tuple(
            Relative(buffer=one, base=other, offset=rng.randint(-6, 6))
            for one, other in _pairs(rng, names, 0.3)
        ),
        in_place=tuple(InPlace(input=one, output=other) for one, other in _pairs(rng, names, 0.3)),
        reuse_costs=tuple(ReuseCost(buffers=p, cost=rng.randint(0, 3)) for p in _pairs(rng, names, 0.3)),
        objective=tuple(rng.sample(terms, rng.randint(0, 3))),
    )


def _pool(rng: Random, name: str) -> Pool:
    capacity = rng.choice((None, rng.randint(4, 16)))
    reserved = tuple(
        Reserved(offset=rng.randint(0, 9), size=rng.randint(1, 3)) for _ in range(rng.choice((0, 0, 1, 2)))
    )
    return Pool(
        id=name,
        capacity=capacity,
        alignment=rng.choice((1, 1, 1, 2, 3)),
        reserved=reserved,
        base=rng.choice((None, None, rng.randint(0, 7))),
        cost=rng.randint(0, 2),
    )


def _buffer(rng: Random, name: str, pools: Sequence[Pool]) -> Buffer:
    lifetime, lifetimes = _life(rng)
    pin = rng.choice((None, None, None, None, rng.choice(pools).id))
    return Buffer(
        id=name,
        size=rng.choice((0, 1, 2, 3, 4, 5, 6)),
        lifetime=lifetime,
        lifetimes=lifetimes,
        alignment=rng.choice((1, 1, 1, 2, 3, 4, 5)),
        pools=rng.choice((None, None, tuple(rng.sample([p.id for p in pools], rng.randint(1, len(pools)))))),
        accesses=rng.choice((None, rng.randint(0, 4))),
        pool=pin,
        offset=rng.choice((None, rng.randint(0, 10))) if pin else None,
    )


def _life(rng: Random) -> tuple[Interval | Literal["always"] | None, tuple[Interval, ...] | None]:
    kind = rng.randrange(5)
    if kind == 0:
        return None, None
    if kind == 1:
        return "always", None
    if kind == 2:
        return None, tuple(_interval(rng) for _ in range(rng.randint(1, 3)))
    return _interval(rng), None


def _interval(rng: Random) -> Interval:
    begin = rng.randint(-1, 4)
    return begin, begin + rng.randint(1, 3)


def _pairs(rng: Random, names: Sequence[str], chance: float) -> tuple[Pair, ...]:
    """Distinct pairs, in any order."""
    return tuple(
        rng.choice(((one, other), (other, one)))
        for at, one in enumerate(names)
        for other in names[:at]
        if rng.random() < chance
    )
