"""The problem as it travels: every field of schema version 1 and its range; and what follows from it alone.

After the classes: the memories of a device (`Target`), the terms of an objective (on the wire a term is a
string, such as `peak:fast`), rigid groups (buffers that `relative` ties at fixed distances, and the
places such a group may take), and the bytes live at each time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from heapq import nlargest
from itertools import combinations
from math import gcd, lcm
from typing import Annotated, Final, Literal, Protocol, SupportsIndex

from memstow.planner.model._instances import BufferColumns, columns_of_buffers
from memstow.planner.model.model_class import SHA256, WITHOUT_NUL, Field, model_class, shared_fields
from memstow.records import Remembered, fields, record, replace

Range = tuple[int, int]


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Their union as sorted disjoint ranges that do not touch; empty ranges vanish."""
    union: list[Range] = []
    for begin, end in sorted(ranges):
        if end <= begin:
            continue
        if union and begin <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((begin, end))
    return union


def measure(ranges: Iterable[Range]) -> int:
    """How many integers their union holds."""
    return sum(end - begin for begin, end in merged(ranges))


LIMIT: Final = 1 << 62
"""Nothing is larger: no size, offset or end of a buffer, no cost, and no sum of costs."""
DEFAULT_POOL: Final = "memory"
ALWAYS: Final = "always"

Id = Annotated[str, Field(strict=True, min_length=1, max_length=1024, pattern=WITHOUT_NUL)]
Digest = Annotated[str, Field(strict=True, pattern=SHA256)]
Bytes = Annotated[int, Field(strict=True, ge=0, le=LIMIT)]
Distance = Annotated[int, Field(strict=True, ge=-LIMIT, le=LIMIT)]
Count = Annotated[int, Field(strict=True, ge=0, le=LIMIT)]
Alignment = Annotated[int, Field(strict=True, ge=1, le=LIMIT)]
LONGEST_FORMULA: Final = 2_000
Formula = Annotated[str, Field(strict=True, min_length=1, max_length=LONGEST_FORMULA)]
Size = Bytes | Formula
"""A number, or a formula of symbols (`planner.model.symbolic`)."""

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


MOST_BANKS: Final = 4096
"""The most banks of a pool."""


@model_class
class Banks:
    """Equal banks of a pool, one after the other."""

    size: Annotated[int, Field(strict=True, ge=1, le=LIMIT)] = Field(description="Bytes of each bank.")
    count: Annotated[int, Field(strict=True, ge=1, le=MOST_BANKS)] = Field(
        default=1, description="How many there are."
    )
    offset: Bytes = Field(default=0, description="First byte of the first of them.")

    def __init__(
        self, *, size: "SupportsIndex", count: "SupportsIndex" = 1, offset: "SupportsIndex" = 0
    ) -> None: ...


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
    banks: tuple[Banks, ...] = Field(
        default=(), description="Its banks, counted from 0 in the order of their addresses."
    )

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        capacity: "SupportsIndex | None" = None,
        alignment: "SupportsIndex" = 1,
        reserved: "Iterable[Reserved]" = (),
        base: "SupportsIndex | None" = None,
        cost: "SupportsIndex" = 0,
        banks: "Iterable[Banks]" = (),
    ) -> None: ...


@shared_fields
class AnyBuffer:
    """Something that needs a place: a size, a life, and what its place must satisfy."""

    __slots__ = ()

    id: Id
    size: Size
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


@shared_fields
class Accessed:
    """Something that is read and written."""

    __slots__ = ()

    accesses: Count | None = Field(default=None, description="Bytes moved in its life; default: its size.")


@shared_fields
class Pinned:
    """Something whose place may be set already."""

    __slots__ = ()

    pool: Id | None = Field(default=None, description="Pin: the pool it must be in.")
    offset: Bytes | None = Field(default=None, description="Pin: the offset it must have; needs `pool`.")
    group: Id | None = Field(
        default=None,
        description="The operator, layer or module that it belongs to: a label, which no plan depends on.",
    )


@model_class
class Buffer(Pinned, Accessed, AnyBuffer):
    """Something that needs a place: a size, a life, and what its place must satisfy."""

    size: Bytes = Field(description="Bytes; a buffer of size 0 gets an aligned offset and nothing more.")
    within_bank: Annotated[bool, Field(strict=True)] | None = Field(
        default=None, description="True: all of its bytes are in one bank."
    )
    banks: tuple[Annotated[int, Field(strict=True, ge=0, lt=MOST_BANKS)], ...] | None = Field(
        default=None, description="The banks of its pool that its bytes may be in; default: anywhere."
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
        within_bank: "bool | None" = None,
        banks: "Iterable[SupportsIndex] | None" = None,
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


@model_class
class BankConflict:
    """Buffers of which no two may touch one bank, or that cost something for each two that do."""

    buffers: Annotated[tuple[Id, ...], Field(min_length=2)]
    cost: Count | None = Field(
        default=None, description="Paid once for each two that touch a common bank; null: no two may."
    )

    def __init__(self, *, buffers: "Iterable[str]", cost: "SupportsIndex | None" = None) -> None: ...


ONE_MEMORY: Final = (Pool(id=DEFAULT_POOL),)


class Referable:
    """Slots leave no room for weak references, by which is known whether a problem still lives (`Memo`)."""

    __slots__ = ("__weakref__",)


Version = Annotated[int, Field(strict=True, ge=1, le=1)]


@shared_fields
class Document:
    """A document of memstow."""

    __slots__ = ()

    version: Version = Field(description="Version of this schema.")
    name: str | None = Field(default=None, max_length=1024)


@shared_fields
class AnyProblem:
    """Buffers, pools, and what must hold between them."""

    __slots__ = ()

    pools: Annotated[tuple[Pool, ...], Field(min_length=1)] = Field(
        default=ONE_MEMORY, description="Default: one unbounded pool called `memory`."
    )
    buffers: tuple[AnyBuffer, ...]
    conflicts: tuple[Pair, ...] = Field(
        default=(), description="Pairs that may not overlap in memory, whatever their lifetimes."
    )
    exclusive: tuple[Pair, ...] = Field(
        default=(), description="Pairs that are never live together, whatever their lifetimes say."
    )
    relative: tuple[Relative, ...] = ()
    in_place: tuple[InPlace, ...] = ()


@model_class
class Problem(Referable, AnyProblem, Document):
    """Buffers, pools, what must hold between them, and what to minimise."""

    buffers: tuple[Buffer, ...]
    reuse_costs: tuple[ReuseCost, ...] = ()
    bank_conflicts: tuple[BankConflict, ...] = ()
    objective: tuple[str, ...] | None = Field(
        default=None,
        description="Lexicographic: peak, peak:POOL, max_peak, placement_cost, preference, reuse_cost, "
        "bank_cost, moves. Empty: any plan that fits. Default: peak with one pool, placement_cost and peak "
        "with several.",
    )

    def __init__(
        self,
        *,
        buffers: "Iterable[Buffer]",
        pools: "Iterable[Pool]" = ONE_MEMORY,
        name: "str | None" = None,
        conflicts: "Iterable[tuple[str, str] | list[str]]" = (),
        exclusive: "Iterable[tuple[str, str] | list[str]]" = (),
        relative: "Iterable[Relative]" = (),
        in_place: "Iterable[InPlace]" = (),
        reuse_costs: "Iterable[ReuseCost]" = (),
        bank_conflicts: "Iterable[BankConflict]" = (),
        objective: "list[str] | tuple[str, ...] | None" = None,
        version: "SupportsIndex" = 1,
    ) -> None: ...

    def terms(self) -> tuple[str, ...]:
        """The objective in force."""
        return usual_terms(len(self.pools)) if self.objective is None else self.objective


def usual_terms(pools: int) -> tuple[str, ...]:
    """What is minimised with so many pools where a problem does not say."""
    return ("peak",) if pools == 1 else ("placement_cost", "peak")


def access_count(buffer: Buffer) -> int:
    """Bytes moved in the buffer's life; none for a buffer of size 0."""
    if not buffer.size:
        return 0
    return buffer.size if buffer.accesses is None else buffer.accesses


@Remembered
def access_counts(problem: Problem) -> list[int]:
    """The same of all buffers. Read-only: planner and judge use one and the same."""
    return list(map(access_count, problem.buffers))


# What columns say of a buffer, or need not.
_IN_COLUMNS: Final = ("id", "size", "alignment", "lifetime", "accesses", "pools", "group")
RARE_FIELDS: Final = [field.name for field in fields(Buffer) if field.name not in _IN_COLUMNS]


@Remembered
def buffer_columns(problem: Problem) -> BufferColumns | None:
    """The buffers as columns; None where one has not one life of 64-bit times, or a rare field."""
    return columns_of_buffers(problem.buffers, RARE_FIELDS)


def named_pools(buffer: Buffer) -> tuple[str, ...] | None:
    """The pool that the buffer is pinned to, or its list of pools; None: it may go to any."""
    return (buffer.pool,) if buffer.pool is not None else buffer.pools


@Remembered
def pool_lists(problem: Problem) -> list[tuple[str, ...] | None]:
    """The same of all buffers. Read-only."""
    return list(map(named_pools, problem.buffers))


def allowed_pools(problem: Problem, buffer: Buffer) -> tuple[str, ...]:
    """Ids of the pools the buffer may go to, preferred first."""
    named = named_pools(buffer)
    return named if named is not None else _all_pools(problem)


@Remembered
def _all_pools(problem: Problem) -> tuple[str, ...]:
    """The ids of all pools: one tuple for all buffers that may go to any."""
    return tuple(pool.id for pool in problem.pools)


def choice_count(problem: Problem) -> int:
    """How many pools the buffers may go to, over all buffers: what a plan chooses from."""
    return sum(len(allowed_pools(problem, buffer)) for buffer in problem.buffers)


def end_of(pool: Pool) -> int:
    """The end of the pool: its capacity, or the largest address if it has none."""
    return LIMIT if pool.capacity is None else pool.capacity


def room_in(pool: Pool) -> int:
    """The bytes of the pool that are not reserved."""
    return end_of(pool) - sum(entry.size for entry in pool.reserved)


def place_of(problem: Problem, buffer: Buffer, pool: str) -> int:
    """The position of the pool among those the buffer may go to; 0: the preferred one."""
    return allowed_pools(problem, buffer).index(pool)


def reserved_bytes(pool: Pool) -> int:
    """The reserved bytes of the pool, each counted once."""
    return measure((entry.offset, entry.offset + entry.size) for entry in pool.reserved)


@model_class
class Target(Document):
    """The memories of a device or a board, the preferred one first."""

    source: str | None = Field(
        default=None, max_length=4096, description="Where the facts are from; a note without effect."
    )
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)] = Field(
        description="Instead of the pools of the problem."
    )

    def __init__(
        self,
        *,
        pools: "Iterable[Pool]",
        name: "str | None" = None,
        source: "str | None" = None,
        version: "SupportsIndex" = 1,
    ) -> None: ...


class Minimised(Protocol):
    """A problem or a graph: something with an objective."""

    def terms(self) -> tuple[str, ...]: ...


class Kind(StrEnum):
    """The kind of a term, with its name on the wire."""

    PEAK = "peak"
    MAX_PEAK = "max_peak"
    PLACEMENT_COST = "placement_cost"
    PREFERENCE = "preference"
    REUSE_COST = "reuse_cost"
    BANK_COST = "bank_cost"
    MOVES = "moves"
    POOL_PEAK = "peak:POOL"


PLAIN_KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.POOL_PEAK)
"""Kinds that need no pool."""


@record
class Term:
    """A term. It has a pool if it is the peak of that pool alone."""

    kind: Kind
    pool: str | None = None

    def __str__(self) -> str:
        return self.kind.value if self.pool is None else f"{Kind.PEAK.value}:{self.pool}"

    def is_peak_of(self, pool: str, pool_count: int) -> bool:
        """Whether this is the peak of that pool: by name, or because there is no other pool."""
        return self.pool == pool or (pool_count == 1 and self.kind in (Kind.PEAK, Kind.MAX_PEAK))


_PLAIN_TERMS: Final = {kind.value: Term(kind) for kind in PLAIN_KINDS}
PEAK: Final = Term(Kind.PEAK)
MAX_PEAK: Final = Term(Kind.MAX_PEAK)
PLACEMENT_COST: Final = Term(Kind.PLACEMENT_COST)
MOVES: Final = Term(Kind.MOVES)
COST: Final = "cost"
"""The term of a graph's plan for the work of its schedule. It is none of a problem: places cost no work."""


def peak_of(pool: str) -> Term:
    """The term for the peak of that pool alone."""
    return Term(Kind.POOL_PEAK, pool)


def parse_term(text: str) -> Term | None:
    """The term of a text, whether or not its pool exists; None if the text is not a term."""
    head, colon, pool = text.partition(":")
    if colon:
        return peak_of(pool) if head == Kind.PEAK.value else None
    return _PLAIN_TERMS.get(text)


def term_of(text: str) -> Term:
    """The term of a text; ValueError if it is none."""
    term = parse_term(text)
    if term is None:
        raise ValueError(f"{text!r} is not an objective")
    return term


def terms_of(problem: Minimised) -> tuple[Term, ...]:
    """The terms of a valid problem's objective; ValueError if one of them is not a term."""
    return tuple(map(term_of, problem.terms()))


def counts(problem: Minimised, kind: Kind) -> bool:
    """Whether the objective has a term of this kind."""
    return any(term is not None and term.kind is kind for term in map(parse_term, problem.terms()))


@record
class Group:
    """Buffers (by index) and their distances from the lowest of them."""

    members: tuple[int, ...]
    deltas: tuple[int, ...]


@record
class Congruence:
    """All offsets that are `residue` modulo `modulus`."""

    modulus: int
    residue: int

    def meet(self, other: "Congruence") -> "Congruence | None":
        """The offsets in both, if there are any."""
        common = gcd(self.modulus, other.modulus)
        apart = other.residue - self.residue
        if apart % common:
            return None
        step = other.modulus // common
        times = apart // common * pow(self.modulus // common, -1, step) % step
        modulus = lcm(self.modulus, other.modulus)
        return Congruence(modulus, (self.residue + self.modulus * times) % modulus)


ANYWHERE = Congruence(1, 0)


class Distances:
    """The groups of tied buffers and the distances in them, updated tie by tie."""

    def __init__(self) -> None:
        self._parent: dict[int, tuple[int, int]] = {}

    def find(self, index: int) -> tuple[int, int]:
        """The representative of the buffer's group, and the buffer's distance from it."""
        trail: list[tuple[int, int]] = []
        while index in self._parent:
            parent, distance = self._parent[index]
            trail.append((index, distance))
            index = parent
        total = 0
        for child, distance in reversed(trail):
            total += distance
            self._parent[child] = (index, total)
        return index, total

    def tie(self, index: int, base: int, distance: int) -> int | None:
        """Put `index` at `distance` from `base`; if they are tied already, return the distance they have."""
        root, at = self.find(index)
        base_root, base_at = self.find(base)
        if root == base_root:
            return at - base_at
        self._parent[root] = (base_root, base_at + distance - at)
        return None

    def members(self) -> Iterable[int]:
        """Every tied buffer that is not the representative of its group."""
        return self._parent.keys()


def rigid_groups(problem: Problem, index_of: dict[str, int]) -> list[Group]:
    """The groups of two buffers and more, in the order of their first buffers. Ties must be consistent.

    A buffer of size 0 passes on the distances of those that are tied through it, and is in no group itself.
    """
    distances = Distances()
    for tie in problem.relative:
        distances.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)
    by_root: dict[int, list[tuple[int, int]]] = {}
    for index in list(distances.members()):
        root, at = distances.find(index)
        by_root.setdefault(root, [(root, 0)]).append((index, at))
    groups = []
    for tied in by_root.values():
        members = sorted((index, at) for index, at in tied if problem.buffers[index].size)
        if len(members) < 2:
            continue
        lowest = min(at for _, at in members)
        groups.append(Group(tuple(i for i, _ in members), tuple(at - lowest for _, at in members)))
    groups.sort(key=lambda group: group.members[0])
    return groups


def with_groups(problem: Problem, among: Collection[str]) -> set[str]:
    """These buffers and all that are tied to them, those tied through a buffer of size 0 as well."""
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    distances = Distances()
    for tie in problem.relative:
        distances.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)
    groups = {distances.find(index_of[name])[0] for name in among}
    return {buffer.id for index, buffer in enumerate(problem.buffers) if distances.find(index)[0] in groups}


def subproblem(problem: Problem, names: Collection[str]) -> Problem:
    """The problem of these buffers alone, each with all of its rigid group."""
    members = with_groups(problem, names)
    return replace(
        problem,
        buffers=tuple(buffer for buffer in problem.buffers if buffer.id in members),
        conflicts=tuple(pair for pair in problem.conflicts if members.issuperset(pair)),
        exclusive=tuple(pair for pair in problem.exclusive if members.issuperset(pair)),
        relative=tuple(tie for tie in problem.relative if tie.buffer in members),
        in_place=tuple(pair for pair in problem.in_place if members.issuperset((pair.input, pair.output))),
        reuse_costs=tuple(cost for cost in problem.reuse_costs if members.issuperset(cost.buffers)),
        bank_conflicts=bank_conflicts_among(problem, members),
    )


def bank_conflicts_among(problem: Problem, members: Collection[str]) -> tuple[BankConflict, ...]:
    """The bank conflicts as far as they are between these buffers."""
    among = []
    for entry in problem.bank_conflicts:
        named = tuple(name for name in entry.buffers if name in members)
        if len(named) > 1:
            among.append(replace(entry, buffers=named))
    return tuple(among)


def bank_ranges(pool: Pool) -> list[Range]:
    """The banks of the pool in the order of their addresses."""
    return sorted(
        (run.offset + run.size * at, run.offset + run.size * (at + 1))
        for run in pool.banks
        for at in range(run.count)
    )


def uses_banks(problem: Problem) -> bool:
    """Whether anything in the problem depends on banks: banks alone change no plan."""
    if problem.bank_conflicts:
        return True
    return buffer_columns(problem) is None and any(map(has_bank_rule, problem.buffers))


def bank_pairs(problem: Problem) -> dict[Pair, int | None]:
    """By pair of buffers, the smaller id first, what it costs that both touch one bank; None: they may not.

    Buffers of size 0 touch none.
    """
    if not problem.bank_conflicts:
        return {}
    empty = {buffer.id for buffer in problem.buffers if not buffer.size}
    pairs: dict[Pair, int | None] = {}
    for entry in problem.bank_conflicts:
        named = sorted(name for name in entry.buffers if name not in empty)
        for pair in combinations(named, 2):
            before = pairs.get(pair, 0)
            pairs[pair] = None if before is None or entry.cost is None else before + entry.cost
    return pairs


def has_bank_rule(buffer: Buffer) -> bool:
    """Whether the buffer alone may not be everywhere because of banks; one of size 0 may."""
    return bool(buffer.size) and (bool(buffer.within_bank) or buffer.banks is not None)


def alignment_in(buffer: Buffer, pool: Pool, delta: int = 0) -> Congruence:
    """The offsets of a group at which this buffer, `delta` above it, is aligned in the pool."""
    modulus = lcm(buffer.alignment, pool.alignment)
    return Congruence(modulus, -(delta + (pool.base or 0)) % modulus)


def group_alignment(buffers: Iterable[tuple[Buffer, int]], pool: Pool) -> Congruence | None:
    """The offsets at which all buffers of a group are aligned in the pool; None if there are none."""
    common: Congruence | None = ANYWHERE
    for buffer, delta in buffers:
        if common is None:
            return None
        if buffer.alignment == pool.alignment == 1:
            continue  # anywhere, as most are
        common = common.meet(alignment_in(buffer, pool, delta))
    return common


def cycles(ties: Iterable[Relative]) -> Iterator[tuple[str, ...]]:
    """Chains of `relative` that come back to their start, each once."""
    bases: dict[str, list[str]] = {}
    for tie in ties:
        bases.setdefault(tie.buffer, []).append(tie.base)
    done: set[str] = set()
    for start in bases:
        if start in done:
            continue
        chain: list[str] = []
        on_chain: dict[str, int] = {}
        stack = [(start, iter(bases[start]))]
        chain.append(start)
        on_chain[start] = 0
        while stack:
            node, following = stack[-1]
            base = next(following, None)
            if base is None:
                stack.pop()
                chain.pop()
                del on_chain[node]
                done.add(node)
            elif base in on_chain:
                yield (*chain[on_chain[base] :], base)
            elif base not in done:
                on_chain[base] = len(chain)
                chain.append(base)
                stack.append((base, iter(bases.get(base, ()))))


@record
class Profile:
    """Live bytes over time: `live[i]` from `times[i]` until `times[i + 1]`.

    The last time ends the last step. `always` bytes are part of every step; `timeless` counts the buffers
    without any lifetime, which are in none.
    """

    times: tuple[int, ...]
    live: tuple[int, ...]
    always: int
    timeless: int

    @property
    def peak(self) -> int:
        """The most bytes live at once."""
        return max(self.live, default=self.always)


@record
class Moment:
    """A step of the profile, and the buffers live in it, largest first."""

    begin: int
    end: int
    live: int
    buffers: tuple[Buffer, ...]


def spans(buffer: Buffer) -> Sequence[Interval]:
    """The live ranges of a buffer as disjoint intervals; empty if it is always live or has no lifetime."""
    if buffer.lifetime is not None:
        return () if buffer.lifetime == ALWAYS else (buffer.lifetime,)
    return merged(buffer.lifetimes or ())


def profile(buffers: Iterable[Buffer]) -> Profile:
    """The step function of these buffers."""
    changes: dict[int, int] = {}
    always = timeless = 0
    for buffer in buffers:
        ranges = spans(buffer)
        if not ranges:
            if buffer.lifetime == ALWAYS:
                always += buffer.size
            else:
                timeless += 1
        for begin, end in ranges:
            changes[begin] = changes.get(begin, 0) + buffer.size
            changes[end] = changes.get(end, 0) - buffer.size
    times = sorted(changes)
    live = []
    level = always
    for time in times[:-1]:
        level += changes[time]
        live.append(level)
    return Profile(tuple(times), tuple(live), always, timeless)


def counted_once(problem: Problem) -> tuple[Buffer, ...]:
    """The buffers for sums of live bytes, where tied ones share bytes: these are those of the largest alone.

    They are live as long as any of those that share them is.
    """
    if not problem.relative:
        return problem.buffers
    buffers = problem.buffers
    index_of = {buffer.id: index for index, buffer in enumerate(buffers)}
    instead: dict[int, list[Buffer]] = {}
    for group in rigid_groups(problem, index_of):
        ranges = {
            member: (delta, delta + buffers[member].size)
            for member, delta in zip(group.members, group.deltas, strict=True)
            if buffers[member].lifetime == ALWAYS or spans(buffers[member])
        }
        if measure(ranges.values()) == sum(buffers[member].size for member in ranges):
            continue
        instead.update((member, []) for member in ranges)
        for sharing, size in _shared_bytes(ranges).items():
            owner = min(sharing, key=lambda member: (-buffers[member].size, member))
            lives = merged(life for member in sharing for life in spans(buffers[member]))
            always = any(buffers[member].lifetime == ALWAYS for member in sharing)
            instead[owner].append(
                replace(
                    buffers[owner],
                    size=size,
                    accesses=None,
                    lifetime=ALWAYS if always else None,
                    lifetimes=None if always else tuple(lives),
                )
            )
    return tuple(part for index, buffer in enumerate(buffers) for part in instead.get(index, (buffer,)))


def _shared_bytes(ranges: Mapping[int, Range]) -> dict[tuple[int, ...], int]:
    """How many bytes are in each set of ranges and in no other range."""
    edges = sorted((edge, entry) for entry, spanned in ranges.items() for edge in spanned)
    sharing: set[int] = set()
    sizes: dict[tuple[int, ...], int] = {}
    before = 0
    for edge, entry in edges:
        if sharing and edge > before:
            key = tuple(sorted(sharing))
            sizes[key] = sizes.get(key, 0) + edge - before
        before = edge
        sharing ^= {entry}
    return sizes


def hardest(buffers: Sequence[Buffer], steps: Profile, count: int) -> tuple[Moment, ...]:
    """The `count` steps with the most live bytes among those that no neighbour exceeds, hardest first."""
    live = steps.live
    chosen = nlargest(count, _summits(live), key=lambda step: (live[step], -step))
    live_in: list[list[Buffer]] = [[] for _ in chosen]
    begins = [steps.times[step] for step in chosen]
    for buffer in buffers:
        everywhere = buffer.lifetime == ALWAYS
        ranges = spans(buffer)
        for there, begin in zip(live_in, begins, strict=True):
            if everywhere or any(first <= begin < last for first, last in ranges):
                there.append(buffer)
    return tuple(
        Moment(
            steps.times[step],
            steps.times[step + 1],
            live[step],
            tuple(sorted(there, key=lambda buffer: (-buffer.size, buffer.id))),
        )
        for step, there in zip(chosen, live_in, strict=True)
    )


def _summits(live: Sequence[int]) -> Iterable[int]:
    """The first step of each plateau that is higher than both of its neighbours."""
    start = 0
    for step in range(len(live)):
        if step and live[step] != live[step - 1]:
            start = step
        ends = step + 1 == len(live) or live[step + 1] != live[step]
        if (
            ends
            and (start == 0 or live[start - 1] < live[step])
            and (step + 1 == len(live) or live[step + 1] < live[step])
        ):
            yield start
