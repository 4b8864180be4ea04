"""Boxes as SVG, each buffer in each of its lives; those large enough have a name and a tooltip."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from math import floor
from typing import Final
from xml.sax.saxutils import escape

from memstow.planner.model.problem import ALWAYS
from memstow.planner.show.drawing.palette import RAMP, ink_on
from memstow.planner.show.drawing.scale import RIGHT, Box, Panel, px
from memstow.planner.show.formatting import count, fit_text, human, plain, time_text

MOST_TOLD: Final = 1_500
"""The most boxes of a picture with tooltips."""
READABLE: Final = 4
"""The least width and height in pixels of a box with a rim and a tooltip; a rim would hide a thinner box."""

_RIM: Final = ' stroke="#ffffff" stroke-width="0.6"'
_LETTER: Final = 6.8
"""About the width of a letter of a name."""
_LINE: Final = 13
_ONE_LINE: Final = 11
_TWO_LINES: Final = 30


def plain_boxes(boxes: Iterable[Box]) -> Iterator[str]:
    """Boxes without words, those of one colour together."""
    paths: dict[tuple[int, bool], list[str]] = {}
    for box in boxes:
        paths.setdefault((box.grade, box.thinner >= READABLE), []).append(_outline(box))
    for (on_ramp, rimmed), path in sorted(paths.items()):
        rim = _RIM if rimmed else ""
        yield f'<path class="boxes" fill="{RAMP[on_ramp]}"{rim} d="{"".join(path)}"/>'


def boxes_with_tooltips(panel: Panel, boxes: Iterable[Box]) -> Iterator[str]:
    """Boxes with tooltips."""
    for box in boxes:
        yield (
            f'<rect class="box" x="{px(box.left)}" y="{px(box.high)}" width="{px(box.wide)}" '
            f'height="{px(box.tall)}" fill="{RAMP[box.grade]}"{_RIM}>'
            f"<title>{escape(_tooltip(panel, box))}</title></rect>"
        )


def readable(boxes: Sequence[Box], most: int) -> set[int]:
    """The indices of the largest boxes, which get tooltips."""
    large = [index for index, box in enumerate(boxes) if box.thinner >= READABLE]
    return set(nlargest(most, large, key=lambda index: boxes[index].area))


def summits(panel: Panel, thin: Iterable[Box]) -> Iterator[str]:
    """Of what has no box of its own that which reaches the peak: one a pixel, never too small to see."""
    found: dict[int, Box] = {}
    for box in thin:
        if box.life.top == panel.use.peak:
            found.setdefault(floor(box.left), box)
    for box in found.values():
        seen = Box(
            box.life, min(box.left, RIGHT - 1), box.high, max(1.0, box.wide), max(1.0, box.tall), box.grade
        )
        yield f'<path class="summit" fill="{RAMP[box.grade]}" d="{_outline(seen)}"/>'


def names(boxes: Iterable[Box]) -> Iterator[str]:
    """Their names and sizes, where there is room; a rim of the box's colour keeps lines off the letters."""
    taken: dict[int, list[float]] = {}
    for box in boxes:
        room = int((box.wide - 6) / _LETTER)
        name = fit_text(box.life.buffer.id, room)
        if box.tall < _ONE_LINE or not name:
            continue
        size = human(box.life.buffer.size)
        lines = [name, size] if box.tall >= _TWO_LINES and len(size) <= room else [name]
        x, y = box.left + box.wide / 2, box.high + box.tall / 2 + 4 - _LINE / 2 * (len(lines) - 1)
        # Buffers that share bytes: their names do not lie on each other.
        above = taken.setdefault(floor(x / _LINE), [])
        while y + _LINE * len(lines) < box.high + box.tall and any(
            other - _LINE * len(lines) < y < other + _LINE for other in above
        ):
            y += 1
        for line, text in enumerate(lines):
            above.append(y + _LINE * line)
            colour = RAMP[box.grade]
            font = 'font-size="10"' if line else 'font-weight="bold"'
            yield (
                f'<text x="{px(x)}" y="{px(y + _LINE * line)}" text-anchor="middle" '
                f'{font} fill="{ink_on(colour)}" '
                f'stroke="{colour}" stroke-width="2" paint-order="stroke" pointer-events="none">'
                f"{escape(text)}</text>"
            )


def _outline(box: Box) -> str:
    wide = px(box.wide)
    return f"M{px(box.left)} {px(box.high)}h{wide}v{px(box.tall)}h-{wide}z"


def _tooltip(panel: Panel, box: Box) -> str:
    buffer = box.life.buffer
    told = f"{plain(buffer.id, most=80)}: {count(buffer.size)} bytes at {count(box.life.offset)}"
    if buffer.lifetime == ALWAYS:
        told += ", always live"
    elif panel.axis.kind == "time" and (buffer.lifetime is not None or buffer.lifetimes is not None):
        told += f", live from {time_text(box.life.begin)} until {time_text(box.life.end)}"
    return told + (", pinned" if buffer.offset is not None else "")
