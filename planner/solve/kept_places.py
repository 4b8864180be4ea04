"""Places of the hint that a plan may keep: what the objective term `moves` is counted from."""

from collections import Counter
from dataclasses import dataclass

from memstow.planner.model.plan import Plan
from memstow.planner.reduce import Reduction
from memstow.solvers.solver import Kept


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
