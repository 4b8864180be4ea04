"""Sums of products of symbols in one normal form: two that are the same at every value have the same parts.

What is no such sum (a quotient rounded down, the smaller of two) is a part with a name of its own. A symbol
that goes in steps is its least value and a count of steps, so that half of an even number is a whole one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Final

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
        return made([*self.terms, *_terms(other).terms])

    def __sub__(self, other: "Terms | int") -> "Terms":
        return self + _terms(other) * -1

    def __mul__(self, other: "Terms | int") -> "Terms":
        right = _terms(other)
        if len(self.terms) * len(right.terms) > MOST_TERMS**2:
            raise TooLongError
        return made((tuple(sorted((*one, *two))), a * b) for one, a in self.terms for two, b in right.terms)

    def divided(self, other: "Terms") -> "Terms | None":
        """The quotient where it is a sum of products and nothing is left; None otherwise."""
        if len(other.terms) != 1:
            return None
        ((parts, number),) = other.terms
        found = []
        for product, factor in self.terms:
            rest = list(product)
            for part in parts:
                if part not in rest:
                    return None
                rest.remove(part)
            if factor % number:
                return None
            found.append((tuple(rest), factor // number))
        return made(found)

    def with_part(self, part: Part, instead: "Terms") -> "Terms":
        """With this in place of a part."""
        whole = Terms(())
        for product, number in self.terms:
            count = product.count(part)
            found = made([(tuple(it for it in product if it != part), number)])
            for _ in range(count):
                found = found * instead
            whole = whole + found
        return whole

    def split(self, divisor: int) -> "tuple[Terms, Terms]":
        """What `divisor` goes into, divided, and what is left: each number of it within 0 and the divisor."""
        whole = made((product, number // divisor) for product, number in self.terms)
        return whole, made((product, number % divisor) for product, number in self.terms)

    def common(self) -> int:
        """The largest number that all numbers before products are multiples of."""
        return gcd(*(number for product, number in self.terms if product))

    def only_part(self) -> "tuple[Part, int] | None":
        """The part and the number where it is a part once and a number."""
        rest = [(product, number) for product, number in self.terms if product]
        if len(rest) == 1 and len(rest[0][0]) == 1 and rest[0][1] == 1:
            return rest[0][0][0], dict(self.terms).get((), 0)
        return None


def made(terms: Iterable[tuple[Product, int]]) -> Terms:
    """The sum of these terms."""
    found: dict[Product, int] = {}
    for product, number in terms:
        found[product] = found.get(product, 0) + number
    if len(found) > MOST_TERMS:
        raise TooLongError
    kept = [(product, number) for product, number in found.items() if number]
    return Terms(tuple(sorted(kept, key=lambda it: (-len(it[0]), it[0]))))


def a_number(value: int) -> Terms:
    """A number."""
    return made([((), value)])


def a_part(name: Part) -> Terms:
    """A symbol, or another part."""
    return made([((name,), 1)])


def product_of(extents: Iterable[Terms]) -> Terms:
    """All of them, multiplied."""
    whole = a_number(1)
    for extent in extents:
        whole = whole * extent
    return whole


def text_of_terms(terms: Mapping[tuple[str, ...], int]) -> str:
    """The sum as a formula; its parts are texts already."""
    parts = sorted(terms.items(), key=lambda it: (not it[0], it[1] < 0, -len(it[0]), it[0]))
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
    for i, it in enumerate(text):
        depth += (it == "(") - (it == ")")
        if it == ")" and not depth:
            return i == len(text) - 1
    return False


def _terms(value: "Terms | int") -> Terms:
    return value if isinstance(value, Terms) else a_number(value)
