"""The arrays that every solver of orders reads: operators, storages and what must come before what.

A *storage* is memory that lives as one: a tensor, or a rigid group of tensors. Its *writers* are the
operators that produce it or a part of it; its *readers* those that consume it. The operators done so far
are a set S.

When a storage is live
    Between operators it is live in S when it has begun (a writer is in S, or it is live from the start) and
    has not ended (a writer or a reader is not in S, or it is live to the end). While operator v runs, after
    the set S, it is live when it has begun in S + {v} and has not ended in S. So what v reads and what v
    writes are live together, and an output that nobody reads is live while its writer runs. A storage that
    nobody writes or reads is live only if it is live from the start to the end.

What operator v needs after S
    The bytes of the storages live while v runs, plus the bytes that count only then (`extra`), less what is
    saved in place, plus `base`. The *peak* of an order is the most that one of its operators needs.

What is saved in place
    A pair (v, i, o) lets output o lie in the bytes of input i. It saves min(size of i, size of o) when i
    ends at v (it is not live to the end, and all its other writers and readers are in S) and o begins at v
    (it is not live from the start, and none of its other writers is in S). Of all such pairs of v, the set
    counts that saves the most and uses each input and each output at most once.

docs/order.md shows what follows from these definitions, and proves it.
"""

from array import array
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.solvers import _native

MOST_BYTES: Final = 1 << 61
"""All bytes of an instance together are less than this, so that no sum overflows."""

_ints: "Callable[[], array[int]]" = partial(array, "q")
_starts: "Callable[[], array[int]]" = partial(array, "q", [0])


@dataclass(frozen=True, kw_only=True)
class OrderInstance:
    """Operators to be ordered, as arrays.

    Lists of lists are flat: entries of list i are `values[start[i]:start[i + 1]]`.
    """

    # by operator
    extra: "array[int]" = field(default_factory=_ints)  # bytes while it runs: the most over its phases

    # by storage
    size: "array[int]" = field(default_factory=_ints)
    writer_start: "array[int]" = field(default_factory=_starts)
    writers: "array[int]" = field(default_factory=_ints)
    reader_start: "array[int]" = field(default_factory=_starts)
    readers: "array[int]" = field(default_factory=_ints)
    from_start: "array[int]" = field(default_factory=_ints)  # 1 if live from the start
    to_end: "array[int]" = field(default_factory=_ints)  # 1 if live to the end

    # pairs and triples, flat
    before: "array[int]" = field(default_factory=_ints)  # (first, then): all edges, those of the data as well
    in_place: "array[int]" = field(default_factory=_ints)  # (operator, input storage, output storage)

    base: int = 0  # bytes that are always live
    given: "array[int]" = field(default_factory=_ints)  # the order that the program has

    @property
    def operator_count(self) -> int:
        """How many operators there are."""
        return len(self.extra)

    @property
    def storage_count(self) -> int:
        """How many storages there are."""
        return len(self.size)

    def writers_of(self, storage: int) -> "array[int]":
        """The operators that write a storage."""
        return self.writers[self.writer_start[storage] : self.writer_start[storage + 1]]

    def readers_of(self, storage: int) -> "array[int]":
        """The operators that read a storage."""
        return self.readers[self.reader_start[storage] : self.reader_start[storage + 1]]

    @cached_property
    def native(self) -> "_native.OrderInstance":
        """The instance of the native core. Built once; a ValueError says what is wrong with the arrays."""
        from memstow.solvers import _native

        return _native.OrderInstance(self)


def live_bytes(instance: OrderInstance, done: Collection[int]) -> int:
    """The bytes that are live between operators, when these are done."""
    return instance.base + sum(
        instance.size[storage]
        for storage in range(instance.storage_count)
        if _has_begun(instance, storage, done) and not _has_ended(instance, storage, done)
    )


def bytes_while(instance: OrderInstance, operator: int, done: Collection[int]) -> int:
    """The bytes that an operator needs while it runs, when these are done."""
    then = {*done, operator}
    live = sum(
        instance.size[storage]
        for storage in range(instance.storage_count)
        if _has_begun(instance, storage, then) and not _has_ended(instance, storage, done)
    )
    return instance.base + live + instance.extra[operator] - _saved(instance, operator, done)


def bytes_by_step(instance: OrderInstance, order: Collection[int]) -> list[int]:
    """What each operator of an order needs. A ValueError says why it is not an order of the operators."""
    done: set[int] = set()
    needs = []
    edges = list(zip(instance.before[::2], instance.before[1::2], strict=True))
    if sorted(order) != list(range(instance.operator_count)):
        raise ValueError("an order has each operator once")
    for operator in order:
        for first, then in edges:
            if then == operator and first not in done:
                raise ValueError(f"operator {first} must come before operator {operator}")
        needs.append(bytes_while(instance, operator, done))
        done.add(operator)
    return needs


def peak(instance: OrderInstance, order: Collection[int]) -> int:
    """The most bytes that an operator of the order needs; without operators, what is live anyway."""
    return max(bytes_by_step(instance, order), default=live_bytes(instance, ()))


def _has_begun(instance: OrderInstance, storage: int, done: Collection[int]) -> bool:
    return bool(instance.from_start[storage]) or any(it in done for it in instance.writers_of(storage))


def _has_ended(instance: OrderInstance, storage: int, done: Collection[int]) -> bool:
    users = (*instance.writers_of(storage), *instance.readers_of(storage))
    return not instance.to_end[storage] and all(it in done for it in users)


def _saved(instance: OrderInstance, operator: int, done: Collection[int]) -> int:
    """The most that pairs of an operator save in place."""
    then = {*done, operator}
    pairs = [
        (source, target)
        for owner, source, target in zip(*(instance.in_place[k::3] for k in range(3)), strict=True)
        if owner == operator
        and _has_ended(instance, source, then)
        and not _has_ended(instance, source, done)
        and _has_begun(instance, target, then)
        and not _has_begun(instance, target, done)
    ]
    return _most_saved(instance.size, pairs)


def _most_saved(size: "array[int]", pairs: list[tuple[int, int]]) -> int:
    """The best of all sets of pairs that share no storage: with the first pair, or without it."""
    if not pairs:
        return 0
    source, target = pairs[0]
    apart = [pair for pair in pairs[1:] if pair[0] != source and pair[1] != target]
    with_it = min(size[source], size[target]) + _most_saved(size, apart)
    return max(with_it, _most_saved(size, pairs[1:]))
