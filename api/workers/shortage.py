"""Lack of file handles, memory, processes or disk of the server, and how long to wait after it.

It is no fault of the job: its run is tried again later, and as often as needed.
"""

import errno
import time
from collections.abc import Callable
from typing import Final

from memstow.api.workers.executor import SHORTAGE, ChildError

# Never due to the limits of a run itself.
_OF_SERVER: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT})
# Due to the memory limit of a run, or to the server.
_OF_SERVER_OR_RUN: Final = frozenset({errno.EAGAIN, errno.ENOMEM})
_FIRST_SECONDS: Final = 0.5
_MOST_SECONDS: Final = 30.0
# Jobs that are remembered; more of them than this cannot be tried in the longest delay.
_MOST_JOBS: Final = 500


def is_of_server(error: BaseException) -> bool:
    """Whether the server lacks something, whatever the limits of the run."""
    return isinstance(error, OSError) and error.errno in _OF_SERVER


def is_of_server_or_run(error: BaseException) -> bool:
    """Whether the server lacks something, or the run has met its memory limit."""
    if isinstance(error, RuntimeError):
        # Python has no other sign of too many threads.
        return "can't start new thread" in str(error)
    return isinstance(error, OSError) and error.errno in _OF_SERVER_OR_RUN


def is_shortage(error: BaseException) -> bool:
    """Whether a run could not start or go on because the server lacks something."""
    if isinstance(error, ChildError):
        return error.code == SHORTAGE
    return isinstance(error, MemoryError) or is_of_server(error) or is_of_server_or_run(error)


class Backoff:
    """Delays that double with each shortage: of this server, and of each job on it.

    A job has a delay of its own, so that one whose run takes all of the disk does not stop the others.
    Used under the lock of its owner.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._count = 0
        self._until = 0.0
        self._jobs: dict[str, tuple[int, float]] = {}

    def shortage(self, job: str) -> None:
        """A run of this job ended in a shortage."""
        now = self._clock()
        if now >= self._until:
            # Runs that fail at the same time count once.
            self._until = now + _delay(self._count)
            self._count += 1
        count, _ = self._jobs.pop(job, (0, 0.0))
        self._jobs[job] = (count + 1, now + _delay(count))
        if len(self._jobs) > _MOST_JOBS:
            del self._jobs[next(iter(self._jobs))]

    def success(self, job: str) -> None:
        """A run of this job ended otherwise."""
        self._count = 0
        self._until = 0.0
        self._jobs.pop(job, None)

    def seconds(self) -> float:
        """Seconds until this server should claim a job again."""
        return max(0.0, self._until - self._clock())

    def delayed_jobs(self) -> list[str]:
        """Jobs that this server should not claim yet."""
        now = self._clock()
        return [job for job, (_, until) in self._jobs.items() if now < until]

    def next_job_seconds(self) -> float | None:
        """Seconds until the first of these may be claimed again; None: there are none."""
        now = self._clock()
        return min((until - now for _, until in self._jobs.values() if now < until), default=None)


def _delay(count: int) -> float:
    return min(_MOST_SECONDS, _FIRST_SECONDS * 2.0 ** min(count, 16))
