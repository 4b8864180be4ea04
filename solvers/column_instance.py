"""An instance of columns: native code alone has its arrays, so that a million buffers take little memory.

It is for the native solvers of one pool, which read no arrays but the capacity.
"""

from array import array
from dataclasses import dataclass
from functools import cached_property

from memstow.solvers import _native
from memstow.solvers.instance import Instance, Layout
from memstow.solvers.solver import Term, TermKind

PEAK_OF_ALL = (Term(TermKind.PEAK),)


@dataclass(frozen=True, kw_only=True)
class ColumnInstance(Instance):
    """Buffers in one pool, each an item of one part."""

    columns: _native.ColumnInstance

    @property
    def item_count(self) -> int:
        """How many items there are."""
        return self.columns.item_count

    @property
    def part_count(self) -> int:
        """How many parts there are."""
        return self.columns.item_count

    @cached_property
    def stacked(self) -> int:
        """The units up to which its items reach at most, one on top of the other."""
        return self.columns.stacked

    @cached_property
    def native(self) -> _native.Instance:
        """The instance of the native core."""
        return self.columns.native

    @property
    def unit(self) -> int:
        """The bytes of a unit."""
        return self.columns.unit

    def offsets_of(self, layout: Layout) -> "array[int]":
        """Where each buffer is in this layout, in bytes."""
        return _array(self.columns.offsets_of(layout.offset))

    def buffers_of(self, parts: "list[int]") -> "array[int]":
        """The buffers of these parts."""
        return _array(self.columns.buffers_of(parts))


def instance_of_columns(
    sizes: memoryview, begins: memoryview, ends: memoryview, alignments: memoryview, capacity: int
) -> ColumnInstance:
    """The instance of valid columns; `alignments` has one entry for each buffer, or one for all."""
    columns = _native.ColumnInstance(sizes, begins, ends, alignments, capacity)
    return ColumnInstance(capacity=array("q", [columns.capacity]), columns=columns)


def _array(made: _native.PlacedColumns) -> "array[int]":
    values = array("q")
    values.frombytes(made.offsets)
    return values
