"""Analysis of many runs: best known values, ratios to them, means, curves, false claims, and the summary."""

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any, Final

from memstow.planner.bench.journal import Results, Run, Value
from memstow.planner.bench.record import Ending
from memstow.planner.model.errors import InputError
from memstow.planner.show.formatting import count, plain

SHIFT: Final = 1.0
"""Seconds added to each time before its logarithm is taken: 1 ms and 2 ms are as good as equal."""


def geometric(values: Sequence[float]) -> float | None:
    """The geometric mean; None of nothing."""
    if not values:
        return None
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def shifted_geometric(values: Sequence[float], shift: float = SHIFT) -> float | None:
    """The geometric mean of the values with the shift added, less the shift."""
    mean = geometric([value + shift for value in values])
    return None if mean is None else max(0.0, mean - shift)


def arithmetic(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Best:
    """The best plan known of an instance: its objective, whether that is proven, and who found it."""

    name: str
    terms: tuple[str, ...]
    value: Value
    proven: bool
    solver: str
    version: str


BestKnown = Mapping[str, Best]
"""By the digest of the problem."""


def with_results(known: BestKnown, runs: Iterable[Run]) -> dict[str, Best]:
    """The best known values including these runs; of equal values the first stays."""
    best = dict(known)
    for run in runs:
        value, before = run.value, best.get(run.instance.digest)
        if value is None:
            continue
        if before is not None and (len(before.value) != len(value) or before.value < value):
            continue
        if before is not None and before.value == value and (before.proven or not run.proven):
            continue
        solver = run.record.solver
        terms = tuple(term.term for term in run.record.objective)
        best[run.instance.digest] = Best(
            run.instance.name, terms, value, run.proven, solver.name, solver.version
        )
    return best


def ratio(value: Value, best: Value) -> float:
    """How much worse than the best: the quotient of the first terms that differ; 1 where none does.

    A best of 0, as costs can be, would make any quotient infinite: both count one more then.
    """
    for mine, other in zip(value, best, strict=True):
        if mine != other:
            return mine / other if mine and other else (mine + 1) / (other + 1)
    return 1.0


def to_json(known: BestKnown) -> bytes:
    """The file: one object, sorted by name, so that a difference between two of them can be read."""
    ordered = sorted(known.items(), key=lambda item: (item[1].name, item[0]))
    entries = [{"digest": digest, **asdict(best)} for digest, best in ordered]
    return (json.dumps({"version": VERSION, "best": entries}, indent=1, ensure_ascii=False) + "\n").encode()


def from_json(data: bytes, name: str) -> dict[str, Best]:
    """The best known values of a file; InputError if it is no such file."""
    try:
        values = json.loads(data)
        if values["version"] != VERSION:
            raise InputError.single(
                "wrong_version", name, f"version {values['version']!r}; {VERSION} can be read"
            )
        return {entry.pop("digest"): _best(entry) for entry in values["best"]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"not a file of best known values: {type(error).__name__}: {error}"
        raise InputError.single("not_best_known", name, message) from None


def _best(entry: dict[str, Any]) -> Best:  # of JSON
    best = Best(**{**entry, "terms": tuple(entry["terms"]), "value": tuple(entry["value"])})
    if not all(isinstance(value, int) for value in best.value) or len(best.terms) != len(best.value):
        raise ValueError(f"the value of {best.name!r} does not fit its terms")
    return best


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A run with a claim that another run, or the judge, refutes."""

    run: Run
    message: str

    @property
    def sentence(self) -> str:
        """The contradiction as a sentence."""
        solver, name = plain(self.run.solver), plain(self.run.instance.name, most=80)
        return f"{solver}, seed {self.run.record.seed}, on {name}: {plain(self.message)}"


def contradictions(runs: Sequence[Run], known: BestKnown) -> list[Contradiction]:
    """Every claim that a judged plan refutes, and every plan that the judge refuses."""
    return [Contradiction(run, message) for run in runs for message in _refuted(run, known)]


def _refuted(run: Run, known: BestKnown) -> Iterator[str]:
    record, best = run.record, known.get(run.instance.digest)
    if record.status is Ending.INVALID:
        codes = ", ".join(record.judged.violations) if record.judged else ""
        yield f"its plan is not valid: {codes or record.error or 'refused'}"
    if best is None:
        return
    evidence = f"{best.solver} has a valid plan"
    if record.status is Ending.INFEASIBLE:
        yield f"it says that nothing fits, and {evidence}"
        return
    if not best.value:
        return
    value = run.value
    if run.proven and value is not None and value > best.value:
        worse = next(
            place for place, (mine, other) in enumerate(zip(value, best.value, strict=True)) if mine != other
        )
        yield (
            f"it says that {count(value[worse])} of {best.terms[worse]} is optimal, and {evidence} with "
            f"{count(best.value[worse])}"
        )
    bounds = [record.bound, *(moment.bound for moment in record.events)]
    highest = max((bound for bound in bounds if bound is not None), default=0)
    if highest > best.value[0]:
        yield (
            f"its bound of {count(highest)} is above {count(best.value[0])} of {best.terms[0]}: {evidence} "
            "with that"
        )


MOST_POINTS: Final = 400
"""The most points of a curve: more cannot be distinguished in print."""
MOMENTS: Final = 200
"""Times at which means are computed."""
PIXELS: Final = 80
"""Squares across a plot of many points, of which one in each square is drawn."""
SQUARES: Final = 24
"""Squares across a scatter plot whose points are counted: a number has room beside its point."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a plot."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def profile(name: str, values: Iterable[float], total: int) -> Curve:
    """A performance profile: the share of all runs (with a value or not) that are at most x."""
    ordered = sorted(values)
    counts = accumulate(len(list(equals)) for _, equals in groupby(ordered))
    points = [(value, count / total) for (value, _), count in zip(groupby(ordered), counts, strict=True)]
    return _curve(name, points)


def cactus(name: str, seconds: Iterable[float]) -> Curve:
    """A cactus plot: the number of runs (x) that took at most y seconds."""
    return _curve(name, [(float(place), time) for place, time in enumerate(sorted(seconds), start=1)])


def log_spaced(first: float, last: float) -> tuple[float, ...]:
    """Times from the first to the last, equally spaced on a logarithmic axis."""
    step = (last / first) ** (1 / (MOMENTS - 1))
    return tuple(first * step**k for k in range(MOMENTS))


def mean_over_time(name: str, runs: Iterable[Sequence[tuple[float, float]]], times: Sequence[float]) -> Curve:
    """The mean over runs of the value that each had reached at each time; 1 before its first step.

    A run is a step function, given as pairs of seconds and the value from then on.
    """
    changes = [0.0] * (len(times) + 1)
    many = 0
    for steps in runs:
        many += 1
        before = 1.0
        for seconds, value in steps:
            changes[bisect_left(times, seconds)] += value - before
            before = value
    means = [1 + change / many for change in accumulate(changes[:-1])] if many else []
    return Curve(name, tuple(times[: len(means)]), tuple(max(0.0, mean) for mean in means))


def integral(steps: Sequence[tuple[float, float]], until: float) -> float:
    """The area under a step function until a time; the function is 1 before its first step."""
    area, begin, height = 0.0, 0.0, 1.0
    for seconds, value in steps:
        end = min(max(seconds, begin), until)
        area += (end - begin) * height
        begin, height = end, value
    return area + max(0.0, until - begin) * height


def thin_out(
    points: Iterable[tuple[float, float]], scale: Callable[[float], float]
) -> list[tuple[float, float]]:
    """One point for each small square of a plot with this scale of its axes."""
    distinct = sorted(set(points))
    if len(distinct) <= MOST_POINTS:
        return distinct
    places = [(scale(x), scale(y)) for x, y in distinct]
    sides = [_side([place[axis] for place in places], PIXELS) for axis in (0, 1)]
    squares = {
        (int(x / sides[0]), int(y / sides[1])): point for (x, y), point in zip(places, distinct, strict=True)
    }
    return sorted(squares.values())


def cluster(
    points: Sequence[tuple[float, float]], scale: Callable[[float], float]
) -> list[tuple[float, float, int]]:
    """Points that are close together in a plot as one point, with their number."""
    if not points:
        return []
    places = [(scale(x), scale(y)) for x, y in points]
    sides = [_side([place[axis] for place in places], SQUARES) for axis in (0, 1)]
    squares: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for (x, y), point in zip(places, points, strict=True):
        squares.setdefault((round(x / sides[0]), round(y / sides[1])), []).append(point)
    crowds: dict[tuple[int, int], list[tuple[float, float]]] = {}
    # The fullest squares first: what is beside one joins it, since numbers in adjacent squares overlap.
    for (x, y), inside in sorted(squares.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        near = next((crowd for crowd in crowds if abs(crowd[0] - x) <= 1 and abs(crowd[1] - y) <= 1), (x, y))
        crowds.setdefault(near, []).extend(inside)
    # The middle point stands for all, so that it is not at the edge.
    return sorted((*sorted(inside)[len(inside) // 2], len(inside)) for inside in crowds.values())


def _side(values: Sequence[float], squares: int) -> float:
    return (max(values) - min(values)) / squares or 1.0


def _curve(name: str, points: Sequence[tuple[float, float]]) -> Curve:
    if len(points) > MOST_POINTS:
        last = len(points) - 1
        points = [points[k * last // (MOST_POINTS - 1)] for k in range(MOST_POINTS)]
    return Curve(name, tuple(x for x, _ in points), tuple(y for _, y in points))


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
    def checked(self) -> str | None:
        """What has shown that what is proven is so, besides the solver: `judge` or `proof`."""
        judged = self.run.record.judged
        return judged.checked if self.proven and judged is not None else None

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
    checked: int
    """Proven, and not by the word of the solver alone."""
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
        checked=sum(one.checked is not None for one in mine),
        at_best=sum(ratio <= 1 for ratio in ratios),
        ratio=geometric(ratios),
        seconds=shifted_geometric([one.seconds for one in tried]),
        cpu_seconds=shifted_geometric([one.run.record.cpu_seconds for one in tried]),
        primal_integral=arithmetic([one.primal_integral for one in measured]),
        dual_integral=arithmetic([one.dual_integral for one in measured]),
        memory=max((one.run.record.peak_memory for one in tried), default=None),
    )
