"""A comparison in words, and as JSON."""

import math
from collections.abc import Iterable, Iterator, Set
from typing import Any, Final

from memstow.planner.bench.compare.measures import NAMES, NOISY
from memstow.planner.bench.compare.verdicts import Comparison, Line, Verdict
from memstow.planner.show.formatting import count, plain, table

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
