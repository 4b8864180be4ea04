"""The arrays that the search for recomputing reads: operators in the order of their first runs, and items.

An *item* is a tensor that counts: it can be dropped, and made again by its producer, or copied out and back.
What is live and cannot be dropped is in `fixed`, `gap`, `start` and `end`.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstow.solvers import _native

_ints: "Callable[[], array[int]]" = partial(array, "q")
_starts: "Callable[[], array[int]]" = partial(array, "q", [0])


@dataclass(frozen=True, kw_only=True)
class RecomputeArrays:
    """A program; lists of lists are flat: entries of list i are `values[start[i]:start[i + 1]]`."""

    # by operator
    extra: "array[int]" = field(default_factory=_ints)  # bytes while it runs: the most over its phases
    fixed: "array[int]" = field(default_factory=_ints)  # bytes of what is no item, during its first run
    gap: "array[int]" = field(default_factory=_ints)  # the same, just before its first run
    cost: "array[int]" = field(default_factory=_ints)
    once: "array[int]" = field(default_factory=_ints)  # 1 if it does not run again
    input_start: "array[int]" = field(default_factory=_starts)
    inputs: "array[int]" = field(default_factory=_ints)
    output_start: "array[int]" = field(default_factory=_starts)
    outputs: "array[int]" = field(default_factory=_ints)
    in_place: "array[int]" = field(default_factory=_ints)  # triples: operator, input, output

    # by item
    size: "array[int]" = field(default_factory=_ints)
    producer: "array[int]" = field(default_factory=_ints)  # -1: there before the first operator
    kept: "array[int]" = field(default_factory=_ints)  # 1 if it is there in the end
    spillable: "array[int]" = field(default_factory=_ints)

    start: int = 0  # bytes live before the first operator
    end: int = 0  # bytes of what is no item, after the last
    base: int = 0  # bytes that are live always

    @cached_property
    def native(self) -> "_native.RecomputeProgram":
        """The same in the native core."""
        from memstow.solvers import _native

        return _native.RecomputeProgram(self)

    def inputs_of(self, op: int) -> "array[int]":
        """The items that the operator reads."""
        return self.inputs[self.input_start[op] : self.input_start[op + 1]]

    def outputs_of(self, op: int) -> "array[int]":
        """The items that it makes."""
        return self.outputs[self.output_start[op] : self.output_start[op + 1]]

    @cached_property
    def pairs(self) -> list[list[tuple[int, int]]]:
        """By operator, the pairs of an input and an output in place."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.cost]
        for at in range(0, len(self.in_place), 3):
            op, source, target = self.in_place[at : at + 3]
            found[op].append((source, target))
        return found
