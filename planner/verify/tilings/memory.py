"""The memories of a tiling as graph and options have them: that of the tiles, and that of whole tensors."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from math import lcm
from typing import Final

from memstow.planner.model.graph import Graph, Tensor, size_of
from memstow.planner.model.problem import Pool
from memstow.planner.model.tiling import TilingOptions

UNNAMED: Final = "memory"
"""The pool of a graph that has none."""
_MOST_AT_HOME: Final = 12
"""Of more tensors, the choices of those that lie in `home` are too many."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The pool of the tiles and that of whole tensors, and what of it tensors of the operator may take."""

    pool: Pool
    unit: int
    """Buffers take whole units, and begin at multiples of one."""
    capacity: int
    """Bytes of the largest stretch in which buffers may lie."""
    home: Pool | None
    at_home: dict[str, int]
    """Bytes of the tensors that may lie in `home`."""
    home_bytes: int | None
    """How many of them fit; None: all."""

    @property
    def has_too_many_choices(self) -> bool:
        """Whether nobody looks at all choices of tensors that lie in `home`."""
        return len(self.at_home) > _MOST_AT_HOME and not self.fits_home(self.at_home)

    def fits_home(self, tensors: Iterable[str]) -> bool:
        """Whether these tensors may lie in `home` together."""
        names = list(tensors)
        if self.home is None:
            return True
        if not all(it in self.at_home for it in names):
            return False
        return self.home_bytes is None or sum(self.at_home[it] for it in names) <= self.home_bytes


def memory_of(graph: Graph, options: TilingOptions, tensors: Iterable[Tensor]) -> Memory | str:
    """The memories that the options name, or what is wrong with these."""
    pools = {it.id: it for it in graph.pools}
    if options.pool is not None:
        pool = pools.get(options.pool) if pools else Pool(id=options.pool)
        if pool is None:
            return f"the graph has no pool {options.pool!r}"
    else:
        limited = (it for it in graph.pools if it.capacity is not None)
        pool = next(chain(limited, graph.pools), Pool(id=UNNAMED))
    if options.capacity is not None:
        limit = options.capacity
        if pool.capacity is not None and limit > pool.capacity:
            return f"the pool {pool.id!r} has {pool.capacity:,} bytes, and the options take {limit:,} of it"
        kept = (
            replace(it, size=min(it.size, limit - it.offset)) for it in pool.reserved if it.offset < limit
        )
        pool = replace(pool, capacity=limit, reserved=tuple(kept))
    if pool.capacity is None:
        return f"the pool {pool.id!r} has no capacity, and the options name none"
    if options.home is not None:
        home = pools.get(options.home)
        if home is None or home.id == pool.id:
            return f"the graph has no other pool {options.home!r} in which whole tensors may lie"
    else:
        names = list(pools)
        behind = names[names.index(pool.id) + 1 :] if pool.id in pools else []
        home = pools[behind[0]] if behind else None
    some = list(tensors)
    unit = lcm(pool.alignment, *(it.alignment for it in some))
    may = {} if home is None else {it.id: size_of(it) for it in some if _may_lie_in(it, home)}
    room = None
    if home is not None and home.capacity is not None:
        room = max(home.capacity - sum(it.size for it in home.reserved), 0)
    return Memory(pool, unit, _largest_stretch(pool, pool.capacity, unit), home, may, room)


def _largest_stretch(pool: Pool, capacity: int, unit: int) -> int:
    """The bytes of the largest free stretch that begins at a multiple of the unit, in whole units."""
    base = pool.base or 0
    taken = sorted((it.offset, it.offset + it.size) for it in pool.reserved)
    found = at = 0
    for begin, end in (*taken, (capacity, capacity)):
        first = -(-(base + at) // unit) * unit - base
        found = max(found, (begin - first) // unit * unit)
        at = max(at, end)
    return found


def _may_lie_in(tensor: Tensor, home: Pool) -> bool:
    if tensor.pools is None:
        return tensor.kind == "data" or tensor.kind == "state"
    return tensor.kind != "external" and home.id in tensor.pools
