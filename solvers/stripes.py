"""Operators in an order as arrays, and the exact front of bytes against cost over all its ways into stripes.

A *stripe* is a run of operators [begin, end) that make their rows by demand, in strips of columns. What is
made and read inside only is kept by rows (docs/stripes.md has the rules); all else is there as a whole.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.solvers.core import Budget

MOST: Final = 1 << 60
"""All bytes and all costs of a program are less than this, so that no sum overflows."""

_ints: "Callable[[], array[int]]" = partial(array, "q")
_starts: "Callable[[], array[int]]" = partial(array, "q", [0])


@dataclass(frozen=True, kw_only=True)
class StripeProgram:
    """Operators in the order in which they run."""

    # by operator
    can: "array[int]" = field(default_factory=_ints)  # 1 if it can be in a stripe
    reduces: "array[int]" = field(default_factory=_ints)  # 1 if it needs all of an image, row by row
    kept: "array[int]" = field(default_factory=_ints)  # 1 if what it makes is always there as a whole
    last_reader: "array[int]" = field(default_factory=_ints)  # of what it makes; -1: nobody reads it
    rows: "array[int]" = field(default_factory=_ints)  # what it makes; a reduction: what it reads
    columns: "array[int]" = field(default_factory=_ints)
    pixel: "array[int]" = field(default_factory=_ints)  # bytes in one row and column of what it makes
    extra: "array[int]" = field(default_factory=_ints)  # bytes of its temporaries, in whole units
    extra_rest: "array[int]" = field(default_factory=_ints)  # the most that one leaves of its last unit
    sums: "array[int]" = field(default_factory=_ints)  # bytes in which a reduction adds up
    alone: "array[int]" = field(default_factory=_ints)  # all that is live while it runs by itself
    cost: "array[int]" = field(default_factory=_ints)

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


def stripe_front(program: StripeProgram, most_cost: int, longest: int, budget: "Budget") -> StripeFront:
    """The front of ways that cost at most so much, with stripes of at most so many operators."""
    from memstow.solvers import _native

    points, complete = _native.stripe_front(program, most_cost, longest, budget)
    return StripeFront(
        tuple(
            StripePoint(size, cost, tuple(Choice(*choice) for choice in choices))
            for size, cost, choices in points
        ),
        complete,
    )
