"""Columns and rows of an integer program, and the value of every column in a layout."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from memstow.solvers.instance import Layout

ColumnValue = Callable[[Layout], int]
Coefficients = Sequence[tuple[int, int]]  # (column, factor)


@dataclass(frozen=True, slots=True)
class Row:
    """low <= sum of factor x column <= high; None: no limit."""

    entries: Coefficients
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Expression:
    """constant + scale x (sum of factor x column): the factors have no common divisor."""

    entries: Coefficients
    constant: int = 0
    scale: int = 1

    @classmethod
    def of(cls, entries: Coefficients, constant: int = 0) -> "Expression":
        """The expression with the common divisor of its factors taken out."""
        scale = gcd(*(factor for _, factor in entries)) or 1
        return cls([(column, factor // scale) for column, factor in entries if factor], constant, scale)


@dataclass(slots=True)
class Linear:
    """An integer program under construction."""

    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    worth: list[ColumnValue] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def column(self, low: int, high: int, worth: ColumnValue, *, integer: bool = True) -> int:
        """A new variable within [low, high]; `worth` is its value in a layout."""
        self.low.append(low)
        self.high.append(high)
        self.integer.append(integer)
        self.worth.append(worth)
        return len(self.low) - 1

    def row(self, entries: Coefficients, low: int | None = None, high: int | None = None) -> None:
        """A new constraint. A column may come more than once."""
        factors: dict[int, int] = {}
        for column, factor in entries:
            factors[column] = factors.get(column, 0) + factor
        self.rows.append(Row([entry for entry in factors.items() if entry[1]], low, high))

    def values(self, layout: Layout) -> list[int]:
        """The value of every column in this layout."""
        return [value_in(layout) for value_in in self.worth]


Values = Mapping[int, float] | Sequence[float]
