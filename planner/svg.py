"""A plan as an SVG picture: time across, addresses up, a box for each buffer in each of its lives.

The picture carries no script and refers to nothing, so it can be shown anywhere. Of very large plans it draws
the largest boxes and says so: a box of less than a hair's width shows nothing, and a browser has its limits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Final
from xml.sax.saxutils import escape

from planner.figures import count, human, plain
from planner.plan import Plan, PoolUse
from planner.pressure import Profile, profile, spans
from planner.problem import ALWAYS, Buffer, Pool, Problem

WIDTH: Final = 960
PANEL: Final = 320
MOST_BOXES: Final = 4_000

_LEFT: Final = 84
_RIGHT: Final = 12
_HEAD: Final = 34
_FOOT: Final = 30
_LETTER: Final = 6.2
"""About the width of a letter of the labels."""

# Twelve hues, told apart by neighbours on light and dark backgrounds alike.
_COLOURS: Final = [
    "#4e79a7",
    "#f28e2b",
    "#59a14f",
    "#e15759",
    "#76b7b2",
    "#edc948",
    "#b07aa1",
    "#ff9da7",
    "#9c755f",
    "#86bcb6",
    "#d37295",
    "#8cd17d",
]


@dataclass(frozen=True, slots=True)
class _Box:
    """A buffer in one of its lives."""

    begin: int
    end: int
    offset: int
    index: int
    buffer: Buffer


@dataclass(frozen=True, slots=True)
class _Panel:
    """The drawing area of one pool."""

    top: float
    begin: int
    end: int
    height: int

    def across(self, time: int) -> float:
        # Differences first: times may be larger than a float can tell apart.
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * ((time - self.begin) / (self.end - self.begin))

    def up(self, address: int) -> float:
        return self.top + PANEL * (1 - address / self.height)


def svg(problem: Problem, plan: Plan) -> str:
    """The picture, a panel for each pool that holds something."""
    panels = [pool for pool in problem.pools if any(u.pool == pool.id and u.peak for u in plan.pools)]
    uses = {use.pool: use for use in plan.pools}
    height = max(1, len(panels)) * (_HEAD + PANEL + _FOOT)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="11">',
        f"<title>{_text(problem.name or 'memory plan')}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for index, pool in enumerate(panels):
        lines += _panel(problem, plan, pool, uses[pool.id], index * (_HEAD + PANEL + _FOOT) + _HEAD)
    return "\n".join([*lines, "</svg>\n"])


def _panel(problem: Problem, plan: Plan, pool: Pool, use: PoolUse, top: int) -> Iterator[str]:
    places = {p.buffer: p.offset for p in plan.placements if p.pool == pool.id}
    inside = [buffer for buffer in problem.buffers if buffer.size and buffer.id in places]
    steps = profile(inside)
    panel = _Panel(top, *_time(steps), max(1, use.peak))
    boxes = list(_boxes(inside, places, panel))
    shown = nlargest(MOST_BOXES, boxes, key=lambda box: (box.end - box.begin) * box.buffer.size)
    less = f", the largest {len(shown):,} of {len(boxes):,} boxes" if len(shown) < len(boxes) else ""
    title = f"{plain(pool.id, most=60)}: peak {count(use.peak)} ({human(use.peak)})"
    title += (f", bound {count(use.bound)}" if use.bound else "") + less
    yield f'<text x="{_LEFT}" y="{top - 12}" font-size="14">{_text(title)}</text>'
    yield (
        f'<rect x="{_LEFT}" y="{top}" width="{WIDTH - _LEFT - _RIGHT}" height="{PANEL}" '
        'fill="#f4f4f2" stroke="#999999"/>'
    )
    for reserved in pool.reserved:
        yield _reserved(panel, reserved.offset, reserved.offset + reserved.size)
    for box in sorted(shown, key=lambda box: (box.begin, box.offset, box.index)):
        yield from _drawn(panel, box)
    yield from _axes(panel, use.peak, bool(steps.live))


def _time(steps: Profile) -> tuple[int, int]:
    return (steps.times[0], steps.times[-1]) if steps.live else (0, 1)


def _boxes(buffers: Sequence[Buffer], places: dict[str, int], panel: _Panel) -> Iterator[_Box]:
    for index, buffer in enumerate(buffers):
        # What has no lifetime may be there at any time, as what is always there.
        lives = spans(buffer)
        if not lives and (buffer.lifetime == ALWAYS or buffer.lifetimes is None):
            lives = ((panel.begin, panel.end),)
        for begin, end in lives:
            yield _Box(begin, end, places[buffer.id], index, buffer)


def _drawn(panel: _Panel, box: _Box) -> Iterator[str]:
    left, right = panel.across(box.begin), panel.across(box.end)
    low, high = panel.up(box.offset), panel.up(box.offset + box.buffer.size)
    colour = _COLOURS[box.index % len(_COLOURS)]
    told = f"{plain(box.buffer.id, most=80)}: {count(box.buffer.size)} bytes at {count(box.offset)}"
    yield (
        f'<rect x="{left:.1f}" y="{high:.1f}" width="{right - left:.1f}" height="{low - high:.1f}" '
        f'fill="{colour}" stroke="#ffffff" stroke-width="0.5"><title>{_text(told)}</title></rect>'
    )
    name = plain(box.buffer.id, most=40)
    if low - high > 13 and right - left > _LETTER * len(name) + 6:
        yield (
            f'<text x="{(left + right) / 2:.1f}" y="{(low + high) / 2 + 4:.1f}" text-anchor="middle" '
            f'fill="#1a1a1a">{_text(name)}</text>'
        )


def _reserved(panel: _Panel, begin: int, end: int) -> str:
    if begin >= panel.height:
        return ""
    high, low = panel.up(min(end, panel.height)), panel.up(begin)
    return (
        f'<rect x="{_LEFT}" y="{high:.1f}" width="{WIDTH - _LEFT - _RIGHT}" height="{low - high:.1f}" '
        'fill="#555555"><title>reserved</title></rect>'
    )


def _axes(panel: _Panel, peak: int, timed: bool) -> Iterator[str]:
    for part in (0, 1, 2):
        address = peak * part // 2
        y = panel.up(address) + 4
        yield f'<text x="{_LEFT - 6}" y="{y:.1f}" text-anchor="end">{human(address)}</text>'
    if timed:
        y = panel.top + PANEL + 16
        yield f'<text x="{_LEFT}" y="{y}">{panel.begin}</text>'
        yield f'<text x="{WIDTH / 2}" y="{y}" text-anchor="middle">time</text>'
        yield f'<text x="{WIDTH - _RIGHT}" y="{y}" text-anchor="end">{panel.end}</text>'


def _text(text: str) -> str:
    return escape(plain(text))
