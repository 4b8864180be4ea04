"""The functions of the native core that the planner uses.

Solvers call the core directly; everything else calls it through this module.
"""

from array import array
from collections.abc import Sequence

from memstow.solvers import _native
from memstow.solvers._native import DEFAULT_WORK, FIRST_PASSES, Budget, Lowest, Need, Occupied, OnePoolStages
from memstow.solvers.instance import Instance, Layout

__all__ = [
    "DEFAULT_WORK",
    "FIRST_PASSES",
    "Budget",
    "Need",
    "Occupied",
    "OnePoolStages",
    "lowest",
    "most_occupied",
    "need_of",
    "place_columns",
    "pool_peaks",
    "unplaceable",
]


def pool_peaks(instance: Instance, layout: Layout) -> list[int]:
    """By pool, the end of its last item."""
    return _native.pool_peaks(instance.native, layout)


def most_occupied(instance: Instance, layout: Layout) -> list[Occupied]:
    """By pool, the most bytes in use at one time."""
    return _native.most_occupied(instance.native, layout)


def need_of(instance: Instance, pools: Sequence[bool]) -> Need:
    """What items that can go to no other than these pools (by pool: true) need there at once."""
    return _native.need_of(instance.native, pools)


def unplaceable(instance: Instance, items: Sequence[int], height: int, budget: Budget) -> list[int]:
    """Of items that do not fit below the height, a subset that does not fit either, as small as possible."""
    return _native.dead_set(instance.native, items, height, budget).items


def place_columns(
    sizes: "array[int]",
    begins: "array[int]",
    ends: "array[int]",
    alignments: "array[int]",
    placements: int,
) -> bytes:
    """Offsets of buffers in one pool without an end, by greedy passes: 64-bit integers.

    The columns are valid; `alignments` has one entry for each buffer, or one for all. About this many
    placements are tried.
    """
    return _native.place_columns(sizes, begins, ends, alignments, placements, Budget(-1.0, -1)).offsets


def lowest(
    sizes: memoryview,
    begins: memoryview,
    ends: memoryview,
    alignments: memoryview,
    capacity: int,
    seed: int,
    budget: Budget,
) -> Lowest | None:
    """A layout of a few buffers that is no higher than those of one moment need, by greedy passes.

    None where the passes of the budget find none. Other threads wait meanwhile.
    """
    return _native.lowest(sizes, begins, ends, alignments, capacity, seed, budget)
