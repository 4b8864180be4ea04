"""Whole processes, measured from outside: the time a person waits, and the memory that the machine gives."""

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from memstow.planner.bench.usage import ResourceUsage, medians, run_process

MEMSTOW = str(Path(sys.executable).with_name("memstow"))
IN_PROCESS = Path(__file__).with_name("in_process.py")
"""The script of what is measured from outside."""


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """One process that has ended."""

    code: int
    out: bytes
    err: bytes
    usage: ResourceUsage

    @property
    def peak_memory(self) -> int:
        """The most bytes that it held; 0 where the system does not say."""
        return self.usage.peak_memory or 0


def run(*arguments: str | Path, folder: Path | None = None, most_seconds: float | None = None) -> ProcessRun:
    """Run to the end, in this folder; it is killed after these seconds. What a failed one wrote is shown."""
    with TemporaryFile() as out, TemporaryFile() as err:
        words = [*map(str, arguments)]
        code, usage = run_process(words, out, err, folder=folder, most_seconds=most_seconds)
        out.seek(0)
        err.seek(0)
        ran = ProcessRun(code, out.read(), err.read(), usage)
    if code != 0:
        sys.stderr.write(ran.err.decode(errors="replace"))
    return ran


def run_well(*arguments: str | Path) -> ProcessRun:
    """Run to the end; a failure ends the benchmark."""
    ran = run(*arguments)
    if ran.code != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments))} exited with {ran.code}")
    return ran


def typical(times: int, *arguments: str | Path) -> ResourceUsage:
    """Medians of several runs; a failure ends the benchmark."""
    return medians([run_well(*arguments).usage for _ in range(times)])
