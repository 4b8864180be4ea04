"""New parts of a flatbuffer in front of an old one, of which every byte stays.

References point forward only, so new tables can name old ones, and none of the old ones has to change. They
all move by a multiple of 16, the largest alignment that a model asks for.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

ALIGNMENT: Final = 16
_HEAD: Final = 8
_IDENTIFIER: Final = b"TFL3"


@dataclass(frozen=True, slots=True)
class Old:
    """A part of the old file, at this byte."""

    at: int


@dataclass(frozen=True, slots=True)
class New:
    """A part written before, at this byte of the new file."""

    at: int


Part = Old | New
Field = int | Part
"""A number of 32 bits, or a reference."""


class Front:
    """Parts written from the back to the front: what refers to others comes before them."""

    def __init__(self, old: bytes) -> None:
        self._old = old
        # In reverse: places are counted from the end of the new parts, where the old file begins.
        self._pieces: list[bytes] = []
        self._size = 0

    def data(self, content: bytes) -> New:
        """A vector of bytes, which begins at a multiple of 16."""
        return self._prepend(struct.pack("<I", len(content)) + content, ALIGNMENT, 4)

    def text(self, content: str) -> New:
        """A string."""
        coded = content.encode()
        return self._prepend(struct.pack("<I", len(coded)) + coded + b"\0", 4, 0)

    def numbers(self, values: Sequence[int]) -> New:
        """A vector of 32-bit integers."""
        return self._prepend(struct.pack(f"<I{len(values)}i", len(values), *values), 4, 0)

    def list(self, parts: Sequence[Part]) -> New:
        """A vector of references."""
        content = struct.pack("<I", len(parts))
        return self._with_references(content, parts)

    def table(self, fields: Mapping[int, Field]) -> New:
        """A table of fields of 32 bits each, by their number."""
        count = max(fields, default=-1) + 1
        entries = [0] * count
        for slot, number in enumerate(sorted(fields)):
            entries[number] = 4 + 4 * slot
        where = struct.pack(f"<HH{count}H", 4 + 2 * count, 4 + 4 * len(fields), *entries)
        where += bytes(-len(where) % 4)
        # What says where the fields are comes just before the table.
        content = where + struct.pack("<i", len(where))
        made = self._with_references(content, [fields[number] for number in sorted(fields)])
        return New(made.at - len(where))

    def file(self, root: New) -> bytes:
        """The new file."""
        size = _HEAD + self._size
        size += -size % ALIGNMENT
        begin = struct.pack("<I", size - root.at) + _IDENTIFIER
        return begin.ljust(size - self._size, b"\0") + b"".join(reversed(self._pieces)) + self._old

    def _with_references(self, content: bytes, fields: Sequence[Field]) -> New:
        """Words after the content: references are relative to their own place."""
        size = len(content) + 4 * len(fields)
        self._align(size, 4, 0)
        first = self._size + size - len(content)
        words = (
            field if isinstance(field, int) else first - 4 * slot + self._distance(field)
            for slot, field in enumerate(fields)
        )
        return self._prepend(content + struct.pack(f"<{len(fields)}I", *words), 4, 0)

    def _distance(self, part: Part) -> int:
        """How far behind the begin of the old file it is."""
        return part.at if isinstance(part, Old) else -part.at

    def _prepend(self, content: bytes, alignment: int, inside: int) -> New:
        self._align(len(content), alignment, inside)
        self._pieces.append(content)
        self._size += len(content)
        return New(self._size)

    def _align(self, size: int, alignment: int, inside: int) -> None:
        """Room so that the byte `inside` of what comes next is aligned."""
        padding = -(self._size + size - inside) % alignment
        if padding:
            self._pieces.append(bytes(padding))
            self._size += padding
