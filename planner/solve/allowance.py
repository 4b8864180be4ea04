"""The time and the work that all solves of one call may take together."""

import time
from dataclasses import replace
from typing import Final

from memstow.planner.model.options import Options
from memstow.planner.solve.portfolio import DEFAULT_WORK
from memstow.solvers.core import Budget

# What is left at the end and too little for another solve.
_REST: Final = 0.02


class Allowance:
    """What is left of the limits of a call."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._begin = time.monotonic()
        self.work = 0

    def share(self, fraction: float) -> Options:
        """The options of one solve, which may take this fraction of what is left."""
        options, limit = self._options, self._work_limit()
        if limit is not None:
            left = max(limit - self.work, 0)
            options = replace(options, work_limit=int(left * fraction))
        return replace(options, time_limit=max(self._seconds_left(), 0.0) * fraction)

    def budget(self, fraction: float) -> Budget:
        """The same for native code."""
        limit = self._work_limit()
        work = -1 if limit is None else int(max(limit - self.work, 0) * fraction)
        seconds = -1.0 if self._options.deterministic else max(self._seconds_left(), 0.0) * fraction
        return Budget(seconds, work)

    def mark(self, fraction: float) -> float:
        """Where this fraction of what is left will have been taken."""
        if self._options.deterministic:
            return self.work + max((self._work_limit() or 0) - self.work, 0) * fraction
        return time.monotonic() + max(self._seconds_left(), 0.0) * fraction

    def is_past(self, mark: float) -> bool:
        """Whether that much has been taken."""
        return (self.work if self._options.deterministic else time.monotonic()) >= mark

    def spend(self, work: int) -> None:
        """Count the work of a solve."""
        self.work += work

    @property
    def over(self) -> bool:
        """Whether too little is left for another solve."""
        limit = self._work_limit()
        if limit is not None and limit - self.work <= limit * _REST:
            return True
        return not self._options.deterministic and self._seconds_left() <= self._options.time_limit * _REST

    @property
    def seconds(self) -> float:
        """Since the call; a deterministic run has none."""
        return 0.0 if self._options.deterministic else round(time.monotonic() - self._begin, 6)

    @property
    def seconds_left(self) -> float:
        """Until the time limit; none where it is over."""
        return max(self._seconds_left(), 0.0)

    def affords(self, seconds: float) -> bool:
        """Whether so much time is left; that of a deterministic run has no end."""
        return self._options.deterministic or self._seconds_left() >= seconds

    def _seconds_left(self) -> float:
        return self._options.time_limit - (time.monotonic() - self._begin)

    def _work_limit(self) -> int | None:
        if self._options.work_limit is not None or not self._options.deterministic:
            return self._options.work_limit
        return DEFAULT_WORK
