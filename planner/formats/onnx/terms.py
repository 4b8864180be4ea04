"""Formulas of a model's symbols while shapes are derived: a normal form, quotients, limits, bounds, texts.

Sums of products of symbols have one normal form: two that are the same at every value have the same
parts. What is no such sum (a quotient rounded down, the smaller of two) is a part with a name of its own.
A symbol that goes in steps is its least value and a count of steps, so that half of an even number is a
whole one.

Bounds know that a quotient that is rounded down is the exact one less a remainder: `8 - (N - 8*(N//8))`
has N twice, and intervals of its parts say little. With `N//8 = (N - r)/8`, where r is from 0 to 7, N
falls out, and 8 - r stays.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, lcm
from typing import Final

from memstow.planner.formulas.formula import (
    Call,
    Chain,
    Extent,
    Formula,
    FormulaError,
    Formulas,
    FormulaValueError,
    Name,
    Negation,
    Node,
    Number,
    parse_formula,
)
from memstow.planner.formulas.sizes import sample
from memstow.planner.model.symbolic import Symbol

MOST_TERMS: Final = 64

Part = str
"""The name of a symbol, of its count of steps, or of what `Terms` does not look into."""
Product = tuple[Part, ...]
"""Parts in their order; empty for a number."""


class TooLongError(Exception):
    """A sum has more terms than any shape needs."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A sum of products, each with a number that is not 0, in one order."""

    terms: tuple[tuple[Product, int], ...]

    @property
    def number(self) -> int | None:
        """Its value if it is the same everywhere."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def __add__(self, other: "Terms | int") -> "Terms":
        return merged([*self.terms, *_terms(other).terms])

    def __sub__(self, other: "Terms | int") -> "Terms":
        return self + _terms(other) * -1

    def __mul__(self, other: "Terms | int") -> "Terms":
        right = _terms(other)
        if len(self.terms) * len(right.terms) > MOST_TERMS**2:
            raise TooLongError
        return merged((tuple(sorted((*one, *two))), a * b) for one, a in self.terms for two, b in right.terms)

    def divided(self, other: "Terms") -> "Terms | None":
        """The quotient where it is a sum of products and nothing is left; None otherwise."""
        if len(other.terms) != 1:
            return None
        ((parts, number),) = other.terms
        quotient = []
        for product, factor in self.terms:
            rest = list(product)
            for part in parts:
                if part not in rest:
                    return None
                rest.remove(part)
            if factor % number:
                return None
            quotient.append((tuple(rest), factor // number))
        return merged(quotient)

    def with_part(self, part: Part, instead: "Terms") -> "Terms":
        """With this in place of a part."""
        whole = Terms(())
        for product, number in self.terms:
            count = product.count(part)
            term = merged([(tuple(entry for entry in product if entry != part), number)])
            for _ in range(count):
                term = term * instead
            whole = whole + term
        return whole

    def split(self, divisor: int) -> "tuple[Terms, Terms]":
        """What `divisor` goes into, divided, and what is left: each number of it within 0 and the divisor."""
        whole = merged((product, number // divisor) for product, number in self.terms)
        return whole, merged((product, number % divisor) for product, number in self.terms)

    def common(self) -> int:
        """The largest number that all numbers before products are multiples of."""
        return gcd(*(number for product, number in self.terms if product))

    def only_part(self) -> "tuple[Part, int] | None":
        """The part and the number where it is a part once and a number."""
        rest = [(product, number) for product, number in self.terms if product]
        if len(rest) == 1 and len(rest[0][0]) == 1 and rest[0][1] == 1:
            return rest[0][0][0], dict(self.terms).get((), 0)
        return None


def merged(terms: Iterable[tuple[Product, int]]) -> Terms:
    """The sum of these terms."""
    factors: dict[Product, int] = {}
    for product, number in terms:
        factors[product] = factors.get(product, 0) + number
    if len(factors) > MOST_TERMS:
        raise TooLongError
    kept = [(product, number) for product, number in factors.items() if number]
    return Terms(tuple(sorted(kept, key=lambda entry: (-len(entry[0]), entry[0]))))


def a_number(value: int) -> Terms:
    """A number."""
    return merged([((), value)])


def a_part(name: Part) -> Terms:
    """A symbol, or another part."""
    return merged([((name,), 1)])


def product_of(extents: Iterable[Terms]) -> Terms:
    """All of them, multiplied."""
    whole = a_number(1)
    for extent in extents:
        whole = whole * extent
    return whole


def text_of_terms(terms: Mapping[tuple[str, ...], int]) -> str:
    """The sum as a formula; its parts are texts already."""
    parts = sorted(terms.items(), key=lambda entry: (not entry[0], entry[1] < 0, -len(entry[0]), entry[0]))
    text = ""
    for product, number in parts:
        if not number:
            continue
        if len(product) == 1 and number in (1, -1) and (text or number == 1):
            one = product[0]
        else:
            factors = [str(abs(number))] if abs(number) != 1 or not product else []
            one = "*".join([*factors, *map(in_parentheses, product)])
        sign = "-" if number < 0 else "+"
        text = f"{text} {sign} {one}" if text else (f"-{one}" if number < 0 else one)
    return text or "0"


def in_parentheses(text: str) -> str:
    """The text as a factor, or as what is divided."""
    return text if text.isidentifier() or _is_call(text) else f"({text})"


def _is_call(text: str) -> bool:
    """Whether the text is one function of something, up to its end."""
    if not text.startswith(("min(", "max(")):
        return False
    depth = 0
    for i, entry in enumerate(text):
        depth += (entry == "(") - (entry == ")")
        if entry == ")" and not depth:
            return i == len(text) - 1
    return False


def _terms(value: "Terms | int") -> Terms:
    return value if isinstance(value, Terms) else a_number(value)


_MOST: Final = 64
_MOST_IN_TEXT: Final = 512

Sum = dict[Product, Fraction]
"""A sum of products, each with the fraction before it."""


def bounds_by_remainders(
    extent: Terms,
    quotient_of: Callable[[Part], tuple[Terms, int] | None],
    range_of: Callable[[Part], Extent],
) -> Extent | None:
    """No value is below the first or above the second; None where the sum becomes too long.

    `quotient_of`: what a part divides, and by what, if it is a quotient; `range_of`: of any other part.
    """
    remainders: dict[Part, Extent] = {}
    try:
        total = _expanded(extent, quotient_of, remainders)
    except TooLongError:
        return None
    names = {part for parts in total for part in parts}
    return _bounds(
        total, {name: remainders[name] if name in remainders else range_of(name) for name in names}
    )


def _expanded(
    extent: Terms,
    quotient_of: Callable[[Part], tuple[Terms, int] | None],
    remainders: dict[Part, Extent],
) -> Sum:
    """With quotients as exact ones less remainders, which are noted."""
    total: Sum = {}
    for product, number in extent.terms:
        expansion: Sum = {(): Fraction(number)}
        for part in product:
            quotient = quotient_of(part)
            if quotient is None:
                expansion = _times(expansion, {(part,): Fraction(1)}, _MOST)
                continue
            above, below = quotient
            rest = f"remainder of {part}"
            remainders[rest] = (0, below - 1)
            exact = {
                entry: value / below for entry, value in _expanded(above, quotient_of, remainders).items()
            }
            expansion = _times(expansion, {**exact, (rest,): Fraction(-1, below)}, _MOST)
        for parts, value in expansion.items():
            total[parts] = total.get(parts, Fraction(0)) + value
        if len(total) > _MOST:
            raise TooLongError
    return total


def _bounds(total: Sum, ranges: Mapping[Part, Extent]) -> Extent:
    low = high = Fraction(0)
    for parts, value in total.items():
        one, other = _of_product(ranges[part] for part in parts)
        low += min(value * one, value * other)
        high += max(value * one, value * other)
    # It is a whole number at every value.
    return ceil(low), floor(high)


def _of_product(ranges: Iterable[Extent]) -> Extent:
    low, high = 1, 1
    for one, other in ranges:
        corners = [a * b for a in (low, high) for b in (one, other)]
        low, high = min(corners), max(corners)
    return low, high


def _times(one: Sum, other: Sum, most: int) -> Sum:
    """The product; TooLongError where it has more terms than this."""
    products: Sum = {}
    for left, a in one.items():
        for right, b in other.items():
            key = tuple(sorted((*left, *right)))
            products[key] = products.get(key, Fraction(0)) + a * b
    if len(products) > most:
        raise TooLongError
    return products


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


class TermArithmetic:
    """The symbols of a model, and what is computed of them."""

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        self._symbols = {symbol.id: symbol for symbol in symbols}
        self._ranges = {symbol.id: (symbol.min, symbol.max) for symbol in self._symbols.values()}
        self._among = Formulas((), self._symbols.values())
        self._opaque: dict[Part, _Quotient | _Limit] = {}
        self._texts: dict[Terms, str] = {}
        self._formulas: dict[Terms, Formula] = {}
        self._bounds: dict[Terms, Extent] = {}

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

    def formula(self, extent: Terms) -> Formula:
        """The same as a formula that can be evaluated."""
        known = self._formulas.get(extent)
        if known is None:
            known = self._formulas[extent] = self._among.read(self.text(extent))
        return known

    def value(self, extent: Terms, at: Mapping[str, int]) -> int:
        """Its value where the symbols have these."""
        return self.formula(extent).value(at)

    def bounds(self, extent: Terms) -> Extent:
        """No value is below the first or above the second."""
        bounds = self._bounds.get(extent)
        if bounds is None:
            facts = self.formula(extent).facts(self._ranges)
            low, high = facts.low, facts.high
            if any(part in self._opaque for product, _ in extent.terms for part in product):
                closer = bounds_by_remainders(extent, self._quotient, self._range)
                if closer is not None:
                    low, high = max(low, closer[0]), min(high, closer[1])
            bounds = self._bounds[extent] = (low, high)
        return bounds

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
        return self.formula(extent).facts(self._ranges).sure

    def floor_div(self, above: Terms, below: int) -> Terms:
        """The quotient rounded down; the divisor is positive."""
        whole, rest = above.split(below)
        if rest.number is not None:
            return whole + rest.number // below
        factor = gcd(rest.common(), below)
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
        names = set[str]().union(*(self.names_in(extent) for extent in extents))
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
                    names |= {name for entry in among for name in self.names_in(entry)}
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
        total: Sum = {}
        for product, number in extent.terms:
            expanded: Sum = {(): Fraction(number)}
            for part in product:
                expanded = _times(expanded, self._as_symbols(part), _MOST_IN_TEXT)
            for factors, value in expanded.items():
                total[factors] = total.get(factors, Fraction(0)) + value
        below = lcm(*(value.denominator for value in total.values()))
        text = text_of_terms({factors: int(value * below) for factors, value in total.items()})
        if below > 1:
            text = f"{in_parentheses(text)}//{below}"
        if len(text) > _LONGEST:
            raise TooLongError
        return text

    def _as_symbols(self, part: Part) -> Sum:
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


def _floored(rest: Terms, factor: int) -> Terms:
    """Divided by what all of it but a number is a multiple of: rounding that down changes no quotient."""
    return merged((product, number // factor) for product, number in rest.terms)


Names = Mapping[str, Terms]


def formula_of_name(text: str, names: Names, formulas: TermArithmetic) -> Terms | None:
    """The formula of these names that the text is; None where it is none, or has numbers beyond 2^62."""
    if text in names:
        return names[text]
    try:
        formula = parse_formula(text, names)
        formula_terms = _from(formula.tree, names, formulas) if formula.names else None
        return formula_terms if formula_terms is not None and formulas.is_exact(formula_terms) else None
    except (FormulaError, TooLongError):
        return None


def is_formula(text: str, names: Collection[str]) -> bool:
    """Whether the text is a formula of some of these names."""
    try:
        return bool(parse_formula(text, names).names)
    except FormulaError:
        return False


def _from(node: Node, names: Names, formulas: TermArithmetic) -> Terms | None:
    match node:
        case Number(value):
            return a_number(value)
        case Name(name):
            return names[name]
        case Negation(operand):
            inner = _from(operand, names, formulas)
            return None if inner is None else inner * -1
        case Chain(first, rest):
            terms = _from(first, names, formulas)
            for sign, operand in rest:
                other = _from(operand, names, formulas)
                if terms is None or other is None:
                    return None
                terms = _joined(sign, terms, other, formulas)
            return terms
        case Call(function, arguments):
            return _called(function, [_from(argument, names, formulas) for argument in arguments], formulas)


def _joined(sign: str, left: Terms, right: Terms, formulas: TermArithmetic) -> Terms | None:
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    below = right.number
    if below is None or below < 1:
        return None
    quotient = formulas.floor_div(left, below)
    return quotient if sign == "//" else left - quotient * below


def _called(function: str, arguments: list[Terms | None], formulas: TermArithmetic) -> Terms | None:
    known = [argument for argument in arguments if argument is not None]
    if len(known) < len(arguments):
        return None
    if function in ("min", "max"):
        result = known[0]
        for other in known[1:]:
            result = formulas.least(result, other) if function == "min" else formulas.most(result, other)
        return result
    below = known[1].number
    if below is None or below < 1:
        return None
    quotient = formulas.ceil_div(known[0], below)
    return quotient if function == "ceil_div" else quotient * below
