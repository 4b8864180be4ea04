"""A keeper: a process of one thread that forks a child for runs, watches it, and makes their records.

Started as `python -m memstow.planner.bench.runs.supervisor EVENTS`. A child goes on with the next run as long
as runs are quick, since to fork takes longer than to solve a small problem; any other ends with its run.
What ends a child is the end of the run it was at: the runs after it go on in a new one.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import time
from itertools import takewhile
from typing import Final

from memstow.planner import formats
from memstow.planner.bench.runs import child
from memstow.planner.bench.runs.child_messages import Course
from memstow.planner.generate.planted import planted
from memstow.planner.processes import lifeline, machine
from memstow.planner.processes.child import Sender, requests
from memstow.planner.processes.forked import MAXRSS_UNIT, ForkedProcess, Usage
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import children
from memstow.planner.processes.session import EndedError, MemoryLimitError, Session

_MEMORY_SHARE: Final = 0.8
_MOST_RUNS: Final = 200
# To be woken by everything that a child tells would cost more than a quick run may.
_REST_SECONDS: Final = 0.01
# What is killed may have started something in its last moment, and that again; what may not be killed stays.
_MOST_GENERATIONS: Final = 100


class OutOfTimeError(EndedError):
    """A run that did not end in time."""


class Keeper:
    """Has one child at a time."""

    def __init__(self) -> None:
        self._child: ForkedProcess | None = None
        self._runs = 0
        self._cpu_before = 0.0
        self._memory = int(machine.memory() * _MEMORY_SHARE / machine.processors())
        self._parent = select.poll()
        self._parent.register(0, 0)

    def serve(self, request: Message) -> Message:
        """The first of the runs, and as many more as there is time for: a record of each, or why none."""
        runs: list[Message] = request["runs"]
        end = time.monotonic() + request["seconds"]
        results: list[Message] = []
        while not results or (len(results) < len(runs) and time.monotonic() < end):
            results += self._some(runs[len(results) :], end)
        return {"kind": "done", "results": results}

    def close(self) -> Usage:
        """End the child, and whatever of it is left; what all of it used."""
        used = Usage(0.0, 0)
        if self._child is not None:
            self._child.close()
            used, self._child = self._child.usage, None
            # Collecting is off, since it would slow every run; here it costs little.
            gc.collect()
        left = _end_strays()
        return Usage(used.cpu_seconds + left.cpu_seconds, max(used.peak_memory, left.peak_memory))

    def _some(self, runs: list[Message], end: float) -> list[Message]:
        """What came of the runs that one child did: at least of the first."""
        if self._child is None:
            self._child = ForkedProcess(child.serve)
            self._runs, self._cpu_before = 0, 0.0
        memory = self._may_use(runs[0])
        together = list(takewhile(lambda run: self._may_use(run) == memory, runs))[: _MOST_RUNS - self._runs]
        course = Course(together, self._cpu_before)

        def look(now: float) -> None:
            if self._parent.poll(0):
                self.close()
                lifeline.end_everything()
            if now >= course.until:
                raise OutOfTimeError("out of time")

        request = {
            "kind": "runs",
            "runs": together,
            "memory": memory,
            "seconds": max(end - time.monotonic(), 0.0),
        }
        session = Session(self._child, request, memory, course.hear, look)
        session.rest = _REST_SECONDS
        try:
            done = session.run()
        except EndedError as error:
            self._failed(error, course)
        else:
            self._cpu_before = course.cpu_before
            self._runs += len(course.results)
            if not done["again"] or self._runs >= _MOST_RUNS:
                self.close()
        return course.results

    def _failed(self, error: EndedError, course: Course) -> None:
        """What there is to say of a run that was ended, or ended by itself."""
        assert self._child is not None  # noqa: S101
        ended, seconds = self._child, course.seconds
        used = self.close()
        if course.complete:
            return
        by_us = isinstance(error, OutOfTimeError | MemoryLimitError)
        course.end(
            {
                "status": "killed" if by_us or ended.status == -9 else "error",
                "error": str(error),
                "seconds": round(seconds, 6),
                "cpu_seconds": round(used.cpu_seconds - course.cpu_before, 6),
                "peak_memory": used.peak_memory,
            }
        )

    def _may_use(self, run: Message) -> int:
        memory: int | None = run["asked"]["options"]["memory"]
        return memory or self._memory


def main(arguments: list[str]) -> None:
    """Serve requests until there are no more."""
    lifeline.adopt_orphans()
    _warm()
    sender = Sender(int(arguments[0]))
    keeper = Keeper()
    try:
        for request in requests():
            sender.send(keeper.serve(request))
    finally:
        keeper.close()
        lifeline.end_everything()


def _end_strays() -> Usage:
    """Kill what a child has left, in whichever group it hid; what that used."""
    seconds, memory = 0.0, 0
    for _ in range(_MOST_GENERATIONS):
        strays = children(os.getpid())
        if not strays:
            break
        for stray in strays:
            with contextlib.suppress(ProcessLookupError, ChildProcessError, PermissionError):
                os.kill(stray, signal.SIGKILL)
                used = os.wait4(stray, 0)[2]
                seconds += used.ru_utime + used.ru_stime
                memory = max(memory, used.ru_maxrss * MAXRSS_UNIT)
    return Usage(seconds, memory)


def _warm() -> None:
    """Do once what every run does, so that children find it done."""
    request = {
        "data": formats.write_problem(planted(20, 0)),
        "generated": None,
        "asked": {
            "name": "auto",
            "command": None,
            "options": {
                "format": None,
                "target": None,
                "capacity": None,
                "fit_only": False,
                "time_limit": 1.0,
                "gap": 0.0,
                "deterministic": True,
                "work_limit": 100_000,
                "workers": 1,
            },
        },
        "seed": 0,
        "repeat_seconds": 0.0,
    }
    child.perform(request, 1 << 30, lambda _message: None)
    gc.disable()
    gc.freeze()


if __name__ == "__main__":
    main(sys.argv[1:])
