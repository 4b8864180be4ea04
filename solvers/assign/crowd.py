"""The items of one pool in a proposal of the master, with conditions on their offsets."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from memstow.solvers.instance import Instance
from memstow.solvers.models.subset import restrict_to

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Crowd:
    """Items of one pool, ascending; those that stay where the hint has them; pairs that must not overlap."""

    pool: int
    items: tuple[int, ...]
    stays: tuple[Pair, ...] = ()  # (item, offset)
    apart: tuple[Pair, ...] = ()  # parts (first, second), the lower one first

    def among(self, items: Iterable[int], item_of: list[int]) -> "Crowd":
        """The crowd of some of the items."""
        chosen = set(items)
        return Crowd(
            self.pool,
            tuple(sorted(chosen)),
            tuple(stay for stay in self.stays if stay[0] in chosen),
            tuple(pair for pair in self.apart if item_of[pair[0]] in chosen and item_of[pair[1]] in chosen),
        )


def instance_of(instance: Instance, crowd: Crowd) -> Instance:
    """The crowd as an instance in which each item has this pool as its only choice."""
    part = narrow(
        restrict_to(_with_conflicts(instance, crowd.apart), crowd.items), [crowd.pool] * len(crowd.items)
    )
    at = {item: k for k, item in enumerate(crowd.items)}
    stays = {at[item]: offset for item, offset in crowd.stays}
    pin(part, (stays.get(k, -1) for k in range(len(crowd.items))))
    return part


def narrow(instance: Instance, pools: Iterable[int]) -> Instance:
    """The instance in which each item has only its pool in `pools`, or all choices where that is -1."""
    choices: list[int] = []
    starts = array("q", [0])
    for item, pool in enumerate(pools):
        choices += [
            c
            for c in range(instance.choice_start[item], instance.choice_start[item + 1])
            if pool in (-1, instance.choice_pool[c])
        ]
        starts.append(len(choices))

    def of(values: "array[int]") -> "array[int]":
        return array("q", [values[c] for c in choices])

    return replace(
        instance,
        choice_start=starts,
        choice_pool=of(instance.choice_pool),
        choice_modulus=of(instance.choice_modulus),
        choice_residue=of(instance.choice_residue),
        choice_low=of(instance.choice_low),
        choice_high=of(instance.choice_high),
        choice_cost=of(instance.choice_cost),
        choice_rank=of(instance.choice_rank),
    )


def pin(instance: Instance, offsets: Iterable[int]) -> None:
    """Allow each item of a narrowed instance only this offset, where that is not -1."""
    for item, offset in enumerate(offsets):
        if offset >= 0:
            at = instance.choice_start[item]
            instance.choice_low[at] = instance.choice_high[at] = offset


def _with_conflicts(instance: Instance, pairs: tuple[Pair, ...]) -> Instance:
    """The instance in which these pairs conflict and are not exempt, without reuse costs."""
    new_conflicts = set(pairs)
    conflicts, exempt = instance.conflicts, instance.exempt
    if new_conflicts:
        listed = set(zip(conflicts[::2], conflicts[1::2], strict=True))
        conflicts = array("q", [part for pair in sorted(listed | new_conflicts) for part in pair])
        exempt = array(
            "q", [value for entry in _entries(exempt) if entry[:2] not in new_conflicts for value in entry]
        )
    return replace(instance, conflicts=conflicts, exempt=exempt, reuse=array("q"))


def _entries(exempt: "array[int]") -> Iterator[tuple[int, int, int]]:
    for at in range(0, len(exempt), 3):
        yield exempt[at], exempt[at + 1], exempt[at + 2]
