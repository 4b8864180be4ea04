"""A server, a scheduler and workers of Dask on this machine: `python -m benchmarks.cluster KIND`.

`jobs` prints two tables. The first is of jobs of bounded work, by the number of workers. The second shows
what server, scheduler and workers spend on solves that go on for long: their events, their best plans, their
signs of life.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.page import stamp, table
from benchmarks.servers import ask, farm, service, worked, worked_by_children
from memstow.planner import formats
from memstow.planner.generate.planted import planted

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


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["jobs"]:
            print_jobs()
        case _:
            sys.exit(__doc__)
