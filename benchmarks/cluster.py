"""A server, a scheduler and workers of Dask on this machine: `python -m benchmarks.cluster KIND`.

`jobs` prints two tables. The first is of jobs of bounded work, by the number of workers. The second shows
what server, scheduler and workers spend on solves that go on for long: their events, their best plans, their
signs of life.

`team [SEEDS] [MILLIONS]`: a problem solved by one run and by a team of two, on two workers of one thread.
Each problem has a peak to be reached, given as a gap to its bound, at which all runs end, or when each thread
has had so many millions of steps. What counts is the work of the thread that has done most: with a core for
each, that is the time. Seconds are shown as well; where the cores are busy they are no measure of anything. A
member that is killed at the end does not report its work, which is then missing in the sum.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from benchmarks.page import stamp, table
from benchmarks.problems import minimalloc_problems, one_after_the_other, there
from benchmarks.servers import ask, farm, service, worked, worked_by_children
from memstow.api.operations.encoding import document_bytes, options_to_text
from memstow.api.operations.request_types import SolveRequest, SolveResult, SolveUpdate
from memstow.api.workers.dask_executor import DaskExecutor
from memstow.api.workers.executor import RunControl
from memstow.api.workers.team import Team
from memstow.planner import formats
from memstow.planner.generate.planted import planted
from memstow.planner.model.options import Incumbent, Options
from memstow.planner.model.problem import Problem
from memstow.planner.solve import engine

JOBS = 24
BUFFERS = 300
WORK = 50_000_000
SLOTS = 8
LONG_SECONDS = 20.0
IDLE_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor seconds, of one job or of one second of a solve."""

    server: float
    scheduler: float
    workers: float
    children: float


@dataclass(frozen=True, slots=True)
class Place:
    """A server, its scheduler and the workers."""

    port: int
    server: int
    scheduler: int
    workers: tuple[int, ...]

    def spent(self) -> Spent:
        """So far."""
        workers = sum(map(worked, self.workers))
        return Spent(
            worked(self.server), worked(self.scheduler), workers, sum(map(worked_by_children, self.workers))
        )

    def run(self, problems: list[Any], options: dict[str, object]) -> float:
        """Solve them all; seconds."""
        begin = time.monotonic()
        batch = {
            "problems": [{"problem": problem} for problem in problems],
            "settings": [{"name": "one", "options": options}],
        }
        name = ask(self.port, "POST", "/v1/batches", batch)["id"]
        while True:
            counts: dict[str, int] = ask(self.port, "GET", f"/v1/batches/{name}")["states"]
            if counts.get("done", 0) == len(problems):
                return time.monotonic() - begin
            if counts.get("failed", 0):
                raise RuntimeError(f"jobs failed: {counts}")
            time.sleep(0.5)


@contextmanager
def cluster(count: int) -> Iterator[Place]:
    """A server, a scheduler, and workers of one thread each."""
    with farm(count) as dask:
        settings = {"executor": "dask", "scheduler": dask.address, "slots": SLOTS, "fast_seconds": 0.0}
        with service(**settings) as (served, server):
            place = Place(served, server, dask.scheduler, dask.workers)
            # What is imported and connected once is no part of a job.
            place.run(problems(2 * count, 1000), {"deterministic": True, "work_limit": 1000})
            yield place


def problems(count: int, first: int) -> list[Any]:
    """Problems that stay open."""
    generated = (planted(BUFFERS, first + i, slack=0.01) for i in range(count))
    return [json.loads(formats.write_problem(problem)) for problem in generated]


def throughput(count: int) -> list[str]:
    """A row: jobs of bounded work."""
    with cluster(count) as place:
        idle = _idle(place)
        before = place.spent()
        seconds = place.run(problems(JOBS, 1), {"deterministic": True, "work_limit": WORK})
        each = _each(before, place.spent(), idle, seconds, JOBS)
    return [f"{count}", f"{JOBS / seconds:.2f}", *_told(each)]


def lasting() -> tuple[list[str], list[str]]:
    """Two rows: solves that go on, by the seconds of solves; and a second in which nothing happens."""
    with cluster(2) as place:
        idle = _idle(place)
        before = place.spent()
        seconds = place.run(problems(2, 1), {"time_limit": LONG_SECONDS, "workers": 1})
        each = _each(before, place.spent(), idle, seconds, 2 * LONG_SECONDS)
    return _told(each), _told(idle)


def _idle(place: Place) -> Spent:
    before = place.spent()
    time.sleep(IDLE_SECONDS)
    return _each(before, place.spent(), Spent(0, 0, 0, 0), 0, IDLE_SECONDS)


def _each(before: Spent, after: Spent, idle: Spent, seconds: float, count: float) -> Spent:
    """The usage for each of `count` problems, less that of idling for as long."""
    return Spent(
        (after.server - before.server - idle.server * seconds) / count,
        (after.scheduler - before.scheduler - idle.scheduler * seconds) / count,
        (after.workers - before.workers - idle.workers * seconds) / count,
        (after.children - before.children - idle.children * seconds) / count,
    )


def _told(each: Spent) -> list[str]:
    return [f"{1000 * seconds:.1f}" for seconds in (each.server, each.scheduler, each.workers, each.children)]


def print_jobs() -> None:
    """Print both tables of jobs."""
    spent = ("server, ms", "scheduler, ms", "workers, ms", "children, ms")
    print(table(("workers", "jobs a second", *spent), [throughput(count) for count in (1, 2, 4)]))
    print()
    busy, still = lasting()
    print(table(("a second", *spent), [["of a solve", *busy], ["with nothing to do", *still]]))
    print()
    print(stamp())


TEAM_WORKERS = 2
TEAM_MEMORY = 4 << 30
# Far more than the work takes: what ends a run is work.
TEAM_SECONDS = 300.0
# The lowest peak of J that one run reaches in some seconds.
J_PEAK, J_BOUND = 1_013_760, 989_184


@dataclass(frozen=True, slots=True)
class TeamCase:
    """A problem, the gap at which a run ends, and whether a plan is known: only then it is taken apart."""

    name: str
    problem: Problem
    gap: float = 0.0
    apart: bool = False


@dataclass(frozen=True, slots=True)
class TeamRun:
    """What one run, or a team, has come to."""

    reached: bool
    longest: int  # work of the member that has done most
    total: int
    seconds: float
    stopped: float  # seconds from the plan that ended it to the end of all
    peak: int


def team_cases() -> Iterator[TeamCase]:
    """Those of MiniMalloc where they are there, and planted ones."""
    if there("minimalloc"):
        by_letter = dict(minimalloc_problems())
        yield TeamCase("D, proven", by_letter["D"])
        yield TeamCase(f"J, {J_PEAK:,}", by_letter["J"], (J_PEAK - J_BOUND) / J_PEAK)
    yield TeamCase("planted 200, 1 % slack, 1.03", planted(200, 1, slack=0.01), 0.03)
    yield TeamCase("planted 600, 1 % slack, proven", planted(600, 1, slack=0.01))
    parts = one_after_the_other((f"{seed}", planted(150, seed, slack=0.01)) for seed in range(4))
    yield TeamCase("four parts of 150, 1.03", parts, 0.03, apart=True)


def team_run(executor: DaskExecutor, case: TeamCase, options: Options, size: int) -> TeamRun:
    """One run of a team of this size."""
    best_at = 0.0

    def hear(update: SolveUpdate) -> None:
        nonlocal best_at
        if isinstance(update, Incumbent):
            best_at = time.monotonic()

    start = None
    if case.apart:
        start = engine.plan(case.problem, Options(solver="greedy", deterministic=True, work_limit=1_000_000))
    request = SolveRequest(problem=document_bytes(case.problem), options=options_to_text(options))
    control = RunControl(memory=TEAM_MEMORY, seconds=options.time_limit + 60, on_update=hear)
    begin = time.monotonic()
    team = Team(executor, request, control, size, start)
    result: SolveResult = team.run(options.time_limit, None)
    end = time.monotonic()
    value, bound = result.value or 0, result.bound or 0
    reached = (value - bound) / value <= options.gap
    works = list(team.works.values())
    return TeamRun(reached, max(works, default=0), sum(works), end - begin, end - best_at, value)


def team_rows(executor: DaskExecutor, case: TeamCase, seeds: int, work: int) -> Iterator[list[object]]:
    """By way of solving: how many seeds have reached the peak, and with which work."""
    ways = (("one thread", 1, 1), ("two threads", 2, 1), ("team of two", 1, 2))
    for name, threads, size in ways:
        options = Options(time_limit=TEAM_SECONDS, work_limit=work * threads, gap=case.gap, workers=threads)
        runs = [team_run(executor, case, replace(options, seed=100 * seed), size) for seed in range(seeds)]
        share = [run.longest / threads / 1e6 for run in runs]
        ends = [run.stopped for run in runs if run.reached]
        yield [
            case.name,
            name,
            f"{sum(run.reached for run in runs)} of {seeds}",
            f"{median(share):,.1f}",
            " ".join(f"{run:,.1f}" for run in sorted(share)),
            f"{median(run.total for run in runs) / 1e6:,.1f}",
            f"{median(run.seconds for run in runs):.1f}",
            f"{max(ends):.2f}" if ends else "",
        ]


def print_teams(seeds: int = 5, millions: int = 600) -> None:
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
    with farm(TEAM_WORKERS) as dask:
        executor = DaskExecutor(dask.address, 30.0, lambda _reason: None, on_notice=lambda _notice: None)
        executor.prepare()
        try:
            while executor.threads < TEAM_WORKERS:
                time.sleep(0.1)
            # What is imported once is no part of a run.
            team_run(executor, TeamCase("", planted(50, 0, slack=0.1)), Options(time_limit=2.0), TEAM_WORKERS)
            rows = []
            for case in team_cases():
                for one in team_rows(executor, case, seeds, 1_000_000 * millions):
                    rows.append(one)
                    print(*one, sep="  ", flush=True, file=sys.stderr)
        finally:
            executor.close()
    print(table(header, rows, left=2))
    print()
    print(stamp())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["jobs"]:
            print_jobs()
        case ["team", *numbers]:
            print_teams(*map(int, numbers))
        case _:
            sys.exit(__doc__)
