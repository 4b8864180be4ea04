"""The peaks of a symbolic plan at many values, as a table for people."""

from memstow.planner.shapes.sizes import values_text
from memstow.planner.shapes.sweep import Sweep, SweepPoint
from memstow.planner.show.formatting import count, plain, table

_NAME = 40


def sweep_table(found: Sweep) -> str:
    """A line for each value, and the largest ratio."""
    if not found.points:
        return "no values"
    names = list(found.points[0].at) if found.symbol is None else [found.symbol.id]
    several = any(point.order is not None for point in found.points)
    head = [*names, plain(found.term, most=_NAME), "least", "ratio", *(["order"] if several else [])]
    rows = [_row(point, names, several) for point in found.points]
    lines = [f"at {values_text(found.fixed)}", ""] if found.fixed else []
    lines += table(head, rows, left=0)
    misfits = sum(point.peak is None for point in found.points)
    if misfits:
        lines += ["", f"the plan does not fit at {misfits:,} of {len(found.points):,} values"]
    worst = found.worst
    if worst is not None and worst.ratio is not None:
        lines += ["", f"largest ratio {ratio_text(worst.ratio)} at {values_text(worst.at)}"]
    return "\n".join(lines)


def _row(point: SweepPoint, names: list[str], several: bool) -> list[str]:
    order = "" if point.order is None else str(point.order)
    return [
        *(count(point.at[name]) for name in names),
        "does not fit" if point.peak is None else count(point.peak),
        count(point.least),
        "-" if point.ratio is None else ratio_text(point.ratio),
        *([order] if several else []),
    ]


def ratio_text(ratio: float) -> str:
    """Only what reaches the least is written 1.000."""
    rounded = f"{ratio:.3f}"
    return ">1.000" if rounded == "1.000" and ratio > 1 else rounded
