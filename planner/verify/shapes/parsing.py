"""The judge's own reading of formulas.

sum     = product (("+" | "-") product)*
product = unary (("*" | "//" | "%") unary)*
unary   = "-" unary | number | symbol | "(" sum ")" | function "(" sum ("," sum)* ")"
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from memstow.planner.model.problem import LIMIT
from memstow.planner.verify.shapes.nodes import (
    FUNCTIONS,
    Call,
    Chain,
    FormulaError,
    Named,
    Negated,
    Node,
    Number,
)

DEEPEST: Final = 64
"""Parentheses, functions and signs inside of each other."""

_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(//|[-+*%(),]))")
_BLANK: Final = " \t\r\n"
_END: Final = ""
_OPEN: Final = "("
_Part = Callable[[], Node]


def parsed(text: str, symbols: Mapping[str, int]) -> Node:
    """The tree of a formula of these symbols, given with their positions; FormulaError if it is none."""
    return _Reader(_tokens(text), symbols).whole()


def _tokens(text: str) -> list[str]:
    tokens, place, after_number = [], 0, False
    end = len(text.rstrip(_BLANK))
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            raise FormulaError(f"{text[place : place + 20].lstrip(_BLANK)!r} is not part of a formula")
        if after_number and found[2] is not None and found.start(2) == place:
            raise FormulaError(f"{found[2][:20]!r} follows a number without an operator")
        tokens.append(found[1] or found[2] or found[3])
        place, after_number = found.end(), found[1] is not None
    return [*tokens, _END]


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[str], symbols: Mapping[str, int]) -> None:
        self._tokens = tokens
        self._symbols = symbols
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        """All tokens as one formula."""
        node = self._sum()
        if self._here() != _END:
            raise FormulaError(f"{self._here()[:20]!r} comes where an operator or the end is expected")
        return node

    def _here(self) -> str:
        return self._tokens[self._next]

    def _take(self, token: str) -> bool:
        if self._here() != token:
            return False
        self._next += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise FormulaError(f"{token!r} is expected, not {self._here()[:20] or 'the end'!r}")

    def _sum(self) -> Node:
        return self._chain("+-", lambda: self._chain(("*", "//", "%"), self._unary))

    def _chain(self, operators: "str | tuple[str, ...]", operand: _Part) -> Node:
        first = operand()
        rest = []
        while (operator := self._here()) != _END and operator in operators:
            self._next += 1
            rest.append((operator, operand()))
        return Chain(first, tuple(rest)) if rest else first

    def _unary(self) -> Node:
        if not self._take("-"):
            return self._primary()
        self._deeper()
        node = Negated(self._unary())
        self._depth -= 1
        return node

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError(f"it is nested more than {DEEPEST} deep")

    def _close(self) -> None:
        self._expect(")")
        self._depth -= 1

    def _primary(self) -> Node:
        token = self._here()
        self._next += token != _END
        if token.isdigit():
            number = int(token)
            if number > LIMIT:
                raise FormulaError("a number is beyond 2^62")
            return Number(number)
        if token == _OPEN:
            self._deeper()
            node = self._sum()
            self._close()
            return node
        if token in FUNCTIONS:
            return self._call(token)
        if token in self._symbols:
            return Named(self._symbols[token])
        if token.isidentifier():
            raise FormulaError(f"there is no symbol {token[:64]!r}")
        raise FormulaError(f"{token or 'the end'!r} comes where a value is expected")

    def _call(self, function: str) -> Node:
        self._expect("(")
        self._deeper()
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close()
        wanted = FUNCTIONS[function]
        if wanted is not None and len(arguments) != wanted:
            raise FormulaError(f"{function} takes {wanted} arguments, not {len(arguments)}")
        return Call(function, tuple(arguments))
