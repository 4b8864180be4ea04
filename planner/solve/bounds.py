"""Lower bounds that need no search, and the explanation where they exceed the capacity.

The sizes of buffers that must be apart at one time add up: that alone decides most problems.
"""

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from memstow.planner.model.plan import Explanation, Least, LiveBytes, Sum
from memstow.planner.model.problem import (
    Kind,
    Pool,
    Term,
    access_counts,
    end_of,
    pool_lists,
    reserved_bytes,
)
from memstow.planner.model.records import record
from memstow.planner.solve.run_state import TermBound
from memstow.solvers import core
from memstow.solvers.instance import Instance

if TYPE_CHECKING:
    # Columns have bounds as well, and no reduction.
    from memstow.planner.reduce import Reduction

# With more pools than this only single pools and all of them together have a bound.
_MOST_POOLS_COMBINED = 4


@record
class Need:
    """Buffers that must be apart within some pools, and the bytes that they need there."""

    pools: tuple[int, ...]
    bytes: int  # without reserved ranges
    height: int  # with one pool: the lowest possible end, reserved ranges included
    time: int | None
    parts: tuple[int, ...]


@record
class PoolBound:
    """A proven lower bound on the peak of one pool."""

    value: int
    certificate: LiveBytes | None


class Bounds:
    """The bounds of one problem, computed once."""

    def __init__(self, reduction: "Reduction") -> None:
        self._reduction = reduction
        self._pools = reduction.problem.pools
        everything = tuple(range(len(self._pools)))
        sets: list[tuple[int, ...]] = [(p,) for p in everything]
        if 1 < len(everything) <= _MOST_POOLS_COMBINED:
            sets += [c for size in range(2, len(everything)) for c in combinations(everything, size)]
        if len(everything) > 1:
            sets.append(everything)
        # Pools that some item must be in: only those have a bound of their own.
        starts = reduction.instance.choice_start
        required = {
            reduction.instance.choice_pool[first] for first, last in pairwise(starts) if last - first == 1
        }
        self._needs = {
            pools: need_of(reduction.instance, pools, reduction.unit)
            if len(pools) > 1 or pools[0] in required
            else Need(pools, 0, 0, None, ())
            for pools in sets
        }
        self._everything = everything
        self._usable = [usable(pool) for pool in self._pools]
        self._all_usable = sum(self._usable)
        self._unbounded_pools = sum(pool.capacity is None for pool in self._pools)
        self._of_pools: dict[int, PoolBound] = {}

    def of_pool(self, pool: int) -> PoolBound:
        """The bound on the peak of this pool."""
        bound = self._of_pools.get(pool)
        if bound is None:
            bound = self._of_pools[pool] = self._compute_pool_bound(pool)
        return bound

    def _compute_pool_bound(self, pool: int) -> PoolBound:
        need = self._needs[pool,]
        overflow, everything = self._overflow_into(pool)
        if overflow > need.height:
            return PoolBound(overflow, self._need_certificate(everything, None))
        return PoolBound(need.height, self._need_certificate(need, pool) if need.height else None)

    def of_term(self, term: Term) -> TermBound:
        """The bound on a term of the objective."""
        match term.kind:
            case Kind.PLACEMENT_COST:
                return TermBound(self._least_cost(), Least())
            case Kind.POOL_PEAK:
                return self._pool_term(next(i for i, p in enumerate(self._pools) if p.id == term.pool))
            case Kind.MAX_PEAK:
                return max((self._pool_term(p) for p in self._everything), key=lambda bound: bound.value)
            case Kind.PEAK:
                return self._sum_of_peaks()
            case Kind.PREFERENCE | Kind.REUSE_COST | Kind.MOVES:
                return TermBound(0, None)

    def misfit(self) -> Explanation | None:
        """Buffers that are too large for the pools they may go to; None if there is no such set."""
        for pools, need in self._needs.items():
            room = sum(self._usable[p] for p in pools)
            height_fits = len(pools) > 1 or need.height <= end_of(self._pools[pools[0]])
            if need.bytes > room or not height_fits:
                return self._explain(need)
        return None

    def _need_certificate(self, need: Need, pool: int | None) -> LiveBytes:
        buffers = self._reduction.problem.buffers
        return LiveBytes(
            pool=None if pool is None else self._pools[pool].id,
            time=self._reduction.moment(need.time),
            buffers=tuple(buffers[self._reduction.part_buffer[part]].id for part in need.parts),
        )

    def _pool_term(self, pool: int) -> TermBound:
        bound = self.of_pool(pool)
        return TermBound(bound.value, bound.certificate)

    def _overflow_into(self, pool: int) -> tuple[int, Need]:
        """The bytes that the other pools cannot hold, which must be in this one."""
        need = self._needs[self._everything]
        unbounded = self._unbounded_pools - (self._pools[pool].capacity is None)
        if len(self._pools) == 1 or unbounded:
            return 0, need
        return max(need.bytes - (self._all_usable - self._usable[pool]), 0), need

    def _sum_of_peaks(self) -> TermBound:
        if len(self._everything) == 1:
            return self._pool_term(0)
        need = self._needs[self._everything]
        apart = [p for p in self._everything if self._needs[p,].height]
        total = sum(self._needs[p,].height for p in apart)
        if total <= need.bytes:
            return TermBound(need.bytes, self._need_certificate(need, None) if need.bytes else None)
        parts = tuple(self._need_certificate(self._needs[p,], p) for p in apart)
        return TermBound(total, parts[0] if len(parts) == 1 else Sum(parts=parts))

    def _least_cost(self) -> int:
        problem = self._reduction.problem
        cost_of = {pool.id: pool.cost for pool in self._pools}
        if not any(cost_of.values()):
            return 0
        cheapest: dict[tuple[str, ...] | None, int] = {}
        total = 0
        for named, accesses in zip(pool_lists(problem), access_counts(problem), strict=True):
            if named not in cheapest:
                cheapest[named] = min(cost_of[name] for name in (cost_of if named is None else named))
            total += accesses * cheapest[named]
        return total

    def _explain(self, need: Need) -> Explanation:
        buffers = self._reduction.problem.buffers
        ids = tuple(buffers[self._reduction.part_buffer[part]].id for part in need.parts)
        pools = [self._pools[p] for p in need.pools]
        names = " and ".join(repr(p.id) for p in pools)
        capacity = sum(map(end_of, pools))
        unbounded = any(p.capacity is None for p in pools)
        reserved = capacity - sum(map(usable, pools))
        time = self._reduction.moment(need.time)
        when = f"at time {time:,}" if time is not None else "because they conflict pairwise"
        some = ", ".join(map(repr, ids[:8])) + (f" and {len(ids) - 8:,} more" if len(ids) > 8 else "")
        count = "1 buffer needs" if len(ids) == 1 else f"{len(ids):,} buffers need"
        needed = need.height if len(pools) == 1 else need.bytes + reserved
        return Explanation(
            code="over_capacity",
            message=f"{count} {needed:,} bytes of {names} at once {when}; there are {capacity:,}"
            + (f", {reserved:,} of them reserved" if reserved else "")
            + (", since no address is above 2^62" if unbounded else "")
            + f": {some}",
            pool=pools[0].id if len(pools) == 1 else None,
            time=time,
            needed=needed,
            capacity=None if unbounded else capacity,
            reserved=reserved,
            buffers=ids,
        )


def usable(pool: Pool) -> int:
    """Bytes of a pool that are not reserved."""
    return end_of(pool) - reserved_bytes(pool)


def need_of(instance: Instance, pools: tuple[int, ...], scale: int) -> Need:
    """The most bytes that must be in these pools at once, where a unit of the instance has `scale` bytes."""
    need = core.need_of(instance, [pool in pools for pool in range(instance.pool_count)])
    return Need(pools, need.bytes * scale, need.height * scale, need.time, tuple(need.parts))
