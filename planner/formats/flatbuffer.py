"""Flatbuffers: read from bytes that nobody vouches for, and new parts in front of an old one.

Reading checks every offset and counts all work. Of an old flatbuffer that gets new parts, every byte stays.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.records import record

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
        """Read an integer of this `struct` layout at a byte of the file."""
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
        """Read a field that is an integer of this `struct` layout."""
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

    def numbers(self, field: int, layout: str) -> tuple[int | float, ...]:
        """A vector of numbers of this `struct` layout, as "q" or "f"; empty if absent."""
        at = self._place(field)
        if at is None:
            return ()
        begin, length = self._buffer.vector(at, struct.calcsize(f"<{layout}"))
        self._buffer.spend(length)
        return struct.unpack_from(f"<{length}{layout}", self._buffer.data, begin)

    def real(self, field: int, default: float = 0.0) -> float:
        """A field that is a number of floating point."""
        at = self._place(field)
        if at is None:
            return default
        return float(struct.unpack("<f", struct.pack("<I", self._buffer.number("<I", at)))[0])

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


ALIGNMENT: Final = 16
_HEAD_BYTES: Final = 8
_TFLITE: Final = b"TFL3"


@record
class OldPart:
    """A part of the old file, at this byte."""

    at: int


@record
class NewPart:
    """A part written before, at this byte of the new file."""

    at: int


Part = OldPart | NewPart
FieldValue = int | Part
"""A number of 32 bits, or a reference."""


class NewParts:
    """Parts written from the back to the front: what refers to others comes before them."""

    def __init__(self, old: bytes) -> None:
        self._old = old
        # In reverse: places are counted from the end of the new parts, where the old file begins.
        self._pieces: list[bytes] = []
        self._size = 0

    def data(self, content: bytes) -> NewPart:
        """Append a vector of bytes, which begins at a multiple of 16."""
        return self._prepend(struct.pack("<I", len(content)) + content, ALIGNMENT, 4)

    def text(self, content: str) -> NewPart:
        """Append a string."""
        coded = content.encode()
        return self._prepend(struct.pack("<I", len(coded)) + coded + b"\0", 4, 0)

    def numbers(self, values: Sequence[int]) -> NewPart:
        """Append a vector of 32-bit integers."""
        return self._prepend(struct.pack(f"<I{len(values)}i", len(values), *values), 4, 0)

    def list(self, parts: Sequence[Part]) -> NewPart:
        """Append a vector of references."""
        content = struct.pack("<I", len(parts))
        return self._with_references(content, parts)

    def table(self, fields: Mapping[int, FieldValue]) -> NewPart:
        """Append a table of fields of 32 bits each, by their number."""
        count = max(fields, default=-1) + 1
        entries = [0] * count
        for slot, number in enumerate(sorted(fields)):
            entries[number] = 4 + 4 * slot
        where = struct.pack(f"<HH{count}H", 4 + 2 * count, 4 + 4 * len(fields), *entries)
        where += bytes(-len(where) % 4)
        # What says where the fields are comes just before the table.
        content = where + struct.pack("<i", len(where))
        part = self._with_references(content, [fields[number] for number in sorted(fields)])
        return NewPart(part.at - len(where))

    def file(self, root: NewPart) -> bytes:
        """The new file: a head that refers to the root table, the new parts, and the old file."""
        size = _HEAD_BYTES + self._size
        size += -size % ALIGNMENT
        begin = struct.pack("<I", size - root.at) + _TFLITE
        return begin.ljust(size - self._size, b"\0") + b"".join(reversed(self._pieces)) + self._old

    def _with_references(self, content: bytes, fields: Sequence[FieldValue]) -> NewPart:
        """Words after the content: references are relative to their own place."""
        size = len(content) + 4 * len(fields)
        self._align(size, 4, 0)
        first = self._size + size - len(content)
        # Places are counted from the begin of the old file, backwards.
        words = (
            field
            if isinstance(field, int)
            else first - 4 * slot + (field.at if isinstance(field, OldPart) else -field.at)
            for slot, field in enumerate(fields)
        )
        return self._prepend(content + struct.pack(f"<{len(fields)}I", *words), 4, 0)

    def _prepend(self, content: bytes, alignment: int, inside: int) -> NewPart:
        self._align(len(content), alignment, inside)
        self._pieces.append(content)
        self._size += len(content)
        return NewPart(self._size)

    def _align(self, size: int, alignment: int, inside: int) -> None:
        """Room so that the byte `inside` of what comes next is aligned."""
        padding = -(self._size + size - inside) % alignment
        if padding:
            self._pieces.append(bytes(padding))
            self._size += padding
