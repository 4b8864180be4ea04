"""Tests for pairs of measurements: is what differs between the old and the new more than chance would give?

No distribution is assumed. The signed-rank test is exact up to a hundred pairs, ties included; beyond, the
normal distribution is as good. All chance comes from a fixed seed: the same pairs give the same verdict.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from random import Random
from typing import Final

MOST_EXACT: Final = 100
RESAMPLES: Final = 2_000


def signed_rank(differences: Sequence[float]) -> float:
    """Wilcoxon's test, two-sided: how likely ranks as uneven as these are, were either sign as likely.

    Differences of zero tell nothing about the direction and are left out.
    """
    told = sorted((d for d in differences if d), key=abs)
    if not told:
        return 1.0
    ranks = _doubled_ranks([abs(d) for d in told])
    total = sum(ranks)
    upper = sum(rank for rank, d in zip(ranks, told, strict=True) if d > 0)
    least = min(upper, total - upper)
    return _exact_tail(ranks, least) if len(ranks) <= MOST_EXACT else _normal_tail(ranks, least)


def sign(better: int, worse: int) -> float:
    """The sign test, two-sided: how likely a split at least as uneven as this is, were each side as likely.

    Of runs that are solved before and not after, or the other way, this is McNemar's test.
    """
    pairs = better + worse
    ways = sum(math.comb(pairs, k) for k in range(min(better, worse) + 1))
    return min(1.0, 2 * ways / (1 << pairs))


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Where the mean of such values is to be expected: bootstrap percentiles."""
    if len(set(values)) <= 1:
        return (values[0], values[0]) if values else (math.nan, math.nan)
    chance = Random(len(values))  # noqa: S311
    means = sorted(math.fsum(chance.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    outside = round(RESAMPLES * (1 - confidence) / 2)
    return means[outside], means[-1 - outside]


def holm(chances: Sequence[float]) -> list[float]:
    """The same chances, made larger by how many there are: one of twenty is below 0.05 by chance alone."""
    adjusted = [1.0] * len(chances)
    highest = 0.0
    order = sorted(range(len(chances)), key=lambda index: chances[index])
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, chances[index] * (len(chances) - place)))
        adjusted[index] = highest
    return adjusted


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    """Twice the rank of each, so that the mean rank of equals is a whole number."""
    ranks: list[int] = []
    for _, equals in groupby(sizes):
        many = len(list(equals))
        ranks += [2 * len(ranks) + many + 1] * many
    return ranks


def _exact_tail(ranks: Sequence[int], least: int) -> float:
    # All the ways to choose signs, counted by their sum: the product of (1 + x^rank) as one large number.
    width = len(ranks) + 1
    ways = 1
    for rank in ranks:
        ways += ways << (rank * width)
    mask = (1 << width) - 1
    below = sum((ways >> (total * width)) & mask for total in range(least + 1))
    return min(1.0, 2 * below / (1 << len(ranks)))


def _normal_tail(ranks: Sequence[int], least: int) -> float:
    # The sum of independent signs: its variance is exact with ties as well.
    mean, deviation = sum(ranks) / 2, math.sqrt(sum(rank * rank for rank in ranks)) / 2
    # Half a rank toward the mean; ranks are doubled here.
    return min(1.0, math.erfc((mean - least - 1) / deviation / math.sqrt(2)))
