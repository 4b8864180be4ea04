"""What is measured of a checkout in one go, and the rows that it fills."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.versions.checkout import Checkout
from benchmarks.versions.inputs import Inputs

Figures = Mapping[str, float]
"""By the name of the row. One that is not there was not reached, such as the seconds to a proof."""

Measure = Callable[[Checkout, Inputs, int], Figures]
"""Of a checkout, with these problems, in the run of this number; FailedError where it cannot be measured."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: the median of a figure over the runs, or how often it was reached."""

    name: str
    title: str
    form: str = ".2f"
    wanted: float | None = None
    more_is_better: bool = False
    counted: bool = False
    """Figures are 1 where something was reached and else 0, and all were wanted if any was."""

    def reached(self, figure: float) -> bool:
        """Whether the figure is what was wanted, as far as something was."""
        if self.wanted is None:
            return True
        return figure >= self.wanted if self.more_is_better else figure <= self.wanted


@dataclass(frozen=True, slots=True)
class Case:
    """Some rows that are filled by the same runs."""

    name: str
    rows: tuple[Row, ...]
    measure: Measure
    runs: int
    warm: bool = False
    """Whether each checkout runs once before: where reading files from the disk would count."""
