"""A problem as arrays, with the way back."""

from array import array
from dataclasses import dataclass

from memstow.planner.model.plan import Placement, make_placement
from memstow.planner.model.problem import Problem
from memstow.solvers.instance import Instance, Layout


@dataclass(frozen=True, slots=True)
class Reduction:
    """A problem as arrays, with the way back."""

    problem: Problem
    instance: Instance
    unit: int
    part_buffer: "array[int]"  # by part: index of its buffer
    alone: "tuple[tuple[int, Placement], ...]"  # buffers of size 0 (by index)
    moments: list[int] | None  # by time of the instance: the time of the problem, where they differ

    def moment(self, time: int | None) -> int | None:
        """The time of the problem for a time of the instance."""
        return time if self.moments is None or time is None else self.moments[time]

    def placements(self, layout: Layout) -> tuple[Placement, ...]:
        """The layout in the user's terms, in the order of the buffers. Every item has a place."""
        instance, buffers = self.instance, self.problem.buffers
        names = [pool.id for pool in self.problem.pools]
        placements: list[Placement | None] = [None] * len(buffers)
        starts, deltas = instance.item_parts, instance.part_delta
        for item, (pool, offset) in enumerate(zip(layout.pool, layout.offset, strict=True)):
            name = names[pool]
            for part in range(starts[item], starts[item + 1]):
                index = self.part_buffer[part]
                place = (offset + deltas[part]) * self.unit
                placements[index] = make_placement(buffers[index].id, name, place)
        for index, placement in self.alone:
            placements[index] = placement
        return tuple(p for p in placements if p is not None)

    def layout(self, placements: tuple[Placement, ...]) -> Layout:
        """The items as the placements have them; -1 where they say nothing that an item could follow."""
        pool_of = {pool.id: i for i, pool in enumerate(self.problem.pools)}
        place_of = {p.buffer: p for p in placements}
        pools: list[int] = []
        offsets: list[int] = []
        starts = self.instance.item_parts
        for item in range(self.instance.item_count):
            part = starts[item]
            place = place_of.get(self.problem.buffers[self.part_buffer[part]].id)
            pool = -1 if place is None else pool_of.get(place.pool, -1)
            start = -1
            if place is not None and pool >= 0 and place.offset % self.unit == 0:
                start = place.offset // self.unit - self.instance.part_delta[part]
            pools.append(pool if start >= 0 else -1)
            offsets.append(max(start, -1))
        return Layout(array("q", pools), array("q", offsets))
