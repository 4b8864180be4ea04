"""Everything around and behind the boxes of a map: heading, holes, reserved ranges, lines, axes."""

from collections.abc import Iterator
from math import floor
from typing import Final
from xml.sax.saxutils import escape

from memstow.planner.show.drawing.palette import CAPACITY, FRAME, HOLE, INK, MET, OPEN, QUIET, RESERVED
from memstow.planner.show.drawing.scale import ACROSS, LEFT, RIGHT, Panel, px
from memstow.planner.show.drawing.shade import Columns, skyline
from memstow.planner.show.formatting import (
    address_ticks,
    count,
    human,
    percent,
    plain,
    time_text,
    time_ticks,
)

HEAD: Final = 48
"""Pixels above the map."""
FOOT: Final = 30
"""And below."""

_THIN: Final = 4
_TALL: Final = 200
_LETTER: Final = 6.4
_BESIDE: Final = 24
"""How far a word on the axis may go beyond the map."""


def heading(panel: Panel) -> str:
    """The pool, its peak, its capacity and its bound."""
    use = panel.use
    limit = "no limit"
    if use.capacity is not None:
        limit = f"of {human(use.capacity)}"
        limit += f", {percent(use.peak / use.capacity)} used" if use.capacity else ""
    told = [
        f'<tspan font-weight="bold">{escape(plain(panel.pool.id, most=40))}</tspan>',
        f'<tspan dx="8">{count(use.peak)} bytes ({human(use.peak)})</tspan>',
        f'<tspan dx="8" fill="{QUIET}">{limit}</tspan>',
    ]
    if use.bound:
        met = use.bound >= use.peak
        words = "least possible" if met else f"at least {count(use.bound)} ({human(use.bound)})"
        told.append(f'<tspan dx="8" fill="{MET if met else OPEN}">{words}</tspan>')
    return f'<text x="{LEFT}" y="{panel.top - 26}" font-size="13" fill="{INK}">{"".join(told)}</text>'


def ground(panel: Panel, columns: Columns) -> Iterator[str]:
    """The background: paper, free bytes below the skyline, and reserved ranges."""
    yield (
        f'<rect class="map" x="{LEFT}" y="{panel.top}" width="{ACROSS}" height="{panel.tall}" '
        f'fill="#ffffff" stroke="{FRAME}"/>'
    )
    if panel.axis.kind != "buffers":
        yield _holes(panel, columns)
    yield from _reserved(panel)


def _holes(panel: Panel, columns: Columns) -> str:
    path = [f"M{LEFT} {panel.bottom}"]
    before = 0
    for edge, height in zip(columns.edges, skyline(panel.lives, columns), strict=False):
        if height != before:
            path.append(f"H{px(panel.across(edge))}V{px(panel.up(height))}")
            before = height
    return f'<path class="holes" fill="{HOLE}" d="{"".join(path)}H{RIGHT}V{panel.bottom}z"/>'


def _reserved(panel: Panel) -> Iterator[str]:
    thin: set[int] = set()
    for it in panel.pool.reserved:
        end = min(it.offset + it.size, panel.height)
        if it.offset >= end:
            continue
        high, low = panel.up(end), panel.up(it.offset)
        if low - high < _THIN:
            thin.update(range(floor(high), max(floor(high) + 1, floor(low))))
            continue
        told = f"reserved: {count(it.size)} bytes at {count(it.offset)}"
        yield (
            f'<rect class="reserved" x="{LEFT}" y="{px(high)}" width="{ACROSS}" height="{px(low - high)}" '
            f'fill="{RESERVED}"><title>{told}</title></rect>'
        )
    if thin:
        path = "".join(f"M{LEFT} {y}h{ACROSS}v1h-{ACROSS}z" for y in sorted(thin))
        yield f'<path class="reserved" fill="{RESERVED}" d="{path}"/>'


def moment(panel: Panel) -> Iterator[str]:
    """When the most is live."""
    live = panel.use.live
    if live.time is None or panel.axis.kind != "time":
        return
    x = panel.across(live.time)
    told = f"t = {time_text(live.time)}: {human(live.bytes)} live, the most"
    yield (
        f'<path class="moment" d="M{px(x)} {panel.top - 6}V{panel.bottom}" stroke="{INK}" '
        'stroke-dasharray="1.5 2.5" fill="none"/>'
    )
    yield _under(x, panel.top - 9, told, INK, beside=0)


def levels(panel: Panel) -> Iterator[str]:
    """The lines of capacity, peak and bound, named on the right."""
    use = panel.use
    found = [(use.peak, "peak", INK, "")]
    if panel.near_capacity is not None:
        found.insert(0, (panel.near_capacity, "capacity", CAPACITY, ""))
    if use.bound:
        met = use.bound >= use.peak
        found.append((use.bound, "bound", MET if met else OPEN, ' stroke-dasharray="5 3"'))
    below = float(panel.top - 12)
    for address, name, colour, dashes in found:
        y = panel.up(address)
        yield (
            f'<path class="{name}" d="M{LEFT} {px(y)}h{ACROSS}" stroke="{colour}" stroke-width="1.5"'
            f'{dashes} fill="none"><title>{name}: {count(address)} bytes</title></path>'
        )
        below = max(y, below + 11)
        yield f'<text x="{RIGHT + 6}" y="{px(below + 4)}" fill="{colour}">{name}</text>'


def axes(panel: Panel) -> Iterator[str]:
    """Round addresses on the left; below, round times, or why there are none."""
    for address, text in address_ticks(panel.height, 8 if panel.tall > _TALL else 4):
        y = panel.up(address)
        yield f'<path class="address" d="M{LEFT - 4} {px(y)}h4" stroke="{QUIET}"/>'
        yield f'<text x="{LEFT - 8}" y="{px(y + 4)}" text-anchor="end" fill="{QUIET}">{text}</text>'
    y = panel.bottom + 16
    if panel.axis.kind != "time":
        told = "always live" if panel.axis.kind == "always" else "no lifetimes: the buffers side by side"
        yield f'<text x="{LEFT + ACROSS / 2}" y="{y}" text-anchor="middle" fill="{QUIET}">{told}</text>'
        return
    yield f'<text x="{RIGHT + _BESIDE + 10}" y="{y}" fill="{QUIET}">time</text>'
    begin, end = panel.axis.begin, panel.axis.end
    longest = max(len(time_text(begin)), len(time_text(end)))
    said = ""
    for time, text in time_ticks(begin, end, max(1, int(ACROSS / (longest * _LETTER + 30)))):
        x = panel.across(time)
        yield f'<path class="time" d="M{px(x)} {panel.bottom}v4" stroke="{QUIET}"/>'
        # Times of many digits may look alike.
        if text != said:
            yield _under(x, y, text, QUIET, beside=_BESIDE)
            said = text


def _under(x: float, y: int, text: str, colour: str, *, beside: int) -> str:
    """A word centred at x as far as the page allows."""
    half = len(text) * _LETTER / 2 - beside
    middle = min(max(x, LEFT + half), RIGHT - half)
    return f'<text x="{px(middle)}" y="{y}" text-anchor="middle" fill="{colour}">{escape(text)}</text>'
