"""What the search for recomputing has found: runs that no other beats in both bytes and cost."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """A run of the program: operators by place in the order, copies by item, after and before runs."""

    bytes: int
    cost: int
    runs: Sequence[int]
    copies: Sequence[tuple[int, int, int]]


class Archive:
    """The front so far, by ascending bytes and descending cost."""

    def __init__(self) -> None:
        self._front: list[Found] = []

    def front(self) -> list[Found]:
        """Those that no other beats, the cheapest first."""
        return self._front[::-1]

    def beats(self, size: int, cost: int) -> bool:
        """Whether one that is here is as good in both."""
        at = bisect_left(self._front, size + 1, key=lambda it: it.bytes)
        return at > 0 and self._front[at - 1].cost <= cost

    def offer(self, found: Found) -> bool:
        """Take it in, unless it is beaten; those that it beats go."""
        if self.beats(found.bytes, found.cost):
            return False
        begin = bisect_left(self._front, found.bytes, key=lambda it: it.bytes)
        end = begin
        while end < len(self._front) and self._front[end].cost >= found.cost:
            end += 1
        self._front[begin:end] = [found]
        return True

    def forget(self, found: Found) -> None:
        """Take it out."""
        self._front.remove(found)
