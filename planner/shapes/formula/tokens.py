"""The text of a formula as a row of numbers, names and signs."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from memstow.planner.reading.printable import shown
from memstow.planner.shapes.formula.errors import FormulaError

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_TOKEN: Final = re.compile(r"(?P<number>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>//|[-+*%(),])")
_ADVICE: Final = {
    "/": "write // for a division that is rounded down, or ceil_div(a, b)",
    ".": "a formula has whole numbers only",
    "^": "write a product, such as s*s",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A number, a name or a sign, and where it begins; `end` has no text."""

    kind: Literal["number", "name", "sign", "end"]
    text: str
    position: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text and an `end`; FormulaError at the first character that belongs to none."""
    tokens: list[Token] = []
    position = _after_blanks(text, 0)
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _stray(text[position], position)
        kind: Literal["number", "name", "sign"] = found.lastgroup  # type: ignore[assignment]
        tokens.append(Token(kind, found.group(), position))
        position = _after_blanks(text, found.end())
    tokens.append(Token("end", "", len(text)))
    return tokens


def _after_blanks(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return position if found is None else found.end()


def _stray(character: str, position: int) -> FormulaError:
    advice = _ADVICE.get(character, "use whole numbers, symbols, + - * // % and parentheses")
    message = f"{shown(character)} at character {position + 1:,} is no part of a formula; {advice}"
    return FormulaError("formula_syntax", message, position)
