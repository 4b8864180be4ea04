"""A front for people: a line for each point, and a picture with a step at each point.

In the picture the first term goes across, the second up. A proven point is filled, an open one is hollow,
with a line to its bound. Where targets are compared, each has stairs of its own, drawn over those of smaller
ones: what is the same in both is seen once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.model.front import Front, FrontPoint, KeptOrder, TargetFront
from memstow.planner.model.plan import gap_of
from memstow.planner.show import svg
from memstow.planner.show.drawing import INK, MET, OPEN, QUIET, RAMP
from memstow.planner.show.formatting import count, human, percent, plain, seconds, short_name, table

_FITS = {"yes": "fits", "no": "does not fit", "unknown": "unknown"}


def front_report(front: Front) -> str:
    """The front as text."""
    lines: list[str] = []
    for target in front.targets:
        lines += [*_target(front, target), ""]
    if front.targets:
        lines.append(_which(front))
    else:
        lines += _points(front, front.points)
        lines += ["", _verdict(front)] if front.points else [_nothing(front)]
    if front.kept_order is not None:
        lines.append(_kept(front, front.kept_order))
    return "\n".join(lines)


def _points(front: Front, points: Sequence[FrontPoint]) -> list[str]:
    """A line for each point: values, bounds where they are not reached, the gap, and whether it is proven."""
    if not points:
        return []
    open_ = any(not point.proven for point in points)
    head = [short_name(term) for term in front.terms]
    if open_:
        head += [f"{name} bound" for name in head] + ["gap"]
    rows = []
    for point in points:
        row = [count(point.values[term]) for term in front.terms]
        if open_:
            row += [count(point.bounds[term]) if term in point.bounds else "-" for term in front.terms]
            # The larger of the gaps of the two terms.
            row.append(
                percent(max(gap_of(point.values[term], point.bounds.get(term, 0)) for term in front.terms))
            )
        rows.append((*row, "proven" if point.proven else "open"))
    return table((*head, ""), rows, left=0)


def _verdict(front: Front) -> str:
    number = len(front.points)
    noun = "point" if number == 1 else "points"
    proven = sum(point.proven for point in front.points)
    parts = [f"complete: {number:,} {noun}, all proven"]
    if not front.complete:
        parts = [f"{number:,} {noun}, {proven:,} proven", "there may be others"]
    if front.seconds:
        parts.append(seconds(front.seconds))
    return ", ".join(parts)


def _kept(front: Front, order: KeptOrder) -> str:
    text = "the operators run as they are listed; --order free looks for other orders, too"
    if order.free_bytes is None:
        return text
    text += (
        f": with each operator once, one needs {count(order.free_bytes)} live bytes, not {count(order.bytes)}"
    )
    least = min((point.values[front.terms[0]] for point in front.points), default=None)
    if least is not None and order.free_bytes < least:
        text += f", which is {percent(1 - order.free_bytes / least)} less than the least point"
    return text


def _nothing(front: Front) -> str:
    if front.explanation is not None:
        known = "infeasible" if front.complete else "no plan was found"
        return f"{known}: {plain(front.explanation.message, most=600)}"
    return "infeasible: nothing fits" if front.complete else "no plan was found; give it more time"


def _target(front: Front, target: TargetFront) -> list[str]:
    size = "no limit" if target.bytes is None else human(target.bytes)
    where = ""
    if target.pool is not None:
        capacity = _capacity(target)
        of = "" if capacity is None else f" of {human(capacity)}"
        where = f", all in {short_name(target.pool)!r}{of}"
        size += " in all"
    lines = [f"{short_name(target.target)} ({size}): {_FITS[target.fits]}{where}"]
    if target.explanation is not None:
        lines.append(f"  {plain(target.explanation.message)}")
    return lines + [f"  {line}" for line in _points(front, target.points)]


def _capacity(target: TargetFront) -> int | None:
    """Of the only memory that all is in, where that is known."""
    for point in target.points:
        return next((pool.capacity for pool in point.plan.pools if pool.pool == target.pool), None)
    explanation = target.explanation
    return explanation.capacity if explanation is not None and explanation.pool == target.pool else None


def _which(front: Front) -> str:
    if front.smallest is not None:
        return f"the smallest that will do: {short_name(front.smallest)}"
    if all(target.fits == "no" for target in front.targets):
        return "none of them will do"
    text = "the smallest that will do is not known"
    # What the others say of themselves is of more use.
    open_ = [target for target in front.targets if target.fits == "unknown"]
    return (
        f"{text}; give it more time"
        if not open_ or any(entry.explanation is None for entry in open_)
        else text
    )


_TALL: Final = 340
_BOTTOM: Final = svg.TOP + _TALL
_HEIGHT: Final = _BOTTOM + svg.FOOT
_MOST_LABELS: Final = 24
_IN_BYTES: Final = ("peak", "max_peak", "capacity")
_LABEL_WIDTH, _LABEL_TALL = 110, 13
_LEFT_OF_POINT: Final = svg.RIGHT - 120
"""Labels of points beyond this are to the left of them, and so inside of the page."""
_SAYS: Final = {"no": "does not fit", "unknown": "unknown"}


@dataclass(frozen=True, slots=True)
class _Curve:
    """The points of one front in the picture."""

    name: str | None
    points: Sequence[FrontPoint]
    colour: str
    says: str = ""
    """What there is to say of it beside its name."""
    best: bool = False
    """Whether it is the smallest target that will do."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """A term and the scale of its values."""

    term: str
    scale: svg.Scale

    def at(self, point: FrontPoint) -> float:
        """The place of a point on this axis."""
        return self.scale.at(point.values[self.term])

    @property
    def in_bytes(self) -> bool:
        """Whether its values are bytes."""
        return self.term.partition(":")[0] in _IN_BYTES

    def text(self, value: int) -> str:
        """How a value is written."""
        return human(value) if self.in_bytes else count(value)

    def ticks(self) -> list[int]:
        """Round values: bytes in powers of two, others in 1, 2 or 5 of a power of ten."""
        low, high = int(self.scale.low), int(self.scale.high)
        step = 1 << (svg.tick_distance(low, high) - 1).bit_length() if self.in_bytes else None
        return svg.round_values(low, high, step)


def front_svg(front: Front) -> str:
    """The picture, for several targets with a curve for each."""
    curves = _curves(front)
    title = plain(front.name or "front", most=200)
    first, second = (svg.escape(short_name(term)) for term in front.terms)
    lines = [
        svg.text(svg.LEFT, 17, plain(title, most=60), fill=QUIET),
        f'<text x="{svg.LEFT}" y="36" font-size="13" fill="{INK}">'
        f'<tspan font-weight="bold">{first}</tspan> against '
        f'<tspan font-weight="bold">{second}</tspan>'
        f'<tspan dx="8" fill="{MET if front.complete else OPEN}">'
        f"{'complete' if front.complete else 'there may be others'}</tspan></text>",
    ]
    points = [point for curve in curves for point in curve.points]
    if points:
        across, up = _axes(front, points)
        lines += _frame(across, up)
        # Each how many points have a label.
        labels = _Labels(max(1, -(-len(points) // _MOST_LABELS)))
        for curve in curves:
            lines += _stairs(curve, across, up, labels)
    else:
        lines.append(svg.text(svg.LEFT, svg.TOP + 20, "no points", kind="caption", fill=QUIET))
    lines += _legend(curves)
    return svg.page(svg.WIDTH, _HEIGHT, title, _description(front, curves), lines)


def _curves(front: Front) -> list[_Curve]:
    if not front.targets:
        return [_Curve(None, front.points, RAMP[8])]
    last = max(len(front.targets) - 1, 1)
    return [
        _Curve(
            target.target,
            target.points,
            RAMP[place * (len(RAMP) - 1) // last],
            _SAYS.get(target.fits, ""),
            target.target == front.smallest,
        )
        for place, target in enumerate(front.targets)
    ]


def _axes(front: Front, points: Sequence[FrontPoint]) -> tuple[_Axis, _Axis]:
    ends = []
    for term in front.terms:
        values = [point.values[term] for point in points]
        low, high = min(values), max(values)
        margin = max((high - low) // 10, 1)
        ends.append((max(low - margin, 0), high + margin))
    across, up = (front.terms[0], *ends[0]), (front.terms[1], *ends[1])
    return (
        _Axis(across[0], svg.Scale(across[1], across[2], svg.LEFT, svg.RIGHT)),
        _Axis(up[0], svg.Scale(up[1], up[2], _BOTTOM, svg.TOP)),
    )


def _frame(across: _Axis, up: _Axis) -> Iterator[str]:
    yield svg.frame(svg.TOP, _TALL)
    for value in across.ticks():
        yield from svg.tick_below(across.scale.at(value), _BOTTOM, across.text(value))
    for value in up.ticks():
        yield from svg.tick_left(up.scale.at(value), up.text(value))
    yield svg.name_below(_BOTTOM, short_name(across.term))
    yield svg.name_above(svg.TOP, short_name(up.term))


class _Labels:
    """Where labels are, so that none lies on another: of each curve the ends first, then the others."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._kept: list[tuple[float, float]] = []

    def of(self, curve: _Curve, across: _Axis, up: _Axis) -> set[int]:
        """The points of this curve that have one."""
        number = len(curve.points)
        labelled = set()
        for place in dict.fromkeys((0, number - 1, *range(number))) if number else ():
            x, y = across.at(curve.points[place]), up.at(curve.points[place])
            # The last one is to the left of its point.
            x -= _LABEL_WIDTH if x > _LEFT_OF_POINT else 0
            free = all(abs(x - a) > _LABEL_WIDTH or abs(y - b) > _LABEL_TALL for a, b in self._kept)
            if free and place % self._each == 0:
                self._kept.append((x, y))
                labelled.add(place)
        return labelled


def _stairs(curve: _Curve, across: _Axis, up: _Axis, labels: _Labels) -> Iterator[str]:
    """The steps of a curve, its bounds, and its points."""
    if not curve.points:
        return
    path = []
    for place, point in enumerate(curve.points):
        x, y = across.at(point), up.at(point)
        path.append(f"M{x:.1f} {svg.TOP}V{y:.1f}" if place == 0 else f"H{x:.1f}V{y:.1f}")
    yield (
        f'<path class="front" d="{"".join(path)}H{svg.RIGHT}" stroke="{curve.colour}" stroke-width="1.5" '
        'fill="none"/>'
    )
    labelled = labels.of(curve, across, up)
    for place, point in enumerate(curve.points):
        yield from _point(curve, point, across, up, place in labelled)


def _point(curve: _Curve, point: FrontPoint, across: _Axis, up: _Axis, labelled: bool) -> Iterator[str]:
    values = point.values[across.term], point.values[up.term]
    x, y = across.at(point), up.at(point)
    least = point.bounds.get(up.term, 0)
    if least < values[1]:
        low = min(up.scale.at(max(least, up.scale.low)), float(_BOTTOM))
        yield (
            f'<path class="bound" d="M{x:.1f} {y:.1f}V{low:.1f}" stroke="{OPEN}" stroke-dasharray="5 3" '
            'fill="none"/>'
        )
    fill = curve.colour if point.proven else "#ffffff"
    kind = "proven" if point.proven else "open"
    tooltip = f"{across.term} {count(values[0])}, {up.term} {count(values[1])}, {kind}"
    yield (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{curve.colour}" '
        f'stroke-width="1.5"><title>{svg.escape(plain(tooltip))}</title></circle>'
    )
    if labelled:
        anchor, beside = ("end", x - 7) if x > _LEFT_OF_POINT else ("start", x + 7)
        yield svg.text(
            f"{beside:.1f}",
            f"{y - 6:.1f}",
            f"{across.text(values[0])}, {up.text(values[1])}",
            text_anchor=anchor,
            fill=INK,
            stroke="#ffffff",
            stroke_width=2,
            paint_order="stroke",
        )


def _legend(curves: Sequence[_Curve]) -> Iterator[str]:
    for place, curve in enumerate(curves[:_MOST_LABELS]):
        if curve.name is None:
            return
        y = svg.legend_line(place)
        words = short_name(curve.name) + (f": {curve.says}" if curve.says else "")
        if curve.best:
            words += ", the smallest that will do"
        fill = curve.colour if curve.points else "#ffffff"
        box = f'x="{svg.RIGHT - 14}" y="{y - 9}" width="10" height="10"'
        yield f'<rect {box} fill="{fill}" stroke="{curve.colour}"/>'
        yield svg.text(
            svg.RIGHT - 20,
            y,
            words,
            kind="target",
            text_anchor="end",
            fill=QUIET,
            font_weight="bold" if curve.best else None,
            stroke="#ffffff",
            stroke_width=3,
            paint_order="stroke",
        )


def _description(front: Front, curves: Sequence[_Curve]) -> str:
    """The figures in words, for those who cannot see the picture."""
    first, second = front.terms
    sentences = []
    for curve in curves:
        some = [
            f"{count(point.values[first])} and {count(point.values[second])}"
            f"{'' if point.proven else ' (open)'}"
            for point in curve.points[:_MOST_LABELS]
        ]
        name = f"{curve.name}: " if curve.name else ""
        sentences.append(name + (curve.says or "; ".join(some)))
    smallest = [curve.name for curve in curves if curve.best]
    sentences += [f"The smallest that will do is {name}" for name in smallest]
    return plain(f"{first} across, {second} up, a step for each point. " + ". ".join(sentences))
