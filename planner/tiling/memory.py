"""The memory of the tiles and that of whole tensors, and how much of them there is."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import lcm
from typing import Final

from memstow.planner.model.errors import InputError, closest_match
from memstow.planner.model.graph import Graph, Tensor, size_of
from memstow.planner.model.problem import Pool, Reserved
from memstow.planner.model.tiling import TilingOptions
from memstow.planner.tiling.homes import Homes, homes_of

UNNAMED: Final = "memory"
"""The pool of a graph that has none."""


@dataclass(frozen=True, slots=True)
class Memories:
    """Where tiles lie, and where whole tensors lie; without `home` that is not limited."""

    pool: Pool
    capacity: int
    home: Pool | None

    def room(self, unit: int) -> tuple[int, int]:
        """Begin and bytes of the largest free stretch for tiles, in whole units."""
        base = self.pool.base or 0
        best, at, begin = 0, 0, 0
        reserved = sorted((it.offset, it.size) for it in self.pool.reserved)
        for offset, size in (*reserved, (self.capacity, 0)):
            first = begin + -(base + begin) % unit
            room = (offset - first) // unit * unit
            if room > best:
                best, at = room, first
            begin = max(begin, offset + size)
        return at, best


def memories_of(graph: Graph, options: TilingOptions) -> Memories:
    """The memories that the options ask for; InputError where there are none."""
    pool = _pool_of(graph, options)
    if options.capacity is not None:
        if pool.capacity is not None and options.capacity > pool.capacity:
            message = f"the pool {pool.id!r} has {pool.capacity:,} bytes; give so many or fewer"
            raise InputError.single("beyond_pool", "capacity", message)
        pool = replace(pool, capacity=options.capacity, reserved=_within(pool, options.capacity))
    if pool.capacity is None:
        message = f"the pool {pool.id!r} has no capacity; give one, such as 64KiB"
        if not graph.pools:
            message = "the graph names no pools, and so no capacity; give one, such as 64KiB"
        raise InputError.single("no_capacity", "capacity", message)
    return Memories(pool, pool.capacity, _home_of(graph, options, pool))


def _pool_of(graph: Graph, options: TilingOptions) -> Pool:
    if options.pool is not None:
        if not graph.pools:
            return Pool(id=options.pool)
        return _named(graph, options.pool, "pool")
    limited = [pool for pool in graph.pools if pool.capacity is not None]
    return (limited or list(graph.pools) or [Pool(id=UNNAMED)])[0]


def _home_of(graph: Graph, options: TilingOptions, pool: Pool) -> Pool | None:
    if options.home == pool.id:
        message = f"{pool.id!r} is the pool of the tiles; whole tensors lie in another"
        raise InputError.single("same_pool", "home", message)
    if options.home is not None:
        return _named(graph, options.home, "home")
    names = [it.id for it in graph.pools]
    after = graph.pools[names.index(pool.id) + 1 :] if pool.id in names else ()
    return after[0] if after else None


def _named(graph: Graph, name: str, option: str) -> Pool:
    for pool in graph.pools:
        if pool.id == name:
            return pool
    names = [pool.id for pool in graph.pools]
    close = closest_match(name, names)
    there = (
        f"did you mean {close}?" if close else f"there are {', '.join(names[:8])}" if names else "it has none"
    )
    raise InputError.single("unknown_pool", option, f"the graph has no pool {name!r}; {there}")


def _within(pool: Pool, capacity: int) -> tuple[Reserved, ...]:
    return tuple(
        replace(it, size=min(it.size, capacity - it.offset)) for it in pool.reserved if it.offset < capacity
    )


def unit_of(pool: Pool, tensors: Iterable[Tensor]) -> int:
    """Every buffer of tiles takes whole units, and begins at a multiple of it."""
    return lcm(pool.alignment, *(tensor.alignment for tensor in tensors))


def homes_in(home: Pool | None, tensors: Iterable[Tensor]) -> Homes | None:
    """Which tensors of a layer may lie whole in `home` together; None: there are too many choices."""
    if home is None:
        return Homes(None)
    sizes = {tensor.id: size_of(tensor) for tensor in tensors if _may_lie_in(tensor, home)}
    if home.capacity is None:
        return Homes((frozenset(sizes),))
    return homes_of(sizes, max(home.capacity - sum(it.size for it in home.reserved), 0))


def _may_lie_in(tensor: Tensor, home: Pool) -> bool:
    if tensor.pools is not None:
        return home.id in tensor.pools and tensor.kind != "external"
    return tensor.kind in ("data", "state")
