"""Half-open ranges of integers: merging and measuring them."""

from collections.abc import Iterable

Range = tuple[int, int]


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Their union as sorted disjoint ranges that do not touch; empty ranges vanish."""
    union: list[Range] = []
    for begin, end in sorted(ranges):
        if end <= begin:
            continue
        if union and begin <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((begin, end))
    return union


def measure(ranges: Iterable[Range]) -> int:
    """How many integers their union holds."""
    return sum(end - begin for begin, end in merged(ranges))
