"""Short runs, done again until enough time has been measured: a single millisecond is mostly chance."""

from collections.abc import Callable
from typing import Any, Final

REPEAT_SECONDS: Final = 0.02
"""What is enough, unless it is asked otherwise."""
MOST_RUNS: Final = 25
_DIGITS = 6

Spent = dict[str, Any]
"""What a run took, by the names a record has for it."""


def repeated(first: Spent, again: Callable[[], Spent | None], enough: float) -> Spent:
    """The medians of what this run and the same once more took, and how many runs they are of.

    `again` does the run once more; it returns nothing where that came to nothing, which ends the repeating.
    """
    runs = [first]
    while len(runs) < MOST_RUNS and sum(run["seconds"] for run in runs) < enough:
        run = again()
        if run is None:
            break
        runs.append(run)
    if len(runs) == 1:
        return first
    from statistics import median  # slow to import, and this module is, whenever there is help to print

    told = {name: [run[name] for run in runs if run[name] is not None] for name in first}
    medians = {name: round(median(values), _DIGITS) if values else None for name, values in told.items()}
    return {**medians, "repeats": len(runs)}
