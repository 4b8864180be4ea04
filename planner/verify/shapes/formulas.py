"""The formulas of a problem as the judge has them: in native code of its own, or as trees.

Native code reads nearly all of them and looks for their largest values; where it has no answer (no formula,
no value somewhere, very wide ranges), the trees of `nodes.py` have one, with a reason.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from memstow.planner.judge._judge import Formulas as NativeFormulas
from memstow.planner.verify.shapes.extremes import MOST_BOXES, Boxes, How, Largest, is_never_below, largest
from memstow.planner.verify.shapes.nodes import Call, Chain, Named, Negated, Node
from memstow.planner.verify.shapes.parsing import parsed
from memstow.planner.verify.shapes.space import Space, Values

_WIDEST: Final = 1 << 61
"""Symbols are between minus this and this in native code."""


class Formulas:
    """Formulas by number, in the order in which they are read."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._all: list[Formula] = []
        self._read = 0
        axes = space.axes
        self._native: NativeFormulas | None = None
        if all(-_WIDEST <= axis.first <= axis.last <= _WIDEST for axis in axes):
            self._native = NativeFormulas(
                [axis.id for axis in axes], [(axis.first, axis.last, axis.step) for axis in axes]
            )

    def __len__(self) -> int:
        return len(self._all)

    def read(self, text: str) -> "Formula":
        """The formula, which is the next one; FormulaError if the text is none."""
        native = self._native
        if native is not None and text.isascii() and native.read(text):
            formula = Formula(text, self._space, native, self._read)
            self._read += 1
        else:
            formula = Formula(text, self._space, None, 0)
            formula.node  # noqa: B018 - read now, to know whether it is one
        self._all.append(formula)
        return formula

    def values(self, at: Values) -> list[int]:
        """The value of each at a point."""
        if self._native is not None and self._read == len(self._all):
            found = self._native.values(at)
            if found is not None:
                return found
        return [formula.value(at) for formula in self._all]


class Formula:
    """One of them."""

    def __init__(self, text: str, space: Space, native: NativeFormulas | None, number: int) -> None:
        self._text = text
        self._space = space
        self._native = native
        self._number = number

    @cached_property
    def node(self) -> Node:
        """The formula as a tree."""
        return parsed(self._text, self._space.position)

    @cached_property
    def used(self) -> frozenset[int]:
        """The symbols that are in it."""
        if self._native is not None:
            return frozenset(self._native.used(self._number))
        return frozenset(_symbols_in(self.node))

    def value(self, at: Values) -> int:
        """The value at a point; FormulaError if there is none."""
        found = None if self._native is None else self._native.value(self._number, at)
        return self.node.value(at) if found is None else found

    def is_never_below_0(self) -> bool:
        """Whether intervals alone show that no value is."""
        if self._native is not None:
            return self._native.is_never_below(self._number, 0)
        return is_never_below(self.node, self._space.axes, 0)

    def largest(self, boxes: Boxes) -> Largest:
        """The largest value; NoValue or NotShown if there may be none somewhere."""
        found = self._sought(boxes, above=None, negated=False)
        return found or largest(self.node, self._space.axes, self.used, boxes)

    def largest_below_0(self, boxes: Boxes) -> Largest:
        """How far below 0 it goes, as far as that is needed to know whether it does."""
        found = self._sought(boxes, above=0, negated=True)
        return found or largest(Negated(self.node), self._space.axes, self.used, boxes, above=0)

    def _sought(self, boxes: Boxes, *, above: int | None, negated: bool) -> Largest | None:
        if self._native is None:
            return None
        found = self._native.largest(self._number, MOST_BOXES, boxes.left, above, negated)
        if found is None:
            return None
        value, seen, at, looked = found
        boxes.left -= looked - 1
        how = How.CORNER if looked == 1 else How.SPLIT
        return Largest(value, seen, tuple(at), How.BOUND if value > seen else how)


def _symbols_in(node: Node) -> Iterator[int]:
    match node:
        case Named(symbol):
            yield symbol
        case Negated(operand):
            yield from _symbols_in(operand)
        case Chain(first, rest):
            yield from _symbols_in(first)
            for _, operand in rest:
                yield from _symbols_in(operand)
        case Call(_, arguments):
            for argument in arguments:
                yield from _symbols_in(argument)
