"""What a piece of work takes: seconds of the clock and of processors, and memory; children included."""

import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from planner.isolate.forked import MAXRSS_UNIT

_DIGITS = 6
# Written to `clear_refs`, it lets the kernel count the peak memory of a process anew.
_RESET_PEAK: Final = "5"


class Spent:
    """Measures from when it is made."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._cpu = cpu_seconds()

    def values(self) -> dict[str, Any]:
        """What a record says of it."""
        seconds = time.monotonic() - self._begin
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
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)


def peak_memory() -> int:
    """The most memory that this process has used since then, or one that it started and waited for."""
    started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * MAXRSS_UNIT
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return max(started, int(line.split()[1]) << 10)
    return max(started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT)
