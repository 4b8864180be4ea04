"""The summary of a report: a row for each solver and family of instances."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.bench.analysis.means import arithmetic, geometric, shifted_geometric
from memstow.planner.bench.analysis.ratios import Bench, RatedRun
from memstow.planner.bench.records.record import Ending

ALL: Final = "all"
_FAILED: Final = (Ending.ERROR, Ending.KILLED, Ending.INVALID)


@dataclass(frozen=True, slots=True)
class Row:
    """A solver on a family."""

    family: str
    solver: str
    runs: int
    missing: int
    """Pairs of instance and seed for which another solver has a result and this one has none."""
    declined: int
    failed: int
    """Ended by an error, from outside, or with a plan that is not valid."""
    solved: int
    proven: int
    at_best: int
    """As good as the best known."""
    ratio: float | None
    """Geometric mean of the ratio to the best known, of the runs with a plan."""
    seconds: float | None
    """Shifted geometric mean; a run that was not solved counts with its whole time limit."""
    cpu_seconds: float | None
    primal_integral: float | None
    dual_integral: float | None
    memory: int | None
    """The most bytes any of the runs took."""


def summary(bench: Bench) -> list[Row]:
    """A row for each solver on all instances, then on each family."""
    rows = list(_rows(ALL, bench.rated, bench.solvers))
    if len(bench.families) > 1:
        for family in bench.families:
            inside = [rated for rated in bench.rated if rated.run.instance.family == family]
            rows += _rows(family, inside, bench.solvers)
    return rows


def _rows(family: str, rated: Sequence[RatedRun], solvers: Sequence[str]) -> Iterator[Row]:
    tasks = {(one.run.instance.digest, one.run.record.seed) for one in rated}
    by_solver: dict[str, list[RatedRun]] = {solver: [] for solver in solvers}
    for one in rated:
        by_solver[one.run.solver].append(one)
    for solver, mine in by_solver.items():
        yield _row(family, solver, mine, len(tasks))


def _row(family: str, solver: str, mine: Sequence[RatedRun], tasks: int) -> Row:
    endings = [one.run.record.status for one in mine]
    # A solver that declines has not been measured.
    tried = [one for one in mine if one.run.record.status is not Ending.DECLINED]
    ratios = [one.ratio for one in mine if one.ratio is not None]
    measured = [one for one in mine if one.measured]
    return Row(
        family=family,
        solver=solver,
        runs=len(mine),
        missing=tasks - len(mine),
        declined=endings.count(Ending.DECLINED),
        failed=sum(ending in _FAILED for ending in endings),
        solved=sum(one.solved for one in mine),
        proven=sum(one.proven for one in mine),
        at_best=sum(ratio <= 1 for ratio in ratios),
        ratio=geometric(ratios),
        seconds=shifted_geometric([one.seconds for one in tried]),
        cpu_seconds=shifted_geometric([one.run.record.cpu_seconds for one in tried]),
        primal_integral=arithmetic([one.primal_integral for one in measured]),
        dual_integral=arithmetic([one.dual_integral for one in measured]),
        memory=max((one.run.record.peak_memory for one in tried), default=None),
    )
