"""One way to measure: whole processes from outside, and calls of the engine in this process.

Of a process that is the time a person waits and the memory that the machine gives. Since the machine may be
busy, the seconds of a processor stand beside those of the clock everywhere.
"""

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from threading import Timer

from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.solve.engine import plan

MEMSTOW = str(Path(sys.executable).with_name("memstow"))
IN_PROCESS = Path(__file__).with_name("in_process.py")
"""The script of what is measured from outside."""

# What is installed has been compiled; a shell that forbids to keep bytecode would compile at every start. And
# measured is what is installed, not what a shell puts before it.
_NOT_PASSED_ON = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}


@dataclass(frozen=True)
class Ran:
    """One process that has ended."""

    code: int
    out: bytes
    err: bytes
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def run(
    *arguments: str | Path,
    data: bytes | None = None,
    folder: Path | None = None,
    most_seconds: float | None = None,
) -> Ran:
    """Run to the end, in this folder; it is killed after these seconds. Of a failure, we say what it said."""
    with TemporaryFile() as out, TemporaryFile() as err, TemporaryFile() as source:
        source.write(data or b"")
        source.seek(0)
        _forget_own_peak()
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(a) for a in arguments], stdin=source, stdout=out, stderr=err, env=ENVIRONMENT, cwd=folder
        )
        with _killed_after(process.pid, most_seconds):
            _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        # Told, so that it does not look for the process again.
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said = err.read()
        if process.returncode != 0:
            sys.stderr.write(said.decode(errors="replace"))
        return Ran(
            process.returncode,
            out.read(),
            said,
            seconds,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024,
        )


def _forget_own_peak() -> None:
    """Until a new process has its program, our memory counts as its own: let that be what we have now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


@contextmanager
def _killed_after(pid: int, seconds: float | None) -> Iterator[None]:
    """Kill the process unless the block ends before."""
    timer = None if seconds is None else Timer(seconds, os.kill, (pid, signal.SIGKILL))
    if timer is None:
        yield
        return
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def typical(times: int, *arguments: str | Path) -> tuple[float, float]:
    """Medians of several runs, in wall-clock and processor seconds; a failure ends the benchmark."""
    runs = [run(*arguments) for _ in range(times)]
    failed = [ran for ran in runs if ran.code != 0]
    if failed:
        raise RuntimeError(f"{' '.join(map(str, arguments))} exited with {failed[0].code}")
    return median(ran.seconds for ran in runs), median(ran.cpu_seconds for ran in runs)


@dataclass(frozen=True, slots=True)
class Effort:
    """What may be lowered from the command line."""

    most_seconds: float | None = None  # no run gets more than this; None: as each table says
    seeds: int = 10

    def seconds(self, usual: float) -> float:
        """The time limit of a run, from its usual one."""
        return usual if self.most_seconds is None else min(usual, self.most_seconds)


WORKERS = 2


@dataclass(frozen=True, slots=True)
class EngineRun:
    """A plan with the seconds that it took."""

    plan: Plan
    seconds: float
    cpu_seconds: float

    @property
    def proven(self) -> bool:
        """Whether nothing is better, or nothing fits."""
        return self.plan.status in (Status.OPTIMAL, Status.INFEASIBLE)

    @property
    def peak(self) -> int:
        """The sum over all pools."""
        return sum(use.peak for use in self.plan.pools)

    @property
    def bound(self) -> int:
        """The best bound of the peak; that of the first term where it is the peak."""
        pools = sum(use.bound for use in self.plan.pools)
        return max([pools, *(term.bound for term in self.plan.objective[:1] if term.term == "peak")])

    @property
    def ratio(self) -> float:
        """The peak as a multiple of the bound."""
        return self.peak / self.bound if self.bound else 1.0

    def cell(self) -> str:
        """A cell of a table: the seconds if proven, else the ratio to the bound."""
        if self.proven:
            return f"{self.seconds:.2f}"
        return f"{self.plan.status} {self.ratio:.4f} ({self.seconds:.1f})"


def solve(problem: Problem, seconds: float) -> EngineRun:
    """Run as the command line does: without pauses to collect garbage."""
    gc.collect()
    gc.disable()
    began, cpu_began = time.perf_counter(), time.process_time()
    found = plan(problem, Options(time_limit=seconds, workers=WORKERS))
    took, cpu_took = time.perf_counter() - began, time.process_time() - cpu_began
    gc.enable()
    return EngineRun(found, took, cpu_took)
