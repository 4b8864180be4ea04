"""From the text of a formula to its nodes.

sum      = product (("+" | "-") product)*
product  = factor (("*" | "//" | "%") factor)*
factor   = "-" factor | number | symbol | function "(" sum ("," sum)* ")" | "(" sum ")"
function = "ceil_div" | "align" | "min" | "max"
"""

from collections.abc import Callable, Collection
from typing import Final

from memstow.planner.model.symbolic import LONGEST_FORMULA
from memstow.planner.shapes.formula.errors import FormulaError
from memstow.planner.shapes.formula.nodes import (
    FUNCTIONS,
    OF_TWO,
    Call,
    Chain,
    Function,
    Name,
    Negation,
    Node,
    Number,
    Sign,
)
from memstow.planner.shapes.formula.tokens import Token, tokens_of

DEEPEST: Final = 64
"""Parentheses, functions and minus signs within each other."""

_SUMS: Final[tuple[Sign, ...]] = ("+", "-")
_PRODUCTS: Final[tuple[Sign, ...]] = ("*", "//", "%")


def parse_formula(text: str, symbols: Collection[str]) -> Node:
    """The formula of a text in which these symbols are known; FormulaError at the first mistake."""
    if len(text) > LONGEST_FORMULA:
        message = f"a formula of {len(text):,} characters, of which {LONGEST_FORMULA:,} are allowed"
        raise FormulaError("formula_too_long", message, LONGEST_FORMULA)
    return _Parser(tokens_of(text), symbols).formula()


class _Parser:
    """Walks over the tokens from left to right, one function for each rule of the grammar."""

    def __init__(self, tokens: list[Token], symbols: Collection[str]) -> None:
        self._tokens = tokens
        self._symbols = symbols
        self._next = 0
        self._depth = 0

    def formula(self) -> Node:
        node = self._sum()
        if self._token.kind != "end":
            raise self._unexpected("an operation such as + or *" if self._token.text != ")" else "the end")
        return node

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _sum(self) -> Node:
        return self._chain(_SUMS, self._product)

    def _product(self) -> Node:
        return self._chain(_PRODUCTS, self._factor)

    def _chain(self, signs: tuple[Sign, ...], part: Callable[[], Node]) -> Node:
        first = part()
        rest: list[tuple[Sign, Node]] = []
        while (sign := self._one_of(signs)) is not None:
            rest.append((sign, part()))
        return Chain(first, tuple(rest)) if rest else first

    def _one_of(self, signs: tuple[Sign, ...]) -> Sign | None:
        for sign in signs:
            if self._took(sign):
                return sign
        return None

    def _factor(self) -> Node:
        token = self._token
        if token.kind == "number":
            self._next += 1
            return Number(int(token.text))
        if token.kind == "name":
            self._next += 1
            return self._named(token)
        if self._took("-"):
            self._deeper(token)
            negation = Negation(self._factor())
            self._depth -= 1
            return negation
        if self._took("("):
            self._deeper(token)
            inner = self._sum()
            self._close()
            return inner
        raise self._unexpected("a number, a symbol or a parenthesis")

    def _named(self, token: Token) -> Node:
        for function in FUNCTIONS:
            if token.text == function:
                return self._call(function, token)
        if token.text not in self._symbols:
            raise self._unknown(token)
        return Name(token.text)

    def _call(self, function: Function, token: Token) -> Node:
        if not self._took("("):
            raise self._unexpected(f"the arguments of {function} in parentheses")
        self._deeper(token)
        arguments = [self._sum()]
        while self._took(","):
            arguments.append(self._sum())
        self._close()
        if function in OF_TWO and len(arguments) != 2:
            number = "one argument" if len(arguments) == 1 else f"{len(arguments):,} arguments"
            message = (
                f"at character {token.position + 1:,} {function} has {number}; it takes two: {function}(a, b)"
            )
            raise FormulaError("formula_syntax", message, token.position)
        return Call(function, tuple(arguments))

    def _took(self, sign: str) -> bool:
        """Whether the next token is this sign, which is then passed."""
        token = self._token
        if token.kind != "sign" or token.text != sign:
            return False
        self._next += 1
        return True

    def _close(self) -> None:
        if not self._took(")"):
            raise self._unexpected("a closing parenthesis")
        self._depth -= 1

    def _deeper(self, token: Token) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            message = (
                f"at character {token.position + 1:,} the formula is more than {DEEPEST} parentheses, "
                "functions and minus signs deep; write it flatter"
            )
            raise FormulaError("formula_too_deep", message, token.position)

    def _unexpected(self, wanted: str) -> FormulaError:
        token = self._token
        found = "the formula ends" if token.kind == "end" else f"there is {token.text[:40]!r}"
        message = f"at character {token.position + 1:,} {found}, where {wanted} should be"
        return FormulaError("formula_syntax", message, token.position)

    def _unknown(self, token: Token) -> FormulaError:
        # The name comes first: readers recognise by it what an issue is about.
        names = ", ".join(sorted(self._symbols)) or "none"
        message = f"{token.text[:80]!r} at character {token.position + 1:,} is no symbol; there are: {names}"
        return FormulaError("unknown_symbol", message, token.position)
