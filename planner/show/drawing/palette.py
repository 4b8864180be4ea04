"""The colours of a picture, on white. What they say is also said in words or by place."""

from math import log
from typing import Final

INK: Final = "#16181d"
QUIET: Final = "#626874"
FRAME: Final = "#e3e3df"
HOLE: Final = "#eeece6"
RESERVED: Final = "#8b909a"
CAPACITY: Final = "#b3261e"
MET: Final = "#157347"
"""A bound that the plan reaches."""
OPEN: Final = "#c2410c"
"""A bound below it."""

# From short lives to long ones: ever darker, so that the order survives colour blindness and print in grey.
RAMP: Final = (
    "#dbb35d",
    "#beb14d",
    "#9bae4a",
    "#73ab54",
    "#40a564",
    "#009d75",
    "#009185",
    "#008390",
    "#007395",
    "#006392",
    "#215389",
    "#34447b",
)
LEVELS: Final = 4
"""How many shades tell how full a spot is."""
_STRENGTH: Final = (0.35, 0.55, 0.78, 1.0)


_RANGE: Final = 512
"""What is less than this part of the longest has the first colour: one moment among many would otherwise
leave all others alike."""


def grade(length: int, shortest: int, longest: int) -> int:
    """The place on the ramp of a life of this length, by orders of magnitude."""
    if shortest == longest:
        return len(RAMP) // 3
    low = max(shortest, longest // _RANGE)
    part = (log(length) - log(low)) / (log(longest) - log(low))
    # The small addition: logarithms differ in the last digit between machines, and edges are at round values.
    return min(len(RAMP) - 1, max(0, int(part * len(RAMP) + 1e-9)))


def shade(colour: str, level: int) -> str:
    """The colour as of a spot that is `level` of LEVELS full."""
    strength = _STRENGTH[level - 1]
    mixed = (round(255 + (int(colour[i : i + 2], 16) - 255) * strength) for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def ink_on(colour: str) -> str:
    """Black or white, whichever is read better on the colour."""
    light = _luminance(colour)
    return "#ffffff" if 1.05 / (light + 0.05) > (light + 0.05) / (_luminance(INK) + 0.05) else INK


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
