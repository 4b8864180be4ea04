"""The functions of the native core that the planner uses.

Solvers call the core directly; everything else calls it through this module.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memstow.solvers import _native
from memstow.solvers._native import (
    BANKS_ALONE,
    DEFAULT_WORK,
    FEW_ITEMS_WORK,
    FIRST_PASSES,
    AddressPrices,
    Budget,
    CostProof,
    Hint,
    Lowest,
    Occupied,
    OnePoolStages,
    PlaceProgram,
    PoolBound,
    PoolBounds,
    ProofFile,
    ProofQuestion,
    ProofSteps,
    Reduction,
    are_few,
    bound_of_crowds,
    chain_limits,
)
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import Instance, Layout
from memstow.solvers.solver import Task

if TYPE_CHECKING:
    from array import array

__all__ = [
    "BANKS_ALONE",
    "DEFAULT_WORK",
    "FEW_ITEMS_WORK",
    "FIRST_PASSES",
    "AddressPrices",
    "Budget",
    "CostProof",
    "Hint",
    "Occupied",
    "OnePoolStages",
    "PlaceProgram",
    "PoolBound",
    "PoolBounds",
    "ProofFile",
    "ProofQuestion",
    "ProofSteps",
    "Reduction",
    "are_few",
    "bound_of_crowds",
    "chain_limits",
    "hint_of",
    "in_preferred_pools",
    "layout_of",
    "lowest",
    "most_occupied",
    "place_columns",
    "pool_peaks",
    "unplaceable",
]


def hint_of(instance: Instance, unit: int, pools: "array[int]", offsets: "array[int]") -> Hint:
    """A hint from the places of the buffers of parts, in bytes: -1 for no pool, and for no place."""
    return _native.hint_of(instance.item_parts, instance.part_delta, unit, pools, offsets)


def layout_of(hint: Hint) -> Layout:
    """By item, where the hint wishes it to be."""
    return layout_from(hint.places)


def in_preferred_pools(task: Task, layout: Layout) -> Layout:
    """The layout with items moved to pools they prefer, where no term of the objective becomes worse."""
    placed = _native.in_preferred_pools(task.instance.native, task.terms, task.native_hint, layout)
    return layout_from(placed)


def pool_peaks(instance: Instance, layout: Layout) -> list[int]:
    """By pool, the end of its last item."""
    return _native.pool_peaks(instance.native, layout)


def most_occupied(instance: Instance, layout: Layout) -> list[Occupied]:
    """By pool, the most bytes in use at one time."""
    return _native.most_occupied(instance.native, layout)


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
