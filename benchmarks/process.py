"""Whole processes, measured from outside: the time a person waits and the memory the machine gives."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile

MEMSTOW = str(Path(sys.executable).with_name("memstow"))

# What is installed has been compiled; a shell that forbids to keep bytecode would compile at every start.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Ran:
    """One process that has ended."""

    code: int
    out: bytes
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def run(*arguments: str | Path, data: bytes | None = None) -> Ran:
    """Run to the end; its error stream goes to ours."""
    with TemporaryFile() as out, TemporaryFile() as source:
        source.write(data or b"")
        source.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen([str(a) for a in arguments], stdin=source, stdout=out, env=_ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        # Told, so that it does not look for the process again.
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return Ran(
            process.returncode, out.read(), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        )


def typical(times: int, *arguments: str | Path) -> tuple[float, float]:
    """Medians of several runs, in wall-clock and processor seconds; a failure ends the benchmark."""
    runs = [run(*arguments) for _ in range(times)]
    failed = [ran for ran in runs if ran.code != 0]
    if failed:
        raise RuntimeError(f"{' '.join(map(str, arguments))} exited with {failed[0].code}")
    return median(ran.seconds for ran in runs), median(ran.cpu_seconds for ran in runs)
