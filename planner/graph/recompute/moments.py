"""A lower bound of the peak for each cost: the least that the first run of some operator takes.

Each line says that byte price x peak + cost price x cost is at least so much, in every schedule. So lines are
found once and hold for all costs. docs/recompute.md proves them.
"""

from collections.abc import Sequence
from typing import Final

from memstow.solvers.core import Budget
from memstow.solvers.recompute import RecomputeArrays

_BYTE_PRICE: Final = 1 << 10
_MOST: Final = 1 << 60
_HALVINGS: Final = 14


class Moments:
    """Bounds of one program; `free`: of all orders of first runs, else of the one given."""

    def __init__(
        self, arrays: RecomputeArrays, successors: "Sequence[Sequence[int]] | None", budget: Budget
    ) -> None:
        self.arrays = arrays
        self.budget = budget
        self.free = successors is not None
        count = len(arrays.cost)
        self._after: Sequence[Sequence[int]] = successors or []
        self._before: list[list[int]] = [[] for _ in range(count)] if self.free else []
        for op, them in enumerate(self._after):
            for other in them:
                self._before[other].append(op)
        self._own = [self._own_bytes(op) for op in range(count)]
        # Whatever the cost.
        self.least = max([arrays.start, *self._own])
        self._lines: dict[tuple[int, int, int], Sequence[int]] = {}
        total = sum(arrays.size) + 1
        cost = sum(arrays.cost) + 2 * total
        self._byte_price = _BYTE_PRICE if total * _BYTE_PRICE < _MOST else 1
        self._most_cost_price = _MOST // max(cost, 1)
        self._can_cut = total * self._byte_price < _MOST

    def bound(self, cost: int) -> int:
        """No schedule whose runs again and copies cost at most this has a lower peak."""
        best = self.least
        for byte_price, cost_price, total in self._lines:
            best = max(best, -((cost_price * cost - total) // byte_price))
        return best

    def held(self, cost: int) -> Sequence[int]:
        """The items that are held where the bound of this cost comes from."""
        best = max(self._lines, key=lambda line: (line[2] - line[1] * cost) / line[0], default=None)
        return () if best is None else self._lines[best]

    def tighten(self, op: int, cost: int) -> None:
        """Look for the best lines of the operator for this cost."""
        if not self._can_cut:
            return
        around = self._around(op)
        low, high = 0, self._most_cost_price
        best: tuple[int, int, int] | None = None
        for _ in range(_HALVINGS):
            # Prices go over many orders of magnitude: the exponent is halved first.
            middle = (low + high) // 2 if high < 4 * low else _between(low, high)
            moment = self.arrays.native.cheapest(op, *around, self._byte_price, middle, self.budget)
            line = self._byte_price, middle, moment.price + self._byte_price * self._own[op]
            if best is None or line[2] - middle * cost > best[2] - best[1] * cost:
                best = line
                self._lines[line] = moment.kept
            if moment.cost == cost or high - low <= 1 or self.budget.spent:
                break
            low, high = (middle, high) if moment.cost > cost else (low, middle)

    def _own_bytes(self, op: int) -> int:
        """What the first run of the operator takes whatever else is held."""
        arrays = self.arrays
        size = arrays.size
        saved: dict[int, int] = {}
        for source, target in arrays.pairs[op]:
            saved[source] = max(saved.get(source, 0), min(size[source], size[target]))
        fixed = arrays.base if self.free else arrays.fixed[op]
        inputs = sum(size[item] - saved.get(item, 0) for item in arrays.inputs_of(op))
        return fixed + arrays.extra[op] + inputs + sum(size[item] for item in arrays.outputs_of(op))

    def _around(self, op: int) -> tuple[list[bool], list[bool]]:
        """Who has run before the operator, and who runs later, whatever the order."""
        count = len(self.arrays.cost)
        if not self.free:
            return [it < op for it in range(count)], [it > op for it in range(count)]
        return _reached(op, self._before, count), _reached(op, self._after, count)


def _between(low: int, high: int) -> int:
    return 1 << ((max(low, 1).bit_length() + high.bit_length()) // 2) if high > 1 else high


def _reached(op: int, edges: Sequence[Sequence[int]], count: int) -> list[bool]:
    found = [False] * count
    stack = [op]
    while stack:
        for other in edges[stack.pop()]:
            if not found[other]:
                found[other] = True
                stack.append(other)
    return found
