"""One run of the engine, measured: by the clock and, since the machine may be busy, by the processor."""

import gc
import time
from dataclasses import dataclass

from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.solve.engine import plan

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
