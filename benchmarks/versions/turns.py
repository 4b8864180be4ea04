"""Runs of two checkouts in turns, so that what else the machine does falls on both."""

import sys
from dataclasses import dataclass, field
from statistics import median

from benchmarks.versions.case import Case, Figures
from benchmarks.versions.checkout import Checkout, FailedError
from benchmarks.versions.inputs import Inputs


@dataclass(slots=True)
class Side:
    """What one checkout has done in a case."""

    runs: list[Figures] = field(default_factory=list)
    failure: str | None = None
    """Why there are no more runs."""

    def figures(self, name: str) -> list[float]:
        """All of this row."""
        return [run[name] for run in self.runs if name in run]

    def median(self, name: str) -> float | None:
        """Of this row; None where there is no figure."""
        figures = self.figures(name)
        return median(figures) if figures else None


@dataclass(frozen=True, slots=True)
class Result:
    """A case with both sides."""

    case: Case
    before: Side
    now: Side


def measured(case: Case, before: Checkout, now: Checkout, inputs: Inputs, runs: int | None = None) -> Result:
    """The case, run by one and the other checkout in turns; one that fails has no more turns."""
    result = Result(case, Side(), Side())
    sides = ((before, result.before), (now, result.now))
    times = case.runs if runs is None else runs
    for number in range(-1 if case.warm else 0, times):
        for checkout, side in sides:
            if side.failure is not None:
                continue
            try:
                figures = case.measure(checkout, inputs, max(number, 0))
            except FailedError as error:
                side.failure = str(error)
                continue
            if number >= 0:
                side.runs.append(figures)
        print(f"{case.name}: {number + 1} of {times}", file=sys.stderr, flush=True)
    return result
