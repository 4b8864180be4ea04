"""Reads flatbuffers from bytes that nobody vouches for: every offset is checked, and all work is counted.

Tables may be shared, so that a short file can describe endless vectors: what is read has a budget.
"""

import struct
from collections.abc import Iterator
from typing import Final

from memstow.planner.model.errors import InputError

MOST_ELEMENTS: Final = 1_000_000
LONGEST_STRING: Final = 1 << 12


class Flatbuffer:
    """The bytes, and how much of them may still be read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._left = min(MOST_ELEMENTS, 1_000 + 4 * len(data))

    def root(self) -> "Table":
        """The table that the file is."""
        return Table(self, self._reference(0))

    def spend(self, elements: int) -> None:
        """Count elements before they are read."""
        self._left -= elements
        if self._left < 0:
            raise damaged(
                0, "it has more elements than a file of its size, so parts of it are read many times"
            )

    def number(self, layout: str, at: int) -> int:
        """An integer there."""
        try:
            value: int = struct.unpack_from(layout, self.data, at)[0] if at >= 0 else self._outside(at)
        except struct.error:
            raise damaged(at, "the file ends there") from None
        return value

    def _outside(self, at: int) -> int:
        raise damaged(at, "the file begins after it")

    def _reference(self, at: int) -> int:
        target = at + self.number("<I", at)
        if target >= len(self.data):
            raise damaged(at, f"it refers to byte {target:,}, and the file has {len(self.data):,}")
        return target

    def reference(self, at: int) -> int:
        """The place to which the offset there refers."""
        return self._reference(at)

    def vector(self, at: int, width: int) -> tuple[int, int]:
        """The first element and the length of a vector of elements so wide."""
        begin = self._reference(at)
        length = self.number("<I", begin)
        if begin + 4 + length * width > len(self.data):
            raise damaged(begin, f"a list of {length:,} elements reaches beyond the end of the file")
        return begin + 4, length


class Table:
    """A table: fields by their number in the schema, each absent or at its place."""

    __slots__ = ("_buffer", "_fields", "_size", "_table")

    def __init__(self, buffer: Flatbuffer, table: int) -> None:
        self._buffer = buffer
        self._table = table
        self._fields = table - buffer.number("<i", table)
        self._size = buffer.number("<H", self._fields)
        buffer.spend(1)

    def number(self, field: int, layout: str, default: int = 0) -> int:
        """An integer."""
        at = self._place(field)
        return default if at is None else self._buffer.number(layout, at)

    def text(self, field: int) -> str:
        """A string, cut where it is very long; empty if absent."""
        at = self._place(field)
        if at is None:
            return ""
        begin, length = self._buffer.vector(at, 1)
        shown = min(length, LONGEST_STRING)
        self._buffer.spend(shown // 64)
        return self._buffer.data[begin : begin + shown].decode("utf-8", "replace")

    def length(self, field: int) -> int | None:
        """The length of a vector of bytes; None if absent."""
        at = self._place(field)
        return None if at is None else self._buffer.vector(at, 1)[1]

    def packed_integers(self, field: int, most: int) -> tuple[int, ...] | None:
        """A vector of bytes that holds 32-bit integers; None if absent, empty or with more than so many."""
        at = self._place(field)
        if at is None:
            return None
        begin, length = self._buffer.vector(at, 1)
        if not 0 < length <= 4 * most or length % 4:
            return None
        return struct.unpack_from(f"<{length // 4}i", self._buffer.data, begin)

    def integers(self, field: int) -> list[int] | None:
        """A vector of 32-bit integers; None if absent."""
        at = self._place(field)
        if at is None:
            return None
        begin, length = self._buffer.vector(at, 4)
        self._buffer.spend(length)
        return list(struct.unpack_from(f"<{length}i", self._buffer.data, begin))

    def table(self, field: int) -> "Table | None":
        """A table; None if absent."""
        at = self._place(field)
        return None if at is None else Table(self._buffer, self._buffer.reference(at))

    def tables(self, field: int) -> "Iterator[Table]":
        """A vector of tables; nothing if absent."""
        at = self._place(field)
        if at is None:
            return
        begin, length = self._buffer.vector(at, 4)
        self._buffer.spend(length)
        for index in range(length):
            yield Table(self._buffer, self._buffer.reference(begin + 4 * index))

    def fields(self) -> list[int]:
        """The numbers of the fields that are there."""
        return [field for field in range(max(0, self._size - 4) // 2) if self._place(field) is not None]

    def target(self, field: int) -> int | None:
        """The place to which a field refers; None if absent."""
        at = self._place(field)
        return None if at is None else self._buffer.reference(at)

    def targets(self, field: int) -> list[int]:
        """The places of the tables in a vector; none if absent."""
        at = self._place(field)
        if at is None:
            return []
        begin, length = self._buffer.vector(at, 4)
        self._buffer.spend(length)
        return [self._buffer.reference(begin + 4 * index) for index in range(length)]

    def vector(self, field: int, width: int) -> tuple[int, int] | None:
        """The first element and the length of a vector of elements so wide; None if absent."""
        at = self._place(field)
        return None if at is None else self._buffer.vector(at, width)

    def extents(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The bytes of the table itself and those that say where its fields are."""
        size = self._buffer.number("<H", self._fields + 2)
        return (self._table, self._table + size), (self._fields, self._fields + self._size)

    def _place(self, field: int) -> int | None:
        entry = 4 + 2 * field
        if entry + 2 > self._size:
            return None
        offset = self._buffer.number("<H", self._fields + entry)
        return self._table + offset if offset else None


def damaged(at: int, why: str) -> InputError:
    """The error for a file that is no flatbuffer."""
    return InputError.single("damaged", f"byte {at:,}", f"the model is damaged: {why}")
