"""The space of a pool in cells of the grid that all of its offsets lie on."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from memstow.solvers.instance import Instance
from memstow.solvers.models.places import Choice


@dataclass(frozen=True, slots=True)
class Barrier:
    """A reserved range: items beyond the `below` free cells under it end above `end`."""

    below: int
    taken: int  # cells of this range and those below it
    end: int


class Room:
    """The space of a pool below an end. Items start at `residue` modulo `grid`, so they use whole cells.

    The first byte of a used cell is never reserved, and never used by another item.
    """

    def __init__(self, instance: Instance, pool: int, choices: Sequence[Sequence[Choice]], end: int) -> None:
        self.grid, self.residue = _grid(instance, pool, choices)
        first, last = instance.reserved_start[pool], instance.reserved_start[pool + 1]
        taken = 0
        self.barriers: list[Barrier] = []
        for begin, stop in zip(
            instance.reserved_begin[first:last], instance.reserved_end[first:last], strict=True
        ):
            if begin >= end:
                break
            below = self._starts_below(begin) - taken
            taken += self._starts_below(min(stop, end)) - self._starts_below(begin)
            self.barriers.append(Barrier(below, taken, stop))
        self.cells = self._starts_below(end) - taken

    def cells_of(self, size: int) -> int:
        """The cells that this many bytes use."""
        return -(-size // self.grid)

    def loss(self, size: int) -> int:
        """The unused bytes in the cells of this many bytes."""
        return self.cells_of(size) * self.grid - size

    def _starts_below(self, end: int) -> int:
        return max(-(-(end - self.residue) // self.grid), 0)


def _grid(instance: Instance, pool: int, choices: Sequence[Sequence[Choice]]) -> tuple[int, int]:
    """The widest grid that all parts which may be in the pool start on."""
    grid, residue = 0, -1
    for item, mine in enumerate(choices):
        for choice in mine:
            if choice.pool != pool:
                continue
            for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
                start = choice.residue + instance.part_delta[part]
                residue = start if residue < 0 else residue
                grid = gcd(grid, choice.modulus, start - residue)
    return (grid, residue % grid) if grid else (1, 0)
