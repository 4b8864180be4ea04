"""A supervisor: a process of one thread that forks a child for runs, watches it, and makes their records.

`python -m memstow.planner.bench.supervisor EVENTS` reads tasks from standard input and sends records to
EVENTS. A child goes on with the next run as long as runs are quick, since a fork takes longer than solving a
small problem; after any other run it ends. A child that dies loses its current run only: a new child goes on
with the next.
"""

import gc
import select
import sys
import time
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from memstow.planner import formats
from memstow.planner.bench import child
from memstow.planner.bench.judgement import RunEvents, record_of
from memstow.planner.bench.record import to_line
from memstow.planner.bench.task import InstanceSource, RunOptions, SolverRequest, Task, task_from
from memstow.planner.generate.planted import planted
from memstow.planner.processes import child_side, machine
from memstow.planner.processes.child_side import Sender, requests
from memstow.planner.processes.frames import GarbageError, Message
from memstow.planner.processes.process import (
    EndedError,
    ForkedProcess,
    MemoryLimitError,
    Session,
    Usage,
    end_children,
)

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


_MEMORY_SHARE: Final = 0.8
_MOST_RUNS: Final = 200
# A wake-up for each message of a child would cost more than a quick run.
_REST_SECONDS: Final = 0.01


class OutOfTimeError(EndedError):
    """A run that did not end in time."""


class Supervisor:
    """Has one child at a time."""

    def __init__(self) -> None:
        self._child: ForkedProcess | None = None
        self._runs = 0
        self._cpu_before = 0.0
        self._memory = int(machine.memory() * _MEMORY_SHARE / machine.processors())
        self._parent = select.poll()
        self._parent.register(0, 0)

    def serve(self, request: Message) -> Message:
        """Do the first of the runs, and more while there is time: a record of each, or why there is none."""
        tasks = [task_from(run) for run in request["runs"]]
        end = time.monotonic() + request["seconds"]
        results: list[Message] = []
        while not results or (len(results) < len(tasks) and time.monotonic() < end):
            results += self._some(tasks[len(results) :], end)
        return {"kind": "done", "results": results}

    def close(self) -> Usage:
        """End the child and all its descendants; return what they used."""
        used = Usage(0.0, 0)
        if self._child is not None:
            self._child.close()
            used, self._child = self._child.usage, None
            # Collecting is off, since it would slow every run; here it costs little.
            gc.collect()
        left = end_children()
        return Usage(used.cpu_seconds + left.cpu_seconds, max(used.peak_memory, left.peak_memory))

    def _some(self, tasks: list[Task], end: float) -> list[Message]:
        """The results of the runs that one child did: at least of the first."""
        if self._child is None:
            self._child = ForkedProcess(child.serve)
            self._runs, self._cpu_before = 0, 0.0
        memory = self._memory_limit(tasks[0])
        alike = list(takewhile(lambda task: self._memory_limit(task) == memory, tasks))
        batch = RunBatch(alike[: _MOST_RUNS - self._runs], self._cpu_before)

        def look(now: float) -> None:
            if self._parent.poll(0):
                self.close()
                child_side.end_everything()
            if now >= batch.until:
                raise OutOfTimeError("out of time")

        request = {
            "kind": "runs",
            "runs": [task.message() for task in batch.tasks],
            "memory": memory,
            "seconds": max(end - time.monotonic(), 0.0),
        }
        session = Session(self._child, request, memory, batch.receive, look)
        session.rest = _REST_SECONDS
        try:
            done = session.run()
        except EndedError as error:
            self._failed(error, batch)
        else:
            self._cpu_before = batch.cpu_before
            self._runs += len(batch.results)
            if not done["again"] or self._runs >= _MOST_RUNS:
                self.close()
        return batch.results

    def _failed(self, error: EndedError, batch: RunBatch) -> None:
        """Record the current run of a child that was killed or died."""
        assert self._child is not None  # noqa: S101
        ended, seconds = self._child, batch.seconds
        used = self.close()
        if batch.complete:
            return
        by_us = isinstance(error, OutOfTimeError | MemoryLimitError)
        batch.finish(
            {
                "status": "killed" if by_us or ended.status == -9 else "error",
                "error": str(error),
                "seconds": round(seconds, 6),
                "cpu_seconds": round(used.cpu_seconds - batch.cpu_before, 6),
                "peak_memory": used.peak_memory,
            }
        )

    def _memory_limit(self, task: Task) -> int:
        return task.solver.options["memory"] or self._memory


def main(arguments: list[str]) -> None:
    """Serve requests until there are no more."""
    child_side.move_into_folder()
    child_side.adopt_orphans()
    # Do one run before any fork, so that children find everything loaded.
    source = InstanceSource("small", "", data=formats.write_problem(planted(20, 0)))
    solver = SolverRequest(
        "auto",
        {
            "format": None,
            "target": None,
            "capacity": None,
            "fit_only": False,
            "time_limit": 1.0,
            "memory": None,
            "gap": 0.0,
            "deterministic": True,
            "work_limit": 100_000,
            "workers": 1,
        },
        repeat_seconds=0.0,
    )
    child.perform(Task(source, source.content, solver, 0), 1 << 30, lambda _message: None)
    gc.disable()
    gc.freeze()
    sender = Sender(int(arguments[0]))
    supervisor = Supervisor()
    try:
        for request in requests():
            sender.send(supervisor.serve(request))
    finally:
        supervisor.close()
        child_side.end_everything()


if __name__ == "__main__":
    main(sys.argv[1:])
