"""Tiny valid problems with every feature of the schema mixed, from a seed or from hypothesis.

Sizes and offsets are so small that `tests.referee` can try every plan.
"""

from dataclasses import dataclass, field, replace
from math import lcm
from random import Random
from typing import Final, Literal

from hypothesis import strategies as st

from memstow.planner.check import find_issues
from memstow.planner.model.problem import (
    BankConflict,
    Banks,
    Buffer,
    InPlace,
    Interval,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
    named_pools,
)

MOST_BUFFERS: Final = 5
TERMS: Final = ("peak", "max_peak", "placement_cost", "reuse_cost")


def problems(most_buffers: int = MOST_BUFFERS) -> st.SearchStrategy[Problem]:
    """Valid problems for hypothesis."""
    return st.randoms(use_true_random=False).map(lambda rng: random_problem(rng, most_buffers))


def random_problem(rng: Random, most_buffers: int = MOST_BUFFERS) -> Problem:
    """A valid problem, though perhaps one that nothing fits."""
    pools = tuple(_pool(rng, name) for name in ("fast", "slow", "far")[: rng.choice((1, 1, 1, 2, 2, 3))])
    draft = _Draft(rng, pools, [f"b{i}" for i in range(rng.randint(1, most_buffers))])
    draft.group()
    buffers = tuple(draft.buffer(i) for i in range(len(draft.names)))
    problem = Problem(
        version=1,
        name=rng.choice((None, "tiny")),
        pools=pools,
        buffers=buffers,
        conflicts=draft.pairs(0.25),
        exclusive=draft.pairs(0.25),
        relative=tuple(draft.relative),
        in_place=tuple(InPlace(input=one, output=other) for one, other in draft.pairs(0.25)),
        reuse_costs=tuple(ReuseCost(buffers=pair, cost=rng.randint(0, 3)) for pair in draft.pairs(0.3)),
        objective=_objective(rng, pools),
    )
    # Conflicts within a rigid group may contradict its distances.
    return problem if not find_issues(problem) else replace(problem, conflicts=())


COSTLY_TERMS: Final = (
    ("reuse_cost",),
    ("reuse_cost", "peak"),
    ("peak", "reuse_cost"),
    ("max_peak", "reuse_cost", "peak"),
    ("peak:fast", "reuse_cost"),
    ("reuse_cost", "placement_cost", "peak:fast", "max_peak"),
)


def costly_problem(rng: Random, most_buffers: int = MOST_BUFFERS) -> Problem:
    """The same with little room, costs on most overlaps, and no buffer that has a choice of pool."""
    draft = random_problem(rng, most_buffers)
    names = [pool.id for pool in draft.pools]
    buffers = []
    in_group = {entry.buffer for entry in draft.relative} | {entry.base for entry in draft.relative}
    group_pool = None
    for buffer in draft.buffers:
        pool = buffer.pool or rng.choice(buffer.pools or names)
        if buffer.id in in_group:
            pool = group_pool = group_pool or pool
        buffers.append(replace(buffer, pools=(pool,)))
    problem = replace(
        draft,
        buffers=tuple(buffers),
        pools=tuple(replace(pool, capacity=pool.capacity or rng.randint(4, 9)) for pool in draft.pools),
        reuse_costs=tuple(
            ReuseCost(buffers=(one.id, other.id), cost=rng.randint(0, 4))
            for i, one in enumerate(buffers)
            for other in buffers[:i]
            if rng.random() < 0.7
        ),
        objective=rng.choice(COSTLY_TERMS),
    )
    # A small capacity may contradict a pin or a reserved range: then the pools stay as they were.
    return problem if not find_issues(problem) else replace(problem, pools=draft.pools)


BANK_TERMS: Final = (
    ("bank_cost",),
    ("bank_cost", "peak"),
    ("peak", "bank_cost"),
    ("bank_cost", "reuse_cost", "max_peak"),
    ("placement_cost", "bank_cost", "peak:fast"),
    ("preference", "bank_cost"),
    ("peak",),
    (),
)


def banked_problem(rng: Random, most_buffers: int = MOST_BUFFERS) -> Problem:
    """The same with banks, buffers that must be in some, and pairs that should not share one or must not."""
    draft = random_problem(rng, most_buffers)
    pools = tuple(replace(pool, banks=_banks(rng)) for pool in draft.pools)
    banks_in = {pool.id: sum(run.count for run in pool.banks) for pool in pools}
    buffers = []
    for buffer in draft.buffers:
        most = max(banks_in[name] for name in named_pools(buffer) or banks_in)
        within = rng.choice((None, None, True)) if most else None
        some = rng.sample(range(most), rng.randint(1, most)) if most and rng.random() < 0.25 else None
        buffers.append(replace(buffer, within_bank=within, banks=None if some is None else tuple(some)))
    names = [buffer.id for buffer in buffers]
    conflicts = [
        BankConflict(
            buffers=rng.sample(names, rng.randint(2, len(names))),
            cost=rng.choice((None, 0, 1, 2, 5)),
        )
        for _ in range(rng.randint(0, 2))
        if len(names) > 1
    ]
    terms = [
        term
        for term in rng.choice(BANK_TERMS)
        if not term.startswith("peak:") or term[5:] in {p.id for p in pools}
    ]
    return replace(
        draft, pools=pools, buffers=tuple(buffers), bank_conflicts=tuple(conflicts), objective=tuple(terms)
    )


def crowded_problem(rng: Random) -> Problem:
    """Few banks that leave no room beside them, or hardly any, and buffers that should not share one."""
    pools = []
    for name in ("fast", "slow")[: rng.choice((1, 1, 2))]:
        run = Banks(size=rng.randint(1, 4), count=rng.randint(1, 3), offset=rng.choice((0, 0, 0, 1, 2)))
        end = run.offset + run.size * run.count
        capacity = max(end + rng.choice((-1, 0, 0, 0, 1)), 1)
        reserved = (Reserved(offset=0, size=rng.randint(1, capacity)),) if rng.random() < 0.3 else ()
        base = rng.choice((0, 3))
        pools.append(Pool(id=name, capacity=capacity, banks=(run,), reserved=reserved, base=base))
    names = [f"b{i}" for i in range(rng.randint(2, 6))]
    numbers = range(max(pool.banks[0].count for pool in pools))
    buffers = []
    for name in names:
        begin = rng.randint(0, 4)
        pinned = rng.random() < 0.15
        buffers.append(
            Buffer(
                id=name,
                size=rng.choice((0, 1, 1, 2, 3)),
                lifetime=(begin, begin + rng.randint(1, 2)),
                alignment=1 if pinned else rng.choice((1, 1, 2)),
                pool=rng.choice(pools).id if pinned else None,
                offset=rng.choice((0, 0, 1, 3)) if pinned else None,
                within_bank=rng.choice((None, None, True)),
                banks=rng.sample(numbers, rng.randint(1, len(numbers))) if rng.random() < 0.3 else None,
            )
        )
    conflicts = [
        BankConflict(
            buffers=rng.sample(names, rng.randint(2, len(names))),
            cost=rng.choice((None, 1, 1, 2, 3, 5)),
        )
        for _ in range(rng.randint(1, 4))
    ]
    problem = Problem(pools=pools, buffers=buffers, bank_conflicts=conflicts, objective=("bank_cost",))
    # A pin may be beyond the end, or where no bank is that the pool has.
    return problem if not find_issues(problem) else crowded_problem(rng)


def _banks(rng: Random) -> tuple[Banks, ...]:
    runs, end = [], 0
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        offset = end + rng.choice((0, 0, 0, 1))
        run = Banks(size=rng.randint(1, 4), count=rng.randint(1, 3), offset=offset)
        runs.append(run)
        end = offset + run.size * run.count
    return tuple(runs)


def _pool(rng: Random, name: str) -> Pool:
    capacity = rng.choice((None, None, rng.randint(3, 14)))
    return Pool(
        id=name,
        capacity=capacity,
        alignment=rng.choice((1, 1, 1, 2)),
        reserved=_reserved(rng, 8 if capacity is None else capacity),
        base=rng.choice((None, None, 0, 1, 6)),
        cost=rng.randint(0, 3),
    )


def _reserved(rng: Random, below: int) -> tuple[Reserved, ...]:
    if rng.random() < 0.6:
        return ()
    begin = rng.randint(0, below - 2)
    first = Reserved(offset=begin, size=rng.randint(1, min(3, below - begin)))
    after = begin + first.size
    if rng.random() < 0.7 or after + 2 > below:
        return (first,)
    return (first, Reserved(offset=after + 1, size=1))


def _objective(rng: Random, pools: tuple[Pool, ...]) -> tuple[str, ...] | None:
    if rng.random() < 0.4:
        return None
    terms = [*TERMS, *(f"peak:{pool.id}" for pool in pools)]
    return tuple(rng.sample(terms, rng.choice((0, 1, 1, 2, 2, 3))))


@dataclass
class _Draft:
    """A problem in the making: what the parts must agree on to be valid together."""

    rng: Random
    pools: tuple[Pool, ...]
    names: list[str]
    alignments: list[int] = field(default_factory=list)
    grouped: set[int] = field(default_factory=set)
    relative: list[Relative] = field(default_factory=list)
    group_pools: tuple[str, ...] | None = None
    pinned: list[tuple[str, int, int]] = field(default_factory=list)

    def group(self) -> None:
        """Perhaps hold some buffers together, at distances that their alignments allow."""
        rng = self.rng
        self.alignments = [rng.choice((1, 1, 1, 2, 4)) for _ in self.names]
        if len(self.names) < 2 or rng.random() < 0.6:
            return
        members = rng.sample(range(len(self.names)), rng.randint(2, min(3, len(self.names))))
        step = lcm(*(self.alignments[i] for i in members), *(pool.alignment for pool in self.pools))
        for position in range(1, len(members)):
            base = members[rng.randrange(position)]
            distance = step * rng.randint(-2 if step == 1 else -1, 2 if step == 1 else 1)
            self.relative.append(
                Relative(buffer=self.names[members[position]], base=self.names[base], offset=distance)
            )
        self.grouped.update(members)
        self.group_pools = self._some_pools()

    def buffer(self, i: int) -> Buffer:
        """One buffer, pinned only where nothing else of the problem forbids it."""
        rng = self.rng
        size = rng.choice((0, 1, 1, 2, 2, 3, 3, 4))
        allowed = self.group_pools if i in self.grouped else self._some_pools()
        pool, offset = self._pin(i, size, allowed)
        lifetime, lifetimes = self._life()
        return Buffer(
            id=self.names[i],
            size=size,
            lifetime=lifetime,
            lifetimes=lifetimes,
            alignment=self.alignments[i],
            pools=allowed,
            accesses=rng.choice((None, None, rng.randint(0, 4))),
            pool=pool,
            offset=offset,
        )

    def pairs(self, chance: float) -> tuple[tuple[str, str], ...]:
        """Distinct pairs of distinct buffers, in any order."""
        result = []
        for i, one in enumerate(self.names):
            for other in self.names[:i]:
                if self.rng.random() < chance / max(1, len(self.names) - 1) * 2:
                    result.append(self.rng.choice(((one, other), (other, one))))
        return tuple(result)

    def _some_pools(self) -> tuple[str, ...] | None:
        names = [pool.id for pool in self.pools]
        if self.rng.random() < 0.6:
            return None
        return tuple(self.rng.sample(names, self.rng.randint(1, len(names))))

    def _life(self) -> tuple[Interval | Literal["always"] | None, tuple[Interval, ...] | None]:
        kind = self.rng.random()
        if kind < 0.1:
            return None, None
        if kind < 0.2:
            return "always", None
        if kind < 0.8:
            return self._interval(), None
        return None, tuple(self._interval() for _ in range(self.rng.randint(1, 3)))

    def _interval(self) -> Interval:
        begin = self.rng.randint(-1, 5)
        return begin, begin + self.rng.randint(1, 4)

    def _pin(self, i: int, size: int, allowed: tuple[str, ...] | None) -> tuple[str | None, int | None]:
        rng = self.rng
        if rng.random() < 0.8:
            return None, None
        pool = rng.choice([pool for pool in self.pools if allowed is None or pool.id in allowed])
        if i in self.grouped:
            # The whole group follows; its members share their allowed pools, but may not differ in pins.
            return None, None
        if rng.random() < 0.5:
            return pool.id, None
        step = lcm(self.alignments[i], pool.alignment)
        offset = -(pool.base or 0) % step + step * rng.randint(0, 2)
        return (pool.id, offset) if self._free(pool, offset, offset + size) else (pool.id, None)

    def _free(self, pool: Pool, begin: int, end: int) -> bool:
        """Whether a pin there is sure to contradict nothing; if so, it is taken."""
        taken = [(r.offset, r.offset + r.size) for r in pool.reserved]
        taken += [(low, high) for name, low, high in self.pinned if name == pool.id]
        if end > (12 if pool.capacity is None else pool.capacity):
            return False
        if any(low < max(end, begin + 1) and begin < high for low, high in taken):
            return False
        self.pinned.append((pool.id, begin, end))
        return True
