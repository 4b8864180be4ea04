"""Buffers at random, with any mixture of the features that a problem can have: food for tests.

`Chance` is the same on every machine and in every version of Python.
"""

from collections.abc import Collection, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, TypeVar

from memstow.planner.generate.features import FEATURES
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import (
    ALWAYS,
    MAX_PEAK,
    PEAK,
    PLACEMENT_COST,
    Buffer,
    InPlace,
    Kind,
    Pair,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
    Term,
    peak_of,
)

Item = TypeVar("Item")


class Chance:
    """A seeded source of whole numbers, choices and orders."""

    def __init__(self, seed: int) -> None:
        # Not for secrets: a generator of test problems has to be repeatable.
        self.fraction = Random(seed).random  # noqa: S311

    def below(self, limit: int) -> int:
        """A whole number from 0 up to but without the limit."""
        return int(self.fraction() * limit)

    def between(self, least: int, most: int) -> int:
        """A whole number from `least` to `most`, both included."""
        return least + int(self.fraction() * (most - least + 1))

    def happens(self, probability: float) -> bool:
        """True that often."""
        return self.fraction() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[int(self.fraction() * len(items))]

    def shuffle(self, items: MutableSequence[Item]) -> None:
        """Put the items in a random order, in place."""
        fraction = self.fraction
        for last in range(len(items) - 1, 0, -1):
            other = int(fraction() * (last + 1))
            items[last], items[other] = items[other], items[last]


LARGEST_ALIGNMENT: Final = 64


@dataclass
class _Draft:
    """The problem on its way."""

    pools: list[Pool]
    buffers: list[Buffer]
    grouped: set[int] = field(default_factory=set)
    """Buffers whose place another one's place decides, or the other way round."""


def mixed(
    n: int, seed: int, *, features: Collection[str] = (), horizon: int | None = None, largest: int = 4096
) -> Problem:
    """A problem of n buffers of up to `largest` bytes with these features; `graph` leaves lifetimes out."""
    for name in features:
        if name not in FEATURES:
            raise InputError.single(
                "unknown_feature", "features", f"{name!r} is none of {', '.join(FEATURES)}"
            )
    chance = Chance(seed)
    horizon = max(2, n) if horizon is None else horizon
    draft = _Draft(
        _pools(chance, features), [_buffer(chance, i, features, horizon, max(1, largest)) for i in range(n)]
    )
    relative = _relative(chance, draft) if "relative" in features else ()
    if "pools" in features:
        # Some buffers may only go to some pools; rigid groups stay free, since all members must agree.
        ids = [pool.id for pool in draft.pools]
        for index, buffer in enumerate(draft.buffers):
            if index in draft.grouped or not chance.happens(0.4):
                continue
            chance.shuffle(ids)
            draft.buffers[index] = replace(buffer, pools=tuple(ids[: chance.between(1, len(ids))]))
    if "pins" in features:
        _pin(chance, draft)
    if "capacities" in features:
        _limit(chance, draft)
    conflicts = _pairs(chance, draft, n) if {"conflicts", "graph"} & set(features) else ()
    taken = set(conflicts)
    exclusive = (
        tuple(p for p in _pairs(chance, draft, n // 4) if p not in taken) if "exclusive" in features else ()
    )
    return Problem(
        version=1,
        name=f"random n={n} seed={seed}",
        pools=tuple(draft.pools),
        buffers=tuple(draft.buffers),
        conflicts=conflicts,
        exclusive=exclusive,
        relative=relative,
        in_place=_in_place(chance, draft, {*conflicts, *exclusive}) if "in_place" in features else (),
        reuse_costs=_reuse_costs(chance, draft) if "reuse_costs" in features else (),
        objective=_objective(chance, draft, "reuse_costs" in features) if "objective" in features else None,
    )


def _pools(chance: Chance, features: Collection[str]) -> list[Pool]:
    count = chance.between(2, 4) if "pools" in features else 1
    pools = []
    for index in range(count):
        reserved: tuple[Reserved, ...] = ()
        if "reserved" in features and chance.happens(0.7):
            start = chance.below(512)
            reserved = (Reserved(offset=start, size=chance.between(1, 512)),)
            if chance.happens(0.3):
                reserved += (Reserved(offset=4096, size=64),)
        pools.append(
            Pool(
                id=f"p{index}" if count > 1 else "memory",
                alignment=_alignment(chance) if "alignments" in features else 1,
                reserved=reserved,
                cost=index if count > 1 else 0,
            )
        )
    return pools


def _buffer(chance: Chance, index: int, features: Collection[str], horizon: int, largest: int) -> Buffer:
    size = 0 if "zero" in features and chance.happens(0.1) else _magnitude(chance, largest)
    buffer = Buffer(
        id=f"b{index}",
        size=size,
        alignment=_alignment(chance) if "alignments" in features else 1,
        accesses=chance.below(4 * size + 1) if "pools" in features and chance.happens(0.5) else None,
    )
    if "graph" in features:
        return buffer
    if "always" in features and chance.happens(0.05):
        return replace(buffer, lifetime=ALWAYS)
    if "lifetimes" in features and chance.happens(0.3):
        return replace(buffer, lifetimes=_several(chance, horizon))
    begin = chance.below(horizon)
    return replace(buffer, lifetime=(begin, begin + 1 + _magnitude(chance, max(1, horizon // 2)) % horizon))


def _several(chance: Chance, horizon: int) -> tuple[tuple[int, int], ...]:
    """Up to three ranges with gaps between them."""
    ranges = []
    begin = chance.below(horizon)
    for _ in range(chance.between(1, 3)):
        end = begin + chance.between(1, max(1, horizon // 8))
        ranges.append((begin, end))
        begin = end + chance.between(1, max(1, horizon // 4))
    return tuple(ranges)


def _magnitude(chance: Chance, largest: int) -> int:
    """A number from 1 to the largest, small ones as likely as large ones by order of magnitude."""
    bits = chance.between(1, max(1, largest.bit_length()))
    return min(largest, chance.between(1 << (bits - 1), (1 << bits) - 1))


def _alignment(chance: Chance) -> int:
    return 1 << chance.between(0, LARGEST_ALIGNMENT.bit_length() - 1)


def _relative(chance: Chance, draft: _Draft) -> tuple[Relative, ...]:
    """Slices of, and neighbours to, a few buffers; distances that every alignment allows."""
    ties = []
    for index in range(1, len(draft.buffers)):
        if not chance.happens(0.2):
            continue
        base = chance.below(index)
        distance = LARGEST_ALIGNMENT * chance.between(-2, 1 + draft.buffers[base].size // LARGEST_ALIGNMENT)
        ties.append(Relative(buffer=draft.buffers[index].id, base=draft.buffers[base].id, offset=distance))
        draft.grouped |= {index, base}
    return tuple(ties)


def _pin(chance: Chance, draft: _Draft) -> None:
    """Pin a few buffers, one above the other and above reserved ranges, so that they never clash."""
    above = {p.id: max((r.offset + r.size for r in p.reserved), default=0) for p in draft.pools}
    for index, buffer in enumerate(draft.buffers):
        if index in draft.grouped or not chance.happens(0.1):
            continue
        pool = chance.pick(buffer.pools or [p.id for p in draft.pools])
        if chance.happens(0.3):
            draft.buffers[index] = replace(buffer, pool=pool)
            continue
        # Powers of two: the largest serves as the common multiple of all.
        offset = -(-above[pool] // LARGEST_ALIGNMENT) * LARGEST_ALIGNMENT
        above[pool] = offset + buffer.size
        draft.buffers[index] = replace(buffer, pool=pool, offset=offset)


def _limit(chance: Chance, draft: _Draft) -> None:
    """Every pool but the last holds a part of all there is; the last one holds all of it if need be."""
    total = sum(buffer.size + LARGEST_ALIGNMENT for buffer in draft.buffers)
    for index, pool in enumerate(draft.pools):
        pinned = (b.offset + b.size for b in draft.buffers if b.pool == pool.id and b.offset is not None)
        floor = max([LARGEST_ALIGNMENT, *(r.offset + r.size for r in pool.reserved), *pinned])
        share = total if index == len(draft.pools) - 1 else chance.between(total // 8, total // 2)
        only = sum(
            b.size + LARGEST_ALIGNMENT
            for b in draft.buffers
            if (b.pools, b.pool) in (((pool.id,), None), (None, pool.id))
        )
        draft.pools[index] = replace(pool, capacity=floor + max(share, only))


def _pairs(chance: Chance, draft: _Draft, count: int) -> tuple[Pair, ...]:
    """Different pairs of buffers that no rigid group holds."""
    free = [b.id for i, b in enumerate(draft.buffers) if i not in draft.grouped]
    if len(free) < 2:
        return ()
    pairs: dict[Pair, None] = {}
    for _ in range(count):
        first = chance.below(len(free))
        second = (first + chance.between(1, len(free) - 1)) % len(free)
        pairs[free[min(first, second)], free[max(first, second)]] = None
    return tuple(pairs)


def _in_place(chance: Chance, draft: _Draft, taken: Collection[Pair]) -> tuple[InPlace, ...]:
    """Outputs that begin in the last moment of an input."""
    ends: dict[int, list[Buffer]] = {}
    singles = [
        b for i, b in enumerate(draft.buffers) if i not in draft.grouped and isinstance(b.lifetime, tuple)
    ]
    for buffer in singles:
        ends.setdefault(_range(buffer)[1] - 1, []).append(buffer)
    shares = []
    used: set[str] = set()
    for output in singles:
        inputs: Sequence[Buffer] = ends.get(_range(output)[0], ())
        if not inputs or not chance.happens(0.5):
            continue
        source = chance.pick(inputs)
        pair = (source.id, output.id)
        if source.id == output.id or used & set(pair) or pair in taken or pair[::-1] in taken:
            continue
        used |= set(pair)
        shares.append(InPlace(input=source.id, output=output.id))
    return tuple(shares)


def _range(buffer: Buffer) -> tuple[int, int]:
    if not isinstance(buffer.lifetime, tuple):
        raise TypeError(buffer.id)
    return buffer.lifetime


def _reuse_costs(chance: Chance, draft: _Draft) -> tuple[ReuseCost, ...]:
    return tuple(
        ReuseCost(buffers=pair, cost=chance.between(1, 9))
        for pair in _pairs(chance, draft, len(draft.buffers) // 2)
    )


def _objective(chance: Chance, draft: _Draft, reuse: bool) -> tuple[str, ...]:
    terms = [PEAK, MAX_PEAK, *(peak_of(pool.id) for pool in draft.pools)]
    if len(draft.pools) > 1:
        terms.append(PLACEMENT_COST)
    if reuse:
        terms.append(Term(Kind.REUSE_COST))
    chance.shuffle(terms)
    return tuple(map(str, terms[: chance.between(0, len(terms))]))
