"""The bytes live at each time: the step function that pictures and `inspect` show.

It adds up sizes and nothing else. Where buffers may share bytes (exclusive pairs, in place, rigid groups) it
is more than is needed, so it is no bound; bounds are in `planner.solve.bounds`.
"""

from collections.abc import Iterable, Sequence
from heapq import nlargest

from memstow.planner.model.problem import ALWAYS, Buffer, Interval
from memstow.planner.model.ranges import merged
from memstow.planner.model.records import record


@record
class Profile:
    """Live bytes over time: `live[i]` from `times[i]` until `times[i + 1]`.

    The last time ends the last step. `always` bytes are part of every step; `timeless` counts the buffers
    without any lifetime, which are in none.
    """

    times: tuple[int, ...]
    live: tuple[int, ...]
    always: int
    timeless: int

    @property
    def peak(self) -> int:
        """The most bytes live at once."""
        return max(self.live, default=self.always)


@record
class Moment:
    """A step of the profile, and the buffers live in it, largest first."""

    begin: int
    end: int
    live: int
    buffers: tuple[Buffer, ...]


def spans(buffer: Buffer) -> Sequence[Interval]:
    """The live ranges of a buffer as disjoint intervals; empty if it is always live or has no lifetime."""
    if buffer.lifetime is not None:
        return () if buffer.lifetime == ALWAYS else (buffer.lifetime,)
    return merged(buffer.lifetimes or ())


def profile(buffers: Iterable[Buffer]) -> Profile:
    """The step function of these buffers."""
    changes: dict[int, int] = {}
    always = timeless = 0
    for buffer in buffers:
        ranges = spans(buffer)
        if not ranges:
            if buffer.lifetime == ALWAYS:
                always += buffer.size
            else:
                timeless += 1
        for begin, end in ranges:
            changes[begin] = changes.get(begin, 0) + buffer.size
            changes[end] = changes.get(end, 0) - buffer.size
    times = sorted(changes)
    live = []
    level = always
    for time in times[:-1]:
        level += changes[time]
        live.append(level)
    return Profile(tuple(times), tuple(live), always, timeless)


def hardest(buffers: Sequence[Buffer], steps: Profile, count: int) -> tuple[Moment, ...]:
    """The `count` steps with the most live bytes among those that no neighbour exceeds, hardest first."""
    live = steps.live
    chosen = nlargest(count, _summits(live), key=lambda step: (live[step], -step))
    live_in: list[list[Buffer]] = [[] for _ in chosen]
    begins = [steps.times[step] for step in chosen]
    for buffer in buffers:
        everywhere = buffer.lifetime == ALWAYS
        ranges = spans(buffer)
        for there, begin in zip(live_in, begins, strict=True):
            if everywhere or any(first <= begin < last for first, last in ranges):
                there.append(buffer)
    return tuple(
        Moment(
            steps.times[step],
            steps.times[step + 1],
            live[step],
            tuple(sorted(there, key=lambda buffer: (-buffer.size, buffer.id))),
        )
        for step, there in zip(chosen, live_in, strict=True)
    )


def _summits(live: Sequence[int]) -> Iterable[int]:
    """The first step of each plateau that is higher than both of its neighbours."""
    start = 0
    for step in range(len(live)):
        if step and live[step] != live[step - 1]:
            start = step
        ends = step + 1 == len(live) or live[step + 1] != live[step]
        if (
            ends
            and (start == 0 or live[start - 1] < live[step])
            and (step + 1 == len(live) or live[step + 1] < live[step])
        ):
            yield start
