"""What Python keeps in memory: pauses the garbage collector, and caches results while a value lives."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar
from weakref import ref


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Pause garbage collection: it would go through millions of new objects of which none is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_Subject = TypeVar("_Subject")
_Result = TypeVar("_Result")


class Memo(Generic[_Subject, _Result]):
    """A cache by identity: comparing two problems takes longer than most results that are cached here.

    An equal copy has no entry. An entry is removed before another value can get the same address.
    """

    def __init__(self) -> None:
        self._results: dict[int, tuple[ref[_Subject], _Result]] = {}

    def __len__(self) -> int:
        return len(self._results)

    def get(self, subject: _Subject) -> _Result | None:
        """The result stored for this object, if any."""
        entry = self._results.get(id(subject))
        return None if entry is None else entry[1]

    def note(self, subject: _Subject, result: _Result) -> None:
        """Store a result until the value is gone."""
        results, key = self._results, id(subject)

        def forget(_: ref[_Subject]) -> None:
            results.pop(key, None)

        results[key] = ref(subject, forget), result
