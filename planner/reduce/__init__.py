"""Turns a problem into arrays, and a layout back into placements.

Takes a problem, returns a `Reduction`, or an explanation if some buffer has no place even alone. Native code
does it (`solvers/native/core/reduction.hpp`), of columns in which times are 64-bit and nothing has a name.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from operator import add, itemgetter, sub

from memstow.planner.model._instances import pair_numbers
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.plan import Explanation, Placement, Plan, make_placement
from memstow.planner.model.problem import (
    ALWAYS,
    Buffer,
    Kind,
    Pool,
    Problem,
    access_counts,
    allowed_pools,
    bank_pairs,
    bank_ranges,
    buffer_columns,
    counts,
    end_of,
    has_bank_rule,
    merged,
    named_pools,
    reserved_bytes,
    spans,
    uses_banks,
)
from memstow.records import collector_at_rest, record
from memstow.solvers import core
from memstow.solvers.instance import NO_PIN, Description, Instance, Layout

_MOST_TIME = 1 << 62


def _fits_64_bits(begins: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether a solver can add these times to others."""
    return min(begins, default=0) >= -_MOST_TIME and max(ends, default=0) <= _MOST_TIME


class _Lives:
    """Lifetimes as sorted, disjoint ranges of 64-bit times."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        least, most = 0, 1
        ranges = list(chain.from_iterable(map(_lifetime_ranges, buffers)))
        if ranges:
            least, most = min(map(itemgetter(0), ranges)), max(map(itemgetter(1), ranges))
        self.moments: list[int] | None = None
        self._rank: dict[int, int] = {}
        if not _fits_64_bits((least,), (most,)):
            times = {t for buffer in buffers for life in _lifetime_ranges(buffer) for t in life}
            self.moments = sorted(times)
            self._rank = {time: rank for rank, time in enumerate(self.moments)}
        self._always = [(self._short(least), self._short(most))]

    def _short(self, time: int) -> int:
        return time if self.moments is None else self._rank[time]

    def of(self, buffer: Buffer) -> Sequence[tuple[int, int]]:
        """The live ranges of the buffer."""
        if buffer.lifetime == ALWAYS:
            return self._always
        if self.moments is None:
            return spans(buffer)
        return merged((self._short(begin), self._short(end)) for begin, end in _lifetime_ranges(buffer))


def _lifetime_ranges(buffer: Buffer) -> list[tuple[int, int]]:
    """The ranges as they are given; of one that lives always there are none."""
    if buffer.lifetimes is not None:
        return list(buffer.lifetimes)
    lifetime = buffer.lifetime
    return [] if lifetime is None or isinstance(lifetime, str) else [lifetime]


def _describe(problem: Problem, hint: Plan | None, *, in_bytes: bool) -> tuple[Description, list[int] | None]:
    """The problem in columns; and by time of the columns the time of the problem, where they differ."""
    described = Description(ranks=counts(problem, Kind.PREFERENCE), in_bytes=in_bytes)
    moments = _describe_buffers(problem, described)
    _describe_pools(problem, described)
    _describe_pairs(problem, described)
    if uses_banks(problem):
        _describe_banks(problem, described)
    if any(pool.cost for pool in problem.pools):
        described.accesses.extend(access_counts(problem))
    if hint is not None:
        not_empty = {buffer.id for buffer in problem.buffers if buffer.size}
        described.usable.extend(place.offset for place in hint.placements if place.buffer in not_empty)
    return described, moments


def _describe_buffers(problem: Problem, to: Description) -> list[int] | None:
    """Most large problems are in columns already."""
    buffers, columns = problem.buffers, buffer_columns(problem)
    if columns is not None and _fits_64_bits(columns.begins, columns.ends):
        to.size.extend(columns.sizes)
        to.kind.extend(columns.kinds)
        to.life_begin.extend(columns.begins)
        to.life_end.extend(columns.ends)
        to.life_start.extend(range(1, len(columns.sizes) + 1))
        first_of_kind = [buffers[index] for index in columns.largest]
        _describe_kinds(problem, [(buffer.alignment, named_pools(buffer)) for buffer in first_of_kind], to)
        return None
    kinds: dict[tuple[int, tuple[str, ...] | None], int] = {}
    to.size.extend([buffer.size for buffer in buffers])
    to.kind.extend(
        [kinds.setdefault((buffer.alignment, named_pools(buffer)), len(kinds)) for buffer in buffers]
    )
    moments = _describe_lives(buffers, to)
    if any(buffer.offset is not None for buffer in buffers):
        to.pin.extend(NO_PIN if buffer.offset is None else buffer.offset for buffer in buffers)
    _describe_kinds(problem, kinds, to)
    return moments


def _describe_lives(buffers: Sequence[Buffer], to: Description) -> list[int] | None:
    """In bulk where each lives once, as in most problems that are not in columns because of pins."""
    once = [buffer.lifetime for buffer in buffers if isinstance(buffer.lifetime, tuple)]
    if len(once) == len(buffers):
        begins, ends = [begin for begin, _ in once], [end for _, end in once]
        if _fits_64_bits(begins, ends):
            to.life_begin.extend(begins)
            to.life_end.extend(ends)
            to.life_start.extend(range(1, len(buffers) + 1))
            return None
    lives = _Lives(buffers)
    for buffer in buffers:
        for begin, end in lives.of(buffer):
            to.life_begin.append(begin)
            to.life_end.append(end)
        to.life_start.append(len(to.life_begin))
    return lives.moments


def _describe_kinds(
    problem: Problem, kinds: Iterable[tuple[int, tuple[str, ...] | None]], to: Description
) -> None:
    number_of = {pool.id: number for number, pool in enumerate(problem.pools)}
    for alignment, named in kinds:
        to.alignment.append(alignment)
        to.kind_pool.extend(number_of.values() if named is None else [number_of[name] for name in named])
        to.kind_start.append(len(to.kind_pool))


def _describe_pools(problem: Problem, to: Description) -> None:
    for pool in problem.pools:
        to.capacity.append(end_of(pool))
        to.pool_alignment.append(pool.alignment)
        to.base.append(pool.base or 0)
        to.cost.append(pool.cost)
        for reserved in pool.reserved:
            to.reserved_begin.append(reserved.offset)
            to.reserved_end.append(reserved.offset + reserved.size)
        to.reserved_start.append(len(to.reserved_begin))


def _describe_pairs(problem: Problem, to: Description) -> None:
    listed = problem.conflicts or problem.exclusive or problem.in_place
    if not (listed or problem.relative or problem.reuse_costs):
        return
    number_of = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
    for target, pairs in (
        (to.conflicts, problem.conflicts),
        (to.exclusive, problem.exclusive),
        (to.in_place, [(entry.input, entry.output) for entry in problem.in_place]),
    ):
        numbers, _ = pair_numbers(
            number_of, [one for one, _ in pairs], [other for _, other in pairs], sorted=False
        )
        target.extend(chain.from_iterable(numbers))
    for tie in problem.relative:
        to.ties.extend((number_of[tie.buffer], number_of[tie.base], tie.offset))
    for cost in problem.reuse_costs:
        one, two = cost.buffers
        to.reuse.extend((number_of[one], number_of[two], cost.cost))


def _describe_banks(problem: Problem, to: Description) -> None:
    for pool in problem.pools:
        for begin, end in bank_ranges(pool):
            to.bank_begin.append(begin)
            to.bank_end.append(end)
        to.bank_start.append(len(to.bank_begin))
    if not to.bank_begin:
        # Nothing can be within a bank, and nothing shares one.
        del to.bank_start[1:]
        return
    for number, buffer in enumerate(problem.buffers):
        if has_bank_rule(buffer):
            if buffer.within_bank:
                to.within_bank.append(number)
            for bank in sorted(set(buffer.banks or ())):
                to.in_banks.extend((number, bank))
    number_of = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
    for (one, other), cost in bank_pairs(problem).items():
        if cost is None:
            to.apart.extend((number_of[one], number_of[other]))
        elif cost:
            to.bank_costs.extend((number_of[one], number_of[other], cost))


@record
class Reduction:
    """A problem as arrays, with the way back."""

    problem: Problem
    instance: Instance
    unit: int
    least_cost: int
    """Of all accesses, each in the cheapest pool that is allowed."""
    part_buffer: "array[int]"  # by part: index of its buffer
    alone: "tuple[tuple[int, Placement], ...]"  # buffers of size 0 (by index)
    moments: list[int] | None  # by time of the instance: the time of the problem, where they differ

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The pools of the problem."""
        return self.problem.pools

    def names_of(self, parts: Sequence[int]) -> tuple[str, ...]:
        """The ids of the buffers of these parts."""
        buffers, part_buffer = self.problem.buffers, self.part_buffer
        return tuple(buffers[part_buffer[part]].id for part in parts)

    def moment(self, time: int | None) -> int | None:
        """The time of the problem for a time of the instance."""
        return time if self.moments is None or time is None else self.moments[time]

    def placements(self, layout: Layout) -> tuple[Placement, ...]:
        """The layout in the user's terms, in the order of the buffers. Every item has a place."""
        instance, buffers = self.instance, self.problem.buffers
        names = [pool.id for pool in self.problem.pools]
        if instance.item_count == len(buffers):
            # Each is an item by itself, as in most problems.
            homes = [names[pool] for pool in layout.pool]
            offsets = [at * self.unit for at in map(add, layout.offset, instance.part_delta)]
        else:
            homes, offsets = [""] * len(buffers), [0] * len(buffers)
            parts = list(map(sub, instance.item_parts[1:], instance.item_parts))
            pools = chain.from_iterable(map(repeat, layout.pool, parts))
            places = map(add, chain.from_iterable(map(repeat, layout.offset, parts)), instance.part_delta)
            for buffer, pool, at in zip(self.part_buffer, pools, places, strict=True):
                homes[buffer], offsets[buffer] = names[pool], at * self.unit
            for buffer, placement in self.alone:
                homes[buffer], offsets[buffer] = placement.pool, placement.offset
        return instances_of(
            Placement, len(buffers), buffer=[buffer.id for buffer in buffers], pool=homes, offset=offsets
        )

    def layout(self, placements: tuple[Placement, ...]) -> Layout:
        """The items as the placements have them; -1 where they say nothing that an item could follow."""
        return core.layout_of(self.hint(placements))

    def hint(self, placements: tuple[Placement, ...]) -> core.Hint:
        """The same, and the places at which buffers stay where the placements have them."""
        pool_of = {pool.id: i for i, pool in enumerate(self.problem.pools)}
        place_of = {p.buffer: (pool_of.get(p.pool, -1), p.offset) for p in placements}
        nowhere = (-1, -1)
        buffers = self.problem.buffers
        places = [place_of.get(buffers[index].id, nowhere) for index in self.part_buffer]
        pools, offsets = ([place[i] for place in places] for i in (0, 1))
        return core.hint_of(self.instance, self.unit, array("q", pools), array("q", offsets))


def reduce(problem: Problem, hint: Plan | None = None, *, in_bytes: bool = False) -> Reduction | Explanation:
    """The arrays of a valid problem, or the explanation that some buffer has no place even alone.

    Every place of the hint can be used, whatever its offset: for objectives that count moves. With `in_bytes`
    the unit is one byte: for those who add other sizes.
    """
    with collector_at_rest():
        description, moments = _describe(problem, hint, in_bytes=in_bytes)
        native = core.Reduction(description)
        if native.homeless:
            return _no_place(problem, tuple(native.homeless))
        part_buffer = array("q")
        part_buffer.frombytes(native.buffers)
        alone = tuple(
            (index, make_placement(problem.buffers[index].id, problem.pools[pool].id, offset))
            for index, pool, offset in native.alone
        )
        instance = Instance.of_native(native.assembled())
        return Reduction(problem, instance, native.unit, native.least_cost, part_buffer, alone, moments)


def size_of(pool: Pool) -> str:
    """The capacity of a pool, for messages."""
    return "unbounded, but no address is above 2^62" if pool.capacity is None else f"{pool.capacity:,}"


def _no_place(problem: Problem, members: tuple[int, ...]) -> Explanation:
    """The explanation that these buffers have no place, even alone."""
    buffers = [problem.buffers[i] for i in members]
    ids = tuple(b.id for b in buffers)
    names = ", ".join(map(repr, ids[:8])) + (" ..." if len(ids) > 8 else "")
    pools = [p for p in problem.pools if p.id in allowed_pools(problem, buffers[0])]
    sizes = ", ".join(
        f"{p.id!r} ({size_of(p)}" + (f", {reserved_bytes(p):,} reserved" if p.reserved else "") + ")"
        for p in pools[:8]
    )
    largest = max(buffers, key=lambda b: b.size)
    banks = ", in the banks that they may be in" if any(map(has_bank_rule, buffers)) else ""
    one = pools[0] if len(pools) == 1 else None
    what = f"the {largest.size:,} bytes of {names}" if len(buffers) == 1 else f"the rigid group of {names}"
    return Explanation(
        code="no_place",
        message=f"{what} fit in no pool allowed, even alone, as aligned and pinned{banks}: {sizes}",
        pool=one.id if one else None,
        capacity=one.capacity if one else None,
        reserved=reserved_bytes(one) or None if one else None,
        buffers=ids,
    )
