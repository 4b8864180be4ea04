"""What a piece of work takes: seconds of the clock and of processors, and memory; children included."""

import os
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memstow.planner.processes.forked import MAXRSS_UNIT
from memstow.planner.processes.process import wait_for_reapers

_DIGITS = 6
# On a busy machine the kernel takes a while to end what a run has killed.
_BURIAL_SECONDS: Final = 5.0
# Written to `clear_refs`, it lets the kernel count the peak memory of a process anew.
_RESET_PEAK: Final = b"5"


class Spent:
    """Measures from when it is made."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._cpu = cpu_seconds()

    def values(self) -> dict[str, Any]:
        """What a record says of it."""
        seconds = time.monotonic() - self._begin
        wait_for_reapers(_BURIAL_SECONDS)
        return {
            "seconds": round(seconds, _DIGITS),
            "cpu_seconds": round(cpu_seconds() - self._cpu, _DIGITS),
        }


def cpu_seconds() -> float:
    """Of this process, and of those it has started and waited for."""
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
