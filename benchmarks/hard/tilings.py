"""Planted problems: every moment is full, so that only a perfect tiling is optimal, or nearly full."""

from statistics import mean, median

from benchmarks.hard.effort import Effort
from benchmarks.hard.engine_run import WORKERS, solve
from benchmarks.page import table
from memstow.planner.generate.planted import planted

SECONDS = 10.0
SIZES = (100, 200, 500, 1_000, 2_000, 5_000)
SLACK = 0.01
SIZES_WITH_SLACK = (200, 300, 600)
# Not all of the largest are solved, and ten of them say little about how many.
MORE_SEEDS = 3


def measure(effort: Effort) -> str:
    """A row for each size."""
    seconds = effort.seconds(SECONDS)
    header = (
        "buffers",
        "solved to optimality",
        "median of these, s",
        "mean peak / bound of the others",
        "worst",
    )
    more = MORE_SEEDS * effort.seeds
    rows = [_row(n, seconds, more if n == SIZES[-1] else effort.seeds) for n in SIZES]
    nearly = [
        _row(n, seconds, more if n == SIZES_WITH_SLACK[-1] else effort.seeds, SLACK) for n in SIZES_WITH_SLACK
    ]
    return (
        f"Planted without slack, seeds 0 to {effort.seeds - 1}, of the largest 0 to {more - 1}, "
        f"{seconds:g} s each, {WORKERS} workers, engine alone:\n\n"
        + table(header, rows)
        + f"\n\nWith {SLACK:.0%} slack:\n\n"
        + table(header, nearly)
    )


def _row(n: int, seconds: float, seeds: int, slack: float = 0.0) -> tuple[object, ...]:
    found = [solve(planted(n, seed, slack=slack), seconds) for seed in range(seeds)]
    took = [solved.seconds for solved in found if solved.proven]
    ratios = [solved.ratio for solved in found if not solved.proven]
    return (
        f"{n:,}",
        f"{len(took)} of {seeds}",
        f"{median(took):.2f}" if took else "",
        f"{mean(ratios):.4f}" if ratios else "",
        f"{max(ratios):.4f}" if ratios else "",
    )
