"""A cache that drops the least recently used values, limited in bytes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_OVERHEAD: Final = 500


class LruCache(Generic[K, V]):
    """Values by key. Thread-safe."""

    def __init__(self, most_bytes: int, size_of: Callable[[K, V], int]) -> None:
        self._most = most_bytes
        self._size_of = size_of
        self._bytes = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value of this key."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Store a value, and drop the least recently used."""
        size = self._size(key, value)
        if size > self._most:
            return
        with self._lock:
            old = self._values.pop(key, None)
            if old is not None:
                self._bytes -= self._size(key, old)
            self._values[key] = value
            self._bytes += size
            while self._bytes > self._most:
                self._bytes -= self._size(*self._values.popitem(last=False))

    def _size(self, key: K, value: V) -> int:
        return self._size_of(key, value) + _OVERHEAD
