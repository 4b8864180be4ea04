"""Memory of this process: a cache limited in bytes, in all and for each owner; large blocks given back."""

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_OVERHEAD: Final = 500
# One owner may fill this part.
_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    value: V
    size: int
    owner: str | None


@dataclass(slots=True)
class _Owned(Generic[K]):
    """The keys of one owner, the least recently used first, and the bytes of their values."""

    keys: OrderedDict[K, None] = field(default_factory=OrderedDict)
    bytes: int = 0


class LruCache(Generic[K, V]):
    """Values by key. Thread-safe."""

    def __init__(self, most_bytes: int, size_of: Callable[[K, V], int]) -> None:
        self._most = most_bytes
        self._size_of = size_of
        self._bytes = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._owned: dict[str, _Owned[K]] = {}

    def get(self, key: K) -> V | None:
        """The value of this key."""
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            if entry.owner is not None:
                self._owned[entry.owner].keys.move_to_end(key)
            return entry.value

    def put(self, key: K, value: V, owner: str | None = None) -> None:
        """Store a value, and drop the least recently used, first those of the owner beyond its share."""
        size = self._size_of(key, value) + _OVERHEAD
        share = self._most if owner is None else int(self._most * _SHARE)
        if size > share:
            return
        with self._lock:
            if key in self._values:
                self._drop(key)
            self._values[key] = _Entry(value, size, owner)
            self._bytes += size
            if owner is not None:
                owned = self._owned.setdefault(owner, _Owned())
                owned.keys[key] = None
                owned.bytes += size
                while owned.bytes > share:
                    self._drop(next(iter(owned.keys)))
            while self._bytes > self._most:
                self._drop(next(iter(self._values)))

    def _drop(self, key: K) -> None:
        entry = self._values.pop(key)
        self._bytes -= entry.size
        if entry.owner is not None:
            owned = self._owned[entry.owner]
            del owned.keys[key]
            owned.bytes -= entry.size
            if not owned.keys:
                del self._owned[entry.owner]


_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_LARGE: Final = 4 << 20
# Of a run of many buffers an array of each column is as large.
_LARGE_IN_RUN: Final = 1 << 18


def return_large_blocks(*, one_run: bool = False) -> None:
    """Have the C library map each large block by itself.

    As such blocks are freed glibc raises the size from which it does so, up to 32 MiB: bodies would then
    leave holes in the heap of every thread, which are not given back. Other C libraries have no such setting.
    A process of one run, whose threads take turns, gives back smaller blocks, and all threads have one heap.
    """
    with suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGE_IN_RUN if one_run else _LARGE)
        if one_run:
            mallopt(_M_ARENA_MAX, 1)
