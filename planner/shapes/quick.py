"""Formulas in native code: many are read and shown to be sizes in the time that one takes in Python.

What it cannot say of a formula (it is none, is no size somewhere, does not go in one direction) is left to
those who have words for it.
"""

from collections.abc import Iterable, Mapping

from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import MOST_SYMBOLS, Symbol
from memstow.planner.model.symbolic_points import takes
from memstow.solvers.shapes import Formulas


class QuickFormulas:
    """Those of the texts that native code can read."""

    def __init__(self, texts: Iterable[str], symbols: Iterable[Symbol]) -> None:
        symbols = tuple(symbols)
        self._names = [symbol.id for symbol in symbols]
        self._number: dict[str, int] = {}
        self._of_all = False
        sound = len(symbols) <= MOST_SYMBOLS and len(set(self._names)) == len(symbols)
        if not sound or not all(takes(symbol, symbol.max) for symbol in symbols):
            return
        self._native = Formulas(self._names, [(symbol.min, symbol.max, symbol.step) for symbol in symbols])
        texts = list(dict.fromkeys(texts))
        for text in texts:
            if text.isascii() and self._native.read(text):
                self._number[text] = len(self._number)
        self._of_all = len(self._number) == len(texts)

    def monotone(self, text: str) -> tuple[int, int] | None:
        """The least and the largest value of a formula that goes in one direction as each symbol grows.

        None where that is not shown, or not that it has a value everywhere, and none below 0.
        """
        number = self._number.get(text)
        return None if number is None else self._native.if_monotone(number)

    def of_all_values(self, text: str) -> tuple[int, int] | None:
        """The same by all values of its symbols; there have to be few."""
        number = self._number.get(text)
        return None if number is None else self._native.of_all_values(number)

    def sizes_at(self, values: Mapping[str, int]) -> list[int] | None:
        """The size of each of the texts; None where one has none, or cannot be read here."""
        if not self._of_all:
            return None
        at = [values.get(name) for name in self._names]
        known = [it for it in at if type(it) is int and -LIMIT <= it <= LIMIT]
        return self._native.sizes_at(known) if len(known) == len(at) else None
