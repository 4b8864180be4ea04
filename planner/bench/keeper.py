"""A keeper: a process of one thread that forks a child for a run, watches it, and makes the record of it.

Started as `python -m planner.bench.keeper EVENTS`. A child that did a quick run does the next one too, since
to fork takes longer than to solve a small problem; any other ends with its run.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import time
from typing import Any, Final

from planner import formats, machine
from planner.bench import child
from planner.bench.record import to_line
from planner.bench.recording import Heard, record_of
from planner.generate.planted import planted
from planner.isolate import leash
from planner.isolate.child import Teller
from planner.isolate.forked import Forked
from planner.isolate.frames import Message, Reader
from planner.isolate.process import children
from planner.isolate.session import EndedError, MemoryLimitError, Session
from solvers.models.register import BACK_ENDS

_PIECE: Final = 1 << 20
# Reading or judging a problem of a million buffers takes half a minute where nothing else runs.
_READING_SECONDS: Final = 600.0
# A run that is to end by the clock may be so late, whoever solves, before it is killed: seconds, a share of
# its time, and seconds for each buffer.
_LATE_SECONDS: Final = 1.0
_LATE_SHARE: Final = 0.25
_LATE_PER_BUFFER: Final = 50e-6
# A deterministic run is bounded in work and not in time: a limit for what never ends.
_ENDLESS_SECONDS: Final = 3600.0
_MEMORY_SHARE: Final = 0.8
# What is quick, and how often a child may be.
_QUICK_SECONDS: Final = 0.25
_QUICK_MEMORY: Final = 64 << 20
_MOST_RUNS: Final = 200
# What is killed may have started something in its last moment, and that again; what may not be killed stays.
_MOST_GENERATIONS: Final = 100


class OutOfTimeError(EndedError):
    """A run that did not end in time."""


class Keeper:
    """Has one child at a time."""

    def __init__(self) -> None:
        self._child: Forked | None = None
        self._runs = 0
        self._cpu_before = 0.0
        self._until = 0.0
        self._memory = int(machine.memory() * _MEMORY_SHARE / machine.processors())
        self._parent = select.poll()
        self._parent.register(0, 0)

    def serve(self, request: Message) -> Message:
        """One run: its record as a line, or why there is nothing to record."""
        if self._child is None:
            self._child = Forked(child.serve)
            self._runs, self._cpu_before = 0, 0.0
        options: dict[str, Any] = request["asked"]["options"]
        memory = options["memory"] or self._memory
        heard = Heard()
        begin = time.monotonic()
        self._until = begin + _READING_SECONDS

        def hear(message: Message) -> None:
            heard.hear(message)
            if message["kind"] == "problem":
                self._until = time.monotonic() + _limit(options, message["features"]["buffers"])
            elif message["kind"] == "judging":
                self._until = time.monotonic() + _READING_SECONDS

        session = Session(self._child, {**request, "memory": memory}, memory, hear, self._look)
        try:
            done = session.run()
        except EndedError as error:
            done = self._failed(error, time.monotonic() - begin)
        self._runs += 1
        quick = time.monotonic() - begin < _QUICK_SECONDS and done.get("peak_memory", 0) < _QUICK_MEMORY
        if not quick or not _may_go_on(request, done) or self._runs >= _MOST_RUNS:
            self.close()
        else:
            self._cpu_before = done["cpu_total"]
        if "unreadable" in done:
            return {"kind": "done", "unreadable": done["unreadable"]}
        return {"kind": "done", "line": to_line(record_of(request, heard, done))}

    def close(self) -> float:
        """End the child, and whatever of it is left; processor seconds that all of it used."""
        seconds = 0.0
        if self._child is not None:
            self._child.close()
            seconds, self._child = self._child.usage.cpu_seconds, None
            # Collecting is off, since it would slow every run; here it costs little.
            gc.collect()
        return seconds + _end_strays()

    def _failed(self, error: EndedError, seconds: float) -> Message:
        """What there is to say of a run that was ended, or ended by itself."""
        assert self._child is not None  # noqa: S101
        ended = self._child
        cpu_seconds = self.close()
        by_us = isinstance(error, OutOfTimeError | MemoryLimitError)
        return {
            "status": "killed" if by_us or ended.status == -9 else "error",
            "error": str(error),
            "seconds": round(seconds, 6),
            "cpu_seconds": round(cpu_seconds - self._cpu_before, 6),
            "peak_memory": ended.usage.peak_memory,
        }

    def _look(self, now: float) -> None:
        if self._parent.poll(0):
            self.close()
            leash.end_everything()
        if now >= self._until:
            raise OutOfTimeError("out of time")


def main(arguments: list[str]) -> None:
    """Serve requests until there are no more."""
    leash.adopt_orphans()
    _warm()
    teller = Teller(int(arguments[0]))
    keeper = Keeper()
    reader = Reader()
    try:
        while data := os.read(0, _PIECE):
            for message in reader.feed(data):
                teller.send(keeper.serve(message))
    finally:
        keeper.close()
        leash.end_everything()


def _limit(options: dict[str, Any], buffers: int) -> float:
    if options.get("deterministic"):
        return _ENDLESS_SECONDS
    limit: float = options["time_limit"]
    return limit + _LATE_SECONDS + _LATE_SHARE * limit + _LATE_PER_BUFFER * buffers


def _may_go_on(request: Message, done: Message) -> bool:
    """Whether nothing of this run can be left in the child."""
    asked = request["asked"]
    ours = asked["command"] is None and asked["name"] not in BACK_ENDS
    return ours and done.get("status") in ("optimal", "feasible", "infeasible", "unknown", "declined")


def _end_strays() -> float:
    """Kill what a child has left, in whichever group it hid; processor seconds that it used."""
    seconds = 0.0
    for _ in range(_MOST_GENERATIONS):
        strays = children(os.getpid())
        if not strays:
            break
        for stray in strays:
            with contextlib.suppress(ProcessLookupError, ChildProcessError, PermissionError):
                os.kill(stray, signal.SIGKILL)
                used = os.wait4(stray, 0)[2]
                seconds += used.ru_utime + used.ru_stime
    return seconds


def _warm() -> None:
    """Do once what every run does, so that children find it done."""
    request = {
        "data": formats.write_problem(planted(20, 0)).decode("latin-1"),
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
        "memory": 1 << 30,
    }
    child.perform(request, lambda _message: None)
    gc.disable()
    gc.freeze()


if __name__ == "__main__":
    main(sys.argv[1:])
