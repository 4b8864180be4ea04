"""The work of the exact search to a proof with more and more threads, counted in steps.

On a machine with a core for each thread, the time to the proof is that of the steps divided by the threads,
since all take their runs from one queue. Steps are counted as well where the threads share fewer cores.
"""

from statistics import mean

from benchmarks.hard.effort import Effort
from benchmarks.hard.instances import SKIPPED, minimalloc, there
from benchmarks.page import table
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.solve.engine import plan

WORKERS = (1, 2, 4, 8)
STEPS = 2_000_000_000
SECONDS = 300.0  # what ends a run is work
SEEDS = 6
# Those in which the search has most to do until it is at an end.
SEARCHED = "DIK"


def measure(effort: Effort) -> str:
    """A row for each problem and number of threads."""
    if not there("minimalloc"):
        return SKIPPED
    seeds = min(SEEDS, effort.seeds)
    rows = []
    for letter, problem in minimalloc():
        if letter not in SEARCHED:
            continue
        alone = 0.0
        for workers in WORKERS:
            plans = [plan(problem, _options(seed, workers)) for seed in range(seeds)]
            proven = sum(found.status is Status.OPTIMAL for found in plans)
            steps = mean(found.work for found in plans)
            alone = alone or steps
            faster = alone / (steps / workers)
            rows.append((letter, workers, f"{proven} of {seeds}", f"{steps / 1e6:,.1f}", f"{faster:.1f}"))
    header = (
        "problem",
        "threads",
        "proven",
        "steps of all threads, millions",
        "times as fast with as many cores",
    )
    return f"`exact` alone, at most {STEPS / 1e9:g} billion steps each:\n\n" + table(header, rows)


def _options(seed: int, workers: int) -> Options:
    return Options(solver="exact", seed=seed, workers=workers, work_limit=STEPS, time_limit=SECONDS)
