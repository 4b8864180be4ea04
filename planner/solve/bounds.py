"""Lower bounds that need no search, and the explanation where they exceed the capacity.

The sizes of buffers that must be apart at one time add up: that alone decides most problems.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from memstow.planner.model.plan import Crowd, Crowds, Explanation, Least, Live, LiveBytes, PoolUse, Sum
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
from memstow.solvers.instance import Instance


class Reduced(Protocol):
    """A problem as arrays, with the names of its buffers: a reduction, or columns."""

    @property
    def pools(self) -> tuple[Pool, ...]:
        """Its pools."""

    @property
    def instance(self) -> Instance:
        """The arrays."""

    @property
    def unit(self) -> int:
        """The bytes of a unit."""

    @property
    def least_cost(self) -> int:
        """Of all accesses, each in the cheapest pool that is allowed."""

    def names_of(self, parts: Sequence[int]) -> tuple[str, ...]:
        """The ids of the buffers of these parts."""

    def moment(self, time: int | None) -> int | None:
        """The time of the problem for a time of the instance."""


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

    def __init__(self, reduction: Reduced) -> None:
        self._reduction = reduction
        self._pools = reduction.pools
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
        result = core.bound_of_crowds(self._reduction.instance.native)
        crowds = tuple(
            Crowd(buffers=self._reduction.names_of(crowd.parts), cost=crowd.cost) for crowd in result.crowds
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
        need = self._need(number)
        return LiveBytes(
            pool=self._pools[need.pools[0]].id if len(need.pools) == 1 else None,
            time=self._reduction.moment(need.time),
            buffers=self._reduction.names_of(need.parts),
        )

    def _need(self, number: int) -> Need:
        need, unit = self._bounds.need(number), self._reduction.unit
        pools = tuple(self._bounds.pools_of(number))
        return Need(pools, need.bytes * unit, need.height * unit, need.time, tuple(need.parts))

    def _explain(self, need: Need) -> Explanation:
        ids = self._reduction.names_of(need.parts)
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


def pool_uses(
    pools: Sequence[Pool],
    peaks: Sequence[int],
    live: Sequence[Live],
    bounds: Sequence[PoolBound],
    terms: Mapping[Term, TermBound],
) -> Iterator[PoolUse]:
    """What a plan makes of each pool."""
    # If a pool's peak is the first term; bounds of later terms depend on the first.
    first = next(iter(terms), None)
    for number, pool in enumerate(pools):
        bound, certificate = bounds[number].value, bounds[number].certificate
        is_first = first is not None and first.is_peak_of(pool.id, len(pools))
        in_objective = terms[first].value if first is not None and is_first else 0
        if in_objective >= bound:
            # Its certificate is there.
            bound, certificate = in_objective, None
        yield PoolUse(
            pool=pool.id,
            capacity=pool.capacity,
            peak=peaks[number],
            bound=bound,
            live=live[number],
            certificate=certificate,
        )


def usable(pool: Pool) -> int:
    """Bytes of a pool that are not reserved."""
    return end_of(pool) - reserved_bytes(pool)
