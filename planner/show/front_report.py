"""A front for people: a line for each point, and a picture with a step at each point.

In the picture the first term goes across, the second up. A proven point is filled, an open one is hollow,
with a line to its bound. Where targets are compared, each has stairs of its own, drawn over those of smaller
ones: what is the same in both is seen once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from memstow.planner.model.front import Front, FrontPoint, KeptOrder, TargetFront
from memstow.planner.model.plan import gap_of
from memstow.planner.show.drawing import FRAME, INK, MET, OPEN, QUIET, RAMP
from memstow.planner.show.formatting import count, human, percent, plain, seconds, table

_CELL_NAME = 40
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
    head = [plain(term, most=_CELL_NAME) for term in front.terms]
    if open_:
        head += [f"{name} bound" for name in head] + ["gap"]
    rows = []
    for point in points:
        row = [count(point.values[term]) for term in front.terms]
        if open_:
            row += [count(point.bounds[term]) if term in point.bounds else "-" for term in front.terms]
            row.append(percent(_gap(front, point)))
        rows.append((*row, "proven" if point.proven else "open"))
    return table((*head, ""), rows, left=0)


def _gap(front: Front, point: FrontPoint) -> float:
    """The larger of the gaps of the two terms."""
    return max(gap_of(point.values[term], point.bounds.get(term, 0)) for term in front.terms)


def _verdict(front: Front) -> str:
    number = len(front.points)
    noun = "point" if number == 1 else "points"
    proven = sum(point.proven for point in front.points)
    said = [f"complete: {number:,} {noun}, all proven"]
    if not front.complete:
        said = [f"{number:,} {noun}, {proven:,} proven", "there may be others"]
    if front.seconds:
        said.append(seconds(front.seconds))
    return ", ".join(said)


def _kept(front: Front, kept: KeptOrder) -> str:
    said = "the operators run as they are listed; --order free looks for other orders, too"
    if kept.free_bytes is None:
        return said
    said += (
        f": with each operator once, one needs {count(kept.free_bytes)} live bytes, not {count(kept.bytes)}"
    )
    least = min((point.values[front.terms[0]] for point in front.points), default=None)
    if least is not None and kept.free_bytes < least:
        said += f", which is {percent(1 - kept.free_bytes / least)} less than the least point"
    return said


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
        where = f", all in {plain(target.pool, most=_CELL_NAME)!r}{of}"
        size += " in all"
    lines = [f"{plain(target.target, most=_CELL_NAME)} ({size}): {_FITS[target.fits]}{where}"]
    if target.explanation is not None:
        lines.append(f"  {plain(target.explanation.message)}")
    return lines + [f"  {line}" for line in _points(front, target.points)]


def _capacity(target: TargetFront) -> int | None:
    """Of the only memory that all is in, where that is known."""
    for point in target.points:
        return next((it.capacity for it in point.plan.pools if it.pool == target.pool), None)
    said = target.explanation
    return said.capacity if said is not None and said.pool == target.pool else None


def _which(front: Front) -> str:
    if front.smallest is not None:
        return f"the smallest that will do: {plain(front.smallest, most=_CELL_NAME)}"
    if all(target.fits == "no" for target in front.targets):
        return "none of them will do"
    said = "the smallest that will do is not known"
    # What the others say of themselves is of more use.
    open_ = [it for it in front.targets if it.fits == "unknown"]
    return f"{said}; give it more time" if not open_ or any(it.explanation is None for it in open_) else said


_WIDTH: Final = 720
_LEFT, _RIGHT, _TOP, _FOOT = 90, 690, 56, 46
_TALL: Final = 340
_BOTTOM: Final = _TOP + _TALL
_MOST_LABELS: Final = 24
_TICKS: Final = 5
_IN_BYTES: Final = ("peak", "max_peak", "capacity")
_LONGEST_NAME: Final = 40
_LABEL_WIDTH, _LABEL_TALL = 110, 13
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
    """A term, from its least value to its largest, in pixels."""

    term: str
    low: int
    high: int
    begin: int
    end: int

    def at(self, value: int) -> float:
        """The place of a value."""
        span = max(self.high - self.low, 1)
        return self.begin + (self.end - self.begin) * (value - self.low) / span

    @property
    def in_bytes(self) -> bool:
        """Whether its values are bytes."""
        return self.term.partition(":")[0] in _IN_BYTES

    def text(self, value: int) -> str:
        """How a value is written."""
        return human(value) if self.in_bytes else count(value)


def front_svg(front: Front) -> str:
    """The picture, for several targets with a curve for each."""
    curves = _curves(front)
    height = _BOTTOM + _FOOT
    title = plain(front.name or "front", most=200)
    first, second = (plain(term, most=_LONGEST_NAME) for term in front.terms)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="11" role="img">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(_description(front, curves))}</desc>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="17" fill="{QUIET}">{escape(plain(title, most=60))}</text>',
        f'<text x="{_LEFT}" y="36" font-size="13" fill="{INK}">'
        f'<tspan font-weight="bold">{escape(first)}</tspan> against '
        f'<tspan font-weight="bold">{escape(second)}</tspan>'
        f'<tspan dx="8" fill="{MET if front.complete else OPEN}">'
        f"{'complete' if front.complete else 'there may be others'}</tspan></text>",
    ]
    points = [point for curve in curves for point in curve.points]
    if points:
        across, up = _axes(front, points)
        lines += [*_frame(across, up)]
        labels = _Labels(_labelled(len(points)))
        for curve in curves:
            lines += _stairs(curve, across, up, labels)
    else:
        lines.append(f'<text class="caption" x="{_LEFT}" y="{_TOP + 20}" fill="{QUIET}">no points</text>')
    lines += _legend(curves)
    return "\n".join(lines) + "\n</svg>\n"


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
    return (
        _Axis(front.terms[0], *ends[0], _LEFT, _RIGHT),
        _Axis(front.terms[1], *ends[1], _BOTTOM, _TOP),
    )


def _frame(across: _Axis, up: _Axis) -> Iterator[str]:
    yield (
        f'<rect class="map" x="{_LEFT}" y="{_TOP}" width="{_RIGHT - _LEFT}" height="{_TALL}" '
        f'fill="#ffffff" stroke="{FRAME}"/>'
    )
    for value in _ticks(across):
        x = across.at(value)
        text = escape(across.text(value))
        yield f'<path d="M{x:.1f} {_BOTTOM}v4" stroke="{QUIET}"/>'
        yield f'<text x="{x:.1f}" y="{_BOTTOM + 16}" text-anchor="middle" fill="{QUIET}">{text}</text>'
    for value in _ticks(up):
        y = up.at(value)
        text = escape(up.text(value))
        yield f'<path d="M{_LEFT - 4} {y:.1f}h4" stroke="{QUIET}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{QUIET}">{text}</text>'
    middle = (_LEFT + _RIGHT) // 2
    name = escape(plain(across.term, most=_LONGEST_NAME))
    yield f'<text x="{middle}" y="{_BOTTOM + 36}" text-anchor="middle" fill="{QUIET}">{name}</text>'
    name = escape(plain(up.term, most=_LONGEST_NAME))
    yield f'<text x="{_LEFT}" y="{_TOP - 6}" fill="{QUIET}" text-anchor="end">{name}</text>'


def _ticks(axis: _Axis) -> list[int]:
    """Round values: bytes in powers of two, others in 1, 2 or 5 of a power of ten."""
    least = max(-(-(axis.high - axis.low) // _TICKS), 1)
    if axis.in_bytes:
        step = 1 << (least - 1).bit_length()
    else:
        power = 10 ** (len(str(least)) - 1)
        step = next(it * power for it in (1, 2, 5, 10) if it * power >= least)
    return list(range(-(-axis.low // step) * step, axis.high + 1, step))


class _Labels:
    """Where labels are, so that none lies on another: of each curve the ends first, then the others."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._kept: list[tuple[float, float]] = []

    def of(self, curve: _Curve, across: _Axis, up: _Axis) -> set[int]:
        """The points of this curve that have one."""
        number = len(curve.points)
        found = set()
        for place in dict.fromkeys((0, number - 1, *range(number))) if number else ():
            values = curve.points[place].values
            x, y = across.at(values[across.term]), up.at(values[up.term])
            # The last one is to the left of its point.
            x -= _LABEL_WIDTH if x > _RIGHT - 120 else 0
            free = all(abs(x - a) > _LABEL_WIDTH or abs(y - b) > _LABEL_TALL for a, b in self._kept)
            if free and place % self._each == 0:
                self._kept.append((x, y))
                found.add(place)
        return found


def _stairs(curve: _Curve, across: _Axis, up: _Axis, labels: _Labels) -> Iterator[str]:
    """The steps of a curve, its bounds, and its points."""
    if not curve.points:
        return
    first, second = across.term, up.term
    path = []
    for place, point in enumerate(curve.points):
        x, y = across.at(point.values[first]), up.at(point.values[second])
        path.append(f"M{x:.1f} {_TOP}V{y:.1f}" if place == 0 else f"H{x:.1f}V{y:.1f}")
    yield (
        f'<path class="front" d="{"".join(path)}H{_RIGHT}" stroke="{curve.colour}" stroke-width="1.5" '
        'fill="none"/>'
    )
    labelled = labels.of(curve, across, up)
    for place, point in enumerate(curve.points):
        yield from _point(curve, point, across, up, place in labelled)


def _point(curve: _Curve, point: FrontPoint, across: _Axis, up: _Axis, labelled: bool) -> Iterator[str]:
    values = point.values[across.term], point.values[up.term]
    x, y = across.at(values[0]), up.at(values[1])
    least = point.bounds.get(up.term, 0)
    if least < values[1]:
        low = min(up.at(max(least, up.low)), float(_BOTTOM))
        yield (
            f'<path class="bound" d="M{x:.1f} {y:.1f}V{low:.1f}" stroke="{OPEN}" stroke-dasharray="5 3" '
            'fill="none"/>'
        )
    fill = curve.colour if point.proven else "#ffffff"
    kind = "proven" if point.proven else "open"
    said = f"{across.term} {count(values[0])}, {up.term} {count(values[1])}, {kind}"
    yield (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{curve.colour}" '
        f'stroke-width="1.5"><title>{escape(plain(said))}</title></circle>'
    )
    if labelled:
        text = escape(f"{across.text(values[0])}, {up.text(values[1])}")
        beside = ("end", x - 7) if x > _RIGHT - 120 else ("start", x + 7)
        yield (
            f'<text x="{beside[1]:.1f}" y="{y - 6:.1f}" text-anchor="{beside[0]}" fill="{INK}" '
            f'stroke="#ffffff" stroke-width="2" paint-order="stroke">{text}</text>'
        )


def _legend(curves: Sequence[_Curve]) -> Iterator[str]:
    for place, curve in enumerate(curves[:_MOST_LABELS]):
        if curve.name is None:
            return
        y = _TOP + 16 + 14 * place
        said = plain(curve.name, most=_LONGEST_NAME) + (f": {curve.says}" if curve.says else "")
        weight = ' font-weight="bold"' if curve.best else ""
        if curve.best:
            said += ", the smallest that will do"
        fill = curve.colour if curve.points else "#ffffff"
        box = f'x="{_RIGHT - 14}" y="{y - 9}" width="10" height="10"'
        yield f'<rect {box} fill="{fill}" stroke="{curve.colour}"/>'
        yield (
            f'<text class="target" x="{_RIGHT - 20}" y="{y}" text-anchor="end" fill="{QUIET}"{weight} '
            f'stroke="#ffffff" stroke-width="3" paint-order="stroke">{escape(said)}</text>'
        )


def _labelled(number: int) -> int:
    """Each how many points have a label."""
    return max(1, -(-number // _MOST_LABELS))


def _description(front: Front, curves: Sequence[_Curve]) -> str:
    """The figures in words, for those who cannot see the picture."""
    first, second = front.terms
    said = []
    for curve in curves:
        some = [
            f"{count(it.values[first])} and {count(it.values[second])}{'' if it.proven else ' (open)'}"
            for it in curve.points[:_MOST_LABELS]
        ]
        name = f"{curve.name}: " if curve.name else ""
        said.append(name + (curve.says or "; ".join(some)))
    smallest = [curve.name for curve in curves if curve.best]
    said += [f"The smallest that will do is {name}" for name in smallest]
    return plain(f"{first} across, {second} up, a step for each point. " + ". ".join(said))
