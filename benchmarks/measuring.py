"""One way to measure: whole processes from outside, and calls of the engine in this process.

Of a process that is the time a person waits and the memory that the machine gives. Since the machine may be
busy, the seconds of a processor stand beside those of the clock everywhere.
"""

import gc
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from memstow.planner.bench.usage import ResourceUsage, Stopwatch, medians, run_process
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.solve import engine

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
    usage: ResourceUsage

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

    @property
    def reuse_cost(self) -> int:
        """The value of that term; 0 where there is none."""
        return sum(term.value for term in self.plan.objective if term.term == "reuse_cost")

    def cell(self) -> str:
        """A cell of a table: the seconds if proven, else the ratio to the bound."""
        if self.proven:
            return f"{self.usage.seconds:.2f}"
        return f"{self.plan.status} {self.ratio:.4f} ({self.usage.seconds:.1f})"


def solve(problem: Problem, seconds: float, solver: str = "auto") -> EngineRun:
    """Run as the command line does: without pauses to collect garbage."""
    gc.collect()
    gc.disable()
    stopwatch = Stopwatch()
    try:
        plan = engine.plan(problem, Options(solver=solver, time_limit=seconds, workers=WORKERS))
        return EngineRun(plan, stopwatch.usage())
    finally:
        gc.enable()
