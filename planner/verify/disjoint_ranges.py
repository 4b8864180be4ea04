"""A sorted set of disjoint ranges: the occupied bytes of one pool at the current moment of a sweep.

Starts are kept sorted in chunks, so that adding, removing and searching stay cheap with a million ranges.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

_CHUNK: Final = 4096


class DisjointRanges:
    """Disjoint half-open ranges [starts[tag], ends[tag]) of non-negative integers, by tag."""

    def __init__(self, starts: Sequence[int], ends: Sequence[int]) -> None:
        self._starts = starts
        self._ends = ends
        self._tag_at: dict[int, int] = {}
        # Chunk c holds the starts in [floors[c], floors[c + 1]); only a single chunk may be empty.
        self._chunks: list[list[int]] = [[]]
        self._floors: list[int] = [0]

    def __len__(self) -> int:
        return len(self._tag_at)

    def enter(self, tag: int) -> bool:
        """Add this range, unless it overlaps one that is here."""
        start = self._starts[tag]
        c = bisect_right(self._floors, start) - 1 if len(self._floors) > 1 else 0
        chunk = self._chunks[c]
        position = bisect_right(chunk, start)
        if position < len(chunk):
            if chunk[position] < self._ends[tag]:
                return False
        elif c + 1 < len(self._chunks) and self._chunks[c + 1][0] < self._ends[tag]:
            return False
        before = chunk[position - 1] if position else self._chunks[c - 1][-1] if c else None
        if before is not None and self._ends[self._tag_at[before]] > start:
            return False
        self._tag_at[start] = tag
        chunk.insert(position, start)
        if len(chunk) > _CHUNK:
            self._chunks[c : c + 1] = [chunk[: _CHUNK // 2], chunk[_CHUNK // 2 :]]
            self._floors.insert(c + 1, chunk[_CHUNK // 2])
        return True

    def leave(self, tag: int) -> bool:
        """Remove this range; whether it was here."""
        start = self._starts[tag]
        if self._tag_at.get(start) != tag:
            return False
        del self._tag_at[start]
        c = bisect_right(self._floors, start) - 1 if len(self._floors) > 1 else 0
        chunk = self._chunks[c]
        del chunk[bisect_left(chunk, start)]
        if not chunk and len(self._chunks) > 1:
            del self._chunks[c], self._floors[c]
            self._floors[0] = 0
        return True

    def overlapped(self, start: int, end: int) -> Iterator[int]:
        """Tags of the ranges here that share an integer with [start, end), lowest first."""
        c = bisect_right(self._floors, start) - 1
        position = bisect_right(self._chunks[c], start)
        before = self._chunks[c][position - 1] if position else self._chunks[c - 1][-1] if c else None
        if before is not None and self._ends[self._tag_at[before]] > start:
            yield self._tag_at[before]
        while c < len(self._chunks):
            chunk = self._chunks[c]
            while position < len(chunk):
                if chunk[position] >= end:
                    return
                yield self._tag_at[chunk[position]]
                position += 1
            c, position = c + 1, 0
