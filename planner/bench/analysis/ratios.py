"""Rates every run by the best known value; tables and curves are made from the result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from memstow.planner.bench.analysis.best_known import Best, BestKnown, ratio, with_results
from memstow.planner.bench.analysis.curves import integral
from memstow.planner.bench.analysis.false_claims import Contradiction, contradictions
from memstow.planner.bench.records.record import Ending
from memstow.planner.bench.records.results import Results, Run

Steps = tuple[tuple[float, float], ...]
"""A step function: pairs of seconds, and the gap from then on."""


@dataclass(frozen=True, slots=True)
class RatedRun:
    """A run with its ratio to the best known value, and its gaps over time."""

    run: Run
    best: Best | None
    ratio: float | None
    """The objective divided by the best known; None without a valid plan."""
    proven: bool
    """It has a proof that its plan is the best or that there is none, and no other run refutes it."""
    primal: Steps
    dual: Steps

    @property
    def solved(self) -> bool:
        """There is a valid plan, or a proof that there is none."""
        return self.ratio is not None or self.proven

    @property
    def measured(self) -> bool:
        """Whether it has a gap over time: a value is known, and the solver did not decline."""
        return bool(self.best and self.best.value) and self.run.record.status is not Ending.DECLINED

    @property
    def seconds(self) -> float:
        """The time of the run; the whole time limit if it was not solved."""
        return self.run.record.seconds if self.solved else max(self.run.limit, self.run.record.seconds)

    @property
    def primal_integral(self) -> float:
        """The integral of the gap of the best plan so far over time: less is better."""
        return integral(self.primal, self._until)

    @property
    def dual_integral(self) -> float:
        """The integral of the gap of the best bound so far over time."""
        return integral(self.dual, self._until)

    @property
    def _until(self) -> float:
        return max(self.run.limit, self.run.record.seconds)


@dataclass(frozen=True)
class Bench:
    """The runs of a folder, rated."""

    results: Results
    known: BestKnown
    """Including the values of these runs."""
    contradictions: tuple[Contradiction, ...]
    rated: tuple[RatedRun, ...]

    @property
    def solvers(self) -> tuple[str, ...]:
        return self.results.solvers

    @cached_property
    def tasks(self) -> frozenset[tuple[str, int]]:
        """Every instance with every seed that any solver ran."""
        return frozenset((rated.run.instance.digest, rated.run.record.seed) for rated in self.rated)

    @cached_property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted({rated.run.instance.family for rated in self.rated}))

    @cached_property
    def by_solver(self) -> Mapping[str, tuple[RatedRun, ...]]:
        return {s: tuple(rated for rated in self.rated if rated.run.solver == s) for s in self.solvers}


def rate(results: Results, known: BestKnown) -> Bench:
    """Rate every run by the best of the known values and of these runs."""
    best = with_results(known, results.runs)
    refutations = tuple(contradictions(results.runs, best))
    refuted = {one.run.place for one in refutations}
    rated = tuple(_rate(run, best.get(run.instance.digest), run.place in refuted) for run in results.runs)
    return Bench(results, best, refutations, rated)


def _rate(run: Run, best: Best | None, refuted: bool) -> RatedRun:
    value = run.value
    worth = None if value is None or best is None else ratio(value, best.value)
    return RatedRun(
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
    """The gap to the best known over time; a final value without an event counts at the end."""
    if best is None or not best.value:
        return ()
    events = [(event.seconds, getattr(event, what)) for event in run.record.events]
    steps = [(seconds, value) for seconds, value in events if value is not None]
    if last is not None and last != (steps[-1][1] if steps else None):
        steps.append((run.record.seconds, last))
    return tuple((seconds, gap(value, best.value[0])) for seconds, value in sorted(steps))


def _above(value: int, best: int) -> float:
    return 1 - best / value if value > best else 0.0


def _below(bound: int, best: int) -> float:
    return 1 - bound / best if bound < best else 0.0
