"""Pairs of buffers as pairs of parts."""

from memstow.planner.model.problem import Problem
from memstow.solvers.instance import Instance


def paired(problem: Problem) -> set[str]:
    """Ids of the buffers that some pair names."""
    ids = {name for pair in (*problem.conflicts, *problem.exclusive) for name in pair}
    ids.update(name for share in problem.in_place for name in (share.input, share.output))
    ids.update(name for cost in problem.reuse_costs for name in cost.buffers)
    return ids


def add_pairs(
    problem: Problem,
    index_of: dict[str, int],
    part_of: dict[int, int],
    item_of: dict[int, int],
    arrays: Instance,
) -> None:
    """Pairs of buffers as pairs of parts. Pairs within an item or with an empty buffer say nothing."""

    def parts(first: str, second: str) -> tuple[int, int] | None:
        one, two = index_of[first], index_of[second]
        if one not in part_of or two not in part_of or item_of[one] == item_of[two]:
            return None
        a, b = part_of[one], part_of[two]
        return (a, b) if a < b else (b, a)

    conflicts = {pair for entry in problem.conflicts if (pair := parts(*entry))}
    exclusive = {pair for entry in problem.exclusive if (pair := parts(*entry))} - conflicts
    shared = {pair for entry in problem.in_place if (pair := parts(entry.input, entry.output))} - exclusive
    for a, b in sorted(conflicts):
        arrays.conflicts.extend((a, b))
    for a, b in sorted(exclusive):
        arrays.exempt.extend((a, b, 0))
    for a, b in sorted(shared):
        arrays.exempt.extend((a, b, 1))
    for cost in problem.reuse_costs:
        one, two = (index_of[name] for name in cost.buffers)
        if one in part_of and two in part_of:
            arrays.reuse.extend((part_of[one], part_of[two], cost.cost))
