"""The parts of the items of a problem: their buffers, sizes and lifetimes, as arrays."""

from itertools import chain
from operator import itemgetter

from memstow.planner.model.problem import ALWAYS, Buffer, Problem, merged
from memstow.planner.reduce.allowed_places import Body
from memstow.solvers.instance import Instance

_MOST_TIME = 1 << 62


class Lives:
    """Lifetimes as sorted, disjoint ranges of 64-bit times."""

    def __init__(self, problem: Problem) -> None:
        least, most = 0, 1
        ranges = list(chain.from_iterable(map(lifetime_ranges, problem.buffers)))
        if ranges:
            least, most = min(ranges)[0], max(map(itemgetter(1), ranges))
        self.moments: list[int] | None = None
        self._rank: dict[int, int] = {}
        if least < -_MOST_TIME or most > _MOST_TIME:
            times = {t for buffer in problem.buffers for life in lifetime_ranges(buffer) for t in life}
            self.moments = sorted(times)
            self._rank = {time: rank for rank, time in enumerate(self.moments)}
        self._always = [(self._short(least), self._short(most))]

    def _short(self, time: int) -> int:
        return time if self.moments is None else self._rank[time]

    def of(self, buffer: Buffer) -> list[tuple[int, int]]:
        """The live ranges of the buffer."""
        if buffer.lifetime == ALWAYS:
            return self._always
        if self.moments is None and buffer.lifetimes is None:
            return lifetime_ranges(buffer)
        ranges = lifetime_ranges(buffer)
        if self.moments is not None:
            ranges = [(self._short(begin), self._short(end)) for begin, end in ranges]
        return ranges if len(ranges) < 2 else merged(ranges)


def lifetime_ranges(buffer: Buffer) -> list[tuple[int, int]]:
    """The ranges as they are given; of one that lives always there are none."""
    if buffer.lifetimes is not None:
        return list(buffer.lifetimes)
    lifetime = buffer.lifetime
    return [] if lifetime is None or isinstance(lifetime, str) else [lifetime]


class Parts:
    """Collects the parts of the items in lists, which grow faster than arrays."""

    def __init__(self, problem: Problem, lives: Lives, unit: int) -> None:
        self._buffers = problem.buffers
        self._lives = lives
        self._unit = unit
        self._in_pairs = _ids_in_pairs(problem)
        self.part_of: dict[int, int] = {}
        self.item_of: dict[int, int] = {}
        self.buffer: list[int] = []
        self._delta: list[int] = []
        self._size: list[int] = []
        self._ends: list[int] = [0]
        self._life_begin: list[int] = []
        self._life_end: list[int] = []
        self._life_start: list[int] = [0]

    def add(self, item: int, body: Body) -> None:
        for index, delta in zip(body.members, body.deltas, strict=True):
            buffer = self._buffers[index]
            if buffer.id in self._in_pairs:
                self.item_of[index] = item
                self.part_of[index] = len(self.buffer)
            self.buffer.append(index)
            self._delta.append(delta // self._unit)
            self._size.append(buffer.size // self._unit)
            for begin, end in self._lives.of(buffer):
                self._life_begin.append(begin)
                self._life_end.append(end)
            self._life_start.append(len(self._life_begin))
        self._ends.append(len(self.buffer))

    def add_plain(self, bodies: list[Body]) -> bool:
        """Add all at once if each is one buffer with one lifetime: most problems are so."""
        if self._lives.moments is not None or any(len(it.members) > 1 for it in bodies):
            return False
        buffers = [self._buffers[body.members[0]] for body in bodies]
        lives = [it.lifetime for it in buffers if it.lifetimes is None and isinstance(it.lifetime, tuple)]
        if len(lives) < len(bodies):
            return False
        self.buffer = [body.members[0] for body in bodies]
        if self._in_pairs:
            numbered = zip(self.buffer, buffers, strict=True)
            self.part_of = {i: part for part, (i, it) in enumerate(numbered) if it.id in self._in_pairs}
            self.item_of = self.part_of
        self._delta = [0] * len(bodies)
        self._size = [buffer.size // self._unit for buffer in buffers]
        self._life_begin = [begin for begin, _ in lives]
        self._life_end = [end for _, end in lives]
        self._ends = self._life_start = list(range(len(bodies) + 1))
        return True

    def fill(self, arrays: Instance) -> None:
        arrays.part_delta.extend(self._delta)
        arrays.part_size.extend(self._size)
        arrays.item_parts.extend(self._ends[1:])
        arrays.life_begin.extend(self._life_begin)
        arrays.life_end.extend(self._life_end)
        arrays.life_start.extend(self._life_start[1:])


def _ids_in_pairs(problem: Problem) -> set[str]:
    """Ids of the buffers that some pair names."""
    ids = {name for pair in (*problem.conflicts, *problem.exclusive) for name in pair}
    ids.update(name for share in problem.in_place for name in (share.input, share.output))
    ids.update(name for cost in problem.reuse_costs for name in cost.buffers)
    return ids
