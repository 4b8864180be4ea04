"""What is left of the limits of a run that has several parts."""

import time
from dataclasses import replace

from memstow.planner.model.options import Options
from memstow.planner.solve.portfolio import DEFAULT_WORK
from memstow.solvers.core import Budget


class TimeLeft:
    """The time that is left since this was made; of a deterministic run, the work."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._end = time.monotonic() + options.time_limit
        self.work = 0

    def spend(self, work: int) -> None:
        """Count work that was done."""
        self.work += work

    @property
    def seconds(self) -> float:
        """Seconds left."""
        return max(self._end - time.monotonic(), 0.0)

    @property
    def work_left(self) -> int:
        """Steps left, of a run that is limited in them."""
        limit = self._options.work_limit
        return max((DEFAULT_WORK if limit is None else limit) - self.work, 0)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        if self._options.deterministic:
            return self.work_left == 0
        return self.seconds <= 0.0

    def mark(self, share: float) -> float:
        """When this share of what is left will have been used."""
        if self._options.deterministic:
            return self.work + self.work_left * share
        return time.monotonic() + self.seconds * share

    def is_past(self, mark: float) -> bool:
        """Whether that is now, or was."""
        return (self.work if self._options.deterministic else time.monotonic()) >= mark

    def part(self, share: float) -> Options:
        """The options of a run that may take this share of what is left."""
        if self._options.deterministic:
            return replace(self._options, work_limit=int(self.work_left * share))
        return replace(self._options, time_limit=self.seconds * share)

    def budget(self, share: float) -> Budget:
        """The same for native code."""
        if self._options.deterministic:
            return Budget(-1.0, int(self.work_left * share))
        return Budget(self.seconds * share, -1)
