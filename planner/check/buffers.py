"""Issues of single buffers: lifetimes, lists of allowed pools, and pins to a pool and an offset."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from math import lcm

from memstow.planner.check.pools import unknown_pool
from memstow.planner.model.errors import Issue
from memstow.planner.model.problem import ALWAYS, LATEST, Buffer, Pool, Problem, Reserved, end_of


def buffer_issues(problem: Problem, pools: dict[str, Pool]) -> Iterator[Issue]:
    """Issues of each buffer by itself and with the pools that it names."""
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
            yield unknown_pool(f"{path}.pools[{names.index(name)}]", name, pools)
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
        yield unknown_pool(f"{path}.pool", buffer.pool, pools)
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
