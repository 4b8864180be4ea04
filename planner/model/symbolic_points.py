"""The values that each symbol takes, and the points where a plan is made as good as possible."""

from collections.abc import Iterator
from itertools import product
from math import prod

from memstow.planner.model.symbolic import Point, Symbol, SymbolicProblem


def values_of(symbol: Symbol) -> tuple[int, ...]:
    """The values of the symbol that matter: those given, or its ends and the powers of two between."""
    return symbol.values or tuple(sorted({symbol.min, symbol.max, *_powers(symbol)}))


def count_of(symbol: Symbol) -> int:
    """How many values the symbol takes."""
    return (symbol.max - symbol.min) // symbol.step + 1


def takes(symbol: Symbol, value: int) -> bool:
    """Whether the symbol takes this value."""
    return symbol.min <= value <= symbol.max and (value - symbol.min) % symbol.step == 0


def combination_count(problem: SymbolicProblem) -> int:
    """How many combinations the symbols' values have."""
    return prod(len(values_of(symbol)) for symbol in problem.symbols)


def points_of(problem: SymbolicProblem) -> tuple[Point, ...]:
    """The points of the problem, or the combinations of its symbols' values; it has to be valid."""
    if problem.points:
        return problem.points
    names = [symbol.id for symbol in problem.symbols]
    rows = product(*(values_of(symbol) for symbol in problem.symbols))
    return tuple(Point(at=dict(zip(names, row, strict=True))) for row in rows)


def _powers(symbol: Symbol) -> Iterator[int]:
    power = 1
    while power <= symbol.max:
        if takes(symbol, power):
            yield power
        power *= 2
