"""The arrays that every solver reads, and the columns of a problem that they are made of: all without names.

An *item* gets one offset: it is a buffer, or a rigid group of buffers. A *part* is one buffer of an item,
at a fixed delta from the item's offset. Parts that live at a common moment, or that are listed as a
conflict, may not share a byte when they are in the same pool, unless the pair is exempt.
"""

from array import array
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from memstow.records import field, record

if TYPE_CHECKING:
    from memstow.solvers import _native

UNBOUNDED: Final = 1 << 62
NO_PIN: Final = -1


# Not functions of ours: each new instance calls them some twenty times.
_ints: "Callable[[], array[int]]" = partial(array, "q")
_starts: "Callable[[], array[int]]" = partial(array, "q", [0])


@record
class Instance:
    """A problem as arrays.

    Lists of lists are flat: entries of list i are `values[start[i]:start[i + 1]]`. An item's offset in a
    chosen pool is `residue` modulo `modulus`, and within [low, high], ends included; `high` is UNBOUNDED
    where only the end of the pool limits it.

    Of an instance that native code has made (`of_native`), arrays are copied when they are first looked at.
    """

    __slots__ = ("__dict__",)  # for what is computed once

    # by pool
    capacity: "array[int]" = field(default_factory=_ints)
    reserved_start: "array[int]" = field(default_factory=_starts)
    reserved_begin: "array[int]" = field(default_factory=_ints)
    reserved_end: "array[int]" = field(default_factory=_ints)

    # by pool, where something depends on banks: their ranges, by address
    bank_start: "array[int]" = field(default_factory=_starts)
    bank_begin: "array[int]" = field(default_factory=_ints)
    bank_end: "array[int]" = field(default_factory=_ints)

    # by item: the pools it may go to, preferred first
    choice_start: "array[int]" = field(default_factory=_starts)
    choice_pool: "array[int]" = field(default_factory=_ints)
    choice_modulus: "array[int]" = field(default_factory=_ints)
    choice_residue: "array[int]" = field(default_factory=_ints)
    choice_low: "array[int]" = field(default_factory=_ints)
    choice_high: "array[int]" = field(default_factory=_ints)
    choice_cost: "array[int]" = field(default_factory=_ints)
    choice_rank: "array[int]" = field(default_factory=_ints)  # for the term preference
    # by choice, where banks bind some item: ranges of the offsets it may have, ends included; none: any
    window_start: "array[int]" = field(default_factory=_starts)
    window_low: "array[int]" = field(default_factory=_ints)
    window_high: "array[int]" = field(default_factory=_ints)

    # by part; parts are ordered by item
    item_parts: "array[int]" = field(default_factory=_starts)
    part_delta: "array[int]" = field(default_factory=_ints)
    part_size: "array[int]" = field(default_factory=_ints)
    life_start: "array[int]" = field(default_factory=_starts)
    life_begin: "array[int]" = field(default_factory=_ints)
    life_end: "array[int]" = field(default_factory=_ints)

    # pairs of parts: (first, second), with one value more for the last two
    conflicts: "array[int]" = field(default_factory=_ints)
    exempt: "array[int]" = field(default_factory=_ints)  # (first, second, 1 if in place else 0)
    reuse: "array[int]" = field(default_factory=_ints)  # (first, second, cost)
    apart: "array[int]" = field(default_factory=_ints)  # may not touch one bank, also within an item
    bank_costs: "array[int]" = field(default_factory=_ints)  # (first, second, cost), likewise

    @classmethod
    def of_native(cls, native: "_native.Instance") -> "Instance":
        """The same as native code has it; of a hundred thousand buffers most arrays are never looked at."""
        instance = cls.__new__(cls)
        instance.__dict__["native"] = native
        return instance

    def __getattr__(self, name: str) -> "array[int]":
        """Whatever is not there yet: an array that only native code has."""
        native: _native.Instance | None = self.__dict__.get("native")
        if native is None or name not in Instance.__match_args__:
            raise AttributeError(name)
        values = _ints()
        values.frombytes(native.array(name))
        object.__setattr__(self, name, values)
        return values

    @property
    def has_banks(self) -> bool:
        """Whether something depends on banks: only some solvers know of them."""
        return len(self.bank_start) > 1

    def windows(self, choice: int) -> list[tuple[int, int]] | None:
        """The ranges of offsets to which banks restrict a choice; None: they do not."""
        if len(self.window_start) == 1 or self.window_start[choice] == self.window_start[choice + 1]:
            return None
        mine = slice(self.window_start[choice], self.window_start[choice + 1])
        return list(zip(self.window_low[mine], self.window_high[mine], strict=True))

    def banks_of(self, pool: int) -> list[tuple[int, int]]:
        """The banks of a pool, where something depends on them."""
        if not self.has_banks:
            return []
        mine = slice(self.bank_start[pool], self.bank_start[pool + 1])
        return list(zip(self.bank_begin[mine], self.bank_end[mine], strict=True))

    @property
    def pool_count(self) -> int:
        """How many pools there are."""
        return len(self.capacity)

    @property
    def item_count(self) -> int:
        """How many items there are."""
        return len(self.item_parts) - 1

    @property
    def part_count(self) -> int:
        """How many parts there are."""
        return len(self.part_size)

    @cached_property
    def stacked(self) -> int:
        """The units up to which its items reach at most, one on top of the other."""
        fixed = max((*self.reserved_end, *self.choice_low), default=0)
        return fixed + sum(self.part_delta) + sum(self.part_size) + sum(self.choice_modulus)

    @property
    def adds_up(self) -> bool:
        """Whether native code can add up all heights: they stay below UNBOUNDED."""
        return min(self.stacked, max(self.capacity)) < UNBOUNDED

    @cached_property
    def native(self) -> "_native.Instance":
        """The instance of the native core, which has the rows as well. Built once."""
        from memstow.solvers import _native

        return _native.Instance(self)


@record
class Layout:
    """The pool and the offset of every item; -1 for an item without a place."""

    pool: "array[int]" = field(default_factory=_ints)
    offset: "array[int]" = field(default_factory=_ints)


@record
class Description:
    """A problem as columns of numbers in bytes, without names, from which native code makes an instance."""

    # by pool
    capacity: "array[int]" = field(default_factory=_ints)  # UNBOUNDED without an end
    pool_alignment: "array[int]" = field(default_factory=_ints)
    base: "array[int]" = field(default_factory=_ints)
    cost: "array[int]" = field(default_factory=_ints)
    reserved_start: "array[int]" = field(default_factory=_starts)
    reserved_begin: "array[int]" = field(default_factory=_ints)
    reserved_end: "array[int]" = field(default_factory=_ints)
    bank_start: "array[int]" = field(default_factory=_starts)  # this and the next: if something depends on it
    bank_begin: "array[int]" = field(default_factory=_ints)
    bank_end: "array[int]" = field(default_factory=_ints)

    # by kind of buffers, which all have one alignment and may go to the same pools, preferred first
    alignment: "array[int]" = field(default_factory=_ints)
    kind_start: "array[int]" = field(default_factory=_starts)
    kind_pool: "array[int]" = field(default_factory=_ints)

    # by buffer
    size: "array[int]" = field(default_factory=_ints)
    kind: "array[int]" = field(default_factory=_ints)
    pin: "array[int]" = field(default_factory=_ints)  # an offset or NO_PIN; empty: none has one
    accesses: "array[int]" = field(default_factory=_ints)  # empty: pools cost nothing
    life_start: "array[int]" = field(default_factory=_starts)
    life_begin: "array[int]" = field(default_factory=_ints)
    life_end: "array[int]" = field(default_factory=_ints)

    # pairs of buffers, with one value more for the first and the last of these
    ties: "array[int]" = field(default_factory=_ints)  # (buffer, base, distance from it)
    conflicts: "array[int]" = field(default_factory=_ints)
    exclusive: "array[int]" = field(default_factory=_ints)
    in_place: "array[int]" = field(default_factory=_ints)
    reuse: "array[int]" = field(default_factory=_ints)  # (one, other, cost)
    within_bank: "array[int]" = field(default_factory=_ints)  # buffers whose bytes are all in one bank
    in_banks: "array[int]" = field(default_factory=_ints)  # (buffer, bank that its bytes may be in)
    apart: "array[int]" = field(default_factory=_ints)
    bank_costs: "array[int]" = field(default_factory=_ints)  # (one, other, cost)

    usable: "array[int]" = field(default_factory=_ints)  # offsets that items must be able to have
    ranks: bool = False  # whether preferences count
    in_bytes: bool = False  # whether the unit is one byte
