"""Measuring: the time, the processor seconds and the memory of a call in this process or of another process.

A run that is too short to be measured is repeated, and its medians count.
"""

import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Final

from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import MAXRSS_UNIT, wait_for_reapers

MOST_RUNS: Final = 25
_DIGITS: Final = 6
# On a busy machine the kernel takes a while to end what a run has killed.
_BURIAL_SECONDS: Final = 5.0
_SAMPLE_SECONDS: Final = 0.01
# Written to `clear_refs`, it lets the kernel count the peak memory of a process anew.
_RESET_PEAK: Final = b"5"


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """The resources that a run used, by the names of a record."""

    seconds: float
    cpu_seconds: float
    peak_memory: int | None = None  # None: that of the process of the run counts
    reported_seconds: float | None = None  # by an outside program
    repeats: int = 1  # runs that the times are medians of

    def values(self) -> Message:
        """The fields that are there, for a message."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def medians(runs: Sequence[ResourceUsage]) -> ResourceUsage:
    """The medians of the times of several runs; the memory is that of the first."""
    if len(runs) == 1:
        return runs[0]
    reported = [run.reported_seconds for run in runs if run.reported_seconds is not None]
    return replace(
        runs[0],
        seconds=_median(run.seconds for run in runs),
        cpu_seconds=_median(run.cpu_seconds for run in runs),
        reported_seconds=_median(reported) if reported else None,
        repeats=len(runs),
    )


def _median(values: Iterable[float]) -> float:
    from statistics import median  # slow to import

    return round(median(values), _DIGITS)


def repeat_short_run(
    first: ResourceUsage, repeat: Callable[[], ResourceUsage | None], enough: float
) -> ResourceUsage:
    """The medians of the times of this run and its repeats, and the number of runs.

    `repeat` does the run once more; None, for a run that failed, ends the repeating.
    """
    runs = [first]
    while len(runs) < MOST_RUNS and sum(run.seconds for run in runs) < enough:
        run = repeat()
        if run is None:
            break
        runs.append(run)
    return medians(runs)


class Stopwatch:
    """Measures times from its creation on."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._cpu = cpu_seconds()

    def usage(self) -> ResourceUsage:
        """The times so far; waits until children that were killed have ended."""
        seconds = time.monotonic() - self._begin
        wait_for_reapers(_BURIAL_SECONDS)
        return ResourceUsage(round(seconds, _DIGITS), round(cpu_seconds() - self._cpu, _DIGITS))


def cpu_seconds() -> float:
    """Processor seconds of this process, and of those it has started and waited for."""
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def reset_peak_memory() -> None:
    """Forget what this process has used so far, where the system lets it."""
    with suppress(OSError):
        file = os.open("/proc/self/clear_refs", os.O_WRONLY)
        try:
            os.write(file, _RESET_PEAK)
        finally:
            os.close(file)


def peak_memory() -> int:
    """The most memory that this process has used since then, or one that it started and waited for."""
    return max(high_water("self") or _most(resource.RUSAGE_SELF), _most(resource.RUSAGE_CHILDREN))


def high_water(process: int | str) -> int:
    """The most memory that a process has held by itself; 0 where the system does not tell.

    Its resource usage begins with what the program had held that it was started from.
    """
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def _most(who: int) -> int:
    return resource.getrusage(who).ru_maxrss * MAXRSS_UNIT


def clean_environment() -> dict[str, str]:
    """The environment for programs that are measured, without what is meant for children of memstow.

    What is installed has been compiled: a shell that forbids to keep bytecode would compile at every start.
    """
    ours = ("PYTHONPATH", "PYTHONWARNINGS", "PYTHONDONTWRITEBYTECODE", "MEMSTOW_FOLDER")
    return {name: value for name, value in os.environ.items() if name not in ours}


def run_process(
    arguments: Sequence[str],
    out: IO[bytes],
    err: IO[bytes],
    *,
    folder: str | Path | None = None,
    most_seconds: float | None = None,
) -> tuple[int, ResourceUsage]:
    """Run a program to its end; its exit status and resource usage. It is killed after these seconds.

    It stays in the process group of its caller, and reads nothing.
    """
    # A process begins with the peak memory of the one it was started from; only more than that is its own.
    reset_peak_memory()
    floor = high_water("self") or _most(resource.RUSAGE_SELF)
    begin = time.monotonic()
    program = subprocess.Popen(  # noqa: S603
        arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder, env=clean_environment()
    )
    timer = (
        None
        if most_seconds is None
        else threading.Timer(most_seconds, os.kill, (program.pid, signal.SIGKILL))
    )
    if timer is not None:
        timer.daemon = True
        timer.start()
    sampler = _Sampler(program.pid)
    _, status, used = os.wait4(program.pid, 0)
    seconds = time.monotonic() - begin
    if timer is not None:
        timer.cancel()
    # Noted, so that `program` does not look for the process again.
    program.returncode = os.waitstatus_to_exitcode(status)
    sampled = sampler.end()
    most = used.ru_maxrss * MAXRSS_UNIT
    return program.returncode, ResourceUsage(
        seconds=round(seconds, _DIGITS),
        cpu_seconds=round(used.ru_utime + used.ru_stime, _DIGITS),
        peak_memory=most if most > floor or not sampled else sampled,
    )


class _Sampler:
    """Reads the peak memory of a process now and then, for as long as it runs."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._peak = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def end(self) -> int:
        """The largest that was seen; 0 where the system does not tell."""
        self._over.set()
        self._thread.join()
        return self._peak

    def _sample(self) -> None:
        while not self._over.wait(_SAMPLE_SECONDS):
            self._peak = max(self._peak, high_water(self._process))
