"""Bounds of sums with quotients that are rounded down: each is its exact quotient less a remainder.

`8 - (N - 8*(N//8))` has N twice, and intervals of its parts say little. With `N//8 = (N - r)/8`, where r is
from 0 to 7, N falls out, and 8 - r stays.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Final

from memstow.planner.shapes.onnx.terms import Part, Terms, TooLongError

_MOST: Final = 64

Sum = dict[tuple[Part, ...], Fraction]
Range = tuple[int, int]


def bounds_by_remainders(
    extent: Terms,
    quotient_of: Callable[[Part], tuple[Terms, int] | None],
    range_of: Callable[[Part], Range],
) -> Range | None:
    """No value is below the first or above the second; None where the sum becomes too long.

    `quotient_of`: what a part divides, and by what, if it is a quotient; `range_of`: of any other part.
    """
    remainders: dict[Part, Range] = {}
    try:
        total = _expanded(extent, quotient_of, remainders)
    except TooLongError:
        return None
    names = {part for parts in total for part in parts}
    return _bounds(total, {it: remainders[it] if it in remainders else range_of(it) for it in names})


def _expanded(
    extent: Terms,
    quotient_of: Callable[[Part], tuple[Terms, int] | None],
    remainders: dict[Part, Range],
) -> Sum:
    """With quotients as exact ones less remainders, which are noted."""
    total: Sum = {}
    for product, number in extent.terms:
        found: Sum = {(): Fraction(number)}
        for part in product:
            quotient = quotient_of(part)
            if quotient is None:
                found = _times(found, {(part,): Fraction(1)})
                continue
            above, below = quotient
            rest = f"remainder of {part}"
            remainders[rest] = (0, below - 1)
            exact = {it: value / below for it, value in _expanded(above, quotient_of, remainders).items()}
            found = _times(found, {**exact, (rest,): Fraction(-1, below)})
        for parts, value in found.items():
            total[parts] = total.get(parts, Fraction(0)) + value
        if len(total) > _MOST:
            raise TooLongError
    return total


def _bounds(total: Sum, ranges: Mapping[Part, Range]) -> Range:
    low = high = Fraction(0)
    for parts, value in total.items():
        one, other = _of_product(ranges[it] for it in parts)
        low += min(value * one, value * other)
        high += max(value * one, value * other)
    # It is a whole number at every value.
    return ceil(low), floor(high)


def _of_product(ranges: Iterable[Range]) -> Range:
    low, high = 1, 1
    for one, other in ranges:
        corners = [a * b for a in (low, high) for b in (one, other)]
        low, high = min(corners), max(corners)
    return low, high


def _times(one: Sum, other: Sum) -> Sum:
    found: Sum = {}
    for left, a in one.items():
        for right, b in other.items():
            key = tuple(sorted((*left, *right)))
            found[key] = found.get(key, Fraction(0)) + a * b
    if len(found) > _MOST:
        raise TooLongError
    return found
