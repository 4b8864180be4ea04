"""The sizes of a problem's buffers, its formulas read once and each distinct one evaluated once."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from memstow.planner.model.memory import Memo
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.planner.shapes.formula.compiled import Formula, compile_formula
from memstow.planner.shapes.formula.errors import FormulaValueError
from memstow.planner.shapes.formula.nodes import Node
from memstow.planner.shapes.formula.parse import parse_formula
from memstow.planner.shapes.quick import QuickFormulas


class Sizes:
    """The size of each buffer: a number of bytes, or the index of a distinct formula."""

    def __init__(self, problem: SymbolicProblem) -> None:
        self._symbols = frozenset(symbol.id for symbol in problem.symbols)
        sizes = [buffer.size for buffer in problem.buffers]
        self.texts: Final = tuple(dict.fromkeys(it for it in sizes if isinstance(it, str)))
        """The formulas, each once."""
        self._plain = tuple({it for it in sizes if not isinstance(it, str)})
        distinct: tuple[int | str, ...] = (*self.texts, *self._plain)
        where = {it: place for place, it in enumerate(distinct)}
        self._place = tuple(map(where.__getitem__, sizes))
        self.quick: Final = QuickFormulas(self.texts, problem.symbols)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of each buffer: its size, where it is a number."""
        return self.put([0] * len(self.texts))

    @property
    def formulas(self) -> tuple[int | None, ...]:
        """Of each buffer: the index of its formula, where it has one."""
        count = len(self.texts)
        return tuple(place if place < count else None for place in self._place)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The formulas, read; FormulaError if one is none."""
        return tuple(parse_formula(text, self._symbols) for text in self.texts)

    @cached_property
    def _functions(self) -> tuple[Formula, ...]:
        return tuple(map(compile_formula, self.nodes))

    def node(self, index: int) -> Node:
        """One of the formulas, read."""
        return parse_formula(self.texts[index], self._symbols)

    def at(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """The size of each buffer; FormulaValueError where a formula has none."""
        found = self.quick.sizes_at(values)
        if found is None:
            found = [_size(function(values)) for function in self._functions]
        return self.put(found)

    def put(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The size of each buffer, given that of each formula."""
        table = (*sizes, *self._plain)
        return tuple(map(table.__getitem__, self._place))


_known: Final = Memo[SymbolicProblem, Sizes]()


def sizes_of(problem: SymbolicProblem) -> Sizes:
    """The sizes of a problem, whose formulas have to be valid."""
    known = _known.get(problem)
    if known is None:
        known = Sizes(problem)
        _known.note(problem, known)
    return known


def note_same_sizes(problem: SymbolicProblem, other: SymbolicProblem) -> None:
    """The problem has the same symbols and buffers as another, whose formulas are read already."""
    _known.note(problem, sizes_of(other))


def _size(value: int) -> int:
    if 0 <= value <= LIMIT:
        return value
    raise FormulaValueError("formula_negative", f"a size of {value:,} is negative")
