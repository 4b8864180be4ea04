"""Formulas of a model's symbols while shapes are derived: quotients, limits, bounds, and their texts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Final

from memstow.planner.model.symbolic import Symbol
from memstow.planner.shapes.formula import FormulaValueError, bounds, evaluate, facts_of, parse_formula
from memstow.planner.shapes.onnx.remainders import bounds_by_remainders
from memstow.planner.shapes.onnx.samples import sample
from memstow.planner.shapes.onnx.terms import (
    Part,
    Terms,
    TooLongError,
    a_number,
    a_part,
    in_parentheses,
    made,
    text_of_terms,
)

_LONGEST: Final = 1000
"""Characters of a formula: sizes multiply several, and have at most 2,000."""


@dataclass(frozen=True, slots=True)
class _Quotient:
    above: Terms
    below: int


@dataclass(frozen=True, slots=True)
class _Limit:
    function: str
    of: tuple[Terms, Terms]


class Formulas:
    """The symbols of a model, and what is known of formulas of them."""

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        self._symbols = {symbol.id: symbol for symbol in symbols}
        self._ranges = {it.id: (it.min, it.max) for it in self._symbols.values()}
        self._opaque: dict[Part, _Quotient | _Limit] = {}
        self._texts: dict[Terms, str] = {}
        self._bounds: dict[Terms, tuple[int, int]] = {}

    def symbol(self, name: str) -> Terms:
        """A symbol: with steps, its least value and a count of them."""
        symbol = self._symbols[name]
        if symbol.min == symbol.max:
            return a_number(symbol.min)
        if symbol.step == 1:
            return a_part(name)
        return a_part(f"#{name}") * symbol.step + symbol.min

    def text(self, extent: Terms) -> str:
        """The formula in the grammar of symbolic problems."""
        known = self._texts.get(extent)
        if known is None:
            known = self._texts[extent] = self._made_text(extent)
        return known

    def value(self, extent: Terms, at: Mapping[str, int]) -> int:
        """Its value where the symbols have these."""
        return evaluate(parse_formula(self.text(extent), at), at)

    def bounds(self, extent: Terms) -> tuple[int, int]:
        """No value is below the first or above the second."""
        found = self._bounds.get(extent)
        if found is None:
            low, high = bounds(parse_formula(self.text(extent), self._symbols), self._ranges)
            if any(part in self._opaque for product, _ in extent.terms for part in product):
                closer = bounds_by_remainders(extent, self._quotient, self._range)
                if closer is not None:
                    low, high = max(low, closer[0]), min(high, closer[1])
            found = self._bounds[extent] = (low, high)
        return found

    def _quotient(self, part: Part) -> tuple[Terms, int] | None:
        inner = self._opaque.get(part)
        return (inner.above, inner.below) if isinstance(inner, _Quotient) else None

    def _range(self, part: Part) -> tuple[int, int]:
        """Of what is no quotient: a symbol, a count of steps, or the smaller or larger of two."""
        if part.startswith("#"):
            symbol = self._symbols[part[1:]]
            return 0, (symbol.max - symbol.min) // symbol.step
        inner = self._opaque.get(part)
        if isinstance(inner, _Limit):
            chosen = min if inner.function == "min" else max
            one, other = map(self.bounds, inner.of)
            return chosen(one[0], other[0]), chosen(one[1], other[1])
        return self._ranges[part]

    def is_exact(self, extent: Terms) -> bool:
        """Whether no number on the way to its value is beyond 2^62."""
        return facts_of(parse_formula(self.text(extent), self._symbols), self._ranges).sure

    def floor_div(self, above: Terms, below: int) -> Terms:
        """The quotient rounded down; the divisor is positive."""
        whole, rest = above.split(below)
        if rest.number is not None:
            return whole + rest.number // below
        factor = _common_factor(rest, below)
        if factor > 1:
            rest, below = _floored(rest, factor), below // factor
        low, high = self.bounds(rest)
        if low // below == high // below:
            return whole + low // below
        once = rest.only_part()
        inner = self._opaque.get(once[0]) if once else None
        if once and isinstance(inner, _Quotient):
            return whole + self.floor_div(inner.above + once[1] * inner.below, inner.below * below)
        product, number = rest.terms[0]
        if product and 2 * number > below:
            # What is rounded down is minus what is rounded up: 7*N//8 is N less (N + 7)//8. So that what
            # is filled up to a multiple of 8 is the same by whichever way it is computed.
            return whole + self.floor_div(rest * -1 + (below - 1), below) * -1
        return whole + self._part(f"{in_parentheses(self._inner(rest))}//{below}", _Quotient(rest, below))

    def ceil_div(self, above: Terms, below: int) -> Terms:
        """The quotient rounded up; the divisor is positive."""
        return self.floor_div(above + (below - 1), below)

    def least(self, one: Terms, other: Terms) -> Terms:
        """The smaller of two."""
        low, high = self.bounds(one - other)
        if high <= 0:
            return one
        if low >= 0:
            return other
        return self._limit("min", one, other)

    def most(self, one: Terms, other: Terms) -> Terms:
        """The larger of two."""
        low, high = self.bounds(one - other)
        if low >= 0:
            return one
        if high <= 0:
            return other
        return self._limit("max", one, other)

    def where_they_differ(self, one: Terms, other: Terms) -> str:
        """A value of the symbols at which they do, for a message; empty where none was found."""
        for at in sample(list(self._symbols.values())):
            try:
                values = self.value(one, at), self.value(other, at)
            except FormulaValueError:
                continue
            if values[0] != values[1]:
                place = self.place(at, one, other)
                return f", which are {values[0]:,} and {values[1]:,} at {place}" if place else " everywhere"
        return ""

    def place(self, at: Mapping[str, int], *extents: Terms) -> str:
        """The values of the symbols that these depend on, as a text."""
        names = set[str]().union(*(self.names_in(it) for it in extents))
        return ", ".join(f"{name}={value}" for name, value in at.items() if name in names)

    def names_in(self, extent: Terms) -> set[str]:
        """The symbols that it depends on."""
        names = set()
        for product, _ in extent.terms:
            for part in product:
                inner = self._opaque.get(part)
                if inner is None:
                    names.add(part.removeprefix("#"))
                else:
                    among = (inner.above,) if isinstance(inner, _Quotient) else inner.of
                    names |= {name for it in among for name in self.names_in(it)}
        return names

    def _limit(self, function: str, one: Terms, other: Terms) -> Terms:
        pair = tuple(sorted((one, other), key=self._inner))
        text = f"{function}({', '.join(map(self._inner, pair))})"
        return self._part(text, _Limit(function, (pair[0], pair[1])))

    def _part(self, name: Part, what: _Quotient | _Limit) -> Terms:
        if len(name) > _LONGEST:
            raise TooLongError
        self._opaque[name] = what
        return a_part(name)

    def _inner(self, extent: Terms) -> str:
        return text_of_terms(dict(extent.terms))

    def _shortest(self, extent: Terms) -> Terms:
        """With quotients rounded up in place of down, or the other way, where that leaves fewer terms."""
        for part in sorted({part for product, _ in extent.terms for part in product}):
            inner = self._opaque.get(part)
            if isinstance(inner, _Quotient):
                whole, rest = (inner.above * -1 + (inner.below - 1)).split(inner.below)
                name = f"{in_parentheses(self._inner(rest))}//{inner.below}"
                other = extent.with_part(part, (whole + self._part(name, _Quotient(rest, inner.below))) * -1)
                extent = other if len(other.terms) < len(extent.terms) else extent
        return extent

    def _made_text(self, extent: Terms) -> str:
        """With counts of steps written as the symbols that they are of."""
        extent = self._shortest(extent)
        total: dict[tuple[str, ...], Fraction] = {}
        for product, number in extent.terms:
            expanded: dict[tuple[str, ...], Fraction] = {(): Fraction(number)}
            for part in product:
                expanded = _times(expanded, self._as_symbols(part))
            for factors, value in expanded.items():
                total[factors] = total.get(factors, Fraction(0)) + value
        below = lcm(*(value.denominator for value in total.values()))
        text = text_of_terms({factors: int(value * below) for factors, value in total.items()})
        if below > 1:
            text = f"{in_parentheses(text)}//{below}"
        if len(text) > _LONGEST:
            raise TooLongError
        return text

    def _as_symbols(self, part: Part) -> dict[tuple[str, ...], Fraction]:
        if part.startswith("#"):
            symbol = self._symbols[part[1:]]
            step = Fraction(1, symbol.step)
            return {(symbol.id,): step, (): -symbol.min * step}
        match self._opaque.get(part):
            case _Quotient(above, below):
                return {(f"{in_parentheses(self.text(above))}//{below}",): Fraction(1)}
            case _Limit(function, of):
                return {(f"{function}({', '.join(map(self.text, of))})",): Fraction(1)}
        return {(part,): Fraction(1)}


def _common_factor(rest: Terms, below: int) -> int:
    return gcd(rest.common(), below)


def _floored(rest: Terms, factor: int) -> Terms:
    """Divided by what all of it but a number is a multiple of: rounding that down changes no quotient."""
    return made((product, number // factor) for product, number in rest.terms)


def _times(
    one: dict[tuple[str, ...], Fraction], other: dict[tuple[str, ...], Fraction]
) -> dict[tuple[str, ...], Fraction]:
    found: dict[tuple[str, ...], Fraction] = {}
    for left, a in one.items():
        for right, b in other.items():
            key = tuple(sorted((*left, *right)))
            found[key] = found.get(key, Fraction(0)) + a * b
    if len(found) > 512:
        raise TooLongError
    return found
