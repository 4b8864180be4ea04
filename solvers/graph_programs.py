"""Operators in an order as arrays, for the native searches on graphs: for recomputing, and for stripes.

For recomputing, an *item* is a tensor that counts: it can be dropped, and made again by its producer, or
copied out and back. What is live and cannot be dropped is in `fixed`, `gap`, `start` and `end`.

A *stripe* is a run of operators [begin, end) that make their rows by demand, in strips of columns. What is
made and read inside only is kept by rows (docs/stripes.md has the rules); all else is there as a whole.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from memstow.solvers import _native
    from memstow.solvers.core import Budget


_ints: "Callable[[], array[int]]" = partial(array, "q")
_starts: "Callable[[], array[int]]" = partial(array, "q", [0])


@dataclass(frozen=True, kw_only=True)
class RecomputeArrays:
    """A program; lists of lists are flat: entries of list i are `values[start[i]:start[i + 1]]`."""

    # by operator
    extra: "array[int]" = field(default_factory=_ints)  # bytes while it runs: the most over its phases
    fixed: "array[int]" = field(default_factory=_ints)  # bytes of what is no item, during its first run
    gap: "array[int]" = field(default_factory=_ints)  # the same, just before its first run
    cost: "array[int]" = field(default_factory=_ints)
    once: "array[int]" = field(default_factory=_ints)  # 1 if it does not run again
    input_start: "array[int]" = field(default_factory=_starts)
    inputs: "array[int]" = field(default_factory=_ints)
    output_start: "array[int]" = field(default_factory=_starts)
    outputs: "array[int]" = field(default_factory=_ints)
    in_place: "array[int]" = field(default_factory=_ints)  # triples: operator, input, output

    # by item
    size: "array[int]" = field(default_factory=_ints)
    producer: "array[int]" = field(default_factory=_ints)  # -1: there before the first operator
    kept: "array[int]" = field(default_factory=_ints)  # 1 if it is there in the end
    spillable: "array[int]" = field(default_factory=_ints)

    start: int = 0  # bytes live before the first operator
    end: int = 0  # bytes of what is no item, after the last
    base: int = 0  # bytes that are live always

    @cached_property
    def native(self) -> "_native.RecomputeProgram":
        """The same in the native core."""
        from memstow.solvers import _native

        return _native.RecomputeProgram(self)

    def inputs_of(self, op: int) -> "array[int]":
        """The items that the operator reads."""
        return self.inputs[self.input_start[op] : self.input_start[op + 1]]

    def outputs_of(self, op: int) -> "array[int]":
        """The items that it makes."""
        return self.outputs[self.output_start[op] : self.output_start[op + 1]]

    @cached_property
    def pairs(self) -> list[list[tuple[int, int]]]:
        """By operator, the pairs of an input and an output in place."""
        pairs: list[list[tuple[int, int]]] = [[] for _ in self.cost]
        for at in range(0, len(self.in_place), 3):
            op, source, target = self.in_place[at : at + 3]
            pairs[op].append((source, target))
        return pairs


@dataclass(frozen=True, slots=True)
class Turns:
    """When operators may run: sets of operators in bits, by operator."""

    needs: Sequence[int]
    """Those that have run before it runs for the first time."""
    ends: Sequence[int]
    """Those of which none has run when it runs for the last time."""
    free: bool
    """Whether first runs are in any order that this allows: what is no item counts where it does in all."""


@dataclass(frozen=True)
class Memory:
    """What counts in one memory of a limited size; items are in bits."""

    arrays: RecomputeArrays
    """What is no item and can be nowhere else."""
    room: int
    """The bytes there are; a search has a limit of its own for the first memory."""
    holds: int
    """Items that may be in it."""
    waits: int
    """Items that may wait in it."""


@dataclass(frozen=True)
class TinyProgram:
    """Items that are in limited memories, whatever the plan; the peak of the first memory counts."""

    arrays: RecomputeArrays
    extras: Sequence[Sequence[Sequence[int]]]
    """By operator, the ways to have its temporaries in memories: by memory, the bytes."""
    tensors: Sequence[int]
    """By item, the tensor."""
    memories: Sequence[Memory]
    waits: int
    """Items, in bits, that may wait where there is room for all."""
    pools: Sequence[str]
    """By memory the pool, and the one where there is room for all."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing can be in more than one of the memories."""
        places = sum(memory.holds.bit_count() for memory in self.memories)
        return places == len(self.arrays.size) and all(len(ways) == 1 for ways in self.extras)


def cheapest_path(
    program: TinyProgram, turns: Turns, limit: int, most: int | None, states: int, budget: "Budget"
) -> "_native.Path":
    """The cheapest run that never has more live bytes than the limit nor costs more than `most`.

    Stops after so many states, or when the budget is spent.
    """
    from memstow.solvers import _native

    return _native.cheapest_path(program, turns, limit, -1 if most is None else most, states, budget)


MOST: Final = 1 << 60
"""All bytes and all costs of a program are less than this, so that no sum overflows."""


@dataclass(frozen=True, kw_only=True)
class StripeProgram:
    """Operators in the order in which they run."""

    # by operator
    can: "array[int]" = field(default_factory=_ints)  # 1 if it can be in a stripe
    reduces: "array[int]" = field(default_factory=_ints)  # 1 if it needs all of an image, row by row
    kept: "array[int]" = field(default_factory=_ints)  # 1 if what it makes is always there as a whole
    shared: "array[int]" = field(default_factory=_ints)  # 1 if who is not here may read its rows sooner
    last_reader: "array[int]" = field(default_factory=_ints)  # of what it makes; -1: nobody reads it
    rows: "array[int]" = field(default_factory=_ints)  # what it makes; a reduction: what it reads
    columns: "array[int]" = field(default_factory=_ints)
    pixel: "array[int]" = field(default_factory=_ints)  # bytes in one row and column of what it makes
    extra: "array[int]" = field(default_factory=_ints)  # bytes of its temporaries, in whole units
    extra_rest: "array[int]" = field(default_factory=_ints)  # the most that one leaves of its last unit
    sums: "array[int]" = field(default_factory=_ints)  # bytes in which a reduction adds up
    alone: "array[int]" = field(default_factory=_ints)  # all that is live while it runs by itself
    cost: "array[int]" = field(default_factory=_ints)

    # of a path, by operator: 1 if what it hands on may be there as a whole in the middle of a stripe; 1 if it
    # has the levels of the operator before, one of which is for both; those of operator i are from
    # level_start[i] on
    may_stay: "array[int]" = field(default_factory=_ints)
    continues: "array[int]" = field(default_factory=_ints)
    level_start: "array[int]" = field(default_factory=_ints)
    # what is live while it runs by itself if what another hands on is as well: flat, by that one from -1 on
    alone_beside_start: "array[int]" = field(default_factory=_ints)
    alone_beside: "array[int]" = field(default_factory=_ints)

    # of a path, by level (so is `alone` then): what other runs and copies add to the cost; what is live at
    # some moment of these, whatever else; what others need
    # while what the operator hands on is there as a whole; which operators may hand on some of that: the
    # first, and one more than the last; what others need beside what one of them hands on as well: flat, by
    # operator from -1 on; what they need when that is there for the last time, if it is not any more when the
    # next operator runs; what they need where a stripe begins then: flat, by its last operator from the next
    # one on
    level_cost: "array[int]" = field(default_factory=_ints)
    level_peak: "array[int]" = field(default_factory=_ints)
    beside: "array[int]" = field(default_factory=_ints)
    beside_range: "array[int]" = field(default_factory=_ints)
    beside_read_start: "array[int]" = field(default_factory=_ints)
    beside_read: "array[int]" = field(default_factory=_ints)
    beside_gone: "array[int]" = field(default_factory=_ints)
    beside_next_start: "array[int]" = field(default_factory=_ints)
    beside_next: "array[int]" = field(default_factory=_ints)

    # its images: flat, those of operator i are uses[use_start[i]:use_start[i + 1]], with eleven numbers each:
    # who makes it (-1: no operator), then extent, step, over, before, after of its rows and of its columns
    use_start: "array[int]" = field(default_factory=_starts)
    uses: "array[int]" = field(default_factory=_ints)

    # bytes that live from one operator to another, both included: four numbers each: the first, the last,
    # bytes, and who makes it if its rows can be kept instead (else -1)
    wholes: "array[int]" = field(default_factory=_ints)

    # other ways to run operators: four numbers each: begin, end, bytes in all, cost
    others: "array[int]" = field(default_factory=_ints)

    unit: int = 1  # all that is live begins at multiples of it; the last unit of what is on top may be less
    base: int = 0  # bytes that are always live, in whole units
    base_rest: int = 0  # the most that one of them leaves of its last unit
    start: int = 0  # bytes that are live before the first operator

    # whether the operators are a path, each of which reads what the one before makes; of others that may be
    # in stripes five numbers each: its columns, the last of the path that it waits for (-1: none), the first
    # that waits for it (or their number), what it costs if it is one of the path that runs again, and the
    # bytes of what it makes
    is_path: bool = False
    # of a path: where only these must run, from the first to the last, those before may have run already
    must_run: tuple[int, int] | None = None
    off_path: "array[int]" = field(default_factory=_ints)
    # all operators of the graph of the path, and which of them are the path, ascending; by operator that is
    # not, the place of the path by whose run all is made that is counted of it, or the number of these
    around: "tuple[StripeProgram, Sequence[int], Sequence[int]] | None" = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Operators [begin, end) in strips of so many columns; where that is 0, alone or in another way."""

    begin: int
    end: int
    columns: int
    other: int
    """Which other way; -1: none."""


@dataclass(frozen=True, slots=True)
class StripePoint:
    """One way to cut the order that no other is better than in both."""

    bytes: int
    cost: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class StripeFront:
    """Points, ascending in bytes; `complete`: no way is missing that is better than they are."""

    points: tuple[StripePoint, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Room:
    """The bytes that are of interest."""

    least: int = 0
    """What needs less counts as if it needed this."""
    most: int | None = None
    """Nothing that needs more is wanted."""


EVERYTHING: Final = Room()


def stripe_front(
    program: StripeProgram, most_cost: int, longest: int, budget: "Budget", room: Room = EVERYTHING
) -> StripeFront:
    """The front of ways that cost at most so much, with stripes of at most so many operators."""
    from memstow.solvers import _native

    points, complete = _native.stripe_front(program, most_cost, longest, room.least, room.most, budget)
    return StripeFront(
        tuple(
            StripePoint(size, cost, tuple(Choice(*choice) for choice in choices))
            for size, cost, choices in points
        ),
        complete,
    )


@dataclass(frozen=True, kw_only=True)
class Wires:
    """Who makes tensors and who reads them."""

    # by tensor
    size: "array[int]" = field(default_factory=_ints)
    maker: "array[int]" = field(default_factory=_ints)  # -1: there from the start
    to_end: "array[int]" = field(default_factory=_ints)
    # the least of it that may wait elsewhere, where each byte costs to be copied out and back (0: nothing)
    piece: "array[int]" = field(default_factory=_ints)

    # by operator: flat, those of operator i are reads[read_start[i]:read_start[i + 1]]; what another run adds
    # to the cost, and one of a part (-1: there is none)
    read_start: "array[int]" = field(default_factory=_starts)
    reads: "array[int]" = field(default_factory=_ints)
    again: "array[int]" = field(default_factory=_ints)
    part_again: "array[int]" = field(default_factory=_ints)

    # by place of the path: four numbers each, the place, one of the path before that, and what another run of
    # that one and of a part of it adds for those from this place on
    later: "array[int]" = field(default_factory=_ints)

    short_path: int = 40  # paths of at most so many are looked at closely


class CutLevel(NamedTuple):
    """The bytes of others at least, if other runs and copies add less to the cost than at the next level."""

    cost: int
    """What other runs and copies add."""
    running: int
    """Beside what it uses, while it runs by itself."""
    after: int
    """Beside what it hands on to the next, while neither runs."""
    begin: int
    """From this place on, something may be among those after it."""
    end: int
    """Up to this place, which is not."""
    beside_read: Sequence[int]
    """By place from -1 on, the same as `after` beside what that one hands on as well, up to the end."""
    beside_next: Sequence[int]
    """By place from the next on, the same as `after` where a stripe begins that ends there, if it is more."""
    beside_gone: Sequence[int]
    """By place from -1 on, beside what that one hands on when that is there last, if not until the next."""
    peak: int = 0
    """What is live at some moment, whatever else there is."""


@dataclass(frozen=True, slots=True)
class PathCut:
    """Of an operator of a path, what others need beside it."""

    levels: Sequence[CutLevel]
    """Ascending in cost, the first without other runs and copies."""
    continues: bool
    """Whether these may be the same as at the operator before, which has the same levels then."""


def cuts_beside(wires: Wires, path: Sequence[int], budget: "Budget") -> list[PathCut]:
    """By operator of a path, each of which reads what the one before makes, what others need.

    Where the budget ends, nothing is known.
    """
    from memstow.solvers import _native

    cuts = _native.cuts_beside(wires, list(path), budget)
    return [PathCut([CutLevel(*level) for level in levels], continues) for continues, levels in cuts]
