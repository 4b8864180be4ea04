"""Lower bounds on what pairs pay that share a bank.

Each buffer of a crowd touches at least one of the banks that it can reach, wherever it is. Give it one that
it touches: with more buffers than banks, some have the same, and each two of those pay. Fewest pairs do where
the buffers are spread evenly. What a pair pays may be split among crowds.
"""

from collections import Counter
from itertools import combinations

from memstow.planner.model.plan import Crowds
from memstow.planner.model.problem import LIMIT
from memstow.planner.verify.layout import ALONE, IndexPair, ProblemIndex
from memstow.planner.verify.peak_bounds import EmptyPools

_MOST_PAIRS = 1_000_000
"""Of all crowds together: more are not looked at."""

Bank = tuple[int, int]
"""A pool, and the number of one of its banks."""


def reason_against_crowds(index: ProblemIndex, bound: int, certificate: Crowds) -> str | None:
    """Why the crowds do not prove that bank costs are at least that; None when they do."""
    if sum(len(crowd.buffers) ** 2 for crowd in certificate.crowds) > 2 * _MOST_PAIRS + len(index.buffers):
        return f"its crowds have more than {_MOST_PAIRS:,} pairs"
    costs = _costs(index)
    paid = Counter[IndexPair]()
    reached = _Reached(index)
    least = 0
    for crowd in certificate.crowds:
        numbers = [index.buffer_index.get(name) for name in crowd.buffers]
        buffers = sorted({number for number in numbers if number is not None})
        if len(buffers) < len(numbers):
            return "it names a buffer twice, or one that is none"
        banks = set[Bank]()
        for buffer in buffers:
            touched = reached.by(buffer)
            if touched is None:
                return f"{index.id_of(buffer)!r} need not touch a bank, or is tied to others"
            banks |= touched
        for pair in combinations(buffers, 2):
            paid[pair] += crowd.cost
            cost = costs.get(pair, 0)
            if cost is not None and paid[pair] > cost:
                one, other = map(index.id_of, pair)
                return f"{one!r} and {other!r} pay no more than {cost:,}"
        least += crowd.cost * _fewest_pairs(len(buffers), len(banks))
    return None if least >= bound else f"these crowds prove no more than {least:,}"


def _costs(index: ProblemIndex) -> dict[IndexPair, int | None]:
    """By pair, what it costs to share a bank; None: the two may not."""
    costs: dict[IndexPair, int | None] = {}
    for buffers, cost in index.bank_conflicts:
        for pair in combinations(buffers, 2):
            before = costs.get(pair, 0)
            costs[pair] = None if before is None or cost is None else before + cost
    return costs


def _fewest_pairs(buffers: int, banks: int) -> int:
    """The pairs with a bank in common, where each of the buffers has one of these banks."""
    if not banks:
        return 0
    each, more = divmod(buffers, banks)
    return more * each + banks * (each * (each - 1) // 2)


class _Reached:
    """The banks that buffers may touch. Those of one size, alignment and so on share a result."""

    def __init__(self, index: ProblemIndex) -> None:
        self._index = index
        self._pools = EmptyPools(index)
        self._known: dict[tuple[object, ...], frozenset[Bank] | None] = {}

    def by(self, buffer: int) -> frozenset[Bank] | None:
        """The banks that the buffer may touch; None where it may touch none at all."""
        entry = self._index.buffers[buffer]
        if not entry.size or self._index.rigid.group[buffer] != ALONE:
            return None
        key = (
            self._index.pool_kind(buffer),
            entry.alignment,
            entry.size,
            entry.offset,
            entry.within_bank,
            entry.banks,
        )
        if key not in self._known:
            self._known[key] = self._of(buffer)
        return self._known[key]

    def _of(self, buffer: int) -> frozenset[Bank] | None:
        banks = set[Bank]()
        for pool in self._pools.pools_for(buffer):
            numbers = self._in_pool(buffer, pool)
            if numbers is None:
                return None
            banks.update((pool, number) for number in numbers)
        return frozenset(banks)

    def _in_pool(self, buffer: int, pool: int) -> list[int] | None:
        index, entry = self._index, self._index.buffers[buffer]
        grid = index.grid(entry.alignment, pool)
        pinned = entry.offset if entry.offset is not None else grid.first if grid.step > LIMIT else None
        if pinned is not None:
            return list(index.banks_touched(pool, pinned, pinned + entry.size)) or None
        if entry.within_bank or entry.banks is not None:
            stretches = index.stretches(buffer, pool)
            return [
                number
                for begin, end in stretches
                if self._has_place(buffer, pool, begin, end)
                for number in index.banks_touched(pool, begin, end)
            ]
        gap, numbers = 0, []
        for number, (begin, end) in enumerate(index.banks[pool]):
            if min(begin, index.ends[pool]) - gap >= entry.size:
                return None
            gap = end
            reserved = index.reserved_within(pool, begin, end)
            if begin < index.ends[pool] and not (reserved and reserved[0] <= begin and end <= reserved[1]):
                numbers.append(number)
        return None if index.ends[pool] - gap >= entry.size else numbers

    def _has_place(self, buffer: int, pool: int, begin: int, end: int) -> bool:
        """Whether the buffer has one between these offsets when it is alone."""
        index, entry = self._index, self._index.buffers[buffer]
        grid = index.grid(entry.alignment, pool)
        start = grid.lowest_from(begin)
        while start + entry.size <= min(end, index.ends[pool]):
            reserved = index.reserved_within(pool, start, start + entry.size)
            if reserved is None:
                return True
            start = grid.lowest_from(reserved[1])
        return False
