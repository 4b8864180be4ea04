"""Means of many runs: geometric, since a factor of two up and one down should cancel out."""

import math
from collections.abc import Sequence
from typing import Final

SHIFT: Final = 1.0
"""Seconds added to each time before its logarithm is taken: 1 ms and 2 ms are as good as equal."""


def geometric(values: Sequence[float]) -> float | None:
    """The geometric mean; None of nothing."""
    if not values:
        return None
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def shifted_geometric(values: Sequence[float], shift: float = SHIFT) -> float | None:
    """The geometric mean of the values with the shift added, less the shift."""
    mean = geometric([value + shift for value in values])
    return None if mean is None else max(0.0, mean - shift)


def arithmetic(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None
