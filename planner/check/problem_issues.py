"""Issues of a problem: of each element by itself, and of relations between buffers.

Elements are pools, buffers with their pins, and terms of the objective; relations are pairs, pins that clash,
distances and the groups they make.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate, pairwise
from math import comb, lcm
from operator import lt

from memstow.planner.model.errors import Issue
from memstow.planner.model.problem import (
    ALWAYS,
    LATEST,
    LIMIT,
    MOST_BANKS,
    PLAIN_KINDS,
    Buffer,
    Distances,
    Kind,
    Pool,
    Problem,
    Reserved,
    access_counts,
    allowed_pools,
    buffer_columns,
    counts,
    cycles,
    end_of,
    group_alignment,
    named_pools,
    parse_term,
    pool_lists,
    rigid_groups,
    uses_banks,
)


def problem_issues(problem: Problem) -> Iterator[Issue]:
    """Issues of a well-formed problem: pools, buffers and pins, pairs, objective, groups."""
    pools = {pool.id: pool for pool in problem.pools}
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    # Relations are checked only where each name stands for one thing.
    unique = len(index_of) == len(problem.buffers) and len(pools) == len(problem.pools)
    yield from _pool_issues(problem)
    yield from _buffer_issues(problem, pools, index_of)
    if unique:
        yield from _clashing_pins(problem, index_of)
    yield from _name_issues(problem, index_of)
    yield from _bank_issues(problem, pools, index_of)
    yield from _term_issues(problem, pools)
    yield from _cost_issues(problem, pools)
    yield from _relative_issues(problem, pools, index_of, unique)


def _pool_issues(problem: Problem) -> Iterator[Issue]:
    """Issues of the pools: ids that are used twice, reserved ranges beyond the end of a pool."""
    ids = [pool.id for pool in problem.pools]
    yield from _duplicate_ids("pools", "pool", ids, {name: i for i, name in enumerate(ids)})
    for index, pool in enumerate(problem.pools):
        for at, reserved in enumerate(pool.reserved):
            end = reserved.offset + reserved.size
            if end > end_of(pool):
                yield Issue(
                    "reserved_beyond_capacity",
                    f"$.pools[{index}].reserved[{at}]",
                    f"ends at {end:,}, but pool {pool.id!r} ends at {end_of(pool):,}; "
                    "make the range end within the pool",
                )


def _duplicate_ids(field: str, kind: str, ids: list[str], index_of: dict[str, int]) -> Iterator[Issue]:
    """An issue for each id that an earlier element has; `index_of` maps each id to an index."""
    if len(index_of) == len(ids):
        return
    first: dict[str, int] = {}
    for index, name in enumerate(ids):
        if name in first:
            yield Issue(
                f"duplicate_{kind}",
                f"$.{field}[{index}].id",
                f"{name!r} is already the id of {field}[{first[name]}]; give each {kind} an id of its own",
            )
        else:
            first[name] = index


def _unknown_pool(path: str, name: str, pools: dict[str, Pool]) -> Issue:
    """The issue of a name that is not a pool's."""
    some = ", ".join(map(repr, list(pools)[:8]))
    return Issue("unknown_pool", path, f"there is no pool {name!r}; the pools are {some}")


def _buffer_issues(problem: Problem, pools: dict[str, Pool], index_of: dict[str, int]) -> Iterator[Issue]:
    """Issues of each buffer by itself and with the pools that it names."""
    yield from _duplicate_ids("buffers", "buffer", [buffer.id for buffer in problem.buffers], index_of)
    twice = {name for name, count in Counter(pool.id for pool in problem.pools).items() if count > 1}
    reserved = {name: _ReservedRanges(pool) for name, pool in pools.items()}
    sound: set[tuple[str, ...]] = set()
    for index, buffer in _not_clearly_right(problem, pools):
        if not _has_one_plain_life(buffer):
            yield from _life_issues(f"$.buffers[{index}]", buffer)
        if buffer.pools is not None and buffer.pools not in sound:
            # Many buffers name the same pools.
            issues = list(_allowed_pool_issues(f"$.buffers[{index}]", buffer.pools, pools))
            yield from issues
            if not issues:
                sound.add(buffer.pools)
        if (buffer.pool is not None or buffer.offset is not None) and buffer.pool not in twice:
            yield from _pin_issues(f"$.buffers[{index}]", buffer, pools, reserved)


def _not_clearly_right(problem: Problem, pools: dict[str, Pool]) -> Iterable[tuple[int, Buffer]]:
    """The buffers by index; none where each has one life and no pin, and names pools that there are once."""
    columns = buffer_columns(problem)
    if columns is None or not all(map(lt, columns.begins, columns.ends)):
        return enumerate(problem.buffers)
    for kind in columns.largest:
        names = problem.buffers[kind].pools
        if names is not None and any(_allowed_pool_issues("", names, pools)):
            return enumerate(problem.buffers)
    return ()


def _has_one_plain_life(buffer: Buffer) -> bool:
    """Whether the lifetime needs no further check, as for most buffers: that saves time with many."""
    life = buffer.lifetime
    return buffer.lifetimes is None and (
        life is None or isinstance(life, str) or -LATEST < life[0] < life[1] < LATEST
    )


def _life_issues(path: str, buffer: Buffer) -> Iterator[Issue]:
    if buffer.lifetime is not None and buffer.lifetimes is not None:
        yield Issue(
            "lifetime_twice",
            f"{path}.lifetimes",
            "the buffer has `lifetime` as well; give one of the two",
        )
    if buffer.lifetimes == ():
        yield Issue(
            "no_lifetimes",
            f"{path}.lifetimes",
            "is empty; give at least one [begin, end), or leave it out for a buffer that has only "
            "the conflicts listed",
        )
    ranges = [(f"{path}.lifetimes[{i}]", life) for i, life in enumerate(buffer.lifetimes or ())]
    if buffer.lifetime is not None and buffer.lifetime != ALWAYS:
        ranges.append((f"{path}.lifetime", buffer.lifetime))
    for where, (begin, end) in ranges:
        if not (-LATEST < begin < LATEST and -LATEST < end < LATEST):
            yield Issue(
                "time_out_of_range", where, "holds a time of more than 4,000 digits; use a larger unit"
            )
        elif begin == end:
            yield Issue(
                "empty_lifetime",
                where,
                f"[{begin}, {end}) holds no moment, since the end is not part of it; "
                f"a buffer live at {begin:,} alone has [{begin}, {begin + 1}]",
            )
        elif begin > end:
            yield Issue(
                "reversed_lifetime", where, f"begins at {begin:,}, after its end {end:,}; give [begin, end)"
            )


def _allowed_pool_issues(path: str, names: tuple[str, ...], pools: dict[str, Pool]) -> Iterator[Issue]:
    if not names:
        yield Issue(
            "no_allowed_pool",
            f"{path}.pools",
            "is empty, so the buffer may go nowhere; name a pool, or leave it out to allow all",
        )
    for name, count in Counter(names).items():
        if name not in pools:
            yield _unknown_pool(f"{path}.pools[{names.index(name)}]", name, pools)
        if count > 1:
            yield Issue("repeated_pool", f"{path}.pools", f"names {name!r} {count:,} times; name it once")


def _pin_issues(
    path: str, buffer: Buffer, pools: dict[str, Pool], reserved: dict[str, "_ReservedRanges"]
) -> Iterator[Issue]:
    if buffer.pool is None:
        yield Issue(
            "offset_without_pool",
            f"{path}.offset",
            f"pins the buffer to offset {buffer.offset:,} but not to a pool; give `pool` as well",
        )
        return
    pool = pools.get(buffer.pool)
    if pool is None:
        yield _unknown_pool(f"{path}.pool", buffer.pool, pools)
        return
    if buffer.pools is not None and buffer.pool not in buffer.pools:
        yield Issue(
            "pin_not_allowed",
            f"{path}.pool",
            f"pins the buffer to {buffer.pool!r}, which its `pools` do not allow; add it there",
        )
    if buffer.offset is not None:
        yield from _offset_issues(f"{path}.offset", buffer, buffer.offset, pool, reserved[pool.id])


def _offset_issues(
    path: str, buffer: Buffer, offset: int, pool: Pool, ranges: "_ReservedRanges"
) -> Iterator[Issue]:
    modulus = lcm(buffer.alignment, pool.alignment)
    address = offset + (pool.base or 0)
    if address % modulus:
        lower = offset - address % modulus
        nearest = f"{lower:,} or {lower + modulus:,}" if lower >= 0 else f"{lower + modulus:,}"
        yield Issue(
            "pin_misaligned",
            path,
            f"address {address:,} is not a multiple of the alignment {modulus:,}; use offset {nearest}",
        )
    end = offset + buffer.size
    if end > end_of(pool):
        highest = end_of(pool) - buffer.size
        highest -= (highest + (pool.base or 0)) % modulus
        yield Issue(
            "pin_beyond_capacity",
            path,
            f"the buffer would end at {end:,}, but pool {pool.id!r} ends at {end_of(pool):,}; "
            f"pin it at {highest:,} or below"
            if highest >= 0
            else f"its {buffer.size:,} bytes do not fit in pool {pool.id!r} of {end_of(pool):,}",
        )
    if buffer.size:
        for reserved in ranges.within(offset, end):
            yield Issue(
                "pin_on_reserved",
                path,
                f"[{offset}, {end}) overlaps the reserved range "
                f"[{reserved.offset}, {reserved.offset + reserved.size}) of pool {pool.id!r}",
            )


class _ReservedRanges:
    """The reserved ranges of a pool, sorted by offset, with the farthest end up to each."""

    def __init__(self, pool: Pool) -> None:
        self._ranges = sorted(pool.reserved, key=lambda entry: entry.offset)
        self._offsets = [span.offset for span in self._ranges]
        self._ends = list(accumulate((span.offset + span.size for span in self._ranges), max))

    def within(self, begin: int, end: int) -> Iterator[Reserved]:
        """The ranges that share an address with [begin, end)."""
        for i in range(bisect_left(self._offsets, end) - 1, -1, -1):
            if self._ends[i] <= begin:
                return
            if self._ranges[i].offset + self._ranges[i].size > begin:
                yield self._ranges[i]


# Pairs that bank conflicts stand for: more take longer to list than a search for a plan.
_MOST_BANK_PAIRS = 1_000_000


def _bank_issues(problem: Problem, pools: dict[str, Pool], index_of: dict[str, int]) -> Iterator[Issue]:
    """Issues of banks, of the buffers that must be in some, and of what may not share one."""
    for index, pool in enumerate(problem.pools):
        yield from _banks_of_pool(f"$.pools[{index}].banks", pool)
    if not uses_banks(problem):
        return
    counts_of = {name: sum(run.count for run in pool.banks) for name, pool in pools.items()}
    for index, buffer in enumerate(problem.buffers):
        if buffer.within_bank or buffer.banks is not None:
            counts = [counts_of[name] for name in allowed_pools(problem, buffer) if name in counts_of]
            # Pools that are not there are issues of their own.
            if counts:
                yield from _banks_of_buffer(f"$.buffers[{index}]", buffer, max(counts))
    total = costs = 0
    for i, entry in enumerate(problem.bank_conflicts):
        path = f"$.bank_conflicts[{i}]"
        for name, times in Counter(entry.buffers).items():
            if name not in index_of:
                message = f"there is no buffer {name!r}; give the id of a buffer of this problem"
                yield Issue("unknown_buffer", path, message)
            if times > 1:
                yield Issue("pair_of_one", path, f"{name!r} is named {times:,} times; name each buffer once")
        pairs = comb(len(entry.buffers), 2)
        total += pairs
        costs += pairs * (entry.cost or 0)
    if total > _MOST_BANK_PAIRS:
        message = f"stand for {total:,} pairs of buffers, more than {_MOST_BANK_PAIRS:,}; name fewer"
        yield Issue("too_many_bank_pairs", "$.bank_conflicts", message)
    if costs > LIMIT:
        yield Issue("cost_too_large", "$.bank_conflicts", f"the costs add up to {costs:,}, above 2^62")


def _banks_of_pool(path: str, pool: Pool) -> Iterator[Issue]:
    total = sum(run.count for run in pool.banks)
    if total > MOST_BANKS:
        yield Issue("too_many_banks", path, f"are {total:,} banks; a pool may have {MOST_BANKS:,}")
    runs = [(run.offset, run.offset + run.size * run.count, at) for at, run in enumerate(pool.banks)]
    for begin, end, at in runs:
        if end > LIMIT:
            message = f"the banks from {begin:,} end at {end:,}, above 2^62; give smaller ones"
            yield Issue("bank_beyond_limit", f"{path}[{at}]", message)
    for (_, end, _), (begin, _, at) in pairwise(sorted(runs)):
        if begin < end:
            message = f"begin at {begin:,}, before other banks end, at {end:,}; banks may not overlap"
            yield Issue("overlapping_banks", f"{path}[{at}]", message)


def _banks_of_buffer(path: str, buffer: Buffer, banks: int) -> Iterator[Issue]:
    """`banks`: how many a pool of the buffer has at most."""
    if not banks:
        field = "within_bank" if buffer.within_bank else "banks"
        message = "no pool that the buffer may be in has banks; give `banks` of a pool, or leave this out"
        yield Issue("no_banks", f"{path}.{field}", message)
    elif buffer.banks is not None:
        if not buffer.banks:
            message = "is empty, so the buffer may go nowhere; name a bank, or leave it out to allow all"
            yield Issue("no_allowed_bank", f"{path}.banks", message)
        for at, number in enumerate(buffer.banks):
            if number >= banks:
                message = f"there is no bank {number:,}: they are counted from 0, the last is {banks - 1:,}"
                yield Issue("unknown_bank", f"{path}.banks[{at}]", message)


def _term_issues(problem: Problem, pools: dict[str, Pool]) -> Iterator[Issue]:
    """Issues of the terms of the objective."""
    seen: set[str] = set()
    for i, text in enumerate(problem.objective or ()):
        path = f"$.objective[{i}]"
        if text in seen:
            yield Issue("repeated_term", path, f"{text!r} is in the list already; name each term once")
        seen.add(text)
        term = parse_term(text)
        if term is None:
            usual = f"use {', '.join(PLAIN_KINDS)} or {Kind.POOL_PEAK}"
            yield Issue("unknown_term", path, f"{text!r} is not an objective; {usual}")
        elif term.pool is not None and term.pool not in pools:
            yield _unknown_pool(path, term.pool, pools)


def _cost_issues(problem: Problem, pools: dict[str, Pool]) -> Iterator[Issue]:
    """Issues of terms whose values could exceed the largest value."""
    cost_of = {name: pool.cost for name, pool in pools.items()}
    if any(cost_of.values()):
        total = _most_cost(problem, cost_of)
        if total > LIMIT:
            yield Issue(
                "cost_too_large",
                "$.pools",
                f"all accesses, each in the dearest pool its buffer may go to, would cost {total:,}, "
                "above 2^62; use smaller costs",
            )
    if counts(problem, Kind.PREFERENCE):
        total = sum(buffer.size * (len(allowed_pools(problem, buffer)) - 1) for buffer in problem.buffers)
        if total > LIMIT:
            yield Issue("cost_too_large", "$.objective", f"`preference` can be {total:,}, above 2^62")
    total = sum(entry.cost for entry in problem.reuse_costs)
    if total > LIMIT:
        yield Issue("cost_too_large", "$.reuse_costs", f"the costs add up to {total:,}, above 2^62")


def _most_cost(problem: Problem, cost_of: dict[str, int]) -> int:
    most: dict[tuple[str, ...] | None, int] = {None: max(cost_of.values())}
    total = 0
    for names, accesses in zip(pool_lists(problem), access_counts(problem), strict=True):
        if names not in most:
            most[names] = max((cost_of.get(name, 0) for name in names or ()), default=0)
        total += most[names] * accesses
    return total


# Pinned pairs may share addresses at different times; at most this many of them are checked.
_MOST_PAIRS = 2_000_000
# With more alignments than this a group is not checked; the engine finds that nothing fits.
_MOST_ALIGNMENTS = 64
# Entries of cycles that are gone through: there is an issue by then.
_MOST_LINKS = 500_000
_LONGEST_CHAIN = 10

_Member = tuple[Buffer, int]
"""A buffer of a rigid group, and its distance from the group's offset."""


def _relative_issues(
    problem: Problem, pools: dict[str, Pool], index_of: dict[str, int], unique: bool
) -> Iterator[Issue]:
    """Issues of `relative`, and of its rigid groups where ids are `unique` and distances consistent."""
    if not problem.relative:
        return
    consistent = unique
    for issue in _distance_issues(problem, index_of):
        consistent = False
        yield issue
    if consistent:
        yield from _group_issues(problem, pools, index_of)


def _name_issues(problem: Problem, index_of: dict[str, int]) -> Iterator[Issue]:
    """Unknown names in entries that name two buffers, and buffers paired with themselves."""
    for field, path, first, second in _named_pairs(problem):
        for name in dict.fromkeys((first, second)):
            if name not in index_of:
                yield Issue(
                    "unknown_buffer",
                    path,
                    f"there is no buffer {name!r}; give the id of a buffer of this problem",
                )
        if first == second:
            yield Issue("pair_of_one", path, f"{first!r} is named twice; {field} takes two different buffers")


def _named_pairs(problem: Problem) -> Iterator[tuple[str, str, str, str]]:
    """(field, path, first, second) of everything that names two buffers."""
    for i, pair in enumerate(problem.conflicts):
        yield "conflicts", f"$.conflicts[{i}]", *pair
    for i, pair in enumerate(problem.exclusive):
        yield "exclusive", f"$.exclusive[{i}]", *pair
    for i, tie in enumerate(problem.relative):
        yield "relative", f"$.relative[{i}]", tie.buffer, tie.base
    for i, share in enumerate(problem.in_place):
        yield "in_place", f"$.in_place[{i}]", share.input, share.output
    for i, cost in enumerate(problem.reuse_costs):
        yield "reuse_costs", f"$.reuse_costs[{i}]", *cost.buffers


def _clashing_pins(problem: Problem, index_of: dict[str, int]) -> Iterator[Issue]:
    """An issue for each pair of pins that cannot both hold. Names in the problem may be unknown."""
    pinned = [
        (buffer.pool, buffer.offset, index)
        for index, buffer in enumerate(problem.buffers)
        if buffer.offset is not None and buffer.pool is not None and buffer.size
    ]
    if len(pinned) < 2:
        return
    apart = _Apart(problem, index_of)
    checked = 0
    active: list[tuple[str, int, int]] = []
    for pool, offset, index in sorted(pinned):
        active = [a for a in active if a[0] == pool and a[1] > offset]
        for _, _, other in active:
            checked += 1
            if checked > _MOST_PAIRS:
                return
            if apart.must_be(index, other):
                yield _clash(problem.buffers, *sorted((index, other)))
        active.append((pool, offset + problem.buffers[index].size, index))


def _clash(buffers: tuple[Buffer, ...], first: int, second: int) -> Issue:
    one, other = buffers[first], buffers[second]
    return Issue(
        "pins_clash",
        f"$.buffers[{second}].offset",
        f"[{other.offset}, {(other.offset or 0) + other.size}) in {other.pool!r} overlaps "
        f"[{one.offset}, {(one.offset or 0) + one.size}) of {one.id!r}, which it conflicts with; "
        "pin them apart",
    )


class _Apart:
    """Decides which pinned buffers may not share bytes."""

    def __init__(self, problem: Problem, index_of: dict[str, int]) -> None:
        self._buffers = problem.buffers

        def pairs(named: Iterator[tuple[str, str]]) -> set[frozenset[int]]:
            return {
                frozenset((index_of[a], index_of[b])) for a, b in named if a in index_of and b in index_of
            }

        self._conflicts = pairs(iter(problem.conflicts))
        self._exclusive = pairs(iter(problem.exclusive))
        self._in_place = pairs((share.input, share.output) for share in problem.in_place)
        self._groups = Distances()
        for tie in problem.relative:
            if tie.buffer in index_of and tie.base in index_of and tie.buffer != tie.base:
                self._groups.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)

    def must_be(self, one: int, other: int) -> bool:
        pair = frozenset((one, other))
        if self._groups.find(one)[0] == self._groups.find(other)[0]:
            return False
        a, b = self._buffers[one], self._buffers[other]
        if pair in self._in_place and a.offset == b.offset:
            return False
        return pair in self._conflicts or (pair not in self._exclusive and _meet(a, b))


def _meet(a: Buffer, b: Buffer) -> bool:
    """Whether the two live together; invalid lifetimes, which are issues themselves, do not count."""
    if any(entry.lifetime is not None and entry.lifetimes is not None for entry in (a, b)):
        return False
    if a.lifetime == ALWAYS or b.lifetime == ALWAYS:
        other = b if a.lifetime == ALWAYS else a
        return other.lifetime == ALWAYS or bool(_ranges(other))
    return any(
        begin < other_end and other_begin < end
        for begin, end in _ranges(a)
        for other_begin, other_end in _ranges(b)
    )


def _ranges(buffer: Buffer) -> list[tuple[int, int]]:
    ranges = buffer.lifetimes or ()
    if buffer.lifetime is not None and not isinstance(buffer.lifetime, str):
        ranges = (buffer.lifetime,)
    return [(begin, end) for begin, end in ranges if begin < end]


def _distance_issues(problem: Problem, index_of: dict[str, int]) -> Iterator[Issue]:
    """Issues of chains that come back to their start, and of two distances between the same buffers."""
    entry_of = {(tie.buffer, tie.base): i for i, tie in enumerate(problem.relative)}
    links = 0
    for cycle in cycles(problem.relative):
        links += len(cycle)
        if links > _MOST_LINKS:
            return
        if len(cycle) > 2:
            yield Issue(
                "relative_cycle",
                f"$.relative[{max(entry_of[link] for link in pairwise(cycle))}]",
                f"the chain {_chain(cycle)} comes back to its start; remove one of its entries",
            )
    distances = Distances()
    for i, tie in enumerate(problem.relative):
        if tie.buffer not in index_of or tie.base not in index_of or tie.buffer == tie.base:
            continue
        distance = distances.tie(index_of[tie.buffer], index_of[tie.base], tie.offset)
        if distance is not None and distance != tie.offset:
            yield Issue(
                "two_distances",
                f"$.relative[{i}]",
                f"puts {tie.buffer!r} {tie.offset:,} from {tie.base!r}, but other entries put it "
                f"{distance:,} from there; give one distance",
            )


def _chain(names: tuple[str, ...]) -> str:
    if len(names) <= _LONGEST_CHAIN:
        return " -> ".join(names)
    return f"{' -> '.join(names[: _LONGEST_CHAIN - 2])} -> ... ({len(names) - 1:,} entries) -> {names[-1]}"


def _group_issues(problem: Problem, pools: dict[str, Pool], index_of: dict[str, int]) -> Iterator[Issue]:
    """Issues of rigid groups whose distances do not contradict each other."""
    if any(name not in index_of for tie in problem.relative for name in (tie.buffer, tie.base)):
        return
    group_of: dict[int, tuple[int, int]] = {}
    alignments = _alignments(pools.values())
    for number, group in enumerate(rigid_groups(problem, index_of)):
        members = [(problem.buffers[i], d) for i, d in zip(group.members, group.deltas, strict=True)]
        group_of.update({i: (number, d) for i, d in zip(group.members, group.deltas, strict=True)})
        path = f"$.buffers[{group.members[0]}]"
        extent = max(d + buffer.size for buffer, d in members)
        if extent > LIMIT:
            yield Issue("group_too_large", path, f"{_names(members)} reach over {extent:,} bytes, above 2^62")
        yield from _group_pool_issues(path, members, pools, alignments)
        yield from _group_pin_issues(path, members)
    yield from _inner_conflicts(problem, index_of, group_of)


def _names(members: list[_Member]) -> str:
    return ", ".join(repr(buffer.id) for buffer, _ in members[:8])


def _group_pool_issues(
    path: str, members: list[_Member], pools: dict[str, Pool], alignments: list[Pool]
) -> Iterator[Issue]:
    if any(name not in pools for buffer, _ in members for name in named_pools(buffer) or ()):
        # An issue of its own; the pools that the group shares are not known.
        return
    common = _shared_pools(members, pools)
    if not common:
        yield Issue(
            "group_pools",
            path,
            f"{_names(members)} are tied together by `relative`, but no pool is allowed for all of them",
        )
        return
    if common is not pools:
        alignments = _alignments(pools[name] for name in common)
    if len(alignments) <= _MOST_ALIGNMENTS and not any(
        group_alignment(members, alignment) for alignment in alignments
    ):
        yield Issue(
            "group_alignment",
            path,
            f"at the distances given by `relative`, {_names(members)} cannot all be aligned; "
            "make the distances multiples of the alignments",
        )


def _group_pin_issues(path: str, members: list[_Member]) -> Iterator[Issue]:
    starts = {buffer.offset - d for buffer, d in members if buffer.offset is not None}
    if len(starts) > 1:
        yield Issue(
            "group_pins_differ",
            path,
            f"the pinned offsets of {_names(members)} are not at the distances given by `relative`",
        )
    elif starts and min(starts) < 0:
        yield Issue(
            "group_pin_below_zero",
            path,
            f"with its pins, the group of {_names(members)} would begin at offset {min(starts):,}, below 0",
        )


def _shared_pools(members: list[_Member], pools: dict[str, Pool]) -> Collection[str]:
    """Pools that every buffer of the group may go to; `pools` itself where none of them names any."""
    lists = [names for buffer, _ in members if (names := named_pools(buffer)) is not None]
    if not lists:
        return pools
    sets = [frozenset(names) for names in lists[1:]]
    return [name for name in lists[0] if name in pools and all(name in others for others in sets)]


def _alignments(pools: Iterable[Pool]) -> list[Pool]:
    """One pool of each alignment and base."""
    return list({(pool.alignment, pool.base): pool for pool in pools}.values())


def _inner_conflicts(
    problem: Problem, index_of: dict[str, int], group_of: dict[int, tuple[int, int]]
) -> Iterator[Issue]:
    in_place = {frozenset((share.input, share.output)) for share in problem.in_place}
    for i, (first, second) in enumerate(problem.conflicts):
        one, two = index_of.get(first), index_of.get(second)
        if one is None or two is None or one not in group_of or two not in group_of:
            continue
        (group, at), (other, other_at) = group_of[one], group_of[two]
        a, b = problem.buffers[one], problem.buffers[two]
        if at == other_at and frozenset((first, second)) in in_place:
            continue
        if group == other and a.size and b.size and at < other_at + b.size and other_at < at + a.size:
            yield Issue(
                "conflict_in_group",
                f"$.conflicts[{i}]",
                f"{first!r} and {second!r} overlap at the distance that `relative` gives them",
            )
