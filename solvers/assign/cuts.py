"""Makes cuts from items that cannot share a pool, extended to items that are at least as large."""

from dataclasses import dataclass

from memstow.solvers.assign.crowd import Crowd, Pair
from memstow.solvers.assign.packing import Dead
from memstow.solvers.instance import UNBOUNDED
from memstow.solvers.models.places import Choice
from memstow.solvers.models.relations import Relations, Span


@dataclass(frozen=True, slots=True)
class Cut:
    """A constraint: at least one of these holds.

    The pool is as high as `height`; an item of `alone` is elsewhere; a stay or a pair of `apart` is given up;
    fewer items of a class than its count are in the pool.
    """

    pool: int
    height: int
    alone: tuple[int, ...]
    stays: tuple[Pair, ...]
    apart: tuple[Pair, ...]
    classes: tuple[tuple[tuple[int, ...], int], ...]


class Lifter:
    """Extends cuts to as many items as they hold for."""

    def __init__(self, relations: Relations, choices: list[list[Choice]]) -> None:
        self._relations = relations
        self._choices = choices
        instance, item_of = relations.instance, relations.item_of
        self._special = {item_of[part] for part in instance.conflicts}
        self._special |= {item_of[part] for i, part in enumerate(instance.exempt) if i % 3 != 2}

    def cut(self, dead: Dead) -> Cut:
        """The cut of a dead set."""
        crowd = dead.crowd
        bound = {item for item, _ in crowd.stays}
        bound |= {self._relations.item_of[part] for pair in crowd.apart for part in pair}
        alone = tuple(item for item in crowd.items if item not in bound and not self._is_plain(item))
        plain = [item for item in crowd.items if item not in bound and self._is_plain(item)]
        tied = tuple(item for item in bound if item not in {item for item, _ in crowd.stays})
        classes = self._classes(crowd, plain)
        singles = tuple(items[0] for items, _ in classes if len(items) == 1)
        return Cut(
            crowd.pool,
            dead.height,
            tuple(sorted((*alone, *tied, *singles))),
            crowd.stays,
            crowd.apart,
            tuple((items, count) for items, count in classes if len(items) > 1),
        )

    def _classes(self, crowd: Crowd, plain: list[int]) -> list[tuple[tuple[int, ...], int]]:
        """The items in disjoint classes, each with others that could replace any item of the class."""
        left = list(plain)
        taken = set(crowd.items)
        classes = []
        while left:
            first, *rest = left
            alike = [
                first,
                *(
                    i
                    for i in rest
                    if self._covers(i, first, crowd.pool) and self._covers(first, i, crowd.pool)
                ),
            ]
            left = [item for item in left if item not in alike]
            more = [
                item
                for item in range(len(self._choices))
                if item not in taken and self._is_plain(item) and self._covers(item, first, crowd.pool)
            ]
            taken.update(more)
            classes.append((tuple(sorted((*alike, *more))), len(alike)))
        return classes

    def _is_plain(self, item: int) -> bool:
        parts = self._relations.instance.item_parts
        return item not in self._special and parts[item + 1] - parts[item] == 1

    def _covers(self, large: int, small: int, pool: int) -> bool:
        """Whether every place of the large item in this pool would also be one for the small item."""
        instance = self._relations.instance
        one, two = self._choice(large, pool), self._choice(small, pool)
        if one is None or two is None:
            return False
        a, b = instance.item_parts[large], instance.item_parts[small]
        aligned = one.modulus % two.modulus == 0 and (one.residue - two.residue) % two.modulus == 0
        if not aligned or instance.part_size[a] < instance.part_size[b]:
            return False
        if instance.choice_low[one.index] < instance.choice_low[two.index]:
            return False
        high = instance.choice_high[two.index]
        if high < UNBOUNDED and instance.choice_high[one.index] > high:
            return False
        return _within(self._relations.lives[b], self._relations.lives[a])

    def _choice(self, item: int, pool: int) -> Choice | None:
        return next((choice for choice in self._choices[item] if choice.pool == pool), None)


def _within(inner: list[Span], outer: list[Span]) -> bool:
    """Whether the sorted spans lie within the outer ones."""
    at = 0
    for begin, end in inner:
        while at < len(outer) and outer[at][1] < end:
            at += 1
        if at == len(outer) or begin < outer[at][0]:
            return False
    return True
