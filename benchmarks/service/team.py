"""A problem solved by one run and by a team of two: `python -m benchmarks.service.team [SEEDS] [MILLIONS]`.

A Dask scheduler and two workers of one thread on this machine. Each problem has a peak to be reached, given
as a gap to its bound, at which all runs end, or when each thread has had so many millions of steps. What
counts is the work of the thread that has done most: with a core for each, that is the time. Seconds are told
as well; where the cores are busy they are no measure of anything. A member that is killed at the end does not
tell its work, which is then missing in the sum.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.hard.instances import minimalloc, there
from benchmarks.page import stamp, table
from benchmarks.service.servers import farm
from memstow.api.operations.encoding import document_bytes, options_to_text
from memstow.api.operations.request_types import SolveRequest, SolveResult, SolveUpdate
from memstow.api.workers.dask_executor import DaskExecutor
from memstow.api.workers.executor import RunControl
from memstow.api.workers.team import Team
from memstow.planner.generate.planted import planted
from memstow.planner.model.options import Incumbent, Options
from memstow.planner.model.problem import Problem
from memstow.planner.solve import engine

WORKERS = 2
MEMORY = 4 << 30
# Far more than the work takes: what ends a run is work.
SECONDS = 300.0
# The lowest peak of J that one run reaches in some seconds.
J_PEAK, J_BOUND = 1_013_760, 989_184


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, the gap at which a run ends, and whether a plan is known: only then it is taken apart."""

    name: str
    problem: Problem
    gap: float = 0.0
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run, or a team, has come to."""

    reached: bool
    longest: int  # work of the member that has done most
    total: int
    seconds: float
    stopped: float  # seconds from the plan that ended it to the end of all
    peak: int


def after_each_other(problems: list[Problem]) -> Problem:
    """All of them in one memory, each when the one before has ended."""
    buffers, begin = [], 0
    for number, problem in enumerate(problems):
        lives = [buffer.lifetime for buffer in problem.buffers if isinstance(buffer.lifetime, tuple)]
        for buffer, (first, last) in zip(problem.buffers, lives, strict=True):
            name = f"{number}-{buffer.id}"
            buffers.append(replace(buffer, id=name, lifetime=(first + begin, last + begin)))
        begin += max(last for _, last in lives)
    return Problem(version=1, buffers=tuple(buffers))


def cases() -> Iterator[Case]:
    """Those of MiniMalloc where they are there, and planted ones."""
    if there("minimalloc"):
        by_letter = dict(minimalloc())
        yield Case("D, proven", by_letter["D"])
        yield Case(f"J, {J_PEAK:,}", by_letter["J"], (J_PEAK - J_BOUND) / J_PEAK)
    yield Case("planted 200, 1 % slack, 1.03", planted(200, 1, slack=0.01), 0.03)
    yield Case("planted 600, 1 % slack, proven", planted(600, 1, slack=0.01))
    parts = [planted(150, seed, slack=0.01) for seed in range(4)]
    yield Case("four parts of 150, 1.03", after_each_other(parts), 0.03, apart=True)


def ran(executor: DaskExecutor, case: Case, options: Options, size: int) -> Ran:
    """One run of a team of this size."""
    best_at = 0.0

    def hear(update: SolveUpdate) -> None:
        nonlocal best_at
        if isinstance(update, Incumbent):
            best_at = time.monotonic()

    known = None
    if case.apart:
        known = engine.plan(case.problem, Options(solver="greedy", deterministic=True, work_limit=1_000_000))
    request = SolveRequest(problem=document_bytes(case.problem), options=options_to_text(options))
    control = RunControl(memory=MEMORY, seconds=options.time_limit + 60, on_update=hear)
    begin = time.monotonic()
    team = Team(executor, request, control, size, known)
    result: SolveResult = team.run(options.time_limit, None)
    end = time.monotonic()
    value, bound = result.value or 0, result.bound or 0
    reached = (value - bound) / value <= options.gap
    works = list(team.works.values())
    return Ran(reached, max(works, default=0), sum(works), end - begin, end - best_at, value)


def row(executor: DaskExecutor, case: Case, seeds: int, work: int) -> Iterator[list[object]]:
    """By way of solving: how many seeds have reached the peak, and with which work."""
    ways = (("one thread", 1, 1), ("two threads", 2, 1), ("team of two", 1, 2))
    for name, threads, size in ways:
        options = Options(time_limit=SECONDS, work_limit=work * threads, gap=case.gap, workers=threads)
        found = [ran(executor, case, replace(options, seed=100 * seed), size) for seed in range(seeds)]
        share = [it.longest / threads / 1e6 for it in found]
        ends = [it.stopped for it in found if it.reached]
        yield [
            case.name,
            name,
            f"{sum(it.reached for it in found)} of {seeds}",
            f"{median(share):,.1f}",
            " ".join(f"{it:,.1f}" for it in sorted(share)),
            f"{median(it.total for it in found) / 1e6:,.1f}",
            f"{median(it.seconds for it in found):.1f}",
            f"{max(ends):.2f}" if ends else "",
        ]


def main(seeds: int, work: int) -> None:
    """Print the table, a row as soon as it is there."""
    header = (
        "problem",
        "by",
        "reached",
        "work of a thread, millions",
        "of each seed",
        "work in all",
        "s",
        "s to the end of all",
    )
    with farm(WORKERS) as dask:
        executor = DaskExecutor(dask.address, 30.0, lambda _reason: None, on_notice=lambda _notice: None)
        executor.prepare()
        try:
            while executor.threads < WORKERS:
                time.sleep(0.1)
            # What is imported once is no part of a run.
            ran(executor, Case("", planted(50, 0, slack=0.1)), Options(time_limit=2.0), WORKERS)
            rows = []
            for case in cases():
                for one in row(executor, case, seeds, work):
                    rows.append(one)
                    print(*one, sep="  ", flush=True, file=sys.stderr)
        finally:
            executor.close()
    print(table(header, rows, left=2))
    print()
    print(stamp())


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 5, 1_000_000 * (int(given[1]) if len(given) > 1 else 600))
