"""Resource usage of a run: wall-clock and processor seconds, and memory; children included."""

import os
import resource
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from memstow.planner.processes.forked import MAXRSS_UNIT
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import wait_for_reapers

_DIGITS = 6
# On a busy machine the kernel takes a while to end what a run has killed.
_BURIAL_SECONDS: Final = 5.0
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
