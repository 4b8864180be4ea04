"""The instances of a report, each with what every solver did on it, the most interesting first."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from memstow.planner.bench.analysis.best_known import Best
from memstow.planner.bench.analysis.ratios import Bench, RatedRun
from memstow.planner.bench.records.record import Instance
from memstow.planner.bench.report.text import NONE, ratio
from memstow.planner.show.formatting import seconds


@dataclass(frozen=True, slots=True)
class Cell:
    """The results of a solver on an instance, over all seeds."""

    value: str
    time: str
    proven: bool
    at_best: bool


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """An instance."""

    instance: Instance
    best: Best | None
    bound: int | None
    """The highest bound that nothing speaks against."""
    cells: tuple[Cell, ...]
    best_run: RatedRun | None
    """A run with the best plan of these results."""
    spread: float
    """How far solvers are apart: the worst ratio; infinite where one has no plan."""


def instance_rows(bench: Bench) -> list[InstanceRow]:
    """A row for each instance, in the order of family, size and name."""
    by_digest: dict[str, list[RatedRun]] = {}
    for one in bench.rated:
        by_digest.setdefault(one.run.instance.digest, []).append(one)
    refuted = {one.run.place for one in bench.contradictions}
    rows = [_row(runs, bench.solvers, refuted) for runs in by_digest.values()]
    return sorted(
        rows, key=lambda row: (row.instance.family, _size(row), row.instance.name, row.instance.digest)
    )


def most_telling(rows: Iterable[InstanceRow], most: int) -> list[InstanceRow]:
    """The rows on which solvers differ most, at most `most`, in their order."""
    ordered = list(rows)
    if len(ordered) <= most:
        return ordered
    places = sorted(range(len(ordered)), key=lambda place: (-ordered[place].spread, place))[:most]
    return [ordered[place] for place in sorted(places)]


def _size(row: InstanceRow) -> int:
    return row.instance.features.get("buffers", 0)


def _row(runs: Sequence[RatedRun], solvers: Sequence[str], refuted: set[int]) -> InstanceRow:
    by_solver: dict[str, list[RatedRun]] = {solver: [] for solver in solvers}
    for one in runs:
        by_solver[one.run.solver].append(one)
    bounds = [
        o.run.record.bound for o in runs if o.run.place not in refuted and o.run.record.bound is not None
    ]
    valid = [one for one in runs if one.run.value is not None]
    ratios = [math.inf if one.ratio is None else one.ratio for one in runs]
    return InstanceRow(
        instance=runs[0].run.instance,
        best=runs[0].best,
        bound=max(bounds, default=None),
        cells=tuple(_cell(mine) for mine in by_solver.values()),
        best_run=min(valid, key=lambda one: (one.run.value, not one.proven), default=None),
        spread=max(ratios),
    )


def _cell(runs: Sequence[RatedRun]) -> Cell:
    if not runs:
        return Cell(NONE, "", False, False)
    ratios = [one.ratio for one in runs if one.ratio is not None]
    proven = all(one.proven for one in runs)
    time = seconds(median(one.run.record.seconds for one in runs))
    if not ratios:
        return Cell(runs[0].run.record.status.value, time, proven, False)
    middle = median(ratios)
    less = f" ({len(ratios)} of {len(runs)})" if len(ratios) < len(runs) else ""
    return Cell(ratio(middle) + less, time, proven, middle <= 1)
