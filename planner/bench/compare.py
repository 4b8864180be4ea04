"""Two runs of the bench, or two solvers of one: what is better or worse, chance aside."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any, Final

from memstow.planner.bench.analysis import SHIFT, Contradiction, rate, ratio
from memstow.planner.bench.journal import Results, Run
from memstow.planner.bench.record import Ending, Machine, hash_of
from memstow.planner.model.errors import InputError, MissingBackEndError
from memstow.planner.show.formatting import count, plain, table

MOST_EXACT: Final = 100
"""Pairs up to which the signed-rank test is exact."""
RESAMPLES: Final = 2_000
_SEED: Final = 0
# Values that the bootstrap draws at a time: 64 MB of them.
_BATCH_VALUES: Final = 8_000_000


def check_scipy() -> None:
    """Raise MissingBackEndError, which names the extra to install, where scipy is missing."""
    try:
        import scipy.stats  # noqa: F401
    except ImportError:
        raise MissingBackEndError("comparing runs needs scipy: pip install 'memstow[bench]'") from None


def signed_rank(differences: Sequence[float]) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test.

    Differences of zero say nothing about the direction and are left out.
    """
    nonzero = [difference for difference in differences if difference]
    if not nonzero:
        return 1.0
    if len(nonzero) <= MOST_EXACT:
        return _exact_signed_rank(nonzero)
    from scipy.stats import wilcoxon

    return float(wilcoxon(nonzero, correction=True, method="asymptotic").pvalue)


def sign(better: int, worse: int) -> float:
    """The two-sided p-value of the sign test.

    For runs solved before but not after, or the other way round, this is McNemar's exact test.
    """
    from scipy.stats import binomtest

    pairs = better + worse
    return float(binomtest(better, pairs).pvalue) if pairs else 1.0


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """A confidence interval of the mean: percentiles of a bootstrap."""
    if len(set(values)) <= 1:
        return (values[0], values[0]) if values else (float("nan"), float("nan"))
    import numpy
    from scipy.stats import bootstrap

    interval = bootstrap(
        (values,),
        numpy.mean,
        n_resamples=RESAMPLES,
        batch=max(1, _BATCH_VALUES // len(values)),
        confidence_level=confidence,
        method="percentile",
        rng=_SEED,
    ).confidence_interval
    return float(interval.low), float(interval.high)


def holm(chances: Sequence[float]) -> list[float]:
    """The p-values adjusted for their number (Holm): one of twenty is below 0.05 by chance alone."""
    adjusted = [1.0] * len(chances)
    highest = 0.0
    order = sorted(range(len(chances)), key=lambda index: chances[index])
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, chances[index] * (len(chances) - place)))
        adjusted[index] = highest
    return adjusted


def _exact_signed_rank(differences: Sequence[float]) -> float:
    # By hand: scipy's exact distribution knows no ties, which counts of work have (0.017 where 0.013 is
    # right, of 20 pairs in two sizes), and rounds what is less than 1e-16 to 0.
    from scipy.stats import rankdata

    # Twice the rank, so that the mean rank of equals is a whole number.
    ranks = [round(2 * rank) for rank in rankdata([abs(difference) for difference in differences])]
    positive = sum(rank for rank, difference in zip(ranks, differences, strict=True) if difference > 0)
    least = min(positive, sum(ranks) - positive)
    # All the ways to choose signs, counted by their sum: the product of (1 + x^rank) as one large number.
    width = len(ranks) + 1
    ways = 1
    for rank in ranks:
        ways += ways << (rank * width)
    mask = (1 << width) - 1
    below = sum((ways >> (total * width)) & mask for total in range(least + 1))
    return min(1.0, 2 * below / (1 << len(ranks)))


Key = tuple[str, str, int]
"""Digest of the instance, solver, seed."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A run before and after."""

    solver: str
    old: Run
    new: Run

    @property
    def deterministic(self) -> bool:
        """Whether both runs are deterministic: differences, except in times, are not chance.

        Of two solvers each may be better somewhere, so which instances there are is chance.
        """
        if self.old.record.solver.name != self.new.record.solver.name:
            return False
        return all(run.record.solver.options.get("deterministic") is True for run in (self.old, self.new))

    @property
    def side_by_side(self) -> bool:
        """Whether one ran right after the other, on the same machine in the same state."""
        return self.old.record.turn is not None and self.new.record.turn is not None


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs, and the runs that only one side has."""

    pairs: tuple[Pair, ...]
    only_old: tuple[Run, ...]
    only_new: tuple[Run, ...]
    notes: tuple[str, ...]
    """Other differences than the program: options, machines, unreadable lines."""

    @property
    def side_by_side(self) -> bool:
        """Whether all of them are."""
        return all(pair.side_by_side for pair in self.pairs)

    @property
    def solvers(self) -> tuple[str, ...]:
        return tuple(sorted({pair.solver for pair in self.pairs}))


def pairs(old: Results, new: Results, solvers: tuple[str, str] | None = None) -> Pairs:
    """Pair them up; an InputError where they have nothing in common.

    With `solvers` the runs of the first in the old results are paired with those of the second in the new
    ones, which may be the same results.
    """
    if solvers is not None:
        return _pairs_of_solvers(old, new, *solvers)
    # Where one name stands for several sets of options, only equal options belong together.
    several = _with_several_options(old.runs) | _with_several_options(new.runs)
    before, after = ({_key(run, several): run for run in results.runs} for results in (old, new))
    both = tuple(Pair(key[1], run, after[key]) for key, run in sorted(before.items()) if key in after)
    if not both:
        message = f"no instance, solver and seed of it is in {old.path} as well"
        if {run.instance.digest for run in old.runs} & {run.instance.digest for run in new.runs}:
            message += f"; --solvers A,B compares solver A of these ({_named(old.solvers)}) "
            message += f"with B of these ({_named(new.solvers)})"
        raise InputError.single("nothing_in_common", str(new.path), message)
    return Pairs(
        both,
        tuple(run for key, run in sorted(before.items()) if key not in after),
        tuple(run for key, run in sorted(after.items()) if key not in before),
        (*_unreadable(old, new), *_notes(both)),
    )


def _pairs_of_solvers(old: Results, new: Results, first: str, second: str) -> Pairs:
    before, after = _runs_of(old, first), _runs_of(new, second)
    label = f"{first} -> {second}"
    both = tuple(Pair(label, run, after[key]) for key, run in sorted(before.items()) if key in after)
    if not both:
        message = f"{second} has no run of an instance and seed that {first} has in {old.path}"
        raise InputError.single("nothing_in_common", str(new.path), message)
    results = (old,) if old.path == new.path else (old, new)
    notes = [*_unreadable(*results), *_notes(both)]
    for solver, runs in ((first, before), (second, after)):
        if alone := len(runs) - len(both):
            notes.append(f"runs of {plain(solver)} without a partner, which do not count: {count(alone)}")
    return Pairs(both, (), (), tuple(notes))


def _runs_of(results: Results, solver: str) -> dict[tuple[str, int], Run]:
    """The runs of a solver by digest and seed; it is named as a report names it, or in short."""
    labels = {run.solver for run in results.runs if solver in (run.solver, run.record.solver.name)}
    if len(labels) != 1:
        wrong = "no results of" if not labels else "several sets of options for"
        message = f"there are {wrong} {solver!r}; name one of: {_named(sorted(labels) or results.solvers)}"
        raise InputError.single("unknown_solver", str(results.path), message)
    return {(run.instance.digest, run.record.seed): run for run in results.runs if run.solver in labels}


def _named(solvers: Sequence[str]) -> str:
    return ", ".join(plain(solver, most=80) for solver in solvers)


def _with_several_options(runs: Iterable[Run]) -> frozenset[str]:
    options = {(run.record.solver.name, hash_of(run.record.solver.options)) for run in runs}
    return frozenset(name for name, many in Counter(name for name, _ in options).items() if many > 1)


def _key(run: Run, several: frozenset[str]) -> Key:
    solver = run.record.solver
    name = f"{solver.name} {hash_of(solver.options)}" if solver.name in several else solver.name
    return run.instance.digest, name, run.record.seed


def _unreadable(*both: Results) -> Iterator[str]:
    for results in both:
        if results.unreadable:
            yield f"{results.path}: {count(results.unreadable)} of its lines cannot be read"


def _notes(both: Iterable[Pair]) -> Iterator[str]:
    differing: dict[str, tuple[object, object]] = {}
    machines = set()
    for pair in both:
        one, other = pair.old.record, pair.new.record
        for name in one.solver.options.keys() | other.solver.options.keys():
            values = one.solver.options.get(name), other.solver.options.get(name)
            if values[0] != values[1]:
                differing[f"{pair.solver}: {name}"] = values
        machines |= {_machine(record.machine) for record in (one, other)}
    yield from (f"{name} was {was} and is {now}" for name, (was, now) in sorted(differing.items()))
    # A file that is kept to compare with may leave out where it was made.
    machines.discard("")
    if len(machines) > 1:
        yield f"machines differ, so seconds do not compare: {'; '.join(sorted(machines))}"


def _machine(machine: Machine) -> str:
    model = f" ({machine.model})" if machine.model else ""
    return f"{machine.cpus} processors{model}, {machine.system}" if machine.cpus else ""


Difference = float
"""The logarithm of new by old: above 0 is worse."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that every pair, or some of them, has before and after."""

    name: str
    description: str
    difference: Callable[[Pair], Difference | None]
    noisy: bool
    """Differs from run to run even where the run itself is deterministic."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Something that a run achieves or does not."""

    name: str
    description: str
    achieved: Callable[[Run], bool]


def _value(pair: Pair) -> Difference | None:
    old, new = pair.old.value, pair.new.value
    if old is None or new is None or len(old) != len(new):
        return None
    return math.log(ratio(new, old))


def _bound(pair: Pair) -> Difference | None:
    old, new = pair.old.record.bound, pair.new.record.bound
    return None if old is None or new is None else -math.log(ratio((new,), (old,)))


def _answered(run: Run) -> bool:
    # The time of a run that gave up does not count.
    return run.valid or run.proven


def _work(kind: str) -> Callable[[Pair], Difference | None]:
    def difference(pair: Pair) -> Difference | None:
        old, new = (run.record.work.get(kind) for run in (pair.old, pair.new))
        if old is None or new is None or not (_answered(pair.old) and _answered(pair.new)):
            return None
        return math.log(ratio((new,), (old,)))

    return difference


def _measured(of: Callable[[Run], float | None]) -> Callable[[Pair], Difference | None]:
    def difference(pair: Pair) -> Difference | None:
        old, new = of(pair.old), of(pair.new)
        # A 0 was not measured, or was removed from the file on purpose.
        if not old or not new or not (_answered(pair.old) and _answered(pair.new)):
            return None
        return math.log(new / old)

    return difference


MEASURES: Final = (
    Measure("value", "the objective of the plan", _value, noisy=False),
    Measure("bound", "what is proven", _bound, noisy=False),
    Measure("nodes", "nodes of searches", _work("nodes"), noisy=False),
    Measure("steps", "steps of work", _work("steps"), noisy=False),
    Measure("seconds", "seconds until the answer", _measured(lambda run: run.record.seconds), noisy=True),
    Measure("cpu", "seconds of processors", _measured(lambda run: run.record.cpu_seconds), noisy=True),
    Measure(
        "reported",
        "seconds that an outside program says it took",
        _measured(lambda run: run.record.reported_seconds),
        noisy=True,
    ),
    Measure("memory", "most memory", _measured(lambda run: run.record.peak_memory), noisy=True),
)
OUTCOMES: Final = (
    Outcome("solved", "a valid plan, or a proof that there is none", _answered),
    Outcome("proven", "proven", lambda run: run.proven),
)
NAMES: Final = tuple(one.name for one in (*OUTCOMES, *MEASURES))
NOISY: Final = frozenset(one.name for one in MEASURES if one.noisy)
DECIDING: Final = ("solved", "proven", "value", "bound", "nodes", "steps")
"""The measures that decide the exit code by default: none that depends on a clock."""
OF_TWO_SOLVERS: Final = tuple(name for name in NAMES if name not in ("nodes", "steps"))
"""The measures of a comparison of two solvers by default: each counts its work in its own way."""


_EQUAL: Final = 1e-9
MOST_NAMED: Final = 5


class Verdict(StrEnum):
    """The verdict on a measure."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of one solver, over all instances that have it."""

    solver: str
    measure: str
    instances: int
    better: int
    worse: int
    mean: float | None
    """Geometric mean of new by old; None for an outcome, which has no size."""
    interval: tuple[float, float] | None
    """The 95 % confidence interval of the mean."""
    chance: float | None
    """The p-value, adjusted for the number of tests; None for deterministic runs, which need no test."""
    verdict: Verdict
    worst: tuple[tuple[str, Difference], ...]
    """The instances that lost most, by name."""
    too_few: bool = False
    """Whether it differs in so few instances that nothing would be significant among so many tests."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison."""

    pairs: Pairs
    lines: tuple[Line, ...]
    contradictions: tuple[Contradiction, ...]
    """False claims of the new results, which are worse whatever the measures say."""

    def worse(self, deciding: Iterable[str]) -> bool:
        """Whether a deciding measure got worse, a claim is false, or a result is missing."""
        decides = frozenset(deciding)
        lost = any(line.verdict is Verdict.WORSE and line.measure in decides for line in self.lines)
        return lost or bool(self.contradictions) or bool(self.pairs.only_old)


@dataclass(frozen=True, slots=True)
class Strictness:
    """Thresholds of a difference."""

    tolerance: float = 0.01
    """Means that differ by less, as a fraction, are the same."""
    significance: float = 0.05
    """p-values above this are no difference."""


def compare(
    old: Results,
    new: Results,
    strictness: Strictness,
    names: Sequence[str],
    solvers: tuple[str, str] | None = None,
) -> Comparison:
    """Compare the measures and outcomes named: of each solver, or of two of them."""
    check_scipy()
    paired = pairs(old, new, solvers)
    drafts = list(_drafts(paired, frozenset(names), strictness))
    chances = holm([line.chance for line in drafts if line.chance is not None])
    adjusted = iter(chances)
    lines = tuple(
        line
        if line.chance is None
        else _tested(replace(line, chance=next(adjusted)), strictness, len(chances))
        for line in drafts
    )
    known = rate(old, {}).known
    return Comparison(paired, lines, rate(new, known).contradictions)


def _drafts(
    paired: Pairs, names: frozenset[str], strictness: Strictness, measures: Sequence[Measure] = MEASURES
) -> Iterator[Line]:
    for solver in paired.solvers:
        mine = [pair for pair in paired.pairs if pair.solver == solver]
        for outcome in OUTCOMES:
            if outcome.name in names:
                yield _outcome_line(solver, outcome, mine)
        for measure in measures:
            if measure.name in names:
                yield from _measure_lines(solver, measure, mine, strictness)


def _shifted_time(pair: Pair) -> Difference | None:
    """Of the seconds until the answer, or of the whole limit where there is none, a second added to each."""
    both = (pair.old, pair.new)
    if any(run.record.status is Ending.DECLINED for run in both):
        return None
    old, new = (run.record.seconds if _answered(run) else max(run.limit, run.record.seconds) for run in both)
    return math.log((new + SHIFT) / (old + SHIFT))


_TIME: Final = Measure("time", "seconds until the answer, shifted", _shifted_time, noisy=True)
_OF_PAPERS: Final = (*(one for one in MEASURES if one.name == "value"), _TIME)


@dataclass(frozen=True, slots=True)
class Duel:
    """Two solvers on the instances that both ran: `line` has the second one as new."""

    first: str
    second: str
    line: Line


def duels(results: Results, against: str | None = None) -> tuple[Duel, ...]:
    """Each two solvers compared, or each with one: solved, value, time, with one correction for chance.

    Runs are taken for chance even where they are deterministic: it is the instances that are a sample.
    """
    check_scipy()
    drafts: list[tuple[str, str, Line]] = []
    for first, second in combinations(results.solvers, 2):
        if against is not None and against not in (first, second):
            continue
        one, other = (first, second) if against is None else (against, {first: second}.get(against, first))
        try:
            paired = _pairs_of_solvers(results, results, one, other)
        except InputError:
            # They have no instance in common.
            continue
        names = frozenset(("solved", "value", "time"))
        drafts += [(one, other, line) for line in _drafts(paired, names, Strictness(), _OF_PAPERS)]
    chances = holm([line.chance for *_, line in drafts if line.chance is not None])
    adjusted = iter(chances)
    return tuple(
        Duel(one, other, line if line.chance is None else replace(line, chance=next(adjusted)))
        for one, other, line in drafts
    )


def _outcome_line(solver: str, outcome: Outcome, mine: Sequence[Pair]) -> Line:
    net = _by_instance((p, float(outcome.achieved(p.old) - outcome.achieved(p.new))) for p in mine)
    gained = [name for name, change in net if change < 0]
    lost = [name for name, change in net if change > 0]
    exact = all(pair.deterministic for pair in mine)
    return Line(
        solver=solver,
        measure=outcome.name,
        instances=len(net),
        better=len(gained),
        worse=len(lost),
        mean=None,
        interval=None,
        chance=None if exact else sign(len(gained), len(lost)),
        verdict=_sided(len(lost) - len(gained)) if exact else Verdict.SAME,
        worst=tuple((name, math.inf) for name in lost[:MOST_NAMED]),
    )


def _measure_lines(
    solver: str, measure: Measure, mine: Sequence[Pair], strictness: Strictness
) -> Iterator[Line]:
    differences = [(pair, measure.difference(pair)) for pair in mine]
    measured = [(pair, difference) for pair, difference in differences if difference is not None]
    if not measured:
        return
    by_instance = _by_instance(measured)
    values = [difference for _, difference in by_instance]
    low, high = mean_interval(values)
    mean = math.fsum(values) / len(values)
    exact = not measure.noisy and all(pair.deterministic for pair, _ in measured)
    small = math.log1p(strictness.tolerance)
    worst = sorted(by_instance, key=lambda one: -one[1])[:MOST_NAMED]
    yield Line(
        solver=solver,
        measure=measure.name,
        instances=len(values),
        better=sum(value < -_EQUAL for value in values),
        worse=sum(value > _EQUAL for value in values),
        mean=math.exp(mean),
        interval=(math.exp(low), math.exp(high)),
        chance=None if exact else signed_rank([v if abs(v) > _EQUAL else 0.0 for v in values]),
        verdict=_sided(mean, small) if exact else Verdict.SAME,
        worst=tuple((name, value) for name, value in worst if value > _EQUAL),
    )


def _by_instance(measured: Iterable[tuple[Pair, Difference]]) -> list[tuple[str, Difference]]:
    """The mean over seeds: runs of one instance are not independent."""
    of: defaultdict[str, list[Difference]] = defaultdict(list)
    names = {}
    for pair, difference in measured:
        of[pair.old.instance.digest].append(difference)
        names[pair.old.instance.digest] = pair.old.instance.name
    return [(names[digest], math.fsum(values) / len(values)) for digest, values in sorted(of.items())]


def _tested(line: Line, strictness: Strictness, tests: int) -> Line:
    if line.chance is None:
        return line
    if line.chance >= strictness.significance:
        # Where all differ in the same direction, no test of pairs has a smaller chance; the correction is the
        # one of the smallest of all.
        least = 2.0 * 0.5 ** (line.better + line.worse) * tests
        return replace(line, too_few=bool(line.better + line.worse) and least >= strictness.significance)
    if line.mean is None:
        return replace(line, verdict=_sided(line.worse - line.better))
    return replace(line, verdict=_sided(math.log(line.mean), math.log1p(strictness.tolerance)))


def _sided(difference: float, small: float = 0.0) -> Verdict:
    if abs(difference) <= small:
        return Verdict.SAME
    return Verdict.WORSE if difference > 0 else Verdict.BETTER


_HEAD: Final = ("solver", "measure", "verdict", "instances", "better", "worse", "new / old", "95 %", "chance")
_MOST_LISTED: Final = 10
_LONGEST_NAME: Final = 80


def comparison_text(comparison: Comparison, deciding: Iterable[str]) -> str:
    """The comparison for a person."""
    decides = frozenset(deciding)
    changed = [line for line in comparison.lines if line.better or line.worse]
    lines = table(_HEAD, [_cells(line) for line in changed], left=3) if changed else []
    if len(changed) < len(comparison.lines):
        lines.append(f"equal throughout: {count(len(comparison.lines) - len(changed))} measures of solvers")
    for one in comparison.contradictions[:_MOST_LISTED]:
        lines.append(f"not true: {one.sentence}")
    for line in comparison.lines:
        if line.verdict is Verdict.WORSE and line.worst:
            lines.append(f"worse in {line.measure} of {plain(line.solver)}: {', '.join(_worst(line))}")
    lines += _left_over(comparison)
    lines += [f"note: {plain(note)}" for note in comparison.pairs.notes]
    lines += _too_few(comparison)
    lines += _drift(comparison)
    compared = f"{count(len(comparison.pairs.pairs))} pairs of runs compared"
    return "\n".join([*lines, "", f"{_verdict(comparison, decides)}: {compared}"])


def _verdict(comparison: Comparison, decides: frozenset[str]) -> str:
    """The last line: the reasons for the verdict, with the measures that are worse and do not decide."""
    worse = {line.measure for line in comparison.lines if line.verdict is Verdict.WORSE}
    reasons = []
    if worse & decides:
        reasons.append(f"worse in {_listed(worse & decides)}")
    if comparison.contradictions:
        reasons.append("worse, since it claims what is not true")
    if comparison.pairs.only_old:
        reasons.append("worse, since results are missing")
    if worse - decides:
        reasons.append(f"worse in {_listed(worse - decides)}, which does not decide")
    unsure = any(line.too_few and line.worse > line.better for line in comparison.lines)
    return "; ".join(reasons) or ("nothing is shown to be worse" if unsure else "nothing is worse")


def _listed(measures: Set[str]) -> str:
    names = [name for name in NAMES if name in measures]
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _cells(line: Line) -> tuple[str, ...]:
    return (
        plain(line.solver, most=40),
        line.measure,
        line.verdict.value,
        count(line.instances),
        count(line.better),
        count(line.worse),
        "" if line.mean is None else f"{line.mean:.4f}",
        "" if line.interval is None else f"{line.interval[0]:.4f}-{line.interval[1]:.4f}",
        "none" if line.chance is None else f"{line.chance:.2g}",
    )


def _worst(line: Line) -> Iterator[str]:
    for name, difference in line.worst:
        how = "" if math.isinf(difference) else f" ({math.exp(difference):.4f})"
        yield f"{plain(name, most=_LONGEST_NAME)}{how}"


def _too_few(comparison: Comparison) -> Iterator[str]:
    """A note where `same` means that there are too few instances to tell."""
    measures = {line.measure for line in comparison.lines if line.too_few}
    if measures:
        tests = sum(line.chance is not None for line in comparison.lines)
        names = ", ".join(name for name in NAMES if name in measures)
        yield (
            f"note: in {names} too few instances differ for any difference to be significant among "
            f"{count(tests)} tests: take more instances, or compare fewer measures (--measures)"
        )


def _drift(comparison: Comparison) -> Iterator[str]:
    """A note where the machine had time to change between the runs that a verdict on times compares."""
    timed = {line.measure for line in comparison.lines if line.verdict is not Verdict.SAME} & NOISY
    if timed and not comparison.pairs.side_by_side:
        measures = ", ".join(name for name in NAMES if name in timed)
        yield (
            f"note: the runs were not side by side, so in {measures} a drift of the machine counts as a "
            "difference; interleaved runs have none"
        )


def _left_over(comparison: Comparison) -> Iterator[str]:
    missing, added = comparison.pairs.only_old, comparison.pairs.only_new
    for run in missing[:_MOST_LISTED]:
        name = plain(run.instance.name, most=_LONGEST_NAME)
        yield f"missing: {name} by {plain(run.solver)}, seed {run.record.seed}"
    if len(missing) > _MOST_LISTED:
        yield f"missing: {count(len(missing) - _MOST_LISTED)} more runs of the old results"
    if added:
        yield f"only in the new results: {count(len(added))} runs"


def comparison_json(comparison: Comparison, deciding: Iterable[str]) -> dict[str, Any]:
    """The comparison as JSON."""
    return {
        "worse": comparison.worse(deciding),
        "pairs": len(comparison.pairs.pairs),
        "side_by_side": comparison.pairs.side_by_side,
        "lines": [_line(line) for line in comparison.lines],
        "contradictions": [one.sentence for one in comparison.contradictions],
        "missing": len(comparison.pairs.only_old),
        "added": len(comparison.pairs.only_new),
        "notes": list(comparison.pairs.notes),
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "solver": line.solver,
        "measure": line.measure,
        "verdict": line.verdict.value,
        "instances": line.instances,
        "better": line.better,
        "worse": line.worse,
        "ratio": line.mean,
        "interval": line.interval,
        "chance": line.chance,
        "worst": [name for name, _ in line.worst],
        "too_few": line.too_few,
    }
