"""The native core as others see it: what the planner asks of it, with names for what comes back.

Solvers call the core itself; whoever is not a solver comes here.
"""

from collections.abc import Sequence

from memstow.solvers import _native
from memstow.solvers._native import Budget, Grid, LiveBound, Occupied
from memstow.solvers.instance import Instance, Layout

__all__ = [
    "Budget",
    "Grid",
    "LiveBound",
    "Occupied",
    "common_grid",
    "conflicting_at_once",
    "live_at_once",
    "most_occupied",
    "pool_peaks",
    "unplaceable",
]


def pool_peaks(instance: Instance, layout: Layout) -> list[int]:
    """By pool, where its last item ends."""
    return _native.pool_peaks(instance.native, layout)


def most_occupied(instance: Instance, layout: Layout) -> list[Occupied]:
    """By pool, the most that is in use at once."""
    return _native.most_occupied(instance.native, layout)


def common_grid(instance: Instance, pool: int) -> Grid:
    """The grid of the items that can go to no other pool than this."""
    return _native.common_grid(instance.native, pool)


def live_at_once(instance: Instance, pools: Sequence[bool], unit: int) -> LiveBound:
    """The most that is live at one moment of what must be in these pools, sizes rounded up to the unit."""
    return _native.live_bound(instance.native, pools, unit)


def conflicting_at_once(instance: Instance, pools: Sequence[bool], unit: int, nodes: int) -> LiveBound:
    """The most bytes of parts that conflict pairwise, as far as a search of so many nodes finds them."""
    return _native.clique_bound(instance.native, pools, unit, nodes)


def unplaceable(instance: Instance, items: Sequence[int], height: int, budget: Budget) -> list[int]:
    """Of items that do not fit below the height, as few as can be shown to be too many within the budget."""
    return _native.dead_set(instance.native, items, height, budget).items
