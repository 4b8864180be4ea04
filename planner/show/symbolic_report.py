"""Plans of problems with symbols for people: what they consist of, and their peaks at many values.

In the picture of a sweep the peak and the least that is known are above, their ratio below. The symbol goes
across by equal factors where its range is wide; bytes go up by equal factors.
"""

from collections.abc import Iterator
from typing import Final

from memstow.planner.formulas.sizes import values_text
from memstow.planner.model import PLANNED
from memstow.planner.model.symbolic import SymbolicDocument, SymbolicPlan
from memstow.planner.shapes.sweep import Sweep, SweepPoint, said_points, sweep_points
from memstow.planner.shapes.symbolic_layout import Layout
from memstow.planner.show import svg
from memstow.planner.show.drawing import CAPACITY, INK, MET, OPEN, QUIET, RAMP
from memstow.planner.show.formatting import count, human, plain, short_name, table


def sweep_table(sweep: Sweep) -> str:
    """A line for each value, and the largest ratio."""
    if not sweep.points:
        return "no values"
    names = list(sweep.points[0].at) if sweep.symbol is None else [sweep.symbol.id]
    several = any(point.order is not None for point in sweep.points)
    head = [*names, short_name(sweep.term), "least", "ratio", *(["order"] if several else [])]
    rows = [_row(point, names, several) for point in sweep.points]
    lines = [f"at {values_text(sweep.fixed)}", ""] if sweep.fixed else []
    lines += table(head, rows, left=0)
    misfits = sum(point.peak is None for point in sweep.points)
    if misfits:
        lines += ["", f"the plan does not fit at {misfits:,} of {len(sweep.points):,} values"]
    worst = sweep.worst
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


def symbolic_report(document: SymbolicDocument, plan: SymbolicPlan) -> str:
    """Lines without a last line break; the plan is judged already."""
    if plan.status not in PLANNED:
        reason = "" if plan.explanation is None else f": {plain(plan.explanation.message, most=1000)}"
        return f"{plan.status.value}{reason}"
    lines = [f"{plan.status.value}: {_what(plan)}, {_how_good(plan)}{_of_all_orders(plan)}", ""]
    # Which of several orders is used at a point, the plan does not say.
    several = len(plan.orders) > 1 or not plan.points
    sweep = sweep_points(Layout(document, plan)) if several else said_points(document, plan)
    lines += [sweep_table(sweep)]
    return "\n".join(lines)


def _what(plan: SymbolicPlan) -> str:
    buffers = len(plan.placements) if plan.shapes == "fixed" else len(plan.orders[0].placements)
    noun = "buffer" if buffers == 1 else "buffers"
    if plan.shapes == "fixed":
        return f"fixed offsets of {count(buffers)} {noun}"
    if len(plan.orders) == 1:
        return f"one order of {count(buffers)} {noun}"
    return f"{len(plan.orders)} orders of {count(buffers)} {noun}"


def _how_good(plan: SymbolicPlan) -> str:
    if plan.worst is None:
        return "no ratio: at some value the least is 0"
    if plan.shapes == "fixed":
        return f"largest ratio {ratio_text(plan.worst)}"
    if plan.bound is not None and plan.bound == plan.worst:
        return f"largest ratio {ratio_text(plan.worst)}, proven least"
    where = next(
        (point.at for point in plan.points if point.least and point.peak / point.least == plan.worst), None
    )
    at = "" if where is None else f" at {values_text(where)}"
    return f"largest ratio {ratio_text(plan.worst)}{at}; not proven: perhaps {ratio_text(plan.bound or 1.0)}"


def _of_all_orders(plan: SymbolicPlan) -> str:
    """What is known of other orders of the operators of a graph."""
    points = plan.points
    if not points or any(point.bound is None for point in points):
        return ""
    if all(point.bound == point.peak for point in points):
        return ", in any order of the operators"
    worst = max(points, key=lambda point: point.peak / (point.bound or 1))
    times = ratio_text(worst.peak / (worst.bound or 1))
    return f"; in this order of the operators, at most {times} times what any needs"


_BYTES_TALL: Final = 260
_BETWEEN: Final = 28
_RATIO_TALL: Final = 110
_BYTES_BOTTOM: Final = svg.TOP + _BYTES_TALL
_RATIO_TOP: Final = _BYTES_BOTTOM + _BETWEEN
_RATIO_BOTTOM: Final = _RATIO_TOP + _RATIO_TALL
_HEIGHT: Final = _RATIO_BOTTOM + svg.FOOT
_WIDE: Final = 16
_MOST_MARKS: Final = 80
_MOST_SAID: Final = 24
_COLOUR: Final = RAMP[8]


def sweep_svg(sweep: Sweep) -> str:
    """The picture; of a sweep along a symbol."""
    title = plain(sweep.name or "peaks", most=60)
    fixed = f" at {values_text(sweep.fixed)}" if sweep.fixed else ""
    lines = [
        svg.text(svg.LEFT, 17, title, fill=QUIET),
        f'<text x="{svg.LEFT}" y="36" font-size="13" fill="{INK}">'
        f'<tspan font-weight="bold">{svg.escape(short_name(sweep.term))}</tspan> over '
        f'<tspan font-weight="bold">{svg.escape(_symbol_name(sweep))}</tspan>'
        f'<tspan fill="{QUIET}">{svg.escape(fixed)}</tspan>{_worst(sweep)}</text>',
        *_charts(sweep),
        *_legend(sweep),
    ]
    # In words, for those who cannot see the picture.
    every = max(1, -(-len(sweep.points) // _MOST_SAID))
    return svg.page(
        svg.WIDTH, _HEIGHT, title, plain("; ".join(_said(point) for point in sweep.points[::every])), lines
    )


def _symbol_name(sweep: Sweep) -> str:
    return sweep.symbol.id if sweep.symbol is not None else ""


def _charts(sweep: Sweep) -> Iterator[str]:
    values = [_value(sweep, point) for point in sweep.points]
    low, high = min(values, default=0), max(values, default=1)
    is_wide = low >= 0 and high // max(low, 1) >= _WIDE
    across = svg.Scale(low, high, svg.LEFT + 10, svg.RIGHT - 10, by_factors=is_wide)
    heights = [point.least for point in sweep.points] + [
        point.peak for point in sweep.points if point.peak is not None
    ]
    low, high = max(min(heights, default=1), 1), max([*heights, 2])
    up = svg.Scale(low / 1.2, high * 1.2, _BYTES_BOTTOM, svg.TOP, by_factors=True)
    ratios = [point.ratio for point in sweep.points if point.ratio is not None]
    top = max([*ratios, 1.05])
    ratio = svg.Scale(1.0, 1.0 + (top - 1.0) * 1.15, _RATIO_BOTTOM, _RATIO_TOP)
    yield svg.frame(svg.TOP, _BYTES_TALL)
    yield svg.frame(_RATIO_TOP, _RATIO_TALL)
    for value in _values_shown(across):
        yield from svg.tick_below(across.at(value), _RATIO_BOTTOM, count(value))
    yield svg.name_below(_RATIO_BOTTOM, _symbol_name(sweep))
    for size in _powers_of_two(low, high, svg.TICKS + 1):
        yield from svg.tick_left(up.at(size), human(size))
    for number in range(svg.TICKS):
        share = 1.0 + (top - 1.0) * number / (svg.TICKS - 1)
        yield from svg.tick_left(ratio.at(share), f"{share:.3f}")
    yield svg.name_above(_RATIO_TOP, "ratio")
    yield from _line(sweep, across, up, "peak")
    # Over the peak, so that both are seen where they meet.
    yield from _line(sweep, across, up, "least")
    yield from _line(sweep, across, ratio, "ratio")
    yield from _marks(sweep, across, up, ratio)


def _value(sweep: Sweep, point: SweepPoint) -> int:
    return point.at[sweep.symbol.id] if sweep.symbol is not None else 0


def _values_shown(scale: svg.Scale) -> list[int]:
    low, high = int(scale.low), int(scale.high)
    return _powers_of_two(low, high, 2 * svg.TICKS) if scale.by_factors else svg.round_values(low, high)


def _powers_of_two(low: int, high: int, most: int) -> list[int]:
    """Those within the range, or every n-th of them where they are too many."""
    powers = [1 << exponent for exponent in range(high.bit_length() + 1) if low <= 1 << exponent <= high]
    return powers[:: max(1, -(-len(powers) // most))]


def _line(sweep: Sweep, across: svg.Scale, up: svg.Scale, what: str) -> Iterator[str]:
    """The line of a figure, broken where there is none."""
    path, drawing = [], False
    for point in sweep.points:
        value = {"peak": point.peak, "least": point.least, "ratio": point.ratio}[what]
        if value is not None:
            path.append(f"{'L' if drawing else 'M'}{across.at(_value(sweep, point)):.1f} {up.at(value):.1f}")
        drawing = value is not None
    if path:
        style = f'stroke="{OPEN}" stroke-dasharray="5 3"' if what == "least" else f'stroke="{_COLOUR}"'
        yield f'<path class="{what}" d="{"".join(path)}" {style} stroke-width="1.5" fill="none"/>'


def _marks(sweep: Sweep, across: svg.Scale, up: svg.Scale, ratio: svg.Scale) -> Iterator[str]:
    """A mark at each point, with its figures; red at the foot where the plan does not fit."""
    for point in sweep.points if len(sweep.points) <= _MOST_MARKS else ():
        x = across.at(_value(sweep, point))
        said = svg.escape(_said(point))
        if point.peak is None:
            yield (
                f'<circle class="misfit" cx="{x:.1f}" cy="{_BYTES_BOTTOM}" r="3.5" fill="{CAPACITY}">'
                f"<title>{said}</title></circle>"
            )
            continue
        places = [up.at(point.peak)] + ([] if point.ratio is None else [ratio.at(point.ratio)])
        met = point.peak == point.least
        for y in places:
            yield (
                f'<circle class="{"met" if met else "open"}" cx="{x:.1f}" cy="{y:.1f}" r="3" '
                f'fill="{_COLOUR if met else "#ffffff"}" stroke="{_COLOUR}"><title>{said}</title></circle>'
            )


def _said(point: SweepPoint) -> str:
    at = values_text(point.at)
    if point.peak is None:
        return f"{at}: the plan does not fit"
    ratio = "" if point.ratio is None else f", ratio {point.ratio:.3f}"
    order = "" if point.order is None else f", order {point.order}"
    return f"{at}: {count(point.peak)}, least {count(point.least)}{ratio}{order}"


def _worst(sweep: Sweep) -> str:
    worst = sweep.worst
    if worst is None or worst.ratio is None:
        return ""
    colour = MET if worst.ratio == 1 else OPEN
    return f'<tspan dx="8" fill="{colour}">largest ratio {worst.ratio:.3f}</tspan>'


def _legend(sweep: Sweep) -> Iterator[str]:
    entries = ((short_name(sweep.term), _COLOUR), ("least that is known", OPEN))
    for place, (words, colour) in enumerate(entries):
        y = svg.legend_line(place)
        yield f'<rect x="{svg.LEFT + 12}" y="{y - 5}" width="14" height="2" fill="{colour}"/>'
        yield svg.text(svg.LEFT + 32, y, words, fill=QUIET)
    for place, (words, rim, fill) in enumerate(_dots(sweep), len(entries)):
        y = svg.legend_line(place)
        yield f'<circle cx="{svg.LEFT + 19}" cy="{y - 4}" r="3" fill="{fill}" stroke="{rim}"/>'
        yield svg.text(svg.LEFT + 32, y, words, fill=QUIET)


def _dots(sweep: Sweep) -> Iterator[tuple[str, str, str]]:
    """What the marks mean that are there: a text, the colour of the rim, and that inside."""
    points = sweep.points if len(sweep.points) <= _MOST_MARKS else ()
    if any(point.peak is not None and point.peak == point.least for point in points):
        yield "the least", _COLOUR, _COLOUR
    if any(point.peak is not None and point.peak != point.least for point in points):
        yield "above the least", _COLOUR, "#ffffff"
    if any(point.peak is None for point in points):
        yield "does not fit", CAPACITY, CAPACITY
