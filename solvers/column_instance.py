"""An instance of columns: native code has its arrays, so that a million buffers take little memory.

Native solvers read none of them in Python; what others look at is copied then.
"""

from array import array

from memstow.records import field, record
from memstow.solvers import _native
from memstow.solvers.instance import Instance, Layout


@record
class ColumnInstance(Instance):
    """Buffers, each an item of one part unless ties hold it to others."""

    columns: _native.ColumnInstance = field(kw_only=True)
    by_begin: bool = field(kw_only=True)
    """Whether items are numbered by the begin of their lives, not as their buffers are given."""

    @property
    def item_count(self) -> int:
        """How many items there are."""
        return self.columns.item_count

    @property
    def part_count(self) -> int:
        """How many parts there are."""
        return self.columns.part_count

    @property
    def unit(self) -> int:
        """The bytes of a unit."""
        return self.columns.unit

    def need(self) -> _native.Need:
        """The parts that must be in memory at once and have the most units, and where they end at least."""
        return _native.need_of(self.native, [True])

    def peaks_of(self, layout: Layout) -> list[int]:
        """By pool, the end of the last buffer in this layout, in bytes."""
        return [peak * self.unit for peak in _native.pool_peaks(self.native, layout)]

    def offsets_of(self, layout: Layout) -> "array[int]":
        """Where each buffer is in this layout, in bytes."""
        return _array(self.columns.offsets_of(layout.offset))

    def homes_of(self, layout: Layout) -> "array[int]":
        """The number of the pool that each buffer is in in this layout."""
        return _array(self.columns.homes_of(layout.pool))

    def buffers_of(self, parts: "list[int]") -> "array[int]":
        """The buffers of these parts."""
        return _array(self.columns.buffers_of(parts))

    def numbers_as_given(self, items: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of these items among all, as their buffers are given."""
        if not self.by_begin:
            return items
        buffers = self.buffers_of(list(range(self.item_count)))
        order = sorted(range(self.item_count), key=buffers.__getitem__)
        number_of = {item: number for number, item in enumerate(order)}
        return tuple(sorted(map(number_of.__getitem__, items)))


def instance_of_columns(
    sizes: memoryview,
    begins: memoryview,
    ends: memoryview,
    alignments: memoryview,
    capacity: int,
    by_begin: bool = False,
) -> ColumnInstance:
    """The instance of valid columns; `alignments` has one entry for each buffer, or one for all.

    `by_begin`: what is live at one time is close to each other in memory, and passes over time are quicker.
    """
    return _around(_native.ColumnInstance(sizes, begins, ends, alignments, capacity, by_begin), by_begin)


Memory = tuple[list[tuple[int, int, int, int]], list[tuple[int, int, int]], list[list[int]]]
"""By pool capacity, alignment, base and cost; by reserved range its pool, begin and end; lists of pools."""


def instance_of_related(
    buffers: tuple[memoryview, memoryview, memoryview, memoryview],
    memory: Memory,
    choices: tuple[memoryview, memoryview],
    pins: memoryview,
    pairs: tuple[memoryview, memoryview, memoryview],
    ties: memoryview,
) -> ColumnInstance | None:
    """The same with what contradicts nothing; None where a buffer has no place even alone.

    `choices`: by buffer, or none, its list of pools or -1 for all, and its accesses or -1 for its bytes;
    `pins`: by buffer, or none; `pairs`: two buffers each that conflict, are exclusive, may be in place;
    `ties`: a buffer, its base and its distance from that each.
    """
    columns = _native.ColumnInstance.of_related(buffers, memory, choices, pins, pairs, ties)
    return None if columns.homeless else _around(columns, by_begin=False)


def _around(columns: _native.ColumnInstance, by_begin: bool) -> ColumnInstance:
    instance = ColumnInstance.__new__(ColumnInstance)
    # All else is there when somebody looks at it.
    instance.__dict__.update(native=columns.native, stacked=columns.stacked)
    object.__setattr__(instance, "columns", columns)
    object.__setattr__(instance, "by_begin", by_begin)
    return instance


def _array(columns: _native.PlacedColumns) -> "array[int]":
    values = array("q")
    values.frombytes(columns.offsets)
    return values
