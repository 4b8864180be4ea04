"""Many runs in a row in one process: how late answers come, and what leaks.

`python -m benchmarks.soak models [RUNS] [SECONDS]`: each model-based solver on a model far too large.
`python -m benchmarks.soak short [SOLVES]`: thousands of short solves that end in every way there is.
Both take too long to be part of the page.
"""

import gc
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from memstow.planner.generate.features import FEATURES
from memstow.planner.generate.planted import DEFAULT_HEIGHT, planted
from memstow.planner.generate.random_problems import mixed
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.processes.process import children, resident
from memstow.planner.solve.engine import plan
from memstow.solvers.registry import BACK_ENDS

BUFFERS = 10_000
SHORT_SOLVES = 10_000
SIZES = (0, 1, 5, 20, 60, 150, 400, 2_000)
SEEDS = 4
SEVERAL_POOLS = ("pools", "reuse_costs", "objective")
WARM_UP = 0.2
"""The share of the short solves after which memory should not grow: arenas of threads are filled by then."""
GROWTH = 8 << 20
"""Bytes that memory may grow by after the warm-up: what allocators round and split, not what solves leave."""


@dataclass(frozen=True, slots=True)
class Left:
    """What short solves left behind, and how they ended."""

    resident_warm: int
    resident_end: int
    threads: int
    files: int
    statuses: Counter[Status]

    @property
    def growth(self) -> int:
        """Bytes of memory more than after the warm-up."""
        return self.resident_end - self.resident_warm


def models(runs: int, seconds: float) -> None:
    """Print a line for each back end."""
    problem = _problem(Random(1))
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        for name in BACK_ENDS:
            late, sizes = [], []
            for _ in range(runs):
                begin = time.monotonic()
                plan(problem, Options(solver=name, time_limit=seconds))
                late.append(time.monotonic() - begin - seconds)
                sizes.append(resident(os.getpid()))
            left = len(list(Path(folder).iterdir()))
            print(
                f"{name}: {runs} runs of {seconds} s; latest answer {max(late) * 1000:+.0f} ms after the "
                f"limit; memory {sizes[0] >> 20} MiB after the first run and {sizes[-1] >> 20} MiB "
                f"after the last; "
                f"{left} files and {len(children(os.getpid()))} processes left",
                flush=True,
            )


def short(solves: int, most_buffers: int = SIZES[-1]) -> Left:
    """Solve many times, with deadlines of 0 and 1 ms, sudden cancels and little work."""
    problems = list(_small_problems(most_buffers))
    rng = Random(1)
    statuses: Counter[Status] = Counter()
    size, files, threads = 0, 0, 0
    for k in range(solves):
        if k == int(solves * WARM_UP):
            size, files, threads = _settled_resident(), _files(), threading.active_count()
        statuses[_short_solve(rng.choice(problems), rng)] += 1
    return Left(size, _settled_resident(), threading.active_count() - threads, _files() - files, statuses)


def _short_solve(problem: Problem, rng: Random) -> Status:
    options = Options(solver=rng.choice(("auto", "auto", "greedy")), workers=rng.choice((None, 1, 2, 3)))
    kind = rng.choice(("at once", "a moment", "little work", "cancelled"))
    if kind == "at once":
        return plan(problem, replace(options, time_limit=0.0)).status
    if kind == "a moment":
        return plan(problem, replace(options, time_limit=0.001)).status
    if kind == "little work":
        work = rng.choice((0, 1, 100_000))
        return plan(problem, replace(options, deterministic=True, work_limit=work)).status
    return _cancelled(problem, options, rng.choice((0.0, 0.002, 0.02)))


def _cancelled(problem: Problem, options: Options, after: float) -> Status:
    cancel = threading.Event()
    if not after:
        cancel.set()
        return plan(problem, options, cancel=cancel).status
    timer = threading.Timer(after, cancel.set)
    timer.start()
    status = plan(problem, options, cancel=cancel).status
    timer.cancel()
    timer.join()
    return status


def _small_problems(most: int) -> Iterator[Problem]:
    """Of one pool, so that no solve needs another process: perfect tilings, and every other feature."""
    features = [name for name in FEATURES if name not in SEVERAL_POOLS]
    for n in (n for n in SIZES if n <= most):
        for seed in range(SEEDS):
            if n:
                yield (perfect := planted(n, seed))
                # Only the optimum fits, and nothing does.
                yield from (
                    replace(perfect, pools=(Pool(id="tight", capacity=DEFAULT_HEIGHT - less),))
                    for less in (0, 1)
                )
            yield mixed(n, seed, features=features)
            yield mixed(n, seed, features=("capacities", "alignments"))


def _problem(rng: Random) -> Problem:
    buffers = []
    for i in range(BUFFERS):
        begin = rng.randrange(BUFFERS)
        life = (begin, begin + rng.randrange(1, BUFFERS // 10))
        buffers.append(Buffer(id=f"b{i}", size=rng.randrange(1, 5000) * 16, lifetime=life))
    return Problem(version=1, buffers=tuple(buffers))


def _settled_resident() -> int:
    gc.collect()
    return resident(os.getpid())


def _files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def main(words: list[str]) -> int:
    """Run the soak that is named; 1 when short solves leave something behind."""
    kind, numbers = words[0] if words else "", words[1:]
    if kind == "models":
        models(int(numbers[0]) if numbers else 200, float(numbers[1]) if len(numbers) > 1 else 2.0)
        return 0
    if kind != "short":
        print(__doc__, file=sys.stderr)
        return 2
    began = time.monotonic()
    left = short(int(numbers[0]) if numbers else SHORT_SOLVES)
    counts = ", ".join(f"{count} {status}" for status, count in sorted(left.statuses.items()))
    print(
        f"{left.statuses.total()} solves in {time.monotonic() - began:.0f} s: {counts}\n"
        f"memory {left.resident_warm / (1 << 20):.1f} MiB after the first {WARM_UP:.0%}, "
        f"{left.resident_end / (1 << 20):.1f} MiB at the end (tolerance {GROWTH >> 20} MiB); "
        f"{left.threads} threads and {left.files} files left"
    )
    return int(left.growth > GROWTH or left.threads != 0 or left.files != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
