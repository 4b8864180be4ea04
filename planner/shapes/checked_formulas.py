"""Formulas of a document, each checked once: its text, its values, its largest value."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from memstow.planner.model.symbolic import Symbol
from memstow.planner.shapes.at_point import values_text
from memstow.planner.shapes.examine import NoSize, examine
from memstow.planner.shapes.extremes import Effort, extremes
from memstow.planner.shapes.formula.errors import FormulaError
from memstow.planner.shapes.formula.nodes import names_in
from memstow.planner.shapes.formula.parse import parse_formula
from memstow.planner.shapes.quick import QuickFormulas
from memstow.planner.shapes.symbol_issues import has_range

MOST_CHARACTERS: Final = 1_000_000
"""Of all formulas of a document that differ."""
_ADVICE: Final = {
    "formula_negative": "use max(0, ...), or change the range of a symbol",
    "formula_divisor": "use max(1, ...), or change the range of a symbol",
    "formula_overflow": "write smaller factors, or change the range of a symbol",
}


@dataclass(frozen=True, slots=True)
class Found:
    """What is wrong with a formula: a code and a message."""

    code: str
    message: str


TOO_LONG: Final = Found(
    "formulas_too_long",
    f"formulas that differ have more than {MOST_CHARACTERS:,} characters together; simplify them",
)


def are_too_long(texts: Iterable[str]) -> bool:
    """Whether they have too many characters together."""
    return sum(map(len, set(texts))) > MOST_CHARACTERS


class CheckedFormulas:
    """Formulas that have been checked; those of many buffers are the same."""

    def __init__(self, symbols: Iterable[Symbol], *, examines: bool = True) -> None:
        """`examines`: whether values are looked at, which can take long; else only the text is."""
        self._examines = examines
        self._symbols = {symbol.id: symbol for symbol in symbols}
        self._broken = {name for name, symbol in self._symbols.items() if not has_range(symbol)}
        self._effort = Effort()
        self._characters = 0
        self._known: dict[str, tuple[int, Found | None]] = {}
        self._quick = QuickFormulas((), ())

    def expect(self, texts: Iterable[str]) -> None:
        """Formulas that will be asked for, not too long together: to read them at once is faster."""
        if self._examines and not self._broken:
            self._quick = QuickFormulas(texts, self._symbols.values())

    def checked(self, text: str) -> tuple[int, Found | None]:
        """The largest size, 0 where there is none, and what is wrong with the formula."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._check(text)
        return known

    def _check(self, text: str) -> tuple[int, Found | None]:
        self._characters += len(text)
        if self._characters > MOST_CHARACTERS:
            return 0, TOO_LONG
        simple = self._quick.monotone(text)
        if simple is not None:
            return simple[1], None
        try:
            node = parse_formula(text, self._symbols)
        except FormulaError as error:
            return 0, Found(error.code, str(error))
        if not self._examines or self._broken.intersection(names_in(node)):
            return 0, None  # The symbol has an issue: whatever its values are to be.
        by_all = partial(self._quick.of_all_values, text)
        found = examine(node, self._symbols, self._effort, by_all)
        if found is not None:
            return 0, Found(found.code, _message(found))
        return extremes(node, self._symbols, self._effort, by_all).high, None


def _message(found: NoSize) -> str:
    if found.at is None:
        return (
            f"{found.message}; write it simpler, bound it with min and max, or narrow the range of a symbol"
        )
    place = f"at {values_text(found.at)} " if found.at else ""
    return f"{place}{found.message}; {_ADVICE[found.code]}"
