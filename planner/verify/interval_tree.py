"""An interval tree of the occupied ranges of one pool that may overlap: rigid groups, exempt pairs, mistakes.

A tournament tree over all ranges in order of their start. Each node knows the furthest end below it and the
furthest end among the other groups, so that a member never meets the rest of its own group: finding k ranges
costs k logarithms, however many allowed overlaps there are.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

_NOBODY: Final = -2


class IntervalTree:
    """Ranges [starts[tag], ends[tag]) with their groups; `ALONE` is a group that no query skips."""

    def __init__(self, starts: Sequence[int], ends: Sequence[int], groups: Sequence[int]) -> None:
        self._ends = ends
        self._groups = groups
        self._tags = sorted(range(len(starts)), key=starts.__getitem__)
        self._starts = [starts[tag] for tag in self._tags]
        self._rank = [0] * len(starts)
        for rank, tag in enumerate(self._tags):
            self._rank[tag] = rank
        self._leaves = 1 << max(len(starts) - 1, 0).bit_length()
        self._end = [0] * (2 * self._leaves)
        self._group = [_NOBODY] * (2 * self._leaves)
        self._other_end = [0] * (2 * self._leaves)

    def __bool__(self) -> bool:
        return self._end[1] > 0

    def enter(self, tag: int) -> None:
        self._set(tag, self._ends[tag], self._groups[tag])

    def leave(self, tag: int) -> None:
        self._set(tag, 0, _NOBODY)

    def overlapped(self, start: int, end: int, group: int, skip_group: bool) -> Iterator[int]:
        """Tags of the ranges here that share an integer with [start, end), not those of the group to skip."""
        below = bisect_left(self._starts, end)
        leaves = self._leaves
        todo = [(1, 0, leaves)]
        while todo:
            node, first, width = todo.pop()
            furthest = self._end[node]
            if skip_group and self._group[node] == group:
                furthest = self._other_end[node]
            if furthest <= start or first >= below:
                continue
            if node >= leaves:
                yield self._tags[node - leaves]
                continue
            half = width // 2
            todo.append((2 * node + 1, first + half, half))
            todo.append((2 * node, first, half))

    def _set(self, tag: int, end: int, group: int) -> None:
        ends, groups, others = self._end, self._group, self._other_end
        node = self._leaves + self._rank[tag]
        ends[node], groups[node] = end, group
        node //= 2
        while node:
            left, right = 2 * node, 2 * node + 1
            if ends[left] < ends[right]:
                left, right = right, left
            ends[node], groups[node] = ends[left], groups[left]
            others[node] = max(others[left], others[right] if groups[right] == groups[left] else ends[right])
            node //= 2
