"""Places of the hint that a plan may keep: what the objective term `moves` is counted from."""

from collections import Counter
from dataclasses import dataclass, replace

from planner.plan import Plan
from planner.reduce import Reduction
from solvers.instance import Layout
from solvers.solver import Kept, Outcome, Task, TermKind


@dataclass(frozen=True, slots=True)
class Hinted:
    """The places of a hint by item, and how many buffers it places."""

    places: tuple[Kept, ...] = ()
    buffers: int = 0


def kept_places(reduction: Reduction, hint: Plan) -> Hinted:
    """Where items would have to be for buffers to stay where the hint has them."""
    problem, instance, unit = reduction.problem, reduction.instance, reduction.unit
    pool_of = {pool.id: i for i, pool in enumerate(problem.pools)}
    place_of = {place.buffer: place for place in hint.placements}
    tally: Counter[tuple[int, int, int]] = Counter()
    buffers = 0
    for item in range(instance.item_count):
        for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
            place = place_of.get(problem.buffers[reduction.part_buffer[part]].id)
            if place is None:
                continue
            buffers += 1
            offset, rest = divmod(place.offset, unit)
            offset -= instance.part_delta[part]
            if place.pool in pool_of and not rest and offset >= 0:
                tally[item, pool_of[place.pool], offset] += 1
    return Hinted(tuple(Kept(*key, count) for key, count in sorted(tally.items())), buffers)


def recounted(task: Task, outcome: Outcome) -> Outcome:
    """The outcome with its moves counted in buffers: native solvers count items."""
    if outcome.layout is None or not outcome.fits:
        return outcome
    values = [
        moves(task, outcome.layout) if term.kind is TermKind.MOVES else value
        for term, value in zip(task.terms, outcome.values, strict=True)
    ]
    return replace(outcome, values=tuple(values))


def moves(task: Task, layout: Layout) -> int:
    """Buffers of the hint that are elsewhere."""
    stay = sum(
        place.count
        for place in task.kept
        if (layout.pool[place.item], layout.offset[place.item]) == (place.pool, place.offset)
    )
    return task.hinted - stay
