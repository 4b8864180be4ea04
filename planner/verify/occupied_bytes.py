"""The bytes of a pool that are occupied at a moment; a byte shared by several buffers counts once.

The sweep counts sizes, which is exact until buffers share bytes. Where they do (in place, exclusive, rigid
groups), this slower count takes over: a tree over the elementary byte ranges that knows how many buffers
cover each.
"""

from bisect import bisect_left

from memstow.planner.model.ranges import measure
from memstow.planner.verify.layout import Layout
from memstow.planner.verify.overlaps import ENTER, Lives
from memstow.planner.verify.problem_index import ProblemIndex


def occupied_at(index: ProblemIndex, layout: Layout, placed: list[int], time: int) -> int:
    """Bytes occupied by those of these buffers that live at that time."""
    return measure((layout.offset[i], layout.ends[i]) for i in placed if index.lives_at(i, time))


def most_occupied(lives: Lives) -> tuple[int, int | None]:
    """The most bytes occupied at one moment, and the first such moment."""
    cuts = sorted({*lives.low, *lives.high})
    cover = _Cover(cuts)
    most, first = 0, None
    for what, tag, now in lives.events():
        cover.add(
            bisect_left(cuts, lives.low[tag]), bisect_left(cuts, lives.high[tag]), 1 if what is ENTER else -1
        )
        if cover.total() > most:
            most, first = cover.total(), now
    return most, first


class _Cover:
    """Counts over elementary ranges [cuts[i], cuts[i + 1]); knows the total length of those above zero."""

    def __init__(self, cuts: list[int]) -> None:
        self._leaves = 1 << max(len(cuts) - 1, 1).bit_length()
        last = len(cuts) - 1
        self._width = [0] * (2 * self._leaves)
        for i in range(last):
            self._width[self._leaves + i] = cuts[i + 1] - cuts[i]
        for node in range(self._leaves - 1, 0, -1):
            self._width[node] = self._width[2 * node] + self._width[2 * node + 1]
        self._count = [0] * (2 * self._leaves)
        self._covered = [0] * (2 * self._leaves)

    def total(self) -> int:
        return self._covered[1]

    def add(self, first: int, last: int, count: int) -> None:
        """Add `count` to the elementary ranges first, ..., last - 1."""
        left, right = first + self._leaves, last + self._leaves
        low, high = left, right - 1
        while left < right:
            if left & 1:
                self._add_node(left, count)
                left += 1
            if right & 1:
                right -= 1
                self._add_node(right, count)
            left //= 2
            right //= 2
        self._pull(low // 2)
        self._pull(high // 2)

    def _add_node(self, node: int, count: int) -> None:
        self._count[node] += count
        self._refresh(node)

    def _pull(self, node: int) -> None:
        while node:
            self._refresh(node)
            node //= 2

    def _refresh(self, node: int) -> None:
        if self._count[node]:
            self._covered[node] = self._width[node]
        elif node >= self._leaves:
            self._covered[node] = 0
        else:
            self._covered[node] = self._covered[2 * node] + self._covered[2 * node + 1]
