"""Repeats short runs until enough time has been measured: a single millisecond is mostly chance."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.planner.bench.runs.resource_usage import ResourceUsage

REPEAT_SECONDS: Final = 0.02
"""The time to measure by default."""
MOST_RUNS: Final = 25
_DIGITS = 6


def repeat_short_run(
    first: "ResourceUsage", repeat: "Callable[[], ResourceUsage | None]", enough: float
) -> "ResourceUsage":
    """The medians of the times of this run and its repeats, and the number of runs.

    `repeat` does the run once more; None, for a run that failed, ends the repeating.
    """
    runs = [first]
    while len(runs) < MOST_RUNS and sum(run.seconds for run in runs) < enough:
        run = repeat()
        if run is None:
            break
        runs.append(run)
    if len(runs) == 1:
        return first
    reported = [run.reported_seconds for run in runs if run.reported_seconds is not None]
    return replace(
        first,
        seconds=_median(run.seconds for run in runs),
        cpu_seconds=_median(run.cpu_seconds for run in runs),
        reported_seconds=_median(reported) if reported else None,
        repeats=len(runs),
    )


def _median(values: Iterable[float]) -> float:
    from statistics import median  # slow to import, and this module is imported to print help

    return round(median(values), _DIGITS)
