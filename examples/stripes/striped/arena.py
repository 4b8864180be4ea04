"""All memory that a network has while it runs: one flat array of bytes a pool, and views of it."""

import numpy as np
from numpy.typing import NDArray

from striped.fixed_point import Image
from striped.table import Ring, Scratch, Table, Whole


class Arena:
    """The bytes of all pools. What nobody needs holds random bytes, so that who reads it is found out."""

    def __init__(self, table: Table, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self._bytes = {pool["id"]: self._poison(pool["size"]) for pool in table["pools"]}

    def bytes_at(self, pool: str, offset: int, size: int) -> NDArray[np.uint8]:
        """These bytes, to read and to write."""
        memory = self._bytes[pool]
        if offset < 0 or offset + size > memory.size:
            raise IndexError(f"{size} bytes at {offset} are not in {pool!r} of {memory.size} bytes")
        return memory[offset : offset + size]

    def whole(self, tensor: Whole, shape: tuple[int, int, int]) -> Image:
        """A tensor that is there as a whole."""
        return self.bytes_at(tensor["pool"], tensor["offset"], tensor["size"]).view(np.int8).reshape(shape)

    def ring_row(self, ring: Ring, row: int, columns: int) -> Image:
        """A row of a ring: columns x channels, from the first column of the strip."""
        size = columns * ring["pixel"]
        if size > ring["pitch"]:
            raise IndexError(f"{columns} columns are more than a row of {ring['tensor']!r} has")
        at = ring["offset"] + row % ring["rows"] * ring["pitch"]
        return self.bytes_at(ring["pool"], at, size).view(np.int8).reshape(columns, ring["pixel"])

    def sums(self, scratch: Scratch) -> NDArray[np.int32]:
        """Accumulators."""
        raw = self.bytes_at(scratch["pool"], scratch["offset"], scratch["size"])
        # Offsets need not be multiples of 4, which NumPy allows.
        return np.ndarray((scratch["size"] // 4,), np.int32, raw.data)

    def spoil(self, pool: str, offset: int, size: int) -> None:
        """Bytes that nobody needs now."""
        self.bytes_at(pool, offset, size)[:] = self._poison(size)

    def spoil_all_but(self, kept: list[Whole]) -> None:
        """All bytes that are in none of these tensors."""
        for pool, memory in self._bytes.items():
            free = np.ones(memory.size, np.bool_)
            for buffer in kept:
                if buffer["pool"] == pool:
                    free[buffer["offset"] : buffer["offset"] + buffer["size"]] = False
            memory[free] = self._poison(int(free.sum()))

    def _poison(self, size: int) -> NDArray[np.uint8]:
        return self._random.integers(0, 256, size, np.uint8)
