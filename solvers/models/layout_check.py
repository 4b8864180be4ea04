"""Checks a layout and computes its values in integers, without a model, a solver or the native core.

Every layout of a back end is checked here.
"""

from bisect import bisect_left, insort

from memstow.solvers.instance import Layout
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import SUM_TERMS, Task, Term, TermKind, sum_of


class Examiner:
    """Checks the layouts of a task and computes their values."""

    def __init__(self, task: Task, relations: Relations) -> None:
        self._task = task
        self._relations = relations
        self._reuse, self._fixed_reuse = relations.reuse()
        lives = relations.lives
        self._events = sorted((begin, end, part) for part, life in enumerate(lives) for begin, end in life)
        self._exempt_or_listed = bool(relations.free or relations.shared)

    def values(self, layout: Layout) -> tuple[int, ...] | None:
        """The value of each term; None for a layout that breaks a constraint."""
        if not (self._has_places(layout) and self._keeps_apart(layout)):
            return None
        return tuple(self._value(term, layout) for term in self._task.terms)

    def _has_places(self, layout: Layout) -> bool:
        """Whether every item is in an allowed pool, aligned, in range, and outside reserved ranges."""
        instance = self._task.instance
        if len(layout.pool) != instance.item_count or len(layout.offset) != instance.item_count:
            return False
        for item, (pool, offset) in enumerate(zip(layout.pool, layout.offset, strict=True)):
            for c in range(instance.choice_start[item], instance.choice_start[item + 1]):
                if instance.choice_pool[c] == pool:
                    break
            else:
                return False
            aligned = (offset - instance.choice_residue[c]) % instance.choice_modulus[c] == 0
            if offset < 0 or not aligned or not instance.choice_low[c] <= offset <= instance.choice_high[c]:
                return False
            first, last = instance.reserved_start[pool], instance.reserved_start[pool + 1]
            for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
                begin = offset + instance.part_delta[part]
                end = begin + instance.part_size[part]
                if end > instance.capacity[pool]:
                    return False
                after = bisect_left(instance.reserved_end, begin + 1, first, last)
                if after < last and instance.reserved_begin[after] < end:
                    return False
        return True

    def _keeps_apart(self, layout: Layout) -> bool:
        """Whether conflicting parts share no byte: by a sweep over time, and one by one for listed pairs."""
        instance, relations = self._task.instance, self._relations
        for a, b in relations.listed:
            if not self._apart(layout, a, b):
                return False
        widest = max(instance.part_size, default=0)
        pools: list[list[tuple[int, int, int]]] = [[] for _ in range(instance.pool_count)]
        ending: list[tuple[int, int]] = []
        for time, end, part in self._events:
            while ending and ending[0][0] <= time:
                _, gone = ending.pop(0)
                place = self._range(layout, gone)
                living = pools[layout.pool[relations.item_of[gone]]]
                del living[bisect_left(living, (*place, gone))]
            begin, stop = self._range(layout, part)
            living = pools[layout.pool[relations.item_of[part]]]
            at = bisect_left(living, (stop,))
            while at > 0:
                at -= 1
                other_begin, other_end, other = living[at]
                if other_begin + widest <= begin:
                    break
                if other_end > begin and not self._may_overlap(layout, part, other):
                    return False
            insort(living, (begin, stop, part))
            insort(ending, (end, part))
        return True

    def _may_overlap(self, layout: Layout, a: int, b: int) -> bool:
        relations = self._relations
        if relations.item_of[a] == relations.item_of[b]:
            return True
        pair = (a, b) if a < b else (b, a)
        if pair in relations.free:
            return True
        return pair in relations.shared and self._range(layout, a)[0] == self._range(layout, b)[0]

    def _apart(self, layout: Layout, a: int, b: int) -> bool:
        return not self._overlap(layout, a, b) or self._may_overlap(layout, a, b)

    def _overlap(self, layout: Layout, a: int, b: int) -> bool:
        item_of = self._relations.item_of
        if layout.pool[item_of[a]] != layout.pool[item_of[b]]:
            return False
        (begin, end), (low, high) = self._range(layout, a), self._range(layout, b)
        return begin < high and low < end

    def _range(self, layout: Layout, part: int) -> tuple[int, int]:
        begin = layout.offset[self._relations.item_of[part]] + self._task.instance.part_delta[part]
        return begin, begin + self._task.instance.part_size[part]

    def _value(self, term: Term, layout: Layout) -> int:
        instance = self._task.instance
        if term.kind is TermKind.REUSE_COST:
            return self._fixed_reuse + sum(
                pair.cost for pair in self._reuse if self._overlap(layout, pair.first, pair.second)
            )
        if term.kind is TermKind.MOVES:
            here = zip(layout.pool, layout.offset, strict=True)
            places = dict(enumerate(here))
            stay = sum(k.count for k in self._task.hint_places if places[k.item] == (k.pool, k.offset))
            return self._task.hint_buffers - stay
        if term.kind in SUM_TERMS:
            return sum_of(instance, term.kind, layout, range(instance.item_count))
        peaks = [0] * instance.pool_count
        for part, item in enumerate(self._relations.item_of):
            pool = layout.pool[item]
            peaks[pool] = max(peaks[pool], self._range(layout, part)[1])
        if term.kind is TermKind.PEAK:
            return sum(peaks)
        return max(peaks, default=0) if term.kind is TermKind.MAX_PEAK else peaks[term.pool]
