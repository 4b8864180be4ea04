"""The instance of some of the items."""

from array import array
from collections.abc import Sequence

from memstow.solvers.instance import Instance


def restrict_to(instance: Instance, items: Sequence[int]) -> Instance:
    """The instance of these items, in this order, with all relations among them."""
    part_of: dict[int, int] = {}
    result = Instance(
        capacity=instance.capacity,
        reserved_start=instance.reserved_start,
        reserved_begin=instance.reserved_begin,
        reserved_end=instance.reserved_end,
    )
    for item in items:
        chosen = slice(instance.choice_start[item], instance.choice_start[item + 1])
        for name in ("pool", "modulus", "residue", "low", "high", "cost", "rank"):
            getattr(result, f"choice_{name}").extend(getattr(instance, f"choice_{name}")[chosen])
        result.choice_start.append(len(result.choice_pool))
        for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
            part_of[part] = len(result.part_size)
            result.part_delta.append(instance.part_delta[part])
            result.part_size.append(instance.part_size[part])
            lives = slice(instance.life_start[part], instance.life_start[part + 1])
            result.life_begin.extend(instance.life_begin[lives])
            result.life_end.extend(instance.life_end[lives])
            result.life_start.append(len(result.life_begin))
        result.item_parts.append(len(result.part_size))
    result.conflicts.extend(_among(instance.conflicts, 2, part_of))
    result.exempt.extend(_among(instance.exempt, 3, part_of))
    result.reuse.extend(_among(instance.reuse, 3, part_of))
    return result


def _among(entries: "array[int]", width: int, part_of: dict[int, int]) -> "array[int]":
    """The entries with both parts in the subset, renumbered, the lower part first."""
    result = array("q")
    for at in range(0, len(entries), width):
        first, second, *rest = entries[at : at + width]
        if first in part_of and second in part_of:
            result.extend((*sorted((part_of[first], part_of[second])), *rest))
    return result
