"""Formulas of symbols in exact integers: read, written, evaluated, and bounded over ranges of their symbols.

sum      = product (("+" | "-") product)*
product  = factor (("*" | "//" | "%") factor)*
factor   = "-" factor | number | symbol | function "(" sum ("," sum)* ")" | "(" sum ")"
function = "ceil_div" | "align" | "min" | "max"

Native code reads, evaluates and bounds them (`solvers/native/shapes/formulas.hpp`); here are the words for
what goes wrong, and the tree of a formula for those who write it down in another form.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from operator import index
from typing import Final, Literal, cast

from memstow.planner.model.errors import MemstowError
from memstow.planner.model.printable import shown
from memstow.planner.model.problem import LIMIT, LONGEST_FORMULA
from memstow.planner.model.symbolic import Symbol
from memstow.records import record
from memstow.solvers import shapes


class FormulaError(MemstowError):
    """A text that is not a formula; `position` is the index of the character where that shows."""

    def __init__(self, code: str, message: str, position: int) -> None:
        super().__init__(message)
        self.code = code
        self.position = position


class FormulaValueError(MemstowError):
    """A formula without a value at these symbols: a divisor that is not positive, a number too large."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


Sign = Literal["+", "-", "*", "//", "%"]
Function = Literal["ceil_div", "align", "min", "max"]

FUNCTIONS: Final[tuple[Function, ...]] = ("ceil_div", "align", "min", "max")


@record
class Number:
    """A whole number as it is written: never negative."""

    value: int


@record
class Name:
    """A symbol."""

    id: str


@record
class Negation:
    """A minus before something."""

    operand: "Node"


@record
class Chain:
    """Operations of one precedence from left to right: a sum, or a product with its divisions.

    A sum of a thousand terms is one chain: only parentheses, functions and minus signs make a formula deep.
    """

    first: "Node"
    rest: tuple[tuple[Sign, "Node"], ...]


@record
class Call:
    """A function of its arguments."""

    function: Function
    arguments: tuple["Node", ...]


Node = Number | Name | Negation | Chain | Call


def text_of(node: Node) -> str:
    """The text of a formula."""
    match node:
        case Number(value):
            return str(value)
        case Name(name):
            return name
        case Negation(operand):
            return f"-{_factor_text(operand)}"
        case Chain(first, rest):
            if rest[0][0] in ("+", "-"):
                parts = [
                    _product_text(first),
                    *(f" {sign} {_product_text(operand)}" for sign, operand in rest),
                ]
            else:
                parts = [_factor_text(first), *(f"{sign}{_factor_text(operand)}" for sign, operand in rest)]
            return "".join(parts)
        case Call(function, arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"


def _factor_text(node: Node) -> str:
    return f"({text_of(node)})" if isinstance(node, Chain) else text_of(node)


def _product_text(node: Node) -> str:
    """What may stand in a sum: a product needs no parentheses there."""
    is_sum = isinstance(node, Chain) and node.rest[0][0] in ("+", "-")
    return f"({text_of(node)})" if is_sum else text_of(node)


class Direction(StrEnum):
    """Where a formula goes when one symbol grows and the others stay."""

    NONDECREASING = "nondecreasing"
    NONINCREASING = "nonincreasing"
    UNKNOWN = "unknown"


_DIRECTIONS: Final = (
    Direction.NONDECREASING,
    Direction.NONDECREASING,
    Direction.NONINCREASING,
    Direction.UNKNOWN,
)
"""Of what may neither rise nor fall, may rise, may fall, or both."""


@record
class Facts:
    """What is proven of a formula over ranges of its symbols, from its parts (interval arithmetic).

    Bounds may be wider than what is so, never narrower. Values at which it has no value are left out of
    account.
    """

    low: int
    high: int
    sure: bool
    """It has a value everywhere: divisors are positive, and nothing in it is beyond +-2^62."""
    directions: Mapping[str, Direction]
    """Where it goes when a symbol grows, for every symbol in it."""


Extent = tuple[int, int]
"""The least and the largest value."""


class Formulas:
    """Formulas of the same symbols."""

    def __init__(self, names: Iterable[str], symbols: Iterable[Symbol] = ()) -> None:
        """`symbols`: all that have the names, for formulas that are to be examined over their ranges."""
        self.symbols: Final = {symbol.id: symbol for symbol in symbols}
        self.names: Final = tuple(self.symbols or names)
        self.native: Final = shapes.Formulas(
            self.names,
            [(symbol.min, max(symbol.min, symbol.max), symbol.step) for symbol in self.symbols.values()],
        )
        self._count = 0

    def read(self, text: str) -> "Formula":
        """The formula of a text; FormulaError at the first mistake."""
        if len(text) > LONGEST_FORMULA:
            message = f"a formula of {len(text):,} characters, of which {LONGEST_FORMULA:,} are allowed"
            raise FormulaError("formula_too_long", message, LONGEST_FORMULA)
        # No character that is replaced belongs to a formula, nor does the one that takes its place.
        error = self.native.read(text if text.isascii() else text.encode("ascii", "replace").decode())
        if error is not None:
            raise self._worded(text, *error)
        self._count += 1
        return Formula(self, self._count - 1, text)

    def sizes_at(self, at: Mapping[str, int]) -> list[int] | None:
        """The value of each; None where one has none, or one below 0."""
        return self.native.sizes_at([_within(at.get(name)) for name in self.names])

    def _worded(self, text: str, code: str, position: int, said: str) -> FormulaError:
        if code == "stray":
            character = text[position]
            advice = _ADVICE.get(character, "use whole numbers, symbols, + - * // % and parentheses")
            place = f"at character {position + 1:,}"
            message = f"{shown(character)} {place} is no part of a formula; {advice}"
            return FormulaError("formula_syntax", message, position)
        if code == "unknown_symbol":
            # The name comes first: readers recognise by it what an issue is about.
            names = ", ".join(sorted(self.names)) or "none"
            said = f"{said[:80]!r} at character {position + 1:,} is no symbol; there are: {names}"
        return FormulaError(code, said, position)


_ADVICE: Final = {
    "/": "write // for a division that is rounded down, or ceil_div(a, b)",
    ".": "a formula has whole numbers only",
    "^": "write a product, such as s*s",
}


def _within(value: int | None) -> int | None:
    return index(value) if value is not None and -LIMIT <= value <= LIMIT else None


class Formula:
    """One of them."""

    def __init__(self, among: Formulas, number: int, text: str) -> None:
        self._among = among
        self._number = number
        self.text: Final = text

    @cached_property
    def _nodes(self) -> list[tuple[str, int]]:
        """Operands before their operation."""
        return self._among.native.nodes(self._number)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Its symbols, in the order in which they appear."""
        return tuple(dict.fromkeys(self._among.names[which] for op, which in self._nodes if op == "name"))

    @property
    def symbols(self) -> dict[str, Symbol]:
        """Its symbols, with their ranges."""
        return {name: self._among.symbols[name] for name in self.names}

    @cached_property
    def tree(self) -> Node:
        """The formula as a tree."""
        stack: list[Node] = []
        chains: list[tuple[Node, list[tuple[Sign, Node]]]] = []
        """Of each chain whose end has not come: its first operand, and the others with their signs."""
        for op, operand in self._nodes:
            match op:
                case "number":
                    stack.append(Number(operand))
                case "huge":
                    stack.append(Number(self._huge(operand)))
                case "name":
                    stack.append(Name(self._among.names[operand]))
                case "negate":
                    stack.append(Negation(stack.pop()))
                case "end":
                    first, rest = chains.pop()
                    stack[-1] = Chain(first, tuple(rest))
                case "ceil_div" | "align" | "min" | "max":
                    stack[-operand:] = [Call(op, tuple(stack[-operand:]))]
                case _:
                    right = stack.pop()
                    if not chains or chains[-1][0] is not stack[-1]:
                        chains.append((stack[-1], []))
                    chains[-1][1].append((cast("Sign", op), right))
        return stack.pop()

    @cached_property
    def node_count(self) -> int:
        """How many nodes its tree has: how long it takes to evaluate."""
        return sum(op not in ("+", "-", "*", "//", "%") for op, _ in self._nodes)

    def value(self, at: Mapping[str, int]) -> int:
        """The exact value; FormulaValueError if a divisor is not positive or a value not within +-2^62."""
        values = {name: at[name] for name in self.names}
        result = self._among.native.value(
            self._number, [_within(values.get(name)) for name in self._among.names]
        )
        if isinstance(result, int):
            return result
        reason, wrong = result
        if reason == "divisor":
            raise FormulaValueError("formula_divisor", f"a divisor of {wrong} is not positive")
        if reason == "symbol":
            wrong = values[self._among.names[wrong]]
        elif reason == "huge":
            wrong = self._huge(wrong)
        message = f"an intermediate value of {shown(wrong)} is not within -2^62 and 2^62"
        raise FormulaValueError("formula_overflow", message)

    def facts(self, ranges: Mapping[str, Extent]) -> Facts:
        """What is proven of it over these ranges, of all of its symbols and of no more than sixteen."""
        extents = [ranges.get(name, (0, 0)) for name in self._among.names]
        low, high, sure, moves = self._among.native.facts(self._number, extents)
        directions = {name: _DIRECTIONS[moves >> 2 * i & 3] for i, name in enumerate(self._among.names)}
        return Facts(low, high, sure, {name: directions[name] for name in self.names})

    def if_monotone(self) -> Extent | None:
        """Its least and largest value if facts show that it has one everywhere, and goes in one direction.

        This and `of_all_values` are for formulas among those with ranges.
        """
        return self._among.native.if_monotone(self._number)

    def of_all_values(self) -> Extent | None:
        """Its least and largest value, by all values of its symbols; None where it has none at some."""
        return self._among.native.of_all_values(self._number)

    def _huge(self, position: int) -> int:
        """The number beyond 2^62 that is there in the text."""
        return int("".join(takewhile(str.isdigit, self.text[position:])))


def parse_formula(text: str, symbols: Iterable[str]) -> Formula:
    """The formula of a text in which these symbols are known; FormulaError at the first mistake."""
    return Formulas(symbols).read(text)
