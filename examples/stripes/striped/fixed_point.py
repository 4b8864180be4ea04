"""Fixed-point arithmetic of quantised networks: a wide sum becomes an int8 again."""

from math import frexp

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.int8]
"""Rows x columns x channels."""
Wide = NDArray[np.int64]


def scale(real: float) -> tuple[int, int]:
    """A positive factor as a multiplier of 31 bits and the bits to shift right after it."""
    fraction, exponent = frexp(real)
    return round(fraction * (1 << 30)), 30 - exponent


def as_image(values: Wide) -> Image:
    """Values in the range of an int8, as such."""
    return np.asarray(values, np.int8)


def requantised(sums: Wide, multiplier: Wide, shift: Wide, zero: int) -> Image:
    """Each sum times its factor, rounded to nearest and halves upwards, in the range of an int8."""
    half = np.left_shift(np.int64(1), shift - 1)
    scaled = np.right_shift(sums * multiplier + half, shift) + zero
    return as_image(np.clip(scaled, -128, 127))


def average(sums: Wide, count: Wide) -> Wide:
    """The mean, rounded to nearest and halves away from zero."""
    return np.asarray(np.sign(sums) * ((2 * np.abs(sums) + count) // (2 * count)))
