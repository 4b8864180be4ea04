"""A plan as code has it: arenas, which are arrays, and the place of each buffer in one of them.

A pool without a base is one array: the linker chooses its address, and offset 0 is its first byte. A pool
with a base is at a fixed address, where others have what is reserved: each stretch between reserved ranges
that holds buffers is an array, from its first byte that is used to its last.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import lcm
from typing import TYPE_CHECKING, Final

from memstow.planner.exports.identifiers import identifiers, in_comment
from memstow.planner.exports.naming import Naming
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Placement, Plan, peaks
from memstow.planner.model.problem import LIMIT, Buffer, Pool, Problem, merged
from memstow.planner.reading.printable import printable

if TYPE_CHECKING:
    from memstow.planner.graph.labels import Label

# The largest alignment that every compiler for ELF accepts.
_LARGEST_ALIGNMENT: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class Arena:
    """An array that holds the buffers of a pool, or of a stretch of it."""

    name: str
    pool: Pool
    start: int
    """The offset in the pool of its first byte."""
    size: int
    alignment: int
    """What the compiler must grant; of an array at a fixed address, what that address has."""
    section: str
    is_section_given: bool
    """Whether the linker script of the program has the section, and places it."""

    @property
    def address(self) -> int | None:
        """Where it must be, if that is fixed."""
        return None if self.pool.base is None else self.pool.base + self.start


@dataclass(frozen=True, slots=True)
class Place:
    """Where one buffer is."""

    name: str
    buffer: Buffer
    pool: Pool
    offset: int
    alignment: int
    """Of its address: its own and that of its pool."""
    arena: Arena | None
    """None for a buffer of size 0 that is outside of every arena."""

    @property
    def address(self) -> int | None:
        """Its absolute address, if its pool has a base."""
        return None if self.pool.base is None else self.pool.base + self.offset

    @property
    def index(self) -> int:
        """Its first byte, counted from that of its arena."""
        return self.offset - self.arena.start if self.arena else 0


class MemoryMap:
    """Arenas and places of a plan, with the names they have in code."""

    def __init__(
        self, problem: Problem, plan: Plan, naming: Naming, labels: "Mapping[str, Label] | None" = None
    ) -> None:
        self.problem = problem
        self._labels = labels or {}
        self.naming = naming
        self._names = identifiers(buffer.id for buffer in problem.buffers)
        self._placed = {place.buffer: place for place in plan.placements}
        self.peaks = peaks(problem, plan.placements)
        self._stretches = [
            (pool, number, members)
            for pool, placed in self._by_pool()
            for number, members in enumerate(_stretches(pool, placed))
        ]
        self._pool_names = identifiers([pool.id for pool in problem.pools])

    def pool_name(self, pool: Pool) -> str:
        """The name of the pool, as the end of an identifier."""
        return self._pool_names[pool.id]

    def comment(self, place: "Place") -> str:
        """Which buffer it is, as comments may say that."""
        label = self._labels.get(place.buffer.id)
        what = "" if label is None else f": {in_comment(str(label))}"
        return f"Buffer {in_comment(place.buffer.id)} in {in_comment(place.pool.id)}{what}."

    @cached_property
    def arenas(self) -> tuple[Arena, ...]:
        """All arenas, in the order of pools and of addresses."""
        taken = {name.lower() for name in self._pool_names.values()}
        made = []
        for pool, number, members in self._stretches:
            name = self._pool_names[pool.id]
            if number:
                name = next(it for it in _numbered(name, number + 1) if it.lower() not in taken)
                taken.add(name.lower())
            made.append(self._arena(name, pool, members))
        return tuple(made)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The places of all buffers, in the order of the problem."""
        pools = {pool.id: pool for pool in self.problem.pools}
        arenas: dict[str, list[Arena]] = {}
        for arena in self.arenas:
            arenas.setdefault(arena.pool.id, []).append(arena)
        made = []
        for buffer in self.problem.buffers:
            placed = self._placed[buffer.id]
            pool = pools[placed.pool]
            inside = _arena_at(arenas.get(pool.id, ()), placed.offset, buffer.size)
            # Above the limit only the address 0 is aligned, and C cannot count so far.
            alignment = min(lcm(buffer.alignment, pool.alignment), LIMIT)
            made.append(Place(self._names[buffer.id], buffer, pool, placed.offset, alignment, inside))
        return tuple(made)

    def _by_pool(self) -> Iterator[tuple[Pool, list[tuple[Buffer, Placement]]]]:
        members: dict[str, list[tuple[Buffer, Placement]]] = {}
        for buffer in self.problem.buffers:
            place = self._placed[buffer.id]
            members.setdefault(place.pool, []).append((buffer, place))
        for pool in self.problem.pools:
            yield pool, members.get(pool.id, [])

    def _arena(self, name: str, pool: Pool, members: Sequence[tuple[Buffer, Placement]]) -> Arena:
        start = 0 if pool.base is None else min(place.offset for buffer, place in members if buffer.size)
        size = max(place.offset + buffer.size for buffer, place in members if buffer.size) - start
        given = self.naming.sections.get(pool.id)
        # Linker scripts collect what begins with .bss; what has an address must be a section of its own.
        own = f"{'.bss' if pool.base is None else '.memstow'}.{self.naming.symbol}.{name.lower()}"
        alignment = _alignment(pool, pool.base, start, (buffer for buffer, _ in members))
        return Arena(name, pool, start, size, alignment, given or own, given is not None)


def _numbered(name: str, first: int) -> Iterator[str]:
    return (f"{name}_{number}" for number in count(first))


def _arena_at(arenas: Sequence[Arena], offset: int, size: int) -> Arena | None:
    """The arena of a pool that holds these bytes; a buffer of size 0 may be at its end."""
    index = bisect_right(arenas, offset, key=lambda arena: arena.start) - 1
    if index < 0 or offset + size > arenas[index].start + arenas[index].size:
        return None
    return arenas[index]


def _stretches(
    pool: Pool, members: Sequence[tuple[Buffer, Placement]]
) -> Iterator[Sequence[tuple[Buffer, Placement]]]:
    """The buffers of each array of the pool; none where no buffer has bytes."""
    if not any(buffer.size for buffer, _ in members):
        return
    if pool.base is None:
        yield members
        return
    ends = [end for _, end in merged((it.offset, it.offset + it.size) for it in pool.reserved)]
    at: dict[int, list[tuple[Buffer, Placement]]] = {}
    for buffer, place in members:
        if buffer.size:
            at.setdefault(bisect_right(ends, place.offset), []).append((buffer, place))
    for _, stretch in sorted(at.items()):
        yield stretch


def _alignment(pool: Pool, base: int | None, start: int, buffers: Iterable[Buffer]) -> int:
    """What the array must be aligned to, so that all of its buffers are."""
    wanted = 1
    for alignment in sorted({pool.alignment, *(buffer.alignment for buffer in buffers)}):
        power = alignment & -alignment
        if base is None and (alignment != power or power > _LARGEST_ALIGNMENT):
            message = (
                f"an array cannot be aligned to {alignment:,}: give the pool a `base`, or use alignments "
                f"that are powers of two, up to {_LARGEST_ALIGNMENT:,}"
            )
            raise InputError.single("not_expressible", f"pool {printable(pool.id)!r}", message)
        wanted = max(wanted, power)
    address = 0 if base is None else base + start
    # An array at a fixed address has what that address has.
    return min(wanted, address & -address or wanted, _LARGEST_ALIGNMENT)
