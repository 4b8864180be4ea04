"""Where operations run: in children of this server, or on a cluster. Both look the same from here.

A run may end for lack of file handles, memory, processes or disk of the server. That is no fault of the job:
its run is tried again later, and as often as needed.
"""

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from memstow.api.operations.operations import Operation
from memstow.api.operations.request_types import SolveUpdate, decode, decode_issues, encode_issues
from memstow.planner.model.errors import InputError, MemstowError, MissingBackEndError
from memstow.planner.processes import machine
from memstow.planner.processes.frames import Message

Q = TypeVar("Q")
R = TypeVar("R")


# The code of a run that could not start or go on because the server lacks handles, memory, processes or disk.
SHORTAGE: Final = "shortage"


class ChildError(MemstowError):
    """A child process that ended without a result."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class MissingError(ChildError):
    """A run whose solver is not installed where it ran."""

    def __init__(self, message: str) -> None:
        super().__init__("declined", message)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunControl:
    """The limits of a run, and the functions that are called while it goes on, many times a second."""

    memory: int
    seconds: float
    memory_rule: str = "the setting `solve_memory`"
    """What set the limit on memory, for messages."""
    on_update: Callable[[SolveUpdate], None] = lambda _update: None
    stop_requested: Callable[[], bool] = lambda: False
    """Whether it should end with the best plan so far."""
    kill_requested: Callable[[], bool] = lambda: False
    """Whether nobody wants its result."""
    tick: Callable[[], None] = lambda: None


class Executor(Protocol):
    """Runs operations, each in a child of its own, from any number of threads."""

    on_killed: Callable[[str], None]
    """Called with the reason whenever a run ended without a result."""

    def prepare(self) -> None:
        """Get ready for the next run; a failure is left to that run to report."""

    def run(self, operation: Operation[Q, R], request: Q, control: RunControl) -> R:
        """The result of the operation; its own errors, or ChildError when there is no result."""

    def close(self) -> None:
        """End all runs."""


def result_from(done: Message, operation: Operation[Q, R], control: RunControl) -> R:
    """The result in the last message of a run; raises the error that the run ended with."""
    if "result" in done:
        return decode(operation.result, done["result"])
    if "issues" in done:
        raise decode_issues(done["issues"])
    if done.get("declined") == MissingBackEndError.__name__:
        raise MissingError(str(done.get("message")))
    if "declined" in done:
        raise ChildError("declined", str(done.get("message")))
    if done.get("failure") == "memory":
        raise out_of_memory(control)
    raise ChildError(str(done.get("failure")), str(done.get("message")))


def last_message_of(error: Exception) -> Message:
    """The last message of a run that ended with this error, from which `result_from` raises its like."""
    if isinstance(error, InputError):
        return {"kind": "done", "issues": encode_issues(error)}
    if isinstance(error, MemoryError):
        return {"kind": "done", "failure": "memory"}
    text = str(error)
    if isinstance(error, MissingError):
        return {"kind": "done", "declined": MissingBackEndError.__name__, "message": text}
    if isinstance(error, ChildError):
        return {"kind": "done", "failure": error.code, "message": text}
    if is_of_server(error):
        return {"kind": "done", "failure": SHORTAGE, "message": text}
    if is_of_server_or_run(error):
        # Tried again, but not for ever.
        return {"kind": "done", "failure": "child_lost", "message": text}
    if isinstance(error, MemstowError):
        return {"kind": "done", "declined": type(error).__name__, "message": text[:2000]}
    return {"kind": "done", "failure": "defect", "message": f"{type(error).__name__}: {text}"[:2000]}


def out_of_memory(control: RunControl) -> ChildError:
    """The error for a run that went beyond its memory limit."""
    message = f"needs more than the {control.memory >> 20} MiB that {control.memory_rule} allows"
    return ChildError("out_of_memory", message)


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
    return machine.lacks_threads(error) or (isinstance(error, OSError) and error.errno in _OF_SERVER_OR_RUN)


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
