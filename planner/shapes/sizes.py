"""The sizes of a problem's buffers, its formulas read once and each distinct one evaluated once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memstow.planner.model.memory import Memo
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.planner.shapes.formula.compiled import Formula, compile_formula
from memstow.planner.shapes.formula.errors import FormulaValueError
from memstow.planner.shapes.formula.nodes import Node
from memstow.planner.shapes.formula.parse import parse_formula


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of each buffer: a number of bytes, or the index of a distinct formula."""

    nodes: tuple[Node, ...]
    functions: tuple[Formula, ...]
    numbers: tuple[int, ...]
    """Of each buffer: its size, where it is a number."""
    formulas: tuple[int | None, ...]
    """Of each buffer: the index of its formula, where it has one."""

    def at(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """The size of each buffer; FormulaValueError where a formula has none."""
        found = [_size(function(values)) for function in self.functions]
        return self.put(found)

    def put(self, sizes: "list[int] | tuple[int, ...]") -> tuple[int, ...]:
        """The size of each buffer, given that of each formula."""
        pairs = zip(self.numbers, self.formulas, strict=True)
        return tuple(number if index is None else sizes[index] for number, index in pairs)


_known: Final = Memo[SymbolicProblem, Sizes]()


def sizes_of(problem: SymbolicProblem) -> Sizes:
    """The sizes of a problem; FormulaError if one is no formula."""
    known = _known.get(problem)
    if known is None:
        known = _read(problem)
        _known.note(problem, known)
    return known


def note_same_sizes(problem: SymbolicProblem, other: SymbolicProblem) -> None:
    """The problem has the same symbols and buffers as another, whose formulas are read already."""
    _known.note(problem, sizes_of(other))


def _read(problem: SymbolicProblem) -> Sizes:
    symbols = frozenset(symbol.id for symbol in problem.symbols)
    distinct: dict[str, int] = {}
    formulas: list[int | None] = []
    numbers: list[int] = []
    for buffer in problem.buffers:
        size = buffer.size
        numbers.append(0 if isinstance(size, str) else size)
        formulas.append(distinct.setdefault(size, len(distinct)) if isinstance(size, str) else None)
    nodes = tuple(parse_formula(text, symbols) for text in distinct)
    return Sizes(nodes, tuple(map(compile_formula, nodes)), tuple(numbers), tuple(formulas))


def _size(value: int) -> int:
    if 0 <= value <= LIMIT:
        return value
    raise FormulaValueError("formula_negative", f"a size of {value:,} is negative")
