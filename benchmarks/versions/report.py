"""The table of both versions: medians side by side, and why a figure is missing."""

from collections.abc import Iterator, Sequence

from benchmarks.page import MISSED, table
from benchmarks.versions.case import Row
from benchmarks.versions.turns import Result, Side

HEADER = ("row", "before", "now", "now / before", "wanted", "runs")
MISSING = "-"


def report(results: Sequence[Result]) -> str:
    """A line for each row, and below them the reasons of what is missing."""
    rows = [_line(row, result) for result in results for row in result.case.rows]
    reasons = [line for result in results for line in _reasons(result)]
    return "\n\n".join([table(HEADER, rows), *(["\n".join(reasons)] if reasons else [])])


def _line(row: Row, result: Result) -> tuple[str, ...]:
    before, now = result.before, result.now
    return (
        row.title,
        _shown(row, before),
        _shown(row, now) + _missed(row, now),
        "" if row.counted else _ratio(before.median(row.name), now.median(row.name)),
        _wanted(row),
        _runs(before, now),
    )


def _shown(row: Row, side: Side) -> str:
    figures = side.figures(row.name)
    middle = side.median(row.name)
    if middle is None:
        return MISSING
    return f"{sum(figures):g} of {len(figures)}" if row.counted else format(middle, row.form)


def _missed(row: Row, side: Side) -> str:
    """A word where any run that counts, or else the median, is not what was wanted."""
    figures = (
        side.figures(row.name) if row.counted else [it for it in [side.median(row.name)] if it is not None]
    )
    return "" if all(map(row.reached, figures)) else f" {MISSED}"


def _wanted(row: Row) -> str:
    if row.wanted is None:
        return ""
    return "all" if row.counted else format(row.wanted, row.form)


def _ratio(before: float | None, now: float | None) -> str:
    return f"{now / before:.2f}" if before and now is not None else ""


def _runs(before: Side, now: Side) -> str:
    counts = [len(side.runs) for side in (before, now)]
    return f"{counts[0]}" if counts[0] == counts[1] else f"{counts[0]} and {counts[1]}"


def _reasons(result: Result) -> Iterator[str]:
    for when, side in (("before", result.before), ("now", result.now)):
        if side.failure is not None:
            reason = " ".join(side.failure.split()).replace("|", "/")
            yield f"* {result.case.name}, {when}: {reason}"
