"""Schedules that may be on a front, with the bytes that live at their fullest moment: none is placed yet."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memstow.planner.model.plan import Schedule


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run a graph."""

    bytes: int
    cost: int
    schedule: Schedule


class Candidates:
    """Those of which none is as good as another in both, ascending in bytes and so descending in cost.

    Of equal ones the first stays.
    """

    def __init__(self, found: Iterable[Candidate] = ()) -> None:
        self._kept: list[Candidate] = []
        for it in sorted(found, key=lambda it: (it.bytes, it.cost)):
            if not self._kept or it.cost < self._kept[-1].cost:
                self._kept.append(it)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def items(self) -> Sequence[Candidate]:
        """All of them."""
        return self._kept

    def least_bytes(self, cost: int) -> int | None:
        """The least bytes of those that cost no more."""
        return next((it.bytes for it in self._kept if it.cost <= cost), None)

    def least_cost(self, size: int) -> int | None:
        """The least cost of those that need no more bytes."""
        at = bisect_right(self._kept, size, key=lambda it: it.bytes)
        return self._kept[at - 1].cost if at else None


def ends_first(count: int) -> list[int]:
    """The numbers below a count: the last, the first, and then halves, so that few are already a front."""
    if count <= 2:
        return list(reversed(range(count)))
    order, parts = [count - 1, 0], [(0, count - 1)]
    for low, high in parts:
        middle = (low + high) // 2
        if low < middle < high:
            order.append(middle)
            parts += [(low, middle), (middle, high)]
    return order
