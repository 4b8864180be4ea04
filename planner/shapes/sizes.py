"""The sizes of all buffers at a value of the symbols: equal formulas are computed once."""

from collections.abc import Callable, Mapping

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import Symbol, SymbolicProblem
from memstow.planner.reading.printable import printable, shown
from memstow.planner.shapes.formula import (
    FormulaError,
    FormulaValueError,
    Node,
    Number,
    compile_formula,
    parse_formula,
)

Values = Mapping[str, int]


class Sizes:
    """The sizes of a problem's buffers, prepared once."""

    def __init__(self, problem: SymbolicProblem) -> None:
        """An InputError for a size that is no formula."""
        self._problem = problem
        self._ranges = [(it.id, it.min, it.max, it.step) for it in problem.symbols]
        # Two texts may be one formula, written with other blanks.
        texts: dict[int | str, Node] = {}
        number: dict[Node, int] = {}
        self.of_buffer: list[int] = []
        """By buffer: the number of its size."""
        for buffer in problem.buffers:
            node = texts.get(buffer.size)
            if node is None:
                node = texts[buffer.size] = self._node(buffer.id, buffer.size)
            self.of_buffer.append(number.setdefault(node, len(number)))
        self.distinct: list[Node] = list(number)
        """The sizes, each once."""
        self._functions: list[Callable[[Values], int]] = [compile_formula(node) for node in self.distinct]

    def at(self, values: Values) -> list[int]:
        """The size of each buffer at a value of every symbol; an InputError where there is none."""
        self._require_values(values)
        try:
            sizes = [function(values) for function in self._functions]
        except FormulaValueError:
            raise self._without_size(values) from None
        if sizes and (min(sizes) < 0 or max(sizes) > LIMIT):
            raise self._without_size(values)
        return [sizes[number] for number in self.of_buffer]

    def _node(self, buffer: str, size: int | str) -> Node:
        if isinstance(size, int):
            return Number(size)
        try:
            return parse_formula(size, [name for name, *_ in self._ranges])
        except FormulaError as error:
            raise InputError.single(error.code, "size", f"the size of {_name(buffer)}: {error}") from None

    def _require_values(self, values: Values) -> None:
        for name, least, most, step in self._ranges:
            value = values.get(name)
            if type(value) is not int or not least <= value <= most or (value - least) % step:
                raise _bad_value(next(it for it in self._problem.symbols if it.id == name), value)
        if len(values) > len(self._ranges):
            known = [name for name, *_ in self._ranges]
            unknown = next(name for name in values if name not in known)
            message = f"there is no symbol {_name(unknown)}; the symbols are {', '.join(known)}"
            raise InputError.single("unknown_symbol", "at", message)

    def _without_size(self, values: Values) -> InputError:
        """The error about the first buffer without a size at these values."""
        for buffer, number in zip(self._problem.buffers, self.of_buffer, strict=True):
            wrong = _what_is_wrong(self._functions[number], values)
            if wrong is not None:
                message = f"at {at_text(values)} the size of {_name(buffer.id)} is not valid: {wrong}"
                return InputError.single("bad_size", "at", message)
        raise AssertionError("every size is valid")


def at_text(values: Values) -> str:
    """The values as text: `s = 128, b = 1`."""
    return ", ".join(f"{printable(name, 64)} = {shown(value)}" for name, value in values.items())


def _what_is_wrong(function: Callable[[Values], int], values: Values) -> str | None:
    try:
        size = function(values)
    except FormulaValueError as error:
        return str(error)
    if size < 0:
        return f"it is {shown(size)}, and no size is negative"
    return None if size <= LIMIT else f"it is {shown(size)}, and no size is above 2^62"


def _bad_value(symbol: Symbol, value: object) -> InputError:
    steps = "" if symbol.step == 1 else f" in steps of {symbol.step:,}"
    takes = f"{symbol.id!r} takes whole numbers from {symbol.min} to {symbol.max}{steps}"
    if value is None:
        return InputError.single("no_value", "at", f"{symbol.id!r} has no value; {takes}")
    return InputError.single("out_of_range", "at", f"{symbol.id!r} cannot be {shown(value)}: {takes}")


def _name(text: str) -> str:
    return repr(printable(text, 80))
