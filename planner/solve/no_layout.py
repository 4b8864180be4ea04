"""Explains, in the user's names, a search's proof that items do not fit."""

from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import reserved_bytes
from memstow.planner.reduce import Reduction
from memstow.planner.reduce.allowed_places import size_of


def no_layout(reduction: Reduction, items: tuple[int, ...]) -> Explanation:
    """The explanation that these items do not fit together in the pools they may go to."""
    problem, instance = reduction.problem, reduction.instance
    choices = [c for i in items for c in range(instance.choice_start[i], instance.choice_start[i + 1])]
    pools = [problem.pools[p] for p in sorted({instance.choice_pool[c] for c in choices})]
    ids = tuple(
        problem.buffers[reduction.part_buffer[part]].id
        for item in items
        for part in range(instance.item_parts[item], instance.item_parts[item + 1])
    )
    some = ", ".join(map(repr, ids[:8])) + (f" and {len(ids) - 8:,} more" if len(ids) > 8 else "")
    rooms = ", ".join(f"{pool.id!r} ({size_of(pool)})" for pool in pools[:8])
    one = pools[0] if len(pools) == 1 else None
    return Explanation(
        code="no_layout",
        message=f"no layout of these {len(ids):,} buffers fits in the pools they may go to, as a search "
        f"through all of them has shown; pools and their bytes: {rooms}; buffers: {some}",
        pool=one.id if one else None,
        capacity=one.capacity if one else None,
        reserved=reserved_bytes(one) or None if one else None,
        buffers=ids,
    )
