"""The peak of each pool and the value of each objective term of a layout, counted from scratch."""

from memstow.planner.model.objective import COST, Kind, parse_term
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import access_count
from memstow.planner.verify.cost_term import CostTerm
from memstow.planner.verify.layout import NOWHERE, Layout
from memstow.planner.verify.problem_index import ProblemIndex


class ObjectiveValues:
    """Peaks and term values of one layout."""

    def __init__(
        self, index: ProblemIndex, layout: Layout, hint: Plan | None, cost: CostTerm | None = None
    ) -> None:
        self._index = index
        self._layout = layout
        self._hint = hint
        self._cost = cost
        self.peaks = self._peaks()

    def value(self, text: str) -> int | None:
        """The value of the term; None where it cannot be counted, as `moves` without a hint."""
        if text == COST:
            return None if self._cost is None else self._cost.value
        term = parse_term(text)
        if term is None:
            return None
        match term.kind:
            case Kind.PEAK:
                return sum(self.peaks)
            case Kind.MAX_PEAK:
                return max(self.peaks, default=0)
            case Kind.POOL_PEAK:
                pool = self._index.pool_index.get(term.pool or "")
                return None if pool is None else self.peaks[pool]
            case Kind.PLACEMENT_COST:
                return self._placement_cost()
            case Kind.PREFERENCE:
                return self._preference()
            case Kind.REUSE_COST:
                return sum(cost for pair, cost in self._index.reuse_costs if self._layout.overlapping(*pair))
            case Kind.MOVES:
                return None if self._hint is None else self._moves(self._hint)

    def greatest(self, text: str) -> int | None:
        """An upper limit of a term whose value cannot be counted."""
        term = parse_term(text)
        if term is None or term.kind is not Kind.MOVES:
            return None
        return sum(1 for buffer in self._index.buffers if buffer.size)

    def _peaks(self) -> list[int]:
        peaks = [0] * len(self._index.pools)
        layout = self._layout
        for buffer, pool, offset in zip(self._index.buffers, layout.pool, layout.offset, strict=True):
            if pool != NOWHERE and buffer.size and offset + buffer.size > peaks[pool]:
                peaks[pool] = offset + buffer.size
        return peaks

    def _placement_cost(self) -> int:
        costs = [pool.cost for pool in self._index.pools]
        return sum(
            access_count(buffer) * costs[pool]
            for buffer, pool in zip(self._index.buffers, self._layout.pool, strict=True)
            if pool != NOWHERE and buffer.size
        )

    def _preference(self) -> int:
        """Bytes times how many pools their buffer prefers to its own; none are preferred to a pin."""
        total = 0
        everywhere = tuple(it.id for it in self._index.pools)
        for buffer, pool in zip(self._index.buffers, self._layout.pool, strict=True):
            if pool != NOWHERE and buffer.pool is None:
                order = everywhere if buffer.pools is None else buffer.pools
                name = self._index.pools[pool].id
                total += buffer.size * (order.index(name) if name in order else len(order))
        return total

    def _moves(self, hint: Plan) -> int:
        """Buffers that are elsewhere than in the hint; those it does not place have not moved."""
        before = {placement.buffer: placement for placement in reversed(hint.placements)}
        pools, layout = self._index.pools, self._layout
        moved = 0
        for buffer, pool, offset in zip(self._index.buffers, layout.pool, layout.offset, strict=True):
            if pool == NOWHERE or not buffer.size:
                continue
            place = before.get(buffer.id)
            if place is not None and (place.pool, place.offset) != (pools[pool].id, offset):
                moved += 1
        return moved
