"""The least height of a pool that can hold blocks of which no two may share a byte.

All starts are congruent modulo the common divisor g of the blocks' alignments, so memory falls into cells
of g bytes, each of which at most one block can use: a block begins with a cell, and holds at least `part`
bytes of each cell it uses, the rest of its last cell being waste. A cell whose first byte is reserved is of
no use. With g = 1 the cells are the free bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from memstow.planner.model.ranges import Range
from memstow.planner.verify.problem_index import Grid, ProblemIndex


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one pool: they begin at `first`, `first + size`, ..."""

    size: int
    first: int
    part: int
    reserved: Sequence[Range]

    def within(self, height: int) -> int:
        """Cells whose first `part` bytes are below that height and whose first byte is not reserved."""
        below = height - self.part + 1
        return self._starts_below(below) - sum(
            self._starts_below(min(end, below)) - self._starts_below(min(begin, below))
            for begin, end in self.reserved
        )

    def _starts_below(self, offset: int) -> int:
        return max(0, -((self.first - offset) // self.size))


def least_height(pools: Sequence[tuple[Cells, int]], needed: int) -> int | None:
    """The least height at which pools cut off there, or at their own limit, have the cells needed."""

    def cells(height: int) -> int:
        return sum(pool.within(min(height, limit)) for pool, limit in pools)

    highest = max((limit for _, limit in pools), default=0)
    if needed <= 0:
        return 0
    if cells(highest) < needed:
        return None
    low, high = 0, min(needed, highest)
    while cells(high) < needed:
        low, high = high, min(2 * high, highest)
    while high - low > 1:
        middle = (low + high) // 2
        if cells(middle) >= needed:
            high = middle
        else:
            low = middle
    return high


def common_step(grids: Sequence[Grid]) -> int:
    """The greatest g for which all starts on these grids, of one pool, are congruent modulo g."""
    return gcd(*(grid.step for grid in grids), *(grid.first - grids[0].first for grid in grids))


def lowest_end(index: ProblemIndex, buffer: int, pool: int) -> int:
    """Where the buffer ends at the least when it is alone in the pool."""
    it = index.buffers[buffer]
    if it.offset is not None:
        return it.offset + it.size
    step, offset = index.grid(it.alignment, pool)
    for begin, end in index.reserved[pool]:
        if offset + it.size <= begin:
            break
        if offset < end:
            offset += -((offset - end) // step) * step
    return offset + it.size
