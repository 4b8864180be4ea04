"""The problem and the options as they travel: every field of schema version 1 and its range.

These classes are the wire schema; what they mean together is checked in `planner.check`. They are slotted
dataclasses, because a problem may hold a million buffers. A document must say its `version`, Python need not.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal, SupportsIndex

from memstow.planner.model.fields import WITHOUT_NUL, Field
from memstow.planner.model.memory import Memo
from memstow.planner.model.model_class import model_class
from memstow.planner.model.ranges import measure

LIMIT: Final = 1 << 62
"""Nothing is larger: no size, offset or end of a buffer, no cost, and no sum of costs."""
DEFAULT_POOL: Final = "memory"
ALWAYS: Final = "always"

Id = Annotated[str, Field(strict=True, min_length=1, max_length=1024, pattern=WITHOUT_NUL)]
Bytes = Annotated[int, Field(strict=True, ge=0, le=LIMIT)]
Distance = Annotated[int, Field(strict=True, ge=-LIMIT, le=LIMIT)]
Count = Annotated[int, Field(strict=True, ge=0, le=LIMIT)]
Alignment = Annotated[int, Field(strict=True, ge=1, le=LIMIT)]

# Python does not write integers of more than 4,300 digits; sums and differences of times are written as well.
LATEST: Final = 10**4000
Time = Annotated[int, Field(strict=True)]
Interval = tuple[Time, Time]
Pair = tuple[Id, Id]


@model_class
class Reserved:
    """A range of a pool where nothing of ours may be."""

    offset: Bytes = Field(description="First byte of the range.")
    size: Annotated[int, Field(strict=True, ge=1, le=LIMIT)] = Field(
        description="Length of the range in bytes."
    )

    def __init__(self, *, offset: "SupportsIndex", size: "SupportsIndex") -> None: ...


@model_class
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

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        capacity: "SupportsIndex | None" = None,
        alignment: "SupportsIndex" = 1,
        reserved: "Iterable[Reserved]" = (),
        base: "SupportsIndex | None" = None,
        cost: "SupportsIndex" = 0,
    ) -> None: ...


@model_class
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
    group: Id | None = Field(
        default=None,
        description="The operator, layer or module that it belongs to: a label, which no plan depends on.",
    )

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        size: "SupportsIndex",
        lifetime: "Sequence[SupportsIndex] | Literal['always'] | None" = None,
        lifetimes: "Iterable[Sequence[SupportsIndex]] | None" = None,
        alignment: "SupportsIndex" = 1,
        pools: "list[str] | tuple[str, ...] | None" = None,
        accesses: "SupportsIndex | None" = None,
        pool: "str | None" = None,
        offset: "SupportsIndex | None" = None,
        group: "str | None" = None,
    ) -> None: ...


@model_class
class Relative:
    """A buffer at a fixed distance from another, in the same pool."""

    buffer: Id
    base: Id
    offset: Distance = Field(description="Offset of `buffer` less offset of `base`.")

    def __init__(self, *, buffer: "str", base: "str", offset: "SupportsIndex") -> None: ...


@model_class
class InPlace:
    """An output that may share the bytes of an input, where both start at the same offset."""

    input: Id
    output: Id

    def __init__(self, *, input: "str", output: "str") -> None: ...  # noqa: A002


@model_class
class ReuseCost:
    """A cost paid once when two buffers overlap in memory."""

    buffers: Pair
    cost: Count

    def __init__(self, *, buffers: "tuple[str, str] | list[str]", cost: "SupportsIndex") -> None: ...


_ONE_MEMORY: Final = (Pool(id=DEFAULT_POOL),)


class Referable:
    """Slots leave no room for weak references, by which is known whether a problem still lives (`Memo`)."""

    __slots__ = ("__weakref__",)


@model_class
class Problem(Referable):
    """Buffers, pools, what must hold between them, and what to minimise."""

    version: Annotated[int, Field(strict=True, ge=1, le=1)] = Field(description="Version of this schema.")
    name: str | None = Field(default=None, max_length=1024)
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)] = Field(
        default=_ONE_MEMORY, description="Default: one unbounded pool called `memory`."
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

    def __init__(
        self,
        *,
        buffers: "Iterable[Buffer]",
        pools: "Iterable[Pool]" = _ONE_MEMORY,
        name: "str | None" = None,
        conflicts: "Iterable[tuple[str, str] | list[str]]" = (),
        exclusive: "Iterable[tuple[str, str] | list[str]]" = (),
        relative: "Iterable[Relative]" = (),
        in_place: "Iterable[InPlace]" = (),
        reuse_costs: "Iterable[ReuseCost]" = (),
        objective: "list[str] | tuple[str, ...] | None" = None,
        version: "SupportsIndex" = 1,
    ) -> None: ...

    def terms(self) -> tuple[str, ...]:
        """The objective in force."""
        if self.objective is not None:
            return self.objective
        return ("peak",) if len(self.pools) == 1 else ("placement_cost", "peak")


def access_count(buffer: Buffer) -> int:
    """Bytes moved in the buffer's life; none for a buffer of size 0."""
    if not buffer.size:
        return 0
    return buffer.size if buffer.accesses is None else buffer.accesses


def named_pools(buffer: Buffer) -> tuple[str, ...] | None:
    """The pool that the buffer is pinned to, or its list of pools; None: it may go to any."""
    return (buffer.pool,) if buffer.pool is not None else buffer.pools


def allowed_pools(problem: Problem, buffer: Buffer) -> tuple[str, ...]:
    """Ids of the pools the buffer may go to, preferred first."""
    named = named_pools(buffer)
    return named if named is not None else _all_pools(problem)


_pool_ids: Final = Memo[Problem, tuple[Id, ...]]()


def _all_pools(problem: Problem) -> tuple[str, ...]:
    """The ids of all pools: one tuple for all buffers that may go to any."""
    ids = _pool_ids.get(problem)
    if ids is None:
        ids = tuple(pool.id for pool in problem.pools)
        _pool_ids.note(problem, ids)
    return ids


def choice_count(problem: Problem) -> int:
    """How many pools the buffers may go to, over all buffers: what a plan chooses from."""
    return sum(len(allowed_pools(problem, buffer)) for buffer in problem.buffers)


def end_of(pool: Pool) -> int:
    """The end of the pool: its capacity, or the largest address if it has none."""
    return LIMIT if pool.capacity is None else pool.capacity


def place_of(problem: Problem, buffer: Buffer, pool: str) -> int:
    """The position of the pool among those the buffer may go to; 0: the preferred one."""
    return allowed_pools(problem, buffer).index(pool)


def reserved_bytes(pool: Pool) -> int:
    """The reserved bytes of the pool, each counted once."""
    return measure((it.offset, it.offset + it.size) for it in pool.reserved)
