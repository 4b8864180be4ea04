"""Where operations run: in children of this server, or on a cluster. Both look the same from here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from memstow.api.operations.operations import Operation
from memstow.api.operations.request_types import Known, SolveUpdate, decode, decode_issues
from memstow.planner.model.errors import MemstowError, MissingBackEndError
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
    to_tell: Callable[[], Known | None] = lambda: None
    """What the run is to be told: the others of its team have found it since this was last called."""
    tick: Callable[[], None] = lambda: None
    on_wait: Callable[[bool], None] = lambda _waits: None
    """Called with False when a machine of a cluster has begun, and with True when it is lost."""


class Executor(Protocol):
    """Runs operations, each in a child of its own, from any number of threads."""

    on_killed: Callable[[str], None]
    """Called with the reason whenever a run ended without a result."""

    @property
    def spreads(self) -> bool:
        """Whether several runs of one problem have processors of their own."""

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


def out_of_memory(control: RunControl) -> ChildError:
    """The error for a run that went beyond its memory limit."""
    message = f"needs more than the {control.memory >> 20} MiB that {control.memory_rule} allows"
    return ChildError("out_of_memory", message)
