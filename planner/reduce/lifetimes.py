"""Lifetimes as sorted, disjoint ranges of 64-bit times."""

from memstow.planner.model.problem import ALWAYS, Buffer, Problem
from memstow.planner.model.ranges import merged

_MOST_TIME = 1 << 62


class Lives:
    """Lifetimes as sorted, disjoint ranges of 64-bit times."""

    def __init__(self, problem: Problem) -> None:
        least, most = 0, 1
        seen = False
        for buffer in problem.buffers:
            for begin, end in _lifetime_ranges(buffer):
                least, most = (min(least, begin), max(most, end)) if seen else (begin, end)
                seen = True
        self.moments: list[int] | None = None
        self._rank: dict[int, int] = {}
        if least < -_MOST_TIME or most > _MOST_TIME:
            times = {t for buffer in problem.buffers for life in _lifetime_ranges(buffer) for t in life}
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
            return _lifetime_ranges(buffer)
        ranges = _lifetime_ranges(buffer)
        if self.moments is not None:
            ranges = [(self._short(begin), self._short(end)) for begin, end in ranges]
        return ranges if len(ranges) < 2 else merged(ranges)


def _lifetime_ranges(buffer: Buffer) -> list[tuple[int, int]]:
    if buffer.lifetimes is not None:
        return list(buffer.lifetimes)
    if buffer.lifetime is None or isinstance(buffer.lifetime, str):
        return []
    return [buffer.lifetime]
