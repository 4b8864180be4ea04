"""The steps of a strip as an SVG picture: for each operator the rows that are made, read and kept.

Each step is a column. A ring is as high as it has rows; what leaves the stripe has one line.
"""

from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape

from memstow.planner.model.errors import InputError
from memstow.planner.model.loops import Loops, StripeLoops
from memstow.planner.show.drawing import FRAME, INK, QUIET, RAMP, ink_on
from memstow.planner.show.formatting import plain

_CELL, _HIGH, _GAP = 22, 16, 8
_LEFT, _TOP, _HEAD, _FOOT = 150, 16, 26, 22
_LEAST_WIDTH: Final = 640
_MOST_STEPS: Final = 160
_MOST_ROWS: Final = 40
_MADE, _READ, _KEPT = RAMP[9], RAMP[5], RAMP[0]


def write(table: Loops, _prefix: str) -> bytes:
    """A panel for each stripe; an InputError where there is none."""
    stripes = [it for it in table.segments if isinstance(it, StripeLoops)]
    if not stripes:
        message = "the plan has no stripes to draw; `memstow front` finds plans with stripes"
        raise InputError.single("no_stripes", "format", message)
    panels, top = [], _TOP
    for stripe in stripes:
        panels += list(_Panel(stripe, top).parts())
        top += _height(stripe)
    shown = max(min(len(it.steps), _MOST_STEPS) for it in stripes)
    width = max(_LEFT + shown * _CELL + 20, _LEAST_WIDTH)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" '
            f'height="{top}" font-family="sans-serif" font-size="11" role="img">',
            f"<title>{escape(plain(table.name or 'loops', most=200))}: steps of a strip</title>",
            f'<rect width="{width}" height="{top}" fill="#ffffff"/>',
            *panels,
            "</svg>\n",
        )
    ).encode()


def _height(stripe: StripeLoops) -> int:
    return (
        _HEAD + sum(_rows_of(stripe, place) * _HIGH + _GAP for place in range(len(stripe.operators))) + _FOOT
    )


def _rows_of(stripe: StripeLoops, place: int) -> int:
    """The lines of an operator: the rows of its ring."""
    makes = stripe.operators[place].makes
    return min(next((it.rows for it in stripe.rings if it.tensor == makes), 1), _MOST_ROWS)


class _Panel:
    """One stripe: which row each line of each operator has, step by step."""

    def __init__(self, stripe: StripeLoops, top: int) -> None:
        self._stripe = stripe
        self._top = top
        self._tops: list[int] = []
        at = top + _HEAD
        for place in range(len(stripe.operators)):
            self._tops.append(at)
            at += _rows_of(stripe, place) * _HIGH + _GAP
        self._place_of = {it.makes: place for place, it in enumerate(stripe.operators)}
        self._ring_of = {it.tensor: number for number, it in enumerate(stripe.rings)}

    def parts(self) -> Iterator[str]:
        """The elements of the picture."""
        stripe = self._stripe
        names = ", ".join(plain(it.id, most=24) for it in stripe.operators[:6])
        columns = "1 column" if stripe.columns == 1 else f"{stripe.columns:,} columns"
        strips = f"{len(stripe.strips):,} strips of {columns}"
        told = "one strip" if len(stripe.strips) == 1 else strips
        yield self._text(12, self._top + 8, f"{names}: {told}", f'fill="{INK}" font-weight="bold"')
        for place, (member, top) in enumerate(zip(stripe.operators, self._tops, strict=True)):
            rows = _rows_of(stripe, place)
            word = "adds up" if member.sums else f"{rows} rows" if rows > 1 else "1 row"
            if member.makes not in self._ring_of and not member.sums:
                word = "whole"
            label = f"{plain(member.makes, most=14)} ({word})"
            yield self._text(_LEFT - 8, top + _HIGH - 4, label, f'fill="{INK}" text-anchor="end"')
            shown = min(len(stripe.steps), _MOST_STEPS)
            yield (
                f'<rect x="{_LEFT}" y="{top}" width="{shown * _CELL}" height="{rows * _HIGH}" '
                f'fill="none" stroke="{FRAME}"/>'
            )
        yield from self._steps()
        words = "dark: made in this step; green: read; light: kept for later"
        if len(stripe.steps) > _MOST_STEPS:
            words += f"; the first {_MOST_STEPS} of {len(stripe.steps):,} steps"
        yield self._text(_LEFT, self._top + _height(stripe) - _FOOT + 6, words, f'fill="{QUIET}"')

    def _steps(self) -> Iterator[str]:
        stripe = self._stripe
        kept: dict[str, list[int]] = {it.tensor: [] for it in stripe.rings}
        for number, (step, frees) in enumerate(zip(stripe.steps, stripe.frees, strict=True)):
            if number == _MOST_STEPS:
                return
            place, row, *rows = step
            member = stripe.operators[place]
            read = {
                (name, it)
                for at, name in enumerate(member.reads)
                for it in range(rows[2 * at], rows[2 * at + 1])
            }
            yield self._cell(number, member.makes, row, _MADE)
            for tensor, them in kept.items():
                for it in them:
                    yield self._cell(number, tensor, it, _READ if (tensor, it) in read else _KEPT)
            if member.makes in kept:
                kept[member.makes].append(row)
            for ring, first in zip(frees[::2], frees[1::2], strict=True):
                tensor = stripe.rings[ring].tensor
                kept[tensor] = [it for it in kept[tensor] if it >= first]

    def _cell(self, step: int, tensor: str, row: int, colour: str) -> str:
        place = self._place_of[tensor]
        number = self._ring_of.get(tensor)
        line = 0 if number is None else row % self._stripe.rings[number].rows
        if line >= _MOST_ROWS:
            return ""
        x, y = _LEFT + step * _CELL, self._tops[place] + line * _HIGH
        box = f'<rect x="{x + 1}" y="{y + 1}" width="{_CELL - 2}" height="{_HIGH - 2}" fill="{colour}"/>'
        style = f'fill="{ink_on(colour)}" text-anchor="middle" font-size="9"'
        return box + self._text(x + _CELL // 2, y + _HIGH - 5, str(row), style)

    @staticmethod
    def _text(x: int, y: int, text: str, style: str) -> str:
        return f'<text x="{x}" y="{y}" {style}>{escape(text)}</text>'
