"""The least and the largest value of a formula over all values of its symbols, and how that is known."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final, Literal

from memstow.planner.model.symbolic import Symbol
from memstow.planner.model.symbolic_points import count_of
from memstow.planner.shapes.formula.compiled import compile_formula
from memstow.planner.shapes.formula.evaluate import evaluate
from memstow.planner.shapes.formula.facts import Direction, Facts, facts_of
from memstow.planner.shapes.formula.nodes import Node, names_in, node_count

MOST_VALUES: Final = 65_536
"""A formula is evaluated at all values of its symbols if there are no more than this."""
_MOST_STEPS: Final = 10_000_000

How = Literal["monotone", "every value", "interval"]


@dataclass(slots=True)
class Effort:
    """How many nodes may still be evaluated, over all formulas of a problem."""

    left: int = _MOST_STEPS

    def affords(self, node: Node, times: int) -> bool:
        """Whether the formula may be evaluated so many times, which then is counted."""
        steps = times * node_count(node)
        if steps > self.left:
            return False
        self.left -= steps
        return True


@dataclass(frozen=True, slots=True)
class Extremes:
    """The least and the largest value, exact unless they are bounds by intervals."""

    low: int
    high: int
    how: How


ByAll = Callable[[], tuple[int, int] | None]
"""The least and the largest of all values of a formula, None where that is not known."""


def no_extremes() -> None:
    """Nothing is known of all values."""


def extremes(
    node: Node, symbols: Mapping[str, Symbol], effort: Effort, by_all: ByAll = no_extremes
) -> Extremes:
    """The extremes of a formula that has a value everywhere.

    `by_all` looks at all of its values faster, where it can.
    """
    used = used_symbols(node, symbols)
    facts = facts_of(node, whole_ranges(used))
    if is_monotone(facts, used):
        low, high = (evaluate(node, corner(facts, used, top)) for top in (False, True))
        return Extremes(low, high, "monotone")
    count = value_count(used)
    if count <= MOST_VALUES and effort.affords(node, count):
        known = by_all()
        if known is not None:
            return Extremes(*known, "every value")
        function = compile_formula(node)
        values = [function(at) for at in all_values(used)]
        return Extremes(min(values), max(values), "every value")
    return Extremes(facts.low, facts.high, "interval")


def used_symbols(node: Node, symbols: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """The symbols of the formula."""
    return {name: symbols[name] for name in names_in(node)}


def whole_ranges(symbols: Mapping[str, Symbol]) -> dict[str, tuple[int, int]]:
    """The range of each symbol."""
    return {name: (symbol.min, symbol.max) for name, symbol in symbols.items()}


def is_monotone(facts: Facts, symbols: Mapping[str, Symbol]) -> bool:
    """Whether the formula goes in one direction as each symbol grows."""
    return all(facts.direction(name) is not Direction.UNKNOWN for name in symbols)


def corner(facts: Facts, symbols: Mapping[str, Symbol], top: bool) -> dict[str, int]:
    """The values at which a monotone formula is largest, or least."""
    return {
        name: symbol.max if (facts.direction(name) is Direction.NONDECREASING) == top else symbol.min
        for name, symbol in symbols.items()
    }


def value_count(symbols: Mapping[str, Symbol]) -> int:
    """How many combinations of values these symbols have."""
    return prod(count_of(symbol) for symbol in symbols.values())


def all_values(symbols: Mapping[str, Symbol]) -> Iterator[dict[str, int]]:
    """All combinations of the values of these symbols."""
    rows = product(*(range(it.min, it.max + 1, it.step) for it in symbols.values()))
    return (dict(zip(symbols, row, strict=True)) for row in rows)
