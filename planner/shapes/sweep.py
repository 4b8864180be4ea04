"""The peak of a plan against the least that is known, at many values."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.formulas.sizes import problem_at
from memstow.planner.model.errors import InputError, closest_match
from memstow.planner.model.plan import Explanation
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import Problem, terms_of
from memstow.planner.model.symbolic import Symbol, SymbolicDocument, SymbolicPlan, count_of, points_of
from memstow.planner.reduce import reduce
from memstow.planner.shapes.symbolic_layout import Layout
from memstow.planner.solve.bounds import Bounds

MOST_POINTS: Final = 1_000
POINTS: Final = 17
_WIDE: Final = 16
"""A range whose ends are so many times apart is gone through by factors, not by steps."""
_NO_FIT: Final = "does_not_fit"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """What the plan needs at one value."""

    at: Mapping[str, int]
    peak: int | None
    """The objective; None: the plan does not fit here."""
    least: int
    """No layout for this value alone has less: by the live bytes, or as the plan says of a point."""
    order: int | None
    """The index of the order that is used, where the plan has several."""

    @property
    def ratio(self) -> float | None:
        """The peak over the least; None where there is no such number."""
        if self.peak is None or (self.peak and not self.least):
            return None
        return self.peak / self.least if self.peak else 1.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """The points, in order, and the symbol along which they are; None: the points of the problem."""

    name: str | None
    term: str
    symbol: Symbol | None
    fixed: Mapping[str, int]
    """The values of the other symbols."""
    points: Sequence[SweepPoint]

    @property
    def worst(self) -> SweepPoint | None:
        """The first point with the largest ratio."""
        known = [point for point in self.points if point.ratio is not None]
        return max(known, key=lambda point: point.ratio or 0.0, default=None)


def sweep(layout: Layout, symbol: str, others: Mapping[str, int], points: int = POINTS) -> Sweep:
    """The points along one symbol, the others having these values; an InputError if one has none."""
    swept = _symbol(layout, symbol)
    if symbol in others:
        message = f"{printable(symbol, 64)!r} has a value, and is to take all of its values; leave out one"
        raise InputError.single("two_values", "at", message)
    rows = [{**others, symbol: value} for value in spread(swept, points)]
    return _sweep(layout, swept, dict(others), rows)


def sweep_points(layout: Layout) -> Sweep:
    """The points of the problem."""
    return _sweep(layout, None, {}, [point.at for point in points_of(layout.problem)])


def said_points(document: SymbolicDocument, plan: SymbolicPlan) -> Sweep:
    """The points as a plan that is judged says them; nothing is computed again."""
    points = tuple(SweepPoint(point.at, point.peak, point.least, None) for point in plan.points)
    return Sweep(document.name, document.objective[0], None, {}, points)


def spread(symbol: Symbol, points: int) -> list[int]:
    """At most so many values of the symbol from its least to its largest: evenly, or by equal factors."""
    last = count_of(symbol) - 1
    if last < points:
        return [symbol.min + index * symbol.step for index in range(last + 1)]
    inner = points - 2
    low = max(symbol.min, 1)
    if symbol.min >= 0 and symbol.max // low >= _WIDE:
        begin = 0 if symbol.min == 0 else 1
        factor = (symbol.max / low) ** (1 / max(inner + begin, 1))
        wanted = [round(low * factor**power) for power in range(begin, begin + inner)]
    else:
        wanted = [symbol.min + last * index // (inner + 1) * symbol.step for index in range(1, inner + 1)]
    indices = (min(max((value - symbol.min) // symbol.step, 0), last) for value in wanted)
    return [symbol.min + index * symbol.step for index in sorted({0, last, *indices})]


def as_data(swept: Sweep) -> dict[str, object]:
    """The sweep as JSON holds it."""
    return {
        "term": swept.term,
        "symbol": None if swept.symbol is None else swept.symbol.id,
        "points": [
            {
                "at": dict(point.at),
                "peak": point.peak,
                "least": point.least,
                "ratio": point.ratio,
                "order": point.order,
            }
            for point in swept.points
        ],
    }


def as_csv(swept: Sweep) -> bytes:
    """The sweep as a table: a column for each symbol, then peak, least, ratio and the order."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = list(swept.points[0].at) if swept.points else []
    writer.writerow([*names, "peak", "least", "ratio", "order"])
    for point in swept.points:
        cells = (point.peak, point.least, None if point.ratio is None else f"{point.ratio:.6f}", point.order)
        writer.writerow([*point.at.values(), *("" if cell is None else cell for cell in cells)])
    return file.getvalue().encode()


def _symbol(layout: Layout, name: str) -> Symbol:
    symbols = {symbol.id: symbol for symbol in layout.problem.symbols}
    if name not in symbols:
        close = closest_match(name, symbols)
        meant = f"the symbols are {', '.join(symbols)}" if close is None else f"did you mean {close!r}?"
        message = f"there is no symbol {printable(name, 64)!r}; {meant}"
        raise InputError.single("no_symbol", "sweep", message)
    return symbols[name]


def _sweep(
    layout: Layout, symbol: Symbol | None, fixed: Mapping[str, int], rows: Sequence[Mapping[str, int]]
) -> Sweep:
    said = {frozenset(point.at.items()): point.least for point in layout.plan.points}
    points = tuple(_point(layout, at, said.get(frozenset(at.items()), 0)) for at in rows)
    return Sweep(layout.problem.name, layout.problem.objective[0], symbol, fixed, points)


def _point(layout: Layout, at: Mapping[str, int], said: int) -> SweepPoint:
    least = _least(problem_at(layout.problem, at))
    try:
        placed = layout.lay_out(at)
    except InputError as error:
        if error.issues[0].code != _NO_FIT:
            raise
        return SweepPoint(at, None, least, None)
    order = placed.order if len(layout.placers) > 1 else None
    # What a plan says is at most its peak, or it is not so.
    best = said if least < said <= placed.objective else least
    return SweepPoint(at, placed.objective, best, order)


def _least(problem: Problem) -> int:
    """The bound of the live bytes; where nothing fits, that in pools without an end."""
    for tried in (
        problem,
        replace(problem, pools=tuple(replace(pool, capacity=None) for pool in problem.pools)),
    ):
        reduction = reduce(tried)
        if not isinstance(reduction, Explanation):
            return Bounds(reduction).of_term(terms_of(tried)[0]).value
    return 0
