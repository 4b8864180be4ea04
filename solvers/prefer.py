"""Moves items to pools they prefer where no term of the objective becomes worse.

This is not part of the objective, so it comes last: items move one at a time.
"""

from memstow.solvers.constraints import Choice, Relations, choices, tops
from memstow.solvers.instance import Layout
from memstow.solvers.solver import SUM_TERMS, Task, TermKind, choice_weights

# Each item that could move is compared with all others: at most some tens of milliseconds.
_MOST_COMPARED = 40_000
_MOST_ITEMS = 2_000


def move_to_preferred_pools(task: Task, layout: Layout) -> Layout:
    """The layout with items moved to pools they prefer; the same one where none can or there are too many."""
    instance = task.instance
    if instance.item_count > _MOST_ITEMS:
        return layout
    away = [
        item
        for item, pool in enumerate(layout.pool)
        if instance.choice_pool[instance.choice_start[item]] != pool
    ]
    if not away or len(away) * instance.item_count > _MOST_COMPARED:
        return layout
    return _Mover(task, layout).run(away)


class _Mover:
    def __init__(self, task: Task, layout: Layout) -> None:
        self._instance = task.instance
        self._relations = Relations(task.instance)
        self._layout = Layout(layout.pool[:], layout.offset[:])
        self._tops = tops(task.instance)
        kinds = {term.kind for term in task.terms}
        # By term that is a sum over choices: the weight of each choice.
        self._adds = [choice_weights(task.instance, kind) for kind in SUM_TERMS if kind in kinds]
        self._bound = self._bound_items(task, kinds)
        self._choices = choices(task.instance, self._ends(task, kinds))

    def run(self, away: list[int]) -> Layout:
        for item in away:
            if item not in self._bound:
                self._move(item)
        return self._layout

    def _ends(self, task: Task, kinds: set[TermKind]) -> list[int]:
        """By pool, the highest end that is allowed."""
        peaks = [0] * task.instance.pool_count
        for item, (pool, offset) in enumerate(zip(self._layout.pool, self._layout.offset, strict=True)):
            peaks[pool] = max(peaks[pool], offset + self._tops[item])
        count = {term.pool for term in task.terms if term.kind is TermKind.POOL_PEAK}
        if kinds & {TermKind.PEAK, TermKind.MAX_PEAK}:
            count.update(range(len(peaks)))
        capacity = task.instance.capacity
        return [peak if pool in count else capacity[pool] for pool, peak in enumerate(peaks)]

    def _bound_items(self, task: Task, kinds: set[TermKind]) -> set[int]:
        """Items that stay where they are, since other terms depend on their place."""
        item_of, bound = self._relations.item_of, set[int]()
        if TermKind.REUSE_COST in kinds:
            bound |= {item_of[part] for i, part in enumerate(task.instance.reuse) if i % 3 != 2}
        if TermKind.MOVES in kinds:
            bound |= {place.item for place in task.hint_places}
        return bound

    def _move(self, item: int) -> None:
        """Move the item to the first pool that it prefers to its own and that has space."""
        first, last = self._instance.choice_start[item], self._instance.choice_start[item + 1]
        now = next(c for c in range(first, last) if self._instance.choice_pool[c] == self._layout.pool[item])
        for choice in self._choices[item]:
            if choice.index >= now:
                return
            if any(adds[choice.index] > adds[now] for adds in self._adds):
                continue
            offset = self._room(item, choice)
            if offset is not None:
                self._layout.pool[item], self._layout.offset[item] = choice.pool, offset
                return

    def _room(self, item: int, choice: Choice) -> int | None:
        """The lowest free offset; None if there is none."""
        blocked = sorted(self._in_the_way(item, choice.pool))
        for low, high in choice.steps:
            offset, last = choice.residue + choice.modulus * low, choice.residue + choice.modulus * high
            for begin, end in blocked:
                if begin < offset < end:
                    offset = end + (choice.residue - end) % choice.modulus
            if offset <= last:
                return offset
        return None

    def _in_the_way(self, item: int, pool: int) -> list[tuple[int, int]]:
        """Ranges of offsets, ends excluded, at which the item overlaps another one of the pool."""
        instance, parts = self._instance, self._instance.item_parts
        ranges = []
        for other, there in enumerate(self._layout.pool):
            if there != pool or other == item:
                continue
            for b in range(parts[other], parts[other + 1]):
                begin = self._layout.offset[other] + instance.part_delta[b]
                for a in range(parts[item], parts[item + 1]):
                    if self._relations.apart(a, b):
                        low = begin - instance.part_delta[a] - instance.part_size[a]
                        ranges.append((low, begin + instance.part_size[b] - instance.part_delta[a]))
        return ranges
