"""The boxes to draw: each buffer in each of its lives, by pool, on one axis for all pools."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import ALWAYS, Buffer, Interval, Problem, spans
from memstow.planner.model.records import record


class Life(NamedTuple):
    """A buffer at its place from one time to another."""

    buffer: Buffer
    offset: int
    top: int
    """The first address above it."""
    begin: int
    end: int


@record
class Axis:
    """The horizontal axis: time, or, without lifetimes, the buffers side by side, one unit each."""

    begin: int
    end: int
    kind: Literal["time", "buffers", "always"]


@record
class Scene:
    """Everything to draw."""

    axis: Axis
    pools: dict[str, list[Life]]

    def lives(self) -> list[Life]:
        """Those of all pools."""
        return [life for inside in self.pools.values() for life in inside]


def scene_of(problem: Problem, plan: Plan) -> Scene:
    """The plan's buffers that have bytes, in the order of the problem."""
    where = {place.buffer: place for place in plan.placements}
    placed = [buffer for buffer in problem.buffers if buffer.size and buffer.id in where]
    ranges_of = [spans(buffer) for buffer in placed]
    axis = _axis(placed, ranges_of)
    pools: dict[str, list[Life]] = {pool.id: [] for pool in problem.pools}
    slot = 0
    for buffer, ranges in zip(placed, ranges_of, strict=True):
        place = where[buffer.id]
        if not ranges:
            ranges = ((axis.begin, axis.end),)
            if axis.kind == "buffers" and buffer.lifetime != ALWAYS:
                ranges = ((slot, slot + 1),)
                slot += 1
        top = place.offset + buffer.size
        pools[place.pool] += [Life(buffer, place.offset, top, begin, end) for begin, end in ranges]
    return Scene(axis, pools)


def _axis(buffers: Sequence[Buffer], ranges_of: Sequence[Sequence[Interval]]) -> Axis:
    ranges = [it for ranges in ranges_of for it in ranges]
    if ranges:
        return Axis(min(begin for begin, _ in ranges), max(end for _, end in ranges), "time")
    # Without a word on time buffers may share bytes, and would hide each other.
    timeless = sum(buffer.lifetime != ALWAYS for buffer in buffers)
    return Axis(0, timeless, "buffers") if timeless else Axis(0, 1, "always")
