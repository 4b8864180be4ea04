"""The offsets of an item as values of a model's variable: ranges of steps from the first aligned offset."""

from dataclasses import dataclass
from itertools import groupby, pairwise
from math import lcm

from memstow.solvers.instance import UNBOUNDED, Instance
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import Task, TermKind


@dataclass(frozen=True, slots=True)
class Choice:
    """A pool of an item; its offsets are residue + modulus x step, for steps in the ranges."""

    index: int  # among the choices of the instance
    pool: int
    modulus: int
    residue: int
    steps: tuple[tuple[int, int], ...]  # ends included; sorted

    def least(self) -> int:
        """The lowest offset."""
        return self.residue + self.modulus * self.steps[0][0]

    def most(self) -> int:
        """The highest offset."""
        return self.residue + self.modulus * self.steps[-1][1]

    def step_of(self, offset: int) -> int | None:
        """The step that leads to the offset, if it is allowed."""
        step, rest = divmod(offset - self.residue, self.modulus)
        return step if not rest and any(low <= step <= high for low, high in self.steps) else None


def tops(instance: Instance) -> list[int]:
    """By item: its end, relative to its offset."""
    starts = instance.item_parts
    return [
        max(instance.part_delta[p] + instance.part_size[p] for p in range(starts[i], starts[i + 1]))
        for i in range(instance.item_count)
    ]


def horizons(task: Task, relations: Relations, first_value: int | None) -> list[int]:
    """By pool: a height that some optimal layout does not exceed.

    A layout can be pressed down until every item rests on a chain of others that ends at 0, at a reserved
    range, at a pin or at a place of the hint; items that share a start move as one. `first_value` is a
    known value of the first term: if that is a peak, no better layout exceeds it.
    """
    instance = task.instance
    above = _stack(task, relations)
    result = []
    for capacity, fixed in zip(instance.capacity, _highest_fixed(task), strict=True):
        result.append(min(capacity, UNBOUNDED, fixed + above))
    if first_value is not None and task.terms:
        term = task.terms[0]
        for pool in range(instance.pool_count):
            if term.kind in (TermKind.PEAK, TermKind.MAX_PEAK) or (
                term.kind is TermKind.POOL_PEAK and term.pool == pool
            ):
                result[pool] = min(result[pool], first_value)
    return result


def highest_stack(task: Task) -> int:
    """A height that no pool exceeds in some optimal layout, computed without pairs, to check magnitudes."""
    instance = task.instance
    fixed = max(_highest_fixed(task), default=0)
    total = sum(tops(instance))
    if not any(instance.exempt[2::3]):
        return fixed + total + sum(_largest_moduli(instance))
    return fixed + total + instance.item_count * lcm(*instance.choice_modulus)


def _largest_moduli(instance: Instance) -> list[int]:
    starts, moduli = instance.choice_start, instance.choice_modulus
    return [lcm(*moduli[starts[i] : starts[i + 1]]) for i in range(instance.item_count)]


def _stack(task: Task, relations: Relations) -> int:
    """The height of all items on top of each other, with the largest loss by alignment."""
    instance = task.instance
    group = list(range(instance.item_count))

    def root(item: int) -> int:
        while group[item] != item:
            group[item] = group[group[item]]
            item = group[item]
        return item

    for a, b in relations.shared:
        group[root(relations.item_of[a])] = root(relations.item_of[b])
    total = 0
    moduli: dict[int, int] = {}
    for item, top in enumerate(tops(instance)):
        total += top
        where = root(item)
        for c in range(instance.choice_start[item], instance.choice_start[item + 1]):
            moduli[where] = lcm(moduli.get(where, 1), instance.choice_modulus[c])
    return total + sum(moduli.values())


def _highest_fixed(task: Task) -> list[int]:
    """By pool: the highest end in it that does not come from stacking."""
    instance = task.instance
    reserved = pairwise(instance.reserved_start)
    highest = [max(instance.reserved_end[first:last], default=0) for first, last in reserved]
    ends = tops(instance)
    for item, (first, last) in enumerate(pairwise(instance.choice_start)):
        for c in range(first, last):
            # A low that is not 0 is a pin.
            pool = instance.choice_pool[c]
            highest[pool] = max(highest[pool], instance.choice_low[c] + ends[item])
    if any(term.kind is TermKind.MOVES for term in task.terms):
        for place in task.hint_places:
            highest[place.pool] = max(highest[place.pool], place.offset + ends[place.item])
    return highest


def choices(instance: Instance, horizon: list[int]) -> list[list[Choice]]:
    """By item: the choices with a place below the horizons."""
    ends = tops(instance)
    result: list[list[Choice]] = []
    for item in range(instance.item_count):
        mine = []
        for c in range(instance.choice_start[item], instance.choice_start[item + 1]):
            pool, modulus = instance.choice_pool[c], instance.choice_modulus[c]
            residue = instance.choice_residue[c] % modulus
            low, high = instance.choice_low[c], min(instance.choice_high[c], horizon[pool] - ends[item])
            steps = _steps(_free(instance, item, pool, low, high), modulus, residue)
            if steps:
                mine.append(Choice(c, pool, modulus, residue, steps))
        result.append(mine)
    return result


def _free(instance: Instance, item: int, pool: int, low: int, high: int) -> list[tuple[int, int]]:
    """Ranges of offsets (ends included) at which no part touches a reserved range."""
    taken = sorted(
        (begin - instance.part_delta[p] - instance.part_size[p] + 1, end - instance.part_delta[p] - 1)
        for begin, end in zip(
            instance.reserved_begin[instance.reserved_start[pool] : instance.reserved_start[pool + 1]],
            instance.reserved_end[instance.reserved_start[pool] : instance.reserved_start[pool + 1]],
            strict=True,
        )
        for p in range(instance.item_parts[item], instance.item_parts[item + 1])
    )
    free = []
    at = low
    for begin, end in taken:
        if begin > high:
            break
        if begin > at:
            free.append((at, begin - 1))
        at = max(at, end + 1)
    if at <= high:
        free.append((at, high))
    return free


def _steps(free: list[tuple[int, int]], modulus: int, residue: int) -> tuple[tuple[int, int], ...]:
    steps = ((-(-(low - residue) // modulus), (high - residue) // modulus) for low, high in free)
    result: list[tuple[int, int]] = []
    for low, high in steps:
        if low > high:
            continue
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def look_alikes(task: Task, relations: Relations) -> list[list[int]]:
    """Sets of items that can be exchanged for each other in every layout, without change of its worth."""
    instance = task.instance
    special = {relations.item_of[part] for i, part in enumerate(instance.exempt) if i % 3 != 2}
    special |= {relations.item_of[part] for i, part in enumerate(instance.reuse) if i % 3 != 2}
    special |= {relations.item_of[part] for part in instance.conflicts}
    special |= {place.item for place in task.hint_places}
    keyed = []
    for item in range(instance.item_count):
        first, last = instance.item_parts[item], instance.item_parts[item + 1]
        if item in special or last - first != 1 or not relations.lives[first]:
            continue
        c = slice(instance.choice_start[item], instance.choice_start[item + 1])
        key = (
            instance.part_size[first],
            tuple(relations.lives[first]),
            tuple(instance.choice_pool[c]),
            tuple(instance.choice_modulus[c]),
            tuple(instance.choice_residue[c]),
            tuple(instance.choice_low[c]),
            tuple(instance.choice_high[c]),
            tuple(instance.choice_cost[c]),
            tuple(instance.choice_rank[c]),
        )
        keyed.append((key, item))
    keyed.sort()
    sets = [[item for _, item in same] for _, same in groupby(keyed, key=lambda entry: entry[0])]
    return [same for same in sets if len(same) > 1]
