"""The runs of one child process, followed by its messages: the result of each, and its time limit."""

import time
from collections.abc import Sequence
from typing import Final

from memstow.planner.bench.records.make_record import RunEvents, record_of
from memstow.planner.bench.records.record import to_line
from memstow.planner.bench.runs.task import RunOptions, Task
from memstow.planner.processes.frames import GarbageError, Message

# Reading or judging a problem of a million buffers takes half a minute where nothing else runs.
_READING_SECONDS: Final = 600.0
# How late a run with a time limit may be before it is killed, whoever solves: seconds, a share of
# its time, and seconds for each buffer.
_LATE_SECONDS: Final = 1.0
_LATE_SHARE: Final = 0.25
_LATE_PER_BUFFER: Final = 50e-6
# A deterministic run is bounded in work and not in time: a limit for what never ends.
_ENDLESS_SECONDS: Final = 3600.0


class RunBatch:
    """The current run of a child, and the results of the runs before."""

    def __init__(self, tasks: Sequence[Task], cpu_before: float) -> None:
        self.tasks = tasks
        self.results: list[Message] = []
        self.cpu_before = cpu_before
        """Processor seconds of the child at the start of the current run."""
        self._start()

    def receive(self, message: Message) -> None:
        """Handle a message of the child."""
        match message["kind"]:
            case "batch":
                for each in message["messages"]:
                    self._receive(each)
            case "done":
                pass
            case kind:
                raise GarbageError(f"a message of kind {kind!r}")

    def finish(self, over: Message) -> None:
        """End the current run with this result."""
        result: Message = {"seconds": self.seconds}
        if "unreadable" in over or "missing" in over:
            result |= {name: over[name] for name in ("unreadable", "missing") if name in over}
        else:
            # Bytes travel as they are: as a part of other JSON it would be written and read once more.
            result["line"] = to_line(record_of(self._task, self._events, over)).encode()
        self.results.append(result)
        self._start()

    @property
    def complete(self) -> bool:
        """Whether every run is over."""
        return len(self.results) == len(self.tasks)

    @property
    def seconds(self) -> float:
        """Seconds since the start of the current run."""
        return time.monotonic() - self._begin

    @property
    def _task(self) -> Task:
        return self.tasks[len(self.results)]

    def _start(self) -> None:
        self._events = RunEvents()
        self._begin = time.monotonic()
        self.until = self._begin + _READING_SECONDS
        """The deadline of the current run, on the monotonic clock."""

    def _receive(self, message: Message) -> None:
        match message["kind"]:
            case "problem":
                limit = _limit(self._task.solver.options, message["features"]["buffers"])
                self.until = time.monotonic() + limit
            case "judging":
                self.until = time.monotonic() + _READING_SECONDS
            case "over":
                self.cpu_before = message["cpu_total"]
                self.finish(message)
                return
        self._events.receive(message)


def _limit(options: RunOptions, buffers: int) -> float:
    if options.get("deterministic"):
        return _ENDLESS_SECONDS
    limit = options["time_limit"]
    return limit + _LATE_SECONDS + _LATE_SHARE * limit + _LATE_PER_BUFFER * buffers
