"""Issues of each element by itself: pools, buffers with their pins, and terms of the objective."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from math import lcm

from memstow.planner.model.errors import Issue
from memstow.planner.model.problem import (
    ALWAYS,
    LATEST,
    LIMIT,
    PLAIN_KINDS,
    Buffer,
    Kind,
    Pool,
    Problem,
    Reserved,
    access_count,
    allowed_pools,
    counts,
    end_of,
    named_pools,
    parse_term,
)


def pool_issues(problem: Problem) -> Iterator[Issue]:
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


def buffer_issues(problem: Problem, pools: dict[str, Pool], index_of: dict[str, int]) -> Iterator[Issue]:
    """Issues of each buffer by itself and with the pools that it names."""
    yield from _duplicate_ids("buffers", "buffer", [buffer.id for buffer in problem.buffers], index_of)
    twice = {name for name, count in Counter(pool.id for pool in problem.pools).items() if count > 1}
    reserved = {name: _ReservedRanges(pool) for name, pool in pools.items()}
    for index, buffer in enumerate(problem.buffers):
        if not _has_one_plain_life(buffer):
            yield from _life_issues(f"$.buffers[{index}]", buffer)
        if buffer.pools is not None:
            yield from _allowed_pool_issues(f"$.buffers[{index}]", buffer.pools, pools)
        if (buffer.pool is not None or buffer.offset is not None) and buffer.pool not in twice:
            yield from _pin_issues(f"$.buffers[{index}]", buffer, pools, reserved)


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
        self._ranges = sorted(pool.reserved, key=lambda it: it.offset)
        self._offsets = [it.offset for it in self._ranges]
        self._ends = list(accumulate((it.offset + it.size for it in self._ranges), max))

    def within(self, begin: int, end: int) -> Iterator[Reserved]:
        """The ranges that share an address with [begin, end)."""
        for i in range(bisect_left(self._offsets, end) - 1, -1, -1):
            if self._ends[i] <= begin:
                return
            if self._ranges[i].offset + self._ranges[i].size > begin:
                yield self._ranges[i]


def objective_issues(problem: Problem, pools: dict[str, Pool]) -> Iterator[Issue]:
    """Issues of the objective: unknown or repeated terms, and sums beyond the largest value."""
    yield from _term_issues(problem, pools)
    yield from _cost_issues(problem, pools)


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
    dearest = max(cost_of.values())
    total = 0
    for buffer in problem.buffers:
        names = named_pools(buffer)
        most = dearest if names is None else max((cost_of.get(name, 0) for name in names), default=0)
        total += most * access_count(buffer)
    return total
