"""Lower bounds that need no search, and the explanation where they exceed the capacity.

The sizes of buffers that must be apart at one time add up: that alone decides most problems.
"""

from typing import TYPE_CHECKING

from memstow.planner.model.plan import Crowd, Crowds, Explanation, Least, LiveBytes, Sum
from memstow.planner.model.problem import (
    Kind,
    Pool,
    Term,
    end_of,
    reserved_bytes,
)
from memstow.planner.solve.one_run import TermBound
from memstow.records import record
from memstow.solvers import core

if TYPE_CHECKING:
    from memstow.planner.reduce import Reduction


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
    """The bounds of one problem, computed once, in native code."""

    def __init__(self, reduction: "Reduction") -> None:
        self._reduction = reduction
        self._pools = reduction.problem.pools
        capacities = [end_of(pool) for pool in self._pools]
        self._bounds = core.PoolBounds(reduction.instance.native, reduction.unit, capacities)
        self._of_pools: dict[int, PoolBound] = {}

    def of_pool(self, pool: int) -> PoolBound:
        """The bound on the peak of this pool."""
        bound = self._of_pools.get(pool)
        if bound is None:
            bound = self._of_pools[pool] = self._compute_pool_bound(pool)
        return bound

    def _compute_pool_bound(self, pool: int) -> PoolBound:
        bound = self._bounds.of_pool(pool)
        return PoolBound(bound.bytes, self._certificate(bound.needs[0]) if bound.needs else None)

    def of_term(self, term: Term) -> TermBound:
        """The bound on a term of the objective."""
        match term.kind:
            case Kind.PLACEMENT_COST:
                return TermBound(self._reduction.least_cost, Least())
            case Kind.POOL_PEAK:
                number = next(i for i, pool in enumerate(self._pools) if pool.id == term.pool)
                return self._shown(self._bounds.of_pool(number))
            case Kind.MAX_PEAK:
                return self._shown(self._bounds.of_largest())
            case Kind.PEAK:
                return self._shown(self._bounds.of_sum())
            case Kind.BANK_COST:
                return self._of_crowds()
            case Kind.PREFERENCE | Kind.REUSE_COST | Kind.MOVES:
                return TermBound(0, None)

    def _of_crowds(self) -> TermBound:
        buffers, part_buffer = self._reduction.problem.buffers, self._reduction.part_buffer
        result = core.bound_of_crowds(self._reduction.instance.native)
        crowds = tuple(
            Crowd(buffers=tuple(buffers[part_buffer[part]].id for part in crowd.parts), cost=crowd.cost)
            for crowd in result.crowds
        )
        return TermBound(result.value, Crowds(crowds=crowds) if crowds else None)

    def misfit(self) -> Explanation | None:
        """Buffers that are too large for the pools they may go to; None if there is no such set."""
        number = self._bounds.misfit()
        return None if number is None else self._explain(self._need(number))

    def _shown(self, bound: core.PoolBound) -> TermBound:
        parts = tuple(self._certificate(number) for number in bound.needs)
        certificate = None if not parts else parts[0] if len(parts) == 1 else Sum(parts=parts)
        return TermBound(bound.bytes, certificate)

    def _certificate(self, number: int) -> LiveBytes:
        need, buffers = self._need(number), self._reduction.problem.buffers
        return LiveBytes(
            pool=self._pools[need.pools[0]].id if len(need.pools) == 1 else None,
            time=self._reduction.moment(need.time),
            buffers=tuple(buffers[self._reduction.part_buffer[part]].id for part in need.parts),
        )

    def _need(self, number: int) -> Need:
        need, unit = self._bounds.need(number), self._reduction.unit
        pools = tuple(self._bounds.pools_of(number))
        return Need(pools, need.bytes * unit, need.height * unit, need.time, tuple(need.parts))

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
