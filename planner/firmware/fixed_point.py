"""Fixed-point arithmetic of quantised models, as TensorFlow Lite has it: what compiled kernels are given.

A factor is a multiplier of 31 bits and a shift. Functions of one element of 8 bits become tables, which are
computed here once, with the same integers as the runtime's kernels.
"""

import struct
from collections.abc import Callable
from math import copysign, exp, floor, frexp, inf, log2
from typing import Final

_ONE: Final = (1 << 31) - 1
_HALF: Final = 1 << 30


def single(value: float) -> float:
    """The nearest number of 32 bits; infinite where there is none."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return copysign(inf, value)


def rounded(value: float) -> int:
    """To the nearest integer, halves away from zero."""
    whole = floor(abs(value))
    # No sum with a half: that would be rounded itself.
    whole += abs(value) - whole >= 0.5
    return whole if value >= 0 else -whole


def factor(real: float) -> tuple[int, int]:
    """The multiplier and the shift of a positive number."""
    if real == 0:
        return 0, 0
    fraction, shift = frexp(real)
    multiplier = rounded(fraction * (1 << 31))
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def high_product(one: int, other: int) -> int:
    """The upper half of twice the product, rounded."""
    return (one * other + _HALF) >> 31


def rounded_shift(value: int, bits: int) -> int:
    """Divided by a power of two, halves away from zero."""
    mask = (1 << bits) - 1
    return (value >> bits) + ((value & mask) > (mask >> 1) + (value < 0))


def _word(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def scaled(value: int, multiplier: int, shift: int) -> int:
    """A value times a factor."""
    left = max(shift, 0)
    return rounded_shift(high_product(_word(value << left), multiplier), left - shift)


def clamped(value: int, least: int, most: int) -> int:
    """The nearest value in a range."""
    return min(max(value, least), most)


def _saturated(value: int) -> int:
    return clamped(value, -1 << 31, _ONE)


def radius(integer_bits: int, left_shift: int) -> int:
    """The largest input of a function of numbers with so many bits before the point."""
    return floor(((1 << integer_bits) - 1) * (1 << (31 - integer_bits)) / (1 << left_shift))


_FACTORS: Final = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)
"""e to the power of -1/4, -1/2, -1, ... -16, with no bits before the point."""


def power_of_e(value: int, integer_bits: int) -> int:
    """e to the power of a number that is not positive; the result has no bits before the point."""
    if value == 0:
        return _ONE
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    rest = (value & (quarter - 1)) - quarter
    result = _power_in_last_quarter(_saturated(rest << integer_bits))
    remainder = rest - value
    for exponent, multiplier in _FACTORS:
        if integer_bits > exponent and remainder & (1 << (fraction_bits + exponent)):
            result = high_product(result, multiplier)
    return result


def _power_in_last_quarter(value: int) -> int:
    """Of a number from -1/4 to 0, by four terms around -1/8."""
    x = value + (1 << 28)
    square = high_product(x, x)
    cube, fourth = high_product(square, x), high_product(square, square)
    tail = rounded_shift(high_product(rounded_shift(fourth, 2) + cube, 715827883) + square, 1)
    return 1895147668 + high_product(1895147668, x + tail)


def _inverse(value: int) -> tuple[int, int]:
    """Half of 1 + value, and 1 by that with two bits before the point."""
    total = value + _ONE
    half = abs(total + (1 if total >= 0 else -1)) // 2 * (1 if total >= 0 else -1)
    x = 1515870810 + high_product(half, -1010580540)
    for _ in range(3):
        rest = (1 << 29) - high_product(half, x)
        x += _saturated(high_product(x, rest) << 2)
    return half, x


def logistic(value: int) -> int:
    """The logistic function of a number with four bits before the point."""
    if value == 0:
        return _HALF
    positive = _saturated(_inverse(power_of_e(-abs(value), 4))[1] << 1)
    return positive if value > 0 else _ONE - positive


def tanh(value: int) -> int:
    """The hyperbolic tangent of a number with four bits before the point."""
    if value == 0:
        return 0
    x = _inverse(power_of_e(-abs(value), 5))[1]
    positive = _saturated((x - (1 << 29)) << 2)
    return positive if value > 0 else -positive


_ONE_MORE: Final = frozenset(
    (
        4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44,
        45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
    )
)  # fmt: skip
"""Where the runtime's table is not the nearest integer."""


def logistic_table() -> tuple[int, ...]:
    """The logistic function at each 24th from 0, with 16 bits after the point."""
    exact = (65536 / (1 + exp(-place / 24)) for place in range(256))
    return tuple(rounded(value) + (place in _ONE_MORE) for place, value in enumerate(exact))


def curve_factor(scale: float, most_shift: int) -> tuple[int, int]:
    """The multiplier, and the shift to the right, that make an element of 16 bits a place in the table.

    Scales that are a power of two need no multiplier of their own, up to a shift of the function.
    """
    power = log2(scale)
    left = 12 + rounded(power)
    if abs(power - rounded(power)) < 1e-3 and 0 <= left <= most_shift:
        return 3 << left, 0
    multiplier, shift = scale * 4096 * 3, 0
    while multiplier <= 32767 / 2 and shift <= 30:
        multiplier, shift = multiplier * 2, shift + 1
    return int(multiplier), shift


_STEPS: Final = 512


def sampled(
    function: Callable[[float], float], first: float, last: float, ends: tuple[float, float]
) -> tuple[int, ...]:
    """513 samples of a function, for what is between them; numbers have 32 bits, as in the runtime.

    `ends` are what the ends of the range of 16 bits stand for.
    """
    step = single(single(last - first) / _STEPS)
    factor_out = single(65536 / single(ends[1] - ends[0]))

    def value(at: float) -> float:
        return single(single(function(at)) * factor_out)

    samples = []
    for place in range(_STEPS):
        begin = single(first + single(place * step))
        here = rounded(value(begin))
        following = value(single(first + single((place + 1) * step)))
        between = rounded(single(single(following + here) / 2))
        error = between - rounded(value(single(begin + single(step / 2))))
        samples.append(clamped(here - rounded(error / 2), -32768, 32767))
    return (*samples, clamped(rounded(value(last)), -32768, 32767))
