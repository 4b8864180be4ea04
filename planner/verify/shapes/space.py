"""The values that the symbols take: of each alone, and together as points."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

from memstow.planner.model.symbolic import MOST_POINTS, Symbol, SymbolicProblem
from memstow.planner.model.symbolic_points import combination_count, points_of
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.shapes.nodes import FUNCTIONS

Values = tuple[int, ...]

MOST_CORNERS: Final = 64


@dataclass(frozen=True, slots=True)
class Axis:
    """The values of one symbol: `first`, `first + step`, ... up to `last`."""

    id: str
    first: int
    last: int
    step: int

    @property
    def count(self) -> int:
        """How many values it takes."""
        return (self.last - self.first) // self.step + 1

    def takes(self, value: int) -> bool:
        """Whether this is one of its values."""
        return self.first <= value <= self.last and (value - self.first) % self.step == 0


class Space:
    """All points of the symbols of a problem."""

    def __init__(self, problem: SymbolicProblem, findings: Findings) -> None:
        self.axes: list[Axis] = []
        self.position: dict[str, int] = {}
        for symbol in problem.symbols:
            self._add(symbol, findings)
        self.points: list[Values] = []
        """The points at which a plan must be good."""
        if findings.total:
            return
        if not problem.points and combination_count(problem) > MOST_POINTS:
            self._invalid(findings, "the values of the symbols have more than {} combinations", MOST_POINTS)
            return
        for point in points_of(problem):
            found = self.read(point.at)
            if isinstance(found, str):
                self._invalid(findings, "a point {}", found)
            elif found in self.points:
                self._invalid(findings, "the point {} is there twice", self.say(found))
            else:
                self.points.append(found)

    def _add(self, symbol: Symbol, findings: Findings) -> None:
        if symbol.id in FUNCTIONS:
            self._invalid(findings, "the symbol {!r} has the name of a function", symbol.id)
        if symbol.id in self.position:
            self._invalid(findings, "two symbols are called {!r}", symbol.id)
        axis = Axis(symbol.id, symbol.min, symbol.max, symbol.step)
        if not axis.takes(axis.last):
            text = "{!r} does not go from {:d} to {:d} in steps of {}"
            self._invalid(findings, text, symbol.id, symbol.min, symbol.max, symbol.step)
        self.position[symbol.id] = len(self.axes)
        self.axes.append(axis)
        for value in symbol.values:
            if not axis.takes(value):
                self._invalid(findings, "{!r} does not take {}", symbol.id, value)

    @property
    def count(self) -> int:
        """How many points there are."""
        return prod(axis.count for axis in self.axes)

    def read(self, at: Mapping[str, int]) -> "Values | str":
        """The values of a point, or what is wrong with it."""
        missing = next((axis.id for axis in self.axes if axis.id not in at), None)
        if missing is not None:
            return f"does not say {missing!r}"
        unknown = next((name for name in at if name not in self.position), None)
        if unknown is not None:
            return f"speaks of {unknown!r}, which is not a symbol"
        wrong = next((axis for axis in self.axes if not axis.takes(at[axis.id])), None)
        if wrong is not None:
            return f"says {wrong.id}={at[wrong.id]}, which it does not take"
        return tuple(at[axis.id] for axis in self.axes)

    def say(self, values: Sequence[int]) -> str:
        """A point in words."""
        return ", ".join(f"{axis.id}={value}" for axis, value in zip(self.axes, values, strict=True))

    def corners(self) -> Iterator[Values]:
        """Points of which each symbol takes its first or last value: the two extremes, then some others."""
        first, last = (tuple(it) for it in zip(*((axis.first, axis.last) for axis in self.axes), strict=True))
        yield last
        yield first
        if 2 ** len(self.axes) <= MOST_CORNERS:
            for corner in product(*((axis.first, axis.last) for axis in self.axes)):
                if corner not in (first, last):
                    yield corner

    def all(self) -> Iterator[Values]:
        """Every point there is."""
        return product(*(range(axis.first, axis.last + 1, axis.step) for axis in self.axes))

    @staticmethod
    def _invalid(findings: Findings, text: str, *values: object) -> None:
        findings.add(Code.INVALID_PROBLEM, "the problem is not valid: " + text, *values)
