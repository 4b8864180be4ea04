"""Round values for axes: times in decimal steps, addresses in powers of two, and how a time is written."""

from collections.abc import Sequence
from typing import Final

from memstow.planner.show.formatting import count

_LONGEST: Final = 20
"""Digits of a time that is written in full."""
_SHOWN: Final = 4


def round_times(begin: int, end: int, most: int) -> Sequence[int]:
    """At most `most` round times between two times, evenly spaced; at least one."""
    step = 10 ** max(0, len(str((end - begin) // most)) - 1)
    while True:
        for factor in (1, 2, 5):
            every = step * factor
            first, last = -(-begin // every), end // every
            if last - first < most:
                return range(first * every, last * every + 1, every) if first <= last else (begin,)
        step *= 10


def round_addresses(top: int, most: int) -> range:
    """Multiples of a power of two from 0 to the top, at most `most` besides 0."""
    step = 1
    while top // step > most:
        step *= 2
    return range(0, top + 1, step)


def time_text(time: int) -> str:
    """A time in groups of three digits, or in powers of ten where it is too long."""
    digits = str(abs(time))
    if len(digits) <= _LONGEST:
        return count(time)
    sign = "-" if time < 0 else ""
    fraction = digits[1:_SHOWN].rstrip("0")
    return f"{sign}{digits[0]}{'.' if fraction else ''}{fraction}e{len(digits) - 1}"
