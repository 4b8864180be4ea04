"""Every run measured against the best that is known: what tables and curves are made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from memstow.planner.bench.analysis.best_known import Best, BestKnown, improved, ratio
from memstow.planner.bench.analysis.curves import integral
from memstow.planner.bench.analysis.false_claims import Contradiction, contradictions
from memstow.planner.bench.records.record import Ending
from memstow.planner.bench.records.results import Results, Run

Steps = tuple[tuple[float, float], ...]
"""At so many seconds, this gap from then on."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A run and what it is worth."""

    run: Run
    best: Best | None
    ratio: float | None
    """The objective by the best known; None without a valid plan."""
    proven: bool
    """It proved the best plan, or that there is none, and nothing speaks against it."""
    primal: Steps
    dual: Steps

    @property
    def solved(self) -> bool:
        """There is a valid plan, or a proof that there is none."""
        return self.ratio is not None or self.proven

    @property
    def measured(self) -> bool:
        """Whether its gap over time means something: a value is known, and the solver did not decline."""
        return bool(self.best and self.best.value) and self.run.record.status is not Ending.DECLINED

    @property
    def seconds(self) -> float:
        """The time it took; all it was given where it came to nothing."""
        return self.run.record.seconds if self.solved else max(self.run.limit, self.run.record.seconds)

    @property
    def primal_integral(self) -> float:
        """Seconds times the gap of the plan at hand: less is sooner and better."""
        return integral(self.primal, self._until)

    @property
    def dual_integral(self) -> float:
        """Seconds times the gap of the bound at hand."""
        return integral(self.dual, self._until)

    @property
    def _until(self) -> float:
        return max(self.run.limit, self.run.record.seconds)


@dataclass(frozen=True)
class Bench:
    """The runs of a folder, rated."""

    results: Results
    known: BestKnown
    """With what these runs found."""
    contradictions: tuple[Contradiction, ...]
    rated: tuple[Rated, ...]

    @property
    def solvers(self) -> tuple[str, ...]:
        return self.results.solvers

    @cached_property
    def tasks(self) -> frozenset[tuple[str, int]]:
        """What a solver could have been asked: every instance with every seed that any solver had."""
        return frozenset((rated.run.instance.digest, rated.run.record.seed) for rated in self.rated)

    @cached_property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted({rated.run.instance.family for rated in self.rated}))

    @cached_property
    def by_solver(self) -> Mapping[str, tuple[Rated, ...]]:
        return {s: tuple(rated for rated in self.rated if rated.run.solver == s) for s in self.solvers}


def rate(results: Results, known: BestKnown) -> Bench:
    """Every run against the best of what was known and of what these runs found."""
    best = improved(known, results.runs)
    found = tuple(contradictions(results.runs, best))
    refuted = {one.run.place for one in found}
    rated = tuple(_rated(run, best.get(run.instance.digest), run.place in refuted) for run in results.runs)
    return Bench(results, best, found, rated)


def _rated(run: Run, best: Best | None, refuted: bool) -> Rated:
    value = run.value
    worth = None if value is None or best is None else ratio(value, best.value)
    return Rated(
        run,
        best,
        worth,
        run.proven and not refuted,
        _steps(run, best, "incumbent", value[0], _above) if value else (),
        () if refuted else _steps(run, best, "bound", run.record.bound, _below),
    )


def _steps(
    run: Run, best: Best | None, what: str, last: int | None, gap: Callable[[int, int], float]
) -> Steps:
    """The gap over time to the best known; what was only told at the end was reached at the end."""
    if best is None or not best.value:
        return ()
    told = [(moment.seconds, getattr(moment, what)) for moment in run.record.events]
    steps = [(seconds, value) for seconds, value in told if value is not None]
    if last is not None and last != (steps[-1][1] if steps else None):
        steps.append((run.record.seconds, last))
    return tuple((seconds, gap(value, best.value[0])) for seconds, value in sorted(steps))


def _above(value: int, best: int) -> float:
    return 1 - best / value if value > best else 0.0


def _below(bound: int, best: int) -> float:
    return 1 - bound / best if bound < best else 0.0
