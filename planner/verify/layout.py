"""The problem and a layout of it by index; the rules for a single buffer or rigid group; peaks and values.

`ProblemIndex` resolves ids to indices and keeps everything else in the terms of the user. `Layout` holds the
placements of a plan; `check_places` notes those that break a rule: pools, pins, alignments, capacities,
reserved ranges and distances (`overlaps.py` compares buffers with each other). `ObjectiveValues` counts the
peak of each pool and the value of each term from scratch.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import gcd, lcm
from operator import add
from typing import NamedTuple

from memstow.planner.model._instances import pair_numbers
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import (
    COST,
    Buffer,
    Kind,
    Pool,
    Problem,
    Range,
    access_counts,
    allowed_pools,
    buffer_columns,
    end_of,
    merged,
    named_pools,
    parse_term,
)
from memstow.planner.verify.verdict import Code, CostTerm, Findings

IndexPair = tuple[int, int]
Event = tuple[int, int, int]
"""A time, 1 where a life begins then and 0 where one ends, and the buffer."""

ALONE = -1
"""The group of a buffer that is in none."""


class Grid(NamedTuple):
    """The offsets a buffer may have in a pool: `first`, `first + step`, ..."""

    step: int
    first: int

    def lowest_from(self, least: int) -> int:
        """The lowest offset that is at least this one and congruent to those of the grid."""
        return least + (self.first - least) % self.step


def both(one: Grid, other: Grid) -> Grid | None:
    """The offsets on both grids, if there are any."""
    common = gcd(one.step, other.step)
    if (other.first - one.first) % common:
        return None
    step = other.step // common
    times = (other.first - one.first) // common * pow(one.step // common, -1, step) % step
    return Grid(lcm(one.step, other.step), one.first + times * one.step)


def lives_meet(one: Sequence[Range], other: Sequence[Range]) -> bool:
    """Whether two buffers with these lives live together at some moment."""
    return any(begin < last and first < end for begin, end in one for first, last in other)


class ProblemIndex:
    """One problem with its buffers and pools by index: pairs, reserved ranges, rigid groups, grids, lives."""

    def __init__(self, problem: Problem, findings: Findings) -> None:
        self.problem = problem
        self.buffers: tuple[Buffer, ...] = problem.buffers
        self.sizes = [buffer.size for buffer in problem.buffers]
        self.columns = buffer_columns(problem)
        """The same as columns, where each buffer has one life and none a pin."""
        self.pools: tuple[Pool, ...] = problem.pools
        self._findings = findings
        self.buffer_index = {buffer.id: i for i, buffer in enumerate(problem.buffers)}
        self.pool_index = {pool.id: p for p, pool in enumerate(problem.pools)}
        self._check_ids()

        self.reserved: list[list[Range]] = [
            merged((r.offset, r.offset + r.size) for r in pool.reserved) for pool in problem.pools
        ]
        self.ends = [end_of(pool) for pool in problem.pools]
        self.conflicts = self._pairs("conflicts", *_sides(problem.conflicts))
        self.exclusive = self._pairs("exclusive", *_sides(problem.exclusive))
        self.exclusive -= self.conflicts
        """Pairs that may share bytes while both live: those that are listed as a conflict, too, may not."""
        in_place = problem.in_place
        self.in_place = self._pairs("in_place", [e.input for e in in_place], [e.output for e in in_place])
        self.reuse_costs = [
            (pair, entry.cost)
            for entry in problem.reuse_costs
            if (pair := self._resolved("reuse_costs", *entry.buffers)) is not None
        ]
        self.banks = [_banks(pool) for pool in problem.pools]
        """By pool, its banks by address."""
        self.bank_conflicts = [
            (sorted(named), entry.cost)
            for entry in problem.bank_conflicts
            if (named := self._all_of("bank_conflicts", entry.buffers)) is not None
        ]
        self.relative = [
            (pair[0], pair[1], entry.offset)
            for entry in problem.relative
            if (pair := self._resolved("relative", entry.buffer, entry.base)) is not None
        ]
        self.rigid = Rigid(self.sizes, self.relative)
        for buffer, base, _ in self.rigid.contradicted:
            self._invalid("two distances between {!r} and {!r}", self.id_of(buffer), self.id_of(base))
        self.span = self._span()
        self._grids: dict[tuple[int, int], Grid] = {}
        self._group_grids: dict[tuple[int, int], Grid | None] = {}
        self._allowed_to_group: dict[int, frozenset[int]] = {}
        self._allowed_by_names: dict[tuple[str, ...] | None, Sequence[int]] = {}

    def id_of(self, buffer: int) -> str:
        return self.buffers[buffer].id

    def grid(self, alignment: int, pool: int) -> Grid:
        """Where a buffer of that alignment may start: base + offset is a multiple of both alignments."""
        grid = self._grids.get((alignment, pool))
        if grid is None:
            step = lcm(alignment, self.pools[pool].alignment)
            grid = self._grids[alignment, pool] = Grid(step, -(self.pools[pool].base or 0) % step)
        return grid

    def grid_of(self, buffer: int, pool: int) -> Grid | None:
        """Where this buffer may start so that its whole rigid group is aligned; None: nowhere."""
        group = self.rigid.group[buffer]
        if group == ALONE:
            return self.grid(self.buffers[buffer].alignment, pool)
        if (group, pool) not in self._group_grids:
            # Where the origin of the group's deltas may be.
            common: Grid | None = Grid(1, 0)
            for member in self.rigid.members[group]:
                step, first = self.grid(self.buffers[member].alignment, pool)
                common = common and both(common, Grid(step, (first - self.rigid.delta[member]) % step))
            self._group_grids[group, pool] = common
        origin = self._group_grids[group, pool]
        return origin and Grid(origin.step, (origin.first + self.rigid.delta[buffer]) % origin.step)

    def allowed(self, buffer: int) -> Sequence[int]:
        """Pools the buffer may be in, its pin and those of its group respected."""
        group = self.rigid.group[buffer]
        if group == ALONE:
            return self._allowed_alone(buffer)
        if group not in self._allowed_to_group:
            members = self.rigid.members[group]
            self._allowed_to_group[group] = frozenset.intersection(
                *(frozenset(self._allowed_alone(member)) for member in members)
            )
        common = self._allowed_to_group[group]
        return [pool for pool in self._allowed_alone(buffer) if pool in common]

    def pool_kind(self, buffer: int) -> tuple[str, ...] | int | None:
        """Equal for buffers that may be in the same pools: their group, or the pools that they name."""
        group = self.rigid.group[buffer]
        return named_pools(self.buffers[buffer]) if group == ALONE else group

    def _allowed_alone(self, buffer: int) -> Sequence[int]:
        named = named_pools(self.buffers[buffer])
        allowed = self._allowed_by_names.get(named)
        if allowed is None:
            names = allowed_pools(self.problem, self.buffers[buffer])
            allowed = [self.pool_index[name] for name in names if name in self.pool_index]
            self._allowed_by_names[named] = allowed
        return allowed

    def reserved_within(self, pool: int, begin: int, end: int) -> Range | None:
        """The first reserved range of the pool that shares a byte with these bytes."""
        ranges = self.reserved[pool]
        position = bisect_right(ranges, begin, key=lambda reserved: reserved[1])
        return ranges[position] if position < len(ranges) and ranges[position][0] < end else None

    def begin_in_banks(self, buffer: int, pool: int, least: int) -> int | None:
        """The least offset from there on at which the buffer is in banks that it may be in; None: nowhere."""
        entry = self.buffers[buffer]
        if not entry.size or not (entry.within_bank or entry.banks is not None):
            return least
        begins = (
            max(begin, least)
            for begin, end in self.stretches(buffer, pool)
            if end - entry.size >= max(begin, least)
        )
        return next(begins, None)

    def stretches(self, buffer: int, pool: int) -> list[Range]:
        """The bytes of the banks that the buffer may be in.

        Where it need not be within one, those that are next to each other are together.
        """
        entry = self.buffers[buffer]
        last_end = None
        stretches: list[Range] = []
        for number, (begin, end) in enumerate(self.banks[pool]):
            if entry.banks is not None and number not in entry.banks:
                continue
            if begin == last_end and not entry.within_bank:
                stretches[-1] = (stretches[-1][0], end)
            else:
                stretches.append((begin, end))
            last_end = end
        return stretches

    def banks_touched(self, pool: int, begin: int, end: int) -> range:
        """The numbers of the banks that have one of these bytes."""
        banks = self.banks[pool]
        first = bisect_right(banks, begin, key=lambda bank: bank[1])
        return range(first, max(first, bisect_left(banks, end, key=lambda bank: bank[0])))

    def lives(self, buffer: int) -> list[Range]:
        """When the buffer lives, as disjoint ranges; "always" is the span of all lifetimes."""
        entry = self.buffers[buffer]
        if entry.lifetime is not None:
            if isinstance(entry.lifetime, str):
                return [self.span]
            return [entry.lifetime] if entry.lifetime[0] < entry.lifetime[1] else []
        return merged(entry.lifetimes) if entry.lifetimes else []

    def life_columns(self, buffers: Iterable[int]) -> tuple[list[int], list[int], list[int]]:
        """The buffer, the begin and the end of each life of these buffers."""
        if self.columns is not None:
            begins, ends = self.columns.begins, self.columns.ends
            lived = [i for i in buffers if begins[i] < ends[i]]
            return lived, list(map(begins.__getitem__, lived)), list(map(ends.__getitem__, lived))
        lives = [(buffer, begin, end) for buffer in buffers for begin, end in self.lives(buffer)]
        return [life[0] for life in lives], [life[1] for life in lives], [life[2] for life in lives]

    def events(self, buffers: Iterable[int]) -> list[Event]:
        """Begins and ends of the lives of these buffers in order of time; at one moment ends come first."""
        lives = list(zip(*self.life_columns(buffers), strict=True))
        return sorted([(begin, 1, i) for i, begin, _ in lives] + [(end, 0, i) for i, _, end in lives])

    def lives_at(self, buffer: int, time: int) -> bool:
        entry = self.buffers[buffer]
        if isinstance(entry.lifetime, str):
            return True
        if entry.lifetime is not None:
            return entry.lifetime[0] <= time < entry.lifetime[1]
        return any(begin <= time < end for begin, end in entry.lifetimes or ())

    def living_at(self, time: int) -> list[int]:
        """The buffers that live at that moment."""
        if self.columns is None:
            return [i for i in range(len(self.buffers)) if self.lives_at(i, time)]
        lives = zip(self.columns.begins, self.columns.ends, strict=True)
        return [i for i, (begin, end) in enumerate(lives) if begin <= time < end]

    def conflict_lifted(self, pair: IndexPair, same_offset: bool) -> bool:
        """Whether two buffers that live together may share bytes all the same."""
        if pair in self.in_place and same_offset:
            return True
        return pair in self.exclusive or self.rigid.together(*pair)

    @cached_property
    def sharing(self) -> dict[int, set[int]]:
        """By buffer, those that some layout lets share bytes with it while both live, its group aside.

        Exclusive ones may everywhere, pairs in place where they begin together (`conflict_lifted`).
        """
        sharing: dict[int, set[int]] = {}
        for one, other in (*self.in_place, *self.exclusive):
            sharing.setdefault(one, set()).add(other)
            sharing.setdefault(other, set()).add(one)
        return sharing

    def _span(self) -> Range:
        if self.columns is not None and self.buffers:
            first, last = min(self.columns.begins), max(self.columns.ends)
            return (first, last) if first < last else (0, 1)
        begin: int | None = None
        end: int | None = None
        for buffer in self.buffers:
            lifetime = buffer.lifetime
            if isinstance(lifetime, str):
                continue
            for first, last in (lifetime,) if lifetime is not None else buffer.lifetimes or ():
                if begin is None or first < begin:
                    begin = first
                if end is None or last > end:
                    end = last
        if begin is None or end is None or end <= begin:
            return (0, 1)
        return (begin, end)

    def _pairs(self, field: str, ones: list[str], others: list[str]) -> set[IndexPair]:
        pairs, all_known = pair_numbers(self.buffer_index, ones, others, sorted=False)
        if not all_known:
            for one, other in zip(ones, others, strict=True):
                self._resolved(field, one, other)
        return set(pairs)

    def _resolved(self, field: str, one: str, other: str) -> IndexPair | None:
        first, second = self.buffer_index.get(one), self.buffer_index.get(other)
        if first is None or second is None:
            self._invalid("{} names {!r}, which is not a buffer", field, one if first is None else other)
            return None
        if first == second:
            self._invalid("{} pairs {!r} with itself", field, one)
            return None
        return first, second

    def _all_of(self, field: str, names: Sequence[str]) -> list[int] | None:
        """Their indices; None where one is no buffer or is there twice."""
        numbers = [self.buffer_index.get(name) for name in names]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers):
            self._invalid("{} names {!r}, which is not a buffer", field, names[numbers.index(None)])
            return None
        if len(set(known)) < len(known):
            self._invalid("{} names a buffer twice", field)
            return None
        return known

    def _check_ids(self) -> None:
        if len(self.buffer_index) < len(self.buffers):
            self._invalid("two buffers have one id")
        if len(self.pool_index) < len(self.pools):
            self._invalid("two pools have one id")
        named = {pool for buffer in self.buffers if buffer.pools is not None for pool in buffer.pools}
        for pool in sorted(named - self.pool_index.keys()):
            self._invalid("an allowed pool is {!r}, which is not a pool", pool)
        for buffer in self.buffers if self.columns is None else ():
            if buffer.offset is not None and buffer.pool is None:
                self._invalid("{!r} is pinned to an offset but to no pool", buffer.id)
            if buffer.lifetime is not None and buffer.lifetimes is not None:
                self._invalid("{!r} has both a lifetime and lifetimes", buffer.id)
            if buffer.pool is not None and buffer.pool not in self.pool_index:
                self._invalid("{!r} is pinned to {!r}, which is not a pool", buffer.id, buffer.pool)
        for text in self.problem.terms():
            term = parse_term(text)
            if term is None or (term.pool is not None and term.pool not in self.pool_index):
                self._invalid("{!r} is not an objective", text)

    def _invalid(self, text: str, *values: object) -> None:
        self._findings.add(Code.INVALID_PROBLEM, "the problem is not valid: " + text, *values)


def _banks(pool: Pool) -> list[Range]:
    banks: list[Range] = []
    for run in sorted(pool.banks, key=lambda run: run.offset):
        begins = range(run.offset, run.offset + run.size * run.count, run.size)
        banks += [(begin, begin + run.size) for begin in begins]
    return banks


def _sides(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [one for one, _ in pairs], [other for _, other in pairs]


class Ties:
    """Buffers at fixed distances: entries (buffer, base, distance), and what follows from several of them."""

    def __init__(self, entries: Iterable[tuple[int, int, int]]) -> None:
        self._entries = list(entries)
        self._neighbours: dict[int, list[tuple[int, int]]] = {}
        for buffer, base, distance in self._entries:
            self._neighbours.setdefault(buffer, []).append((base, -distance))
            self._neighbours.setdefault(base, []).append((buffer, distance))

    def tied(self) -> Collection[int]:
        """The buffers that entries name."""
        return self._neighbours.keys()

    def around(self, first: int) -> dict[int, int]:
        """Where all that are tied to a buffer, by however many entries, begin less where that one begins."""
        distances = {first: 0}
        reached = [first]
        for member in reached:
            for other, distance in self._neighbours.get(member, ()):
                if other not in distances:
                    distances[other] = distances[member] + distance
                    reached.append(other)
        return distances

    def contradicted(self, at: Mapping[int, int] | Sequence[int]) -> list[tuple[int, int, int]]:
        """The entries whose distance is another than that of the places `at`."""
        return [entry for entry in self._entries if at[entry[0]] - at[entry[1]] != entry[2]]


class Rigid:
    """Rigid groups: buffers that `relative` holds together, and where each is within its group.

    `group[i]` is `ALONE`, or the same number for all members of one group.

    A buffer of size 0 passes on the distances of those that are tied through it, and is itself no member.
    `delta[i]` is the offset of a member less an origin that its group has in common. `contradicted` holds the
    entries whose distance differs from what other entries imply.
    """

    def __init__(self, sizes: Sequence[int], entries: Iterable[tuple[int, int, int]]) -> None:
        self.group = [ALONE] * len(sizes)
        self.delta: dict[int, int] = {}
        self.members: list[list[int]] = []
        ties = Ties(entries)
        for first in ties.tied():
            if first in self.delta:
                continue
            distances = ties.around(first)
            self.delta.update(distances)
            members = [member for member in distances if sizes[member]]
            for member in members:
                self.group[member] = len(self.members)
            self.members.append(members)
        self.contradicted = ties.contradicted(self.delta)

    def together(self, one: int, other: int) -> bool:
        """Whether the two are in one group, and so may overlap."""
        return self.group[one] != ALONE and self.group[one] == self.group[other]


NOWHERE = -1


class Layout:
    """`pool[i]` (or `NOWHERE`) and `offset[i]` of buffer i; a repeated buffer counts where it comes first."""

    def __init__(self, index: ProblemIndex) -> None:
        self.index = index
        self.pool = [NOWHERE] * len(index.buffers)
        self.offset = [0] * len(index.buffers)

    def read(self, placements: tuple[Placement, ...], findings: Findings) -> None:
        """Read the placements of a plan; note unknown, repeated and missing buffers."""
        buffers, pools = self.index.buffer_index, self.index.pool_index
        if [placement.buffer for placement in placements] == list(buffers):
            homes = [pools.get(placement.pool, NOWHERE) for placement in placements]
            if NOWHERE not in homes:
                # Each has a place, in the order of the problem, as in the plans of a run.
                self.pool, self.offset = homes, [placement.offset for placement in placements]
                return
        seen = bytearray(len(self.index.buffers))
        for placement in placements:
            buffer = buffers.get(placement.buffer)
            if buffer is None:
                findings.add(
                    Code.UNKNOWN_BUFFER,
                    "{!r} has a place but is not a buffer of the problem",
                    placement.buffer,
                    buffers=(placement.buffer,),
                )
                continue
            if seen[buffer]:
                findings.add(
                    Code.REPEATED, "{!r} has several places", placement.buffer, buffers=(placement.buffer,)
                )
                continue
            seen[buffer] = 1
            pool = pools.get(placement.pool)
            if pool is None:
                findings.add(
                    Code.UNKNOWN_POOL,
                    "{!r} is in {!r}, which is not a pool of the problem",
                    placement.buffer,
                    placement.pool,
                    buffers=(placement.buffer,),
                    pool=placement.pool,
                )
                continue
            self.pool[buffer] = pool
            self.offset[buffer] = placement.offset
        missing = seen.find(0)
        while missing >= 0:
            name = self.index.id_of(missing)
            findings.add(Code.MISSING, "{!r} has no place", name, buffers=(name,))
            missing = seen.find(0, missing + 1)

    def by_pool(self) -> list[list[int]]:
        """The placed buffers that have a size, of each pool."""
        placed: list[list[int]] = [[] for _ in self.index.pools]
        for i, (size, pool) in enumerate(zip(self.index.sizes, self.pool, strict=True)):
            if pool != NOWHERE and size:
                placed[pool].append(i)
        return placed

    def overlapping(self, one: int, other: int) -> bool:
        """Whether the two share a byte."""
        if self.pool[one] != self.pool[other] or self.pool[one] == NOWHERE:
            return False
        return max(self.offset[one], self.offset[other]) < min(self.ends[one], self.ends[other])

    def sharing(self, pairs: Iterable[IndexPair]) -> list[IndexPair]:
        """Those of the pairs that share a byte."""
        pool, offset, ends = self.pool, self.offset, self.ends
        near = [
            (one, other)
            for one, other in pairs
            if pool[one] == pool[other] and offset[one] < ends[other] and offset[other] < ends[one]
        ]
        # What is nowhere or has no bytes may seem to be near.
        return [pair for pair in near if self.overlapping(*pair)]

    def share_bank(self, one: int, other: int) -> bool:
        """Whether the two touch one bank."""
        pool = self.pool[one]
        if (
            pool == NOWHERE
            or pool != self.pool[other]
            or not (self.index.sizes[one] and self.index.sizes[other])
        ):
            return False
        first, second = (
            self.index.banks_touched(pool, self.offset[buffer], self.ends[buffer]) for buffer in (one, other)
        )
        return max(first.start, second.start) < min(first.stop, second.stop)

    @cached_property
    def ends(self) -> list[int]:
        """Where each buffer ends, once all are placed."""
        return list(map(add, self.offset, self.index.sizes))


def check_places(index: ProblemIndex, layout: Layout, findings: Findings) -> None:
    """Note every buffer that may not be where it is, or not at its distance from those it is tied to."""
    if not _are_clearly_right(index, layout):
        _check_each_place(index, layout, findings)
    _check_distances(index, layout, findings)
    for buffers, cost in index.bank_conflicts:
        if cost is None:
            _check_apart(index, layout, buffers, findings)


def _check_each_place(index: ProblemIndex, layout: Layout, findings: Findings) -> None:
    for buffer, at, offset in zip(index.buffers, layout.pool, layout.offset, strict=True):
        if at == NOWHERE:
            continue
        pool, end = index.pools[at], offset + buffer.size
        if buffer.pools is not None or buffer.pool is not None:
            check_pool(index, buffer, at, findings)
        if buffer.offset is not None and buffer.offset != offset:
            findings.add(
                Code.PINNED_OFFSET,
                "{!r} is pinned to offset {} but is at {}",
                buffer.id,
                buffer.offset,
                offset,
                buffers=(buffer.id,),
                pool=pool.id,
            )
        if (offset + (pool.base or 0)) % lcm(buffer.alignment, pool.alignment):
            findings.add(
                Code.MISALIGNED,
                "{!r} is at offset {} of {!r} (base {}): the address must be a multiple of {}",
                buffer.id,
                offset,
                pool.id,
                pool.base or 0,
                lcm(buffer.alignment, pool.alignment),
                buffers=(buffer.id,),
                pool=pool.id,
            )
        if end > index.ends[at]:
            findings.add(
                Code.BEYOND_CAPACITY,
                "{!r} ends at {} but {!r} ends at {}",
                buffer.id,
                end,
                pool.id,
                index.ends[at],
                buffers=(buffer.id,),
                pool=pool.id,
            )
        if buffer.size and (buffer.within_bank or buffer.banks is not None):
            _check_bank(index, buffer, at, offset, findings)
        if index.reserved[at] and buffer.size:
            reserved = index.reserved_within(at, offset, end)
            if reserved is not None:
                findings.add(
                    Code.RESERVED,
                    "{!r} is at [{:d}, {:d}) of {!r}, where [{:d}, {:d}) is reserved",
                    buffer.id,
                    offset,
                    end,
                    pool.id,
                    *reserved,
                    buffers=(buffer.id,),
                    pool=pool.id,
                )


def _check_bank(index: ProblemIndex, buffer: Buffer, at: int, offset: int, findings: Findings) -> None:
    """Note where the buffer is not in the banks that it must be in."""
    pool, end = index.pools[at], offset + buffer.size
    touched = index.banks_touched(at, offset, end)
    inside = sum(
        min(end, last) - max(offset, first) for first, last in index.banks[at][touched.start : touched.stop]
    )
    if buffer.within_bank and (len(touched) != 1 or inside < buffer.size):
        findings.add(
            Code.ACROSS_BANKS,
            "{!r} is at [{:d}, {:d}) of {!r}: it must be within one bank, and is in parts of {}",
            buffer.id,
            offset,
            end,
            pool.id,
            len(touched),
            buffers=(buffer.id,),
            pool=pool.id,
        )
    if buffer.banks is not None and (inside < buffer.size or not set(buffer.banks).issuperset(touched)):
        findings.add(
            Code.BANK_NOT_ALLOWED,
            "{!r} is at [{:d}, {:d}) of {!r} and may only be in the banks {}",
            buffer.id,
            offset,
            end,
            pool.id,
            ", ".join(map(str, buffer.banks[:8])) + (", ..." if len(buffer.banks) > 8 else ""),
            buffers=(buffer.id,),
            pool=pool.id,
        )


def _check_apart(index: ProblemIndex, layout: Layout, buffers: Sequence[int], findings: Findings) -> None:
    """Note those of these buffers that touch a bank with one before."""
    first_in: dict[tuple[int, int], int] = {}
    for buffer in buffers:
        pool = layout.pool[buffer]
        if pool == NOWHERE or not index.sizes[buffer]:
            continue
        for bank in index.banks_touched(pool, layout.offset[buffer], layout.ends[buffer]):
            other = first_in.setdefault((pool, bank), buffer)
            if other != buffer:
                names = (index.id_of(other), index.id_of(buffer))
                message = "{!r} and {!r} both touch bank {} of {!r} and may not"
                home = index.pools[pool].id
                findings.add(Code.SHARED_BANK, message, *names, bank, home, buffers=names, pool=home)
                break


def _are_clearly_right(index: ProblemIndex, layout: Layout) -> bool:
    """Whether no buffer is where it may not be, by a look at all of them at once; else each is looked at."""
    columns = index.columns
    if columns is None or any(index.reserved) or NOWHERE in layout.pool:
        return False
    highest = dict.fromkeys(layout.pool, 0)
    for pool, end in zip(layout.pool, layout.ends, strict=True):
        if end > highest[pool]:
            highest[pool] = end
    if any(end > index.ends[pool] for pool, end in highest.items()):
        return False
    # Of one kind are those of one alignment that may be in the same pools.
    steps: dict[tuple[int, int], int] = {}
    for kind, pool in set(zip(columns.kinds, layout.pool, strict=True)):
        buffer, home = index.buffers[columns.largest[kind]], index.pools[pool]
        if buffer.pools is not None and home.id not in buffer.pools:
            return False
        steps[kind, pool] = lcm(buffer.alignment, home.alignment)
    if set(steps.values()) <= {1}:
        return True
    bases = [pool.base or 0 for pool in index.pools]
    return not any(
        (offset + bases[pool]) % steps[kind, pool]
        for kind, pool, offset in zip(columns.kinds, layout.pool, layout.offset, strict=True)
    )


def check_pool(index: ProblemIndex, buffer: Buffer, pool: int, findings: Findings) -> None:
    """Note where the buffer may not be in this pool."""
    name = index.pools[pool].id
    if buffer.pool is not None and buffer.pool != name:
        findings.add(
            Code.PINNED_POOL,
            "{!r} is pinned to {!r} but is in {!r}",
            buffer.id,
            buffer.pool,
            name,
            buffers=(buffer.id,),
            pool=name,
        )
    if buffer.pools is not None and name not in buffer.pools:
        findings.add(
            Code.POOL_NOT_ALLOWED,
            "{!r} is in {!r} but may only be in {}",
            buffer.id,
            name,
            ", ".join(map(repr, buffer.pools[:8])) + (", ..." if len(buffer.pools) > 8 else ""),
            buffers=(buffer.id,),
            pool=name,
        )


def _check_distances(index: ProblemIndex, layout: Layout, findings: Findings) -> None:
    """Note every member of a rigid group that is not where the entries of `relative` put it."""
    delta = index.rigid.delta
    ties = (
        (member, members[0], delta[member] - delta[members[0]])
        for members in index.rigid.members
        for member in members[1:]
    )
    for buffer, base, distance in ties:
        if NOWHERE in (layout.pool[buffer], layout.pool[base]):
            continue
        names = (index.id_of(buffer), index.id_of(base))
        if layout.pool[buffer] != layout.pool[base]:
            findings.add(
                Code.RELATIVE_POOL,
                "{!r} is in {!r} but must be in one pool with {!r}, which is in {!r}",
                names[0],
                index.pools[layout.pool[buffer]].id,
                names[1],
                index.pools[layout.pool[base]].id,
                buffers=names,
            )
        elif layout.offset[buffer] - layout.offset[base] != distance:
            findings.add(
                Code.RELATIVE_DISTANCE,
                "{!r} is at {} and {!r} at {}: the distance must be {}",
                names[0],
                layout.offset[buffer],
                names[1],
                layout.offset[base],
                distance,
                buffers=names,
                pool=index.pools[layout.pool[base]].id,
            )


def expected_terms(
    of_problem: tuple[str, ...], claimed: Sequence[str], cost: CostTerm | None
) -> tuple[str, ...]:
    """The terms that the plan must have: any plan of a graph may say what its schedule costs."""
    if cost is None:
        return of_problem
    if COST in cost.terms:
        return cost.terms
    if COST not in claimed:
        return of_problem
    at = list(claimed).index(COST)
    return (*of_problem[:at], COST, *of_problem[at:])


def pool_peaks(pools: int, pool: Sequence[int], offsets: Iterable[int], sizes: Iterable[int]) -> list[int]:
    """The peak of each of so many pools: by buffer its pool (or `NOWHERE`), its offset and its size."""
    peaks = [0] * pools
    for home, offset, size in zip(pool, offsets, sizes, strict=True):
        if size and home != NOWHERE and offset + size > peaks[home]:
            peaks[home] = offset + size
    return peaks


class ObjectiveValues:
    """Peaks and term values of one layout."""

    least_cost = None
    """Whoever needs it counts it."""

    def __init__(
        self, index: ProblemIndex, layout: Layout, hint: Plan | None, cost: CostTerm | None = None
    ) -> None:
        self._index = index
        self._layout = layout
        self._hint = hint
        self._cost = cost
        self.peaks = pool_peaks(len(index.pools), layout.pool, layout.offset, index.sizes)

    def value(self, text: str) -> int | None:
        """The value of the term; None where it cannot be counted, as `moves` without a hint."""
        if text == COST:
            return None if self._cost is None else self._cost.value
        term = parse_term(text)
        if term is None:
            return None
        match term.kind:
            case Kind.PEAK:
                return sum(self.peaks)
            case Kind.MAX_PEAK:
                return max(self.peaks, default=0)
            case Kind.POOL_PEAK:
                pool = self._index.pool_index.get(term.pool or "")
                return None if pool is None else self.peaks[pool]
            case Kind.PLACEMENT_COST:
                costs = [pool.cost for pool in self._index.pools]
                return sum(
                    accesses * costs[pool]
                    for accesses, pool in zip(
                        access_counts(self._index.problem), self._layout.pool, strict=True
                    )
                    if pool != NOWHERE
                )
            case Kind.PREFERENCE:
                # Bytes times how many pools their buffer prefers to its own; none are preferred to a pin.
                total = 0
                everywhere = tuple(pool.id for pool in self._index.pools)
                for buffer, pool in zip(self._index.buffers, self._layout.pool, strict=True):
                    if pool != NOWHERE and buffer.pool is None:
                        order = everywhere if buffer.pools is None else buffer.pools
                        name = self._index.pools[pool].id
                        total += buffer.size * (order.index(name) if name in order else len(order))
                return total
            case Kind.REUSE_COST:
                sharing = set(self._layout.sharing(pair for pair, _ in self._index.reuse_costs))
                return sum(cost for pair, cost in self._index.reuse_costs if pair in sharing)
            case Kind.BANK_COST:
                return sum(
                    cost
                    for buffers, cost in self._index.bank_conflicts
                    if cost
                    for one, other in combinations(buffers, 2)
                    if self._layout.share_bank(one, other)
                )
            case Kind.MOVES:
                if self._hint is None:
                    return None
                # Buffers that are elsewhere than in the hint; those it does not place have not moved.
                before = {placement.buffer: placement for placement in reversed(self._hint.placements)}
                pools, layout = self._index.pools, self._layout
                moved = 0
                for buffer, pool, offset in zip(self._index.buffers, layout.pool, layout.offset, strict=True):
                    if pool == NOWHERE or not buffer.size:
                        continue
                    place = before.get(buffer.id)
                    if place is not None and (place.pool, place.offset) != (pools[pool].id, offset):
                        moved += 1
                return moved

    def greatest(self, text: str) -> int | None:
        """An upper limit of a term whose value cannot be counted."""
        term = parse_term(text)
        if term is None or term.kind is not Kind.MOVES:
            return None
        return sum(1 for buffer in self._index.buffers if buffer.size)
