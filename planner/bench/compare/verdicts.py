"""Verdicts on pairs of runs: better, worse, or a difference that chance explains."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from memstow.planner.bench.analysis.false_claims import Contradiction
from memstow.planner.bench.analysis.paired_tests import check_scipy, holm, mean_interval, sign, signed_rank
from memstow.planner.bench.analysis.ratios import rate
from memstow.planner.bench.compare.measures import MEASURES, OUTCOMES, Difference, Measure, Outcome
from memstow.planner.bench.compare.pairs import Pair, Pairs, pairs
from memstow.planner.bench.records.results import Results

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


def _drafts(paired: Pairs, names: frozenset[str], strictness: Strictness) -> Iterator[Line]:
    for solver in paired.solvers:
        mine = [pair for pair in paired.pairs if pair.solver == solver]
        for outcome in OUTCOMES:
            if outcome.name in names:
                yield _outcome_line(solver, outcome, mine)
        for measure in MEASURES:
            if measure.name in names:
                yield from _measure_lines(solver, measure, mine, strictness)


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
