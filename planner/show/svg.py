"""What SVG pictures share: the page, words on it that cannot break the markup, and the frame of a chart.

A chart, of a front or of a sweep, is as wide as the page; what is drawn lies between `LEFT` and `RIGHT`,
below `TOP`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Final

from memstow.planner.show.drawing import (
    DARK,
    DARK_RAMP,
    FRAME,
    LEVELS,
    QUIET,
    RAMP,
    ink_on,
    shade,
)


def escape(text: str) -> str:
    """The text with the characters that mean something in XML written as entities.

    `xml.sax.saxutils` has the same function, but loads urllib, http and ssl.
    """
    return text.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")


def px(value: float) -> str:
    """Pixels to a tenth, as short as can be."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def page(width: int, height: int, title: str, description: str | None, lines: list[str]) -> str:
    """The whole picture on white paper; the description is for those who cannot see the picture."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="sans-serif" font-size="11" role="img">',
            f"<title>{escape(title)}</title>",
            *([] if description is None else [f"<desc>{escape(description)}</desc>"]),
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *lines,
            "</svg>\n",
        ]
    )


def in_both_lights(picture: str) -> str:
    """The picture with dark colours for who prefers these; without a sheet of its own it stays as it is."""
    paper = DARK["#ffffff"]
    colours = dict(DARK)
    rules = []
    for light, dark in zip(RAMP, DARK_RAMP, strict=True):
        colours |= {shade(light, level): shade(dark, level, paper) for level in range(1, LEVELS + 1)}
        if f'stroke="{light}"' in picture:
            rules.append(f'text[stroke="{light}"]{{stroke:{dark};fill:{ink_on(dark)}}}')
    for light, dark in colours.items():
        # Words on a box have the colour that is read best on that.
        for name, but in (("fill", ":not([paint-order])"), ("stroke", "")):
            if f'{name}="{light}"' in picture:
                rules.append(f'[{name}="{light}"]{but}{{{name}:{dark}}}')
    start, end, rest = picture.partition(">\n")
    return f"{start}{end}<style>@media(prefers-color-scheme:dark){{{''.join(rules)}}}</style>\n{rest}"


def text(x: str | float, y: str | float, words: str, **style: str | int | None) -> str:
    """Words at a point; `style` has the attributes in order, with `_` for `-`, and None where there is none.

    Names of classes come first, before the point, as `kind`.
    """
    kind = style.pop("kind", None)
    before = "" if kind is None else f'class="{kind}" '
    after = "".join(
        f' {name.replace("_", "-")}="{value}"' for name, value in style.items() if value is not None
    )
    return f'<text {before}x="{x}" y="{y}"{after}>{escape(words)}</text>'


WIDTH: Final = 720
LEFT: Final = 90
RIGHT: Final = 690
TOP: Final = 56
FOOT: Final = 46
"""Pixels below the lowest frame, for ticks and the name of the scale."""
TICKS: Final = 5
_LEGEND_LINE: Final = 14


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from the lowest to the highest, in pixels from `begin` to `end`."""

    low: float
    high: float
    begin: int
    end: int
    by_factors: bool = False
    """Equal factors are equally far apart, instead of equal differences."""

    def at(self, value: float) -> float:
        """The place of a value."""
        low, high, value = (
            (log(max(entry, 1)) if self.by_factors else entry) for entry in (self.low, self.high, value)
        )
        return self.begin + (self.end - self.begin) * (value - low) / (high - low or 1.0)


def frame(top: int, tall: int) -> str:
    """The paper of a chart."""
    return (
        f'<rect class="map" x="{LEFT}" y="{top}" width="{RIGHT - LEFT}" height="{tall}" fill="#ffffff" '
        f'stroke="{FRAME}"/>'
    )


def tick_below(x: float, bottom: int, words: str) -> Iterator[str]:
    """A tick on the scale that goes across, and its words."""
    yield f'<path d="M{x:.1f} {bottom}v4" stroke="{QUIET}"/>'
    yield text(f"{x:.1f}", bottom + 16, words, text_anchor="middle", fill=QUIET)


def tick_left(y: float, words: str) -> Iterator[str]:
    """A tick on the scale that goes up, and its words."""
    yield f'<path d="M{LEFT - 4} {y:.1f}h4" stroke="{QUIET}"/>'
    yield text(LEFT - 8, f"{y + 4:.1f}", words, text_anchor="end", fill=QUIET)


def name_below(bottom: int, name: str) -> str:
    """The name of the scale that goes across."""
    return text((LEFT + RIGHT) // 2, bottom + 36, name, text_anchor="middle", fill=QUIET)


def name_above(top: int, name: str) -> str:
    """The name of the scale that goes up."""
    return text(LEFT, top - 6, name, fill=QUIET, text_anchor="end")


def legend_line(number: int) -> int:
    """The line of text of an entry of the legend, from the top of the page."""
    return TOP + 16 + _LEGEND_LINE * number


def round_values(low: int, high: int, step: int | None = None) -> list[int]:
    """The multiples of the step within the range; without one, of 1, 2 or 5 times a power of ten."""
    if step is None:
        least = tick_distance(low, high)
        power = 10 ** (len(str(least)) - 1)
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    return list(range(-(-low // step) * step, high + 1, step))


def tick_distance(low: int, high: int) -> int:
    """The least distance of ticks, so that there are not too many."""
    return max(-(-(high - low) // TICKS), 1)
