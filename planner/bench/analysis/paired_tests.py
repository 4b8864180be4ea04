"""Statistical tests for pairs of measurements: is the difference of old and new more than chance explains?

No distribution is assumed. The signed-rank test is exact up to a hundred pairs, ties included; for more the
normal approximation is used. Random numbers come from a fixed seed: the same pairs give the same verdict.
"""

from collections.abc import Sequence
from typing import Final

from memstow.planner.model.errors import MissingBackEndError

MOST_EXACT: Final = 100
"""Pairs up to which the signed-rank test is exact."""
RESAMPLES: Final = 2_000
_SEED: Final = 0
# Values that the bootstrap draws at a time: 64 MB of them.
_BATCH_VALUES: Final = 8_000_000


def check_scipy() -> None:
    """Raise MissingBackEndError, which names the extra to install, where scipy is missing."""
    try:
        import scipy.stats  # noqa: F401
    except ImportError:
        raise MissingBackEndError("comparing runs needs scipy: pip install 'memstow[bench]'") from None


def signed_rank(differences: Sequence[float]) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test.

    Differences of zero say nothing about the direction and are left out.
    """
    nonzero = [difference for difference in differences if difference]
    if not nonzero:
        return 1.0
    if len(nonzero) <= MOST_EXACT:
        return _exact_signed_rank(nonzero)
    from scipy.stats import wilcoxon

    return float(wilcoxon(nonzero, correction=True, method="asymptotic").pvalue)


def sign(better: int, worse: int) -> float:
    """The two-sided p-value of the sign test.

    For runs solved before but not after, or the other way round, this is McNemar's exact test.
    """
    from scipy.stats import binomtest

    pairs = better + worse
    return float(binomtest(better, pairs).pvalue) if pairs else 1.0


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """A confidence interval of the mean: percentiles of a bootstrap."""
    if len(set(values)) <= 1:
        return (values[0], values[0]) if values else (float("nan"), float("nan"))
    import numpy
    from scipy.stats import bootstrap

    interval = bootstrap(
        (values,),
        numpy.mean,
        n_resamples=RESAMPLES,
        batch=max(1, _BATCH_VALUES // len(values)),
        confidence_level=confidence,
        method="percentile",
        rng=_SEED,
    ).confidence_interval
    return float(interval.low), float(interval.high)


def holm(chances: Sequence[float]) -> list[float]:
    """The p-values adjusted for their number (Holm): one of twenty is below 0.05 by chance alone."""
    adjusted = [1.0] * len(chances)
    highest = 0.0
    order = sorted(range(len(chances)), key=lambda index: chances[index])
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, chances[index] * (len(chances) - place)))
        adjusted[index] = highest
    return adjusted


def _exact_signed_rank(differences: Sequence[float]) -> float:
    # By hand: scipy's exact distribution knows no ties, which counts of work have (0.017 where 0.013 is
    # right, of 20 pairs in two sizes), and rounds what is less than 1e-16 to 0.
    from scipy.stats import rankdata

    # Twice the rank, so that the mean rank of equals is a whole number.
    ranks = [round(2 * rank) for rank in rankdata([abs(difference) for difference in differences])]
    positive = sum(rank for rank, difference in zip(ranks, differences, strict=True) if difference > 0)
    least = min(positive, sum(ranks) - positive)
    # All the ways to choose signs, counted by their sum: the product of (1 + x^rank) as one large number.
    width = len(ranks) + 1
    ways = 1
    for rank in ranks:
        ways += ways << (rank * width)
    mask = (1 << width) - 1
    below = sum((ways >> (total * width)) & mask for total in range(least + 1))
    return min(1.0, 2 * below / (1 << len(ranks)))
