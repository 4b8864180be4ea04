"""The problem and the options as they travel: every field of schema version 1 and its range.

These classes are the wire schema; what they mean together is checked in `planner.check`. They are slotted
dataclasses, because a problem may hold a million buffers.
"""

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from memstow.planner.model.ranges import measure

LIMIT: Final = 1 << 62
"""Nothing is larger: no size, offset or end of a buffer, no cost, and no sum of costs."""
DEFAULT_POOL: Final = "memory"
ALWAYS: Final = "always"

Id = Annotated[str, Field(strict=True, min_length=1, max_length=1024)]
Bytes = Annotated[int, Field(strict=True, ge=0, le=LIMIT)]
Distance = Annotated[int, Field(strict=True, ge=-LIMIT, le=LIMIT)]
Count = Annotated[int, Field(strict=True, ge=0, le=LIMIT)]
Alignment = Annotated[int, Field(strict=True, ge=1, le=LIMIT)]

# Python does not write integers of more than 4,300 digits; sums and differences of times are written as well.
LATEST: Final = 10**4000
Time = Annotated[int, Field(strict=True)]
Interval = tuple[Time, Time]
Pair = tuple[Id, Id]

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Reserved:
    """A range of a pool where nothing of ours may be."""

    offset: Bytes = Field(description="First byte of the range.")
    size: Annotated[int, Field(strict=True, ge=1, le=LIMIT)] = Field(
        description="Length of the range in bytes."
    )


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Pool:
    """A memory that buffers may go to."""

    id: Id
    capacity: Bytes | None = Field(default=None, description="Bytes; null: as large as needed, up to 2^62.")
    alignment: Alignment = Field(default=1, description="Every address in this pool is a multiple of it.")
    reserved: tuple[Reserved, ...] = Field(default=(), description="Ranges where nothing of ours may be.")
    base: Bytes | None = Field(
        default=None,
        description="Absolute address of offset 0; alignment holds for base + offset.",
    )
    cost: Count = Field(default=0, description="Cost of one byte-access, for choosing among pools.")


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Buffer:
    """Something that needs a place: a size, a life, and what its place must satisfy."""

    id: Id
    size: Bytes = Field(description="Bytes; a buffer of size 0 gets an aligned offset and nothing more.")
    lifetime: Interval | Literal["always"] | None = Field(
        default=None, description='Half-open [begin, end) in any unit of time, or "always".'
    )
    lifetimes: tuple[Interval, ...] | None = Field(
        default=None, description="Several half-open live ranges, instead of `lifetime`."
    )
    alignment: Alignment = Field(
        default=1, description="The effective alignment is the least common multiple with the pool's."
    )
    pools: tuple[Id, ...] | None = Field(
        default=None, description="Allowed pools, preferred first; default: all, in order."
    )
    accesses: Count | None = Field(default=None, description="Bytes moved in its life; default: its size.")
    pool: Id | None = Field(default=None, description="Pin: the pool it must be in.")
    offset: Bytes | None = Field(default=None, description="Pin: the offset it must have; needs `pool`.")


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Relative:
    """A buffer at a fixed distance from another, in the same pool."""

    buffer: Id
    base: Id
    offset: Distance = Field(description="Offset of `buffer` less offset of `base`.")


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class InPlace:
    """An output that may share the bytes of an input, where both start at the same offset."""

    input: Id
    output: Id


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ReuseCost:
    """A cost paid once when two buffers overlap in memory."""

    buffers: Pair
    cost: Count


class _Referable:
    """Slots leave no room for weak references, by which is known whether a problem still lives (`Memo`)."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Problem(_Referable):
    """Buffers, pools, what must hold between them, and what to minimise."""

    version: Annotated[int, Field(strict=True, ge=1, le=1)] = Field(description="Version of this schema.")
    name: str | None = Field(default=None, max_length=1024)
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)] = Field(
        default=(Pool(id=DEFAULT_POOL),), description="Default: one unbounded pool called `memory`."
    )
    buffers: tuple[Buffer, ...]
    conflicts: tuple[Pair, ...] = Field(
        default=(), description="Pairs that may not overlap in memory, whatever their lifetimes."
    )
    exclusive: tuple[Pair, ...] = Field(
        default=(), description="Pairs that are never live together, whatever their lifetimes say."
    )
    relative: tuple[Relative, ...] = ()
    in_place: tuple[InPlace, ...] = ()
    reuse_costs: tuple[ReuseCost, ...] = ()
    objective: tuple[str, ...] | None = Field(
        default=None,
        description="Lexicographic: peak, peak:POOL, max_peak, placement_cost, preference, reuse_cost, "
        "moves. Empty: any plan that fits. Default: peak with one pool, placement_cost and peak with "
        "several.",
    )

    def terms(self) -> tuple[str, ...]:
        """The objective in force."""
        if self.objective is not None:
            return self.objective
        return ("peak",) if len(self.pools) == 1 else ("placement_cost", "peak")


def access_count(buffer: Buffer) -> int:
    """Bytes moved in the buffer's life; nothing is moved in an empty one."""
    if not buffer.size:
        return 0
    return buffer.size if buffer.accesses is None else buffer.accesses


def allowed_pools(problem: Problem, buffer: Buffer) -> tuple[str, ...]:
    """Ids of the pools the buffer may go to, preferred first, its pin respected."""
    if buffer.pool is not None:
        return (buffer.pool,)
    return buffer.pools if buffer.pools is not None else tuple(pool.id for pool in problem.pools)


def end_of(pool: Pool) -> int:
    """Where the pool ends: at its capacity, and without one at the largest address there is."""
    return LIMIT if pool.capacity is None else pool.capacity


def place_of(problem: Problem, buffer: Buffer, pool: str) -> int:
    """The place of the pool among those the buffer may go to; 0: it is preferred to all others."""
    return allowed_pools(problem, buffer).index(pool)


def reserved_bytes(pool: Pool) -> int:
    """How much of the pool is reserved, each byte counted once."""
    return measure((it.offset, it.offset + it.size) for it in pool.reserved)
