"""How good peaks at the points are, exactly: ratios to the least, as fractions, compared as the aim says."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from memstow.planner.model.symbolic import Aim

Score = tuple[Fraction, ...]
"""Smaller is better, from left to right."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What is known of the points: the least peak at each, its weight, and the aim."""

    least: tuple[int, ...]
    weights: tuple[int, ...]
    aim: Aim

    def ratios(self, peaks: Sequence[int]) -> list[Fraction]:
        """Of each point; where nothing is the least, bytes are counted."""
        pairs = zip(peaks, self.least, strict=True)
        return [Fraction(peak, least) if least else Fraction(1 + peak) for peak, least in pairs]

    def score(self, peaks: Sequence[int]) -> Score:
        """What is compared first, and then the rest."""
        ratios = self.ratios(peaks)
        if not ratios:
            return (Fraction(1),)
        mean = sum(ratios, Fraction(0)) / len(ratios)
        if self.aim == "sum":
            return (Fraction(sum(map(_product, peaks, self.weights))), max(ratios))
        if self.aim == "first":
            return (ratios[0], max(ratios), mean)
        return (max(ratios), mean)

    def is_least(self, peaks: Sequence[int]) -> bool:
        """Whether no plan of any kind has less at a point."""
        return all(peak <= least for peak, least in zip(peaks, self.least, strict=True))

    def limits_below(self, peaks: Sequence[int]) -> list[int]:
        """The largest peaks whose largest ratio is below that of these."""
        worst = max(self.ratios(peaks))
        return [_below(worst * least) if least else _below(worst - 1) for least in self.least]

    def worst(self, peaks: Sequence[int]) -> float | None:
        """The largest ratio; None where there is none, since nothing is the least of something."""
        if not self.least or any(least == 0 < peak for peak, least in zip(peaks, self.least, strict=True)):
            return None
        pairs = zip(peaks, self.least, strict=True)
        return max(peak / least if least else 1.0 for peak, least in pairs)


def _product(peak: int, weight: int) -> int:
    return peak * weight


def _below(value: Fraction) -> int:
    """The largest whole number below the value."""
    return -(-value.numerator // value.denominator) - 1
