#!/usr/bin/env python3
"""A second checker, slow and simple: check.py PROBLEM PLAN PROOF. Written from docs/proofs.md alone.

Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE).

Exit codes are those of memstow-check. It needs Python 3.11 and shares nothing with memstow or memstow-check.
"""

import json
import sys
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, combinations, takewhile
from math import gcd, inf, lcm
from pathlib import Path

LIMIT = 1 << 62
MOST_MOVING, MOST_PAIRS = 1 << 14, 1 << 21
DEEPEST = 1000
Lemma = dict[int, tuple[int, int]]
Heights = tuple[int, ...]  # the greatest peak by pool, sum of all, and cost by term; 2^62: any


class WrongError(Exception):
    """The plan or the proof is wrong."""


class NotCheckedError(Exception):
    """Something is here that this program does not know."""


def require(truth: bool, why: str) -> None:
    """What a proof or a plan must satisfy."""
    if not truth:
        raise WrongError(why)


def know(truth: bool, why: str) -> None:
    """What a problem must be for this program to say anything."""
    if not truth:
        raise NotCheckedError(why)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    know(len({key for key, _ in pairs}) == len(pairs), "a key twice")
    return dict(pairs)


def _constant(name: str) -> object:
    raise NotCheckedError(f"{name} is no JSON")


def read_json(data: bytes) -> object:
    """A document, strictly."""
    try:
        document: object = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_constant
        )
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise NotCheckedError(f"no JSON: {error}") from None
    return document


def fields(value: object, known: str) -> dict[str, object]:
    """The fields of an object, which are all known."""
    if not isinstance(value, dict):
        raise NotCheckedError("no object")
    for key in value:
        know(key in known.split(), f"the field {key!r} is unknown")
    return value


def items(value: object) -> list[object]:
    """The items of a list."""
    if not isinstance(value, list):
        raise NotCheckedError("no list")
    return value


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise NotCheckedError("no text")
    return value


def number(value: object, least: int = 0) -> int:
    """An integer up to the limit."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LIMIT:
        raise NotCheckedError(f"no number from {least} to 2^62")
    return value


@dataclass
class Buffer:
    """A buffer, and the offsets that the grid allows it."""

    name: str
    size: int
    alignment: int
    pools: list[int]
    offset: int | None
    always: bool = False
    lives: list[tuple[int, int]] = field(default_factory=list)
    grain: int = 1
    pin: int | None = None
    modulus: int = 1
    residue: int = 0
    barred: list[tuple[int, int]] = field(default_factory=list)
    group: int = -1
    place: int = 0
    unit: int = -1
    costs: dict[str, dict[int, int]] = field(default_factory=dict)
    in_proof: list[int] = field(default_factory=list)


@dataclass
class Unit:
    """Buffers that are in one pool, the pools where they may be, and by term what they cost there.

    Or, without members, an open pair: it is apart, or shares bytes.
    """

    members: list[int]
    pools: list[int]
    costs: dict[str, dict[int, int]]
    pair: tuple[int, int] | None = None


@dataclass
class Limit:
    """Weights of units in some of their pools, for which there is so much room in layouts up to a height."""

    parts: list[tuple[int, list[int], int]]
    room: int
    heights: Heights


@dataclass
class Statement:
    """That all layouts within the heights cost at least so much."""

    term: str
    heights: Heights
    least: float


COSTS = {"placement_cost": "placement cost", "preference": "preference", "reuse_cost": "reuse cost"}
PLACEMENT = ["placement cost", "preference"]
TERMS = [*COSTS.values()]
APART, SHARES = 0, 1  # the pools of an open pair


@dataclass
class Pool:
    """A pool, and where it begins in the space of all."""

    name: str
    end: int
    alignment: int
    base: int
    reserved: list[tuple[int, int]]
    cost: int = 0
    start: int = 0

    def length(self, height: int) -> int:
        """Of several pools, up to this height; up to 2^62 those without a capacity are left out."""
        length = min(self.end, height)
        return length if length < LIMIT else 0


def union(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same, sorted, those that overlap or touch as one."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


class Problem:
    """What the problem says, and what follows from it."""

    def __init__(self, document: object) -> None:
        root = fields(
            document,
            "version name pools buffers conflicts exclusive relative in_place reuse_costs objective",
        )
        know(number(root.get("version", 1)) == 1, "another version")
        pools = items(root.get("pools", [{"id": "memory"}]))
        know(0 < len(pools) <= 1000, "no pool, or too many")
        self.pools = [self._pool(one) for one in pools]
        self.pool = {one.name: k for k, one in enumerate(self.pools)}
        know(len(self.pool) == len(pools), "two pools with one id")
        default = ["peak"] if len(pools) == 1 else ["placement_cost", "peak"]
        terms = default if root.get("objective") is None else items(root["objective"])
        quoted = {one.name: one.name.replace("'", "''") for one in self.pools}
        self.own = {f"peak:{name}": f"peak of '{by}'" for name, by in quoted.items()}
        names = {"max_peak": "peak", "peak": "sum of peaks", **self.own}
        if len(pools) == 1:
            names = dict.fromkeys(names, "peak")
        names |= COSTS
        self.terms = [names[term] for term in takewhile(lambda term: term in names, map(text, terms))]
        self.buffers = [self._buffer(one) for one in items(root.get("buffers"))]
        self.index = {one.name: i for i, one in enumerate(self.buffers)}
        know(len(self.index) == len(self.buffers), "two buffers with one id")
        self.conflicts = {self._pair(items(one)) for one in items(root.get("conflicts", []))}
        self.exclusive = {self._pair(items(one)) for one in items(root.get("exclusive", []))}
        ties = [fields(one, "input output") for one in items(root.get("in_place", []))]
        self.ties = {self._pair([one.get("input"), one.get("output")]) for one in ties}
        self.groups: list[list[int]] = []
        self._relative([fields(one, "buffer base offset") for one in items(root.get("relative", []))])
        self._costs([fields(one, "buffers cost") for one in items(root.get("reuse_costs", []))])
        self._units()
        self.base, self.end, self.reserved = self.pools[0].base, self.pools[0].end, self.pools[0].reserved
        if len(pools) == 1:
            self.lay_space((LIMIT, LIMIT, LIMIT, LIMIT, LIMIT))

    def _pool(self, value: object) -> Pool:
        pool = fields(value, "id capacity alignment reserved base cost")
        end = LIMIT if pool.get("capacity") is None else number(pool["capacity"])
        base = 0 if pool.get("base") is None else number(pool["base"])
        known = [fields(one, "offset size") for one in items(pool.get("reserved", []))]
        ranges = [(number(one.get("offset")), number(one.get("size"), 1)) for one in known]
        know(all(begin + size <= end for begin, size in ranges), "a reserved range beyond the pool")
        reserved = union((begin, begin + size) for begin, size in ranges)
        alignment, cost = number(pool.get("alignment", 1), 1), number(pool.get("cost", 0))
        return Pool(text(pool.get("id")), end, alignment, base, reserved, cost)

    def lay_space(self, heights: Heights, within: dict[int, list[int]] | None = None) -> None:
        """All pools one after the other, each up to its height; some units may be in these pools alone."""
        within = within or {}
        apart = (u - self.first_pair for u, pools in within.items() if pools == [APART])
        self.apart = {frozenset(self.open[k]) for k in apart if k >= 0}
        for one in self.buffers:
            one.in_proof = within.get(one.unit, one.pools) if one.size else one.pools
        if len(self.pools) > 1:
            self._place(heights)
        for one in self.buffers:
            one.grain = gcd(*(lcm(one.alignment, self.pools[k].alignment) for k in one.in_proof))
            one.pin = None if one.offset is None else self.pools[one.in_proof[0]].start + one.offset
            know(one.size == 0 or (one.pin or 0) <= LIMIT, "more than 2^62 addresses")
            others = [(self.pools[k], heights[k]) for k in range(len(self.pools)) if k not in one.in_proof]
            lengths = ((pool.start, pool.start + pool.length(height)) for pool, height in others)
            one.barred = union([*self.reserved, *lengths])
        self._grid()

    def _place(self, heights: Heights) -> None:
        sized = [one for one in self.buffers if one.size]
        pins = (one.offset for one in sized if one.offset is not None)
        distances = (self.distance(group[0], i) for group in self.groups for i in group)
        ends = (end for pool in self.pools for _, end in pool.reserved)
        bases = (pool.base for pool in self.pools)
        step = gcd(*(one.size for one in sized), *pins, *distances, *ends, *bases) or 1
        step = lcm(step, *(lcm(b.alignment, self.pools[k].alignment) for b in sized for k in b.in_proof))
        know(step <= LIMIT, "alignments beyond 2^62")
        self.base, self.end, self.reserved = 0, -1, []
        for pool, height in zip(self.pools, heights, strict=False):
            pool.start = pool.base % step
            pool.start += max(-(-(self.end + 1 - pool.start) // step), 0) * step
            length = pool.length(height)
            self.reserved.append((max(self.end, 0), pool.start))
            for a, b in pool.reserved:
                top = b if pool is self.pools[-1] else min(b, length)
                self.reserved += [(pool.start + a, pool.start + top)] if a < length else []
            self.end = pool.start + length
        know(max([self.end, *(b for _, b in self.reserved)]) <= LIMIT, "more than 2^62 addresses")
        self.reserved = union((a, b) for a, b in self.reserved if a < b)

    def _buffer(self, value: object) -> Buffer:
        one = fields(value, "id size lifetime lifetimes alignment pools accesses pool offset group")
        life, lives = one.get("lifetime"), one.get("lifetimes")
        know(life is None or lives is None, "a lifetime twice")
        alignment = number(one.get("alignment", 1), 1)
        names = list(self.pool) if one.get("pools") is None else [text(name) for name in items(one["pools"])]
        know(bool(names) and len({*names}) == len(names), "no pools, or one twice")
        know(all(name in self.pool for name in names), "an unknown pool")
        before = {} if one.get("pool") is not None else {self.pool[name]: k for k, name in enumerate(names)}
        if one.get("pool") is not None:
            know(text(one["pool"]) in names, "a pool that is none of its pools")
            names = [text(one["pool"])]
        pools = sorted(self.pool[name] for name in names)
        know(all(lcm(alignment, self.pools[k].alignment) <= LIMIT for k in pools), "an alignment beyond 2^62")
        offset = None if one.get("offset") is None else number(one["offset"])
        know(offset is None or one.get("pool") is not None, "an offset without a pool")
        buffer = Buffer(text(one.get("id")), number(one.get("size")), alignment, pools, offset)
        accesses = buffer.size if one.get("accesses") is None else number(one["accesses"])
        accesses = accesses if buffer.size else 0
        buffer.costs["placement cost"] = {k: accesses * self.pools[k].cost for k in pools}
        buffer.costs["preference"] = {k: buffer.size * before.get(k, 0) for k in pools}
        for term in PLACEMENT:
            if term not in self.terms:
                buffer.costs[term] = dict.fromkeys(pools, 0)
        if life == "always":
            buffer.always = True
            return buffer
        know(lives != [], "no lifetimes")
        for span in items(lives) if lives is not None else [life] if life is not None else []:
            times = items(span)
            know(len(times) == 2, "no two times")
            begin, end = (number(time, -LIMIT) for time in times)
            know(begin < end, "an empty lifetime")
            buffer.lives.append((begin, end))
        return buffer

    def _pair(self, names: list[object]) -> frozenset[int]:
        know(all(text(name) in self.index for name in names), "an unknown buffer")
        pair = frozenset(self.index[text(name)] for name in names)
        know(len(names) == 2 and len(pair) == 2, "no pair")
        return pair

    def _relative(self, entries: list[dict[str, object]]) -> None:
        near: dict[int, list[tuple[int, int]]] = {}
        for entry in entries:
            names = [text(entry.get("buffer")), text(entry.get("base"))]
            know(all(name in self.index for name in names), "an unknown buffer")
            i, j = (self.index[name] for name in names)
            know(i != j, "a buffer that is its own base")
            offset = number(entry.get("offset"), -LIMIT)
            near.setdefault(j, []).append((i, offset))
            near.setdefault(i, []).append((j, -offset))
        places: dict[int, int] = {}
        for start in near:
            if start in places:
                continue
            places[start], reached = 0, [start]
            for i in reached:
                for j, by in near[i]:
                    place = places[i] + by
                    know(abs(place) <= LIMIT // 2, "a distance beyond 2^61")
                    know(places.get(j, place) == place, "distances that contradict")
                    if j not in places:
                        places[j] = place
                        reached.append(j)
            span = max(places[i] for i in reached) - min(places[i] for i in reached)
            know(span <= LIMIT // 2, "a distance beyond 2^61")
            know(sum(len(near[i]) for i in reached) == 2 * (len(reached) - 1), "a cycle in relative")
            group = sorted(i for i in reached if self.buffers[i].size)
            if len(group) > 1:
                for i in group:
                    self.buffers[i].group, self.buffers[i].place = len(self.groups), places[i]
                self.groups.append(group)
        for pair in self.conflicts:
            i, j = pair
            by = self.distance(i, j)
            if self.same_group(i, j) and not (by == 0 and pair in self.ties):
                apart = by >= self.buffers[i].size or -by >= self.buffers[j].size
                know(apart, "two that conflict overlap in their group")

    def _costs(self, entries: list[dict[str, object]]) -> None:
        costs = Counter[tuple[int, int]]()
        for entry in entries:
            i, j = sorted(self._pair(items(entry.get("buffers"))))
            costs[i, j] += number(entry.get("cost"))
        know(costs.total() <= LIMIT, "reuse costs beyond 2^62")
        tied = {pair for pair in costs if self.same_group(*pair)}
        self.fixed = sum(costs[i, j] for i, j in tied if self.overlap(i, j, self.distance(i, j)))
        self.open = sorted(pair for pair in costs if pair not in tied)
        self.prices = [costs[pair] for pair in self.open]
        self.dearest = {"reuse cost": costs.total()}
        self.ties_count = False

    def _units(self) -> None:
        self.units: list[Unit] = []
        for term in PLACEMENT:
            self.dearest[term] = sum(max(one.costs[term].values()) for one in self.buffers)
            know(self.dearest[term] <= LIMIT, "costs beyond 2^62")
        for i, one in enumerate(self.buffers):
            members = self.group_of(i)
            if one.size == 0 or members[0] != i:
                continue
            others = [self.buffers[k] for k in members]
            pools = [k for k in one.pools if all(k in other.pools for other in others)]
            costs = {term: {k: sum(o.costs[term][k] for o in others) for k in pools} for term in PLACEMENT}
            costs["reuse cost"] = dict.fromkeys(pools, 0)
            for other in others:
                other.unit = len(self.units)
            self.units.append(Unit(members, pools, costs))
        self.first_pair = len(self.units)
        self.pair_units = {pair: self.first_pair + k for k, pair in enumerate(self.open)}
        for pair, price in zip(self.open, self.prices, strict=True):
            paid = {term: {APART: 0, SHARES: price if term == "reuse cost" else 0} for term in TERMS}
            self.units.append(Unit([], [APART, SHARES], paid, pair))

    def reach(self, heights: Heights) -> list[int]:
        """The greatest peak of each pool within the heights."""
        return [min(pool.end, height) for pool, height in zip(self.pools, heights, strict=False)]

    def cover(self, heights: Heights, others: Heights) -> bool:
        """Whether all layouts within the others are within these."""
        count = len(self.pools)
        mine, theirs = ([*self.reach(one), *one[count:]] for one in (heights, others))
        return all(one >= other for one, other in zip(mine, theirs, strict=True))

    def overlap(self, i: int, j: int, by: int) -> bool:
        """Whether they share bytes at this distance."""
        a, b = self.buffers[i].size, self.buffers[j].size
        return a > 0 and b > 0 and -b < by < a

    def same_group(self, i: int, j: int) -> bool:
        """Whether they keep their distance."""
        return self.buffers[i].group >= 0 and self.buffers[i].group == self.buffers[j].group

    def distance(self, i: int, j: int) -> int:
        """From i to j, which are in one group."""
        return self.buffers[j].place - self.buffers[i].place

    def group_of(self, i: int) -> list[int]:
        """All in its group; itself alone if it is in none."""
        return self.groups[self.buffers[i].group] if self.buffers[i].group >= 0 else [i]

    def _grid(self) -> None:
        sized = [one for one in self.buffers if one.size]
        pins = (one.pin for one in sized if one.pin is not None)
        distances = (self.distance(group[0], i) for group in self.groups for i in group)
        ends = (end for _, end in self.reserved)
        unit = gcd(*(one.size for one in sized), *pins, *ends, *distances)
        changed = bool(sized)
        while changed:
            changed = False
            for one in sized:
                if unit % one.grain or self.base % one.grain:
                    finer = gcd(unit, one.grain, self.base)
                    changed, unit = changed or finer != unit, finer
        for one in sized:
            is_free = not (unit % one.grain or self.base % one.grain)
            one.modulus = unit if is_free else one.grain
            one.residue = 0 if is_free else -self.base % one.grain

    def meet(self, i: int, j: int) -> bool:
        """Whether the two must not overlap, unless they tie."""
        one, other, pair = self.buffers[i], self.buffers[j], frozenset((i, j))
        if i == j or not one.size or not other.size or self.same_group(i, j):
            return False
        if pair in self.conflicts:
            return True
        if pair in self.exclusive:
            return False
        if one.always or other.always:
            return all(each.always or each.lives for each in (one, other))
        return any(a < d and c < b for a, b in one.lives for c, d in other.lives)

    def live_at_once(self, some: list[int]) -> bool:
        """Whether each two of these conflict because all live at one moment; others may conflict as well."""
        if len(some) ** 2 < len(self.exclusive) + len(self.ties):
            return False  # To look at their pairs takes less.
        buffers, among = [self.buffers[i] for i in some], {*some}
        if any(not one.size or one.group >= 0 or not (one.always or len(one.lives) == 1) for one in buffers):
            return False
        lives = [one.lives[0] for one in buffers if not one.always]
        if lives and max(begin for begin, _ in lives) >= min(end for _, end in lives):
            return False
        return not any(pair <= among for pairs in (self.exclusive, self.ties) for pair in pairs)

    def conflict(self, i: int, j: int) -> bool:
        """Whether the two conflict, in proofs."""
        pair = frozenset((i, j))
        return pair in self.apart or self.never_share(i, j)

    def never_share(self, i: int, j: int) -> bool:
        """Whether no layout has the two share a byte."""
        return self.meet(i, j) and frozenset((i, j)) not in self.ties

    def partners(self, i: int, j: int) -> bool:
        """Whether the two tie or are apart, in proofs."""
        pair = frozenset((i, j))
        return self.ties_count and pair in self.ties and pair not in self.apart and self.meet(i, j)

    def permits(self, i: int, at: int) -> bool:
        """Whether a buffer may be there, as far as alignments and reserved ranges go."""
        one = self.buffers[i]
        hits = one.size and any(a < at + one.size and at < b for a, b in one.barred)
        return (self.base + at) % one.grain == 0 and not hits

    def up(self, i: int, least: int) -> int | None:
        """The least allowed offset from there on."""
        one = self.buffers[i]
        if one.pin is not None:
            allowed = one.pin >= least and self.permits(i, one.pin) and one.pin + one.size <= LIMIT
            return one.pin if allowed else None
        offset = max(least, 0)
        while True:
            offset += (one.residue - offset) % one.modulus
            hit = [b for a, b in one.barred if a < offset + one.size and offset < b]
            if not hit:
                return offset if offset + one.size <= LIMIT else None
            offset = hit[0]

    def down(self, i: int, most: int) -> int | None:
        """The greatest allowed offset up to there."""
        one = self.buffers[i]
        if one.pin is not None:
            allowed = one.pin <= most and self.permits(i, one.pin) and one.pin + one.size <= LIMIT
            return one.pin if allowed else None
        offset = min(most, LIMIT - one.size)
        while True:
            offset -= (offset - one.residue) % one.modulus
            hit = [a for a, b in one.barred if a < offset + one.size and offset < b]
            if offset < 0 or not hit:
                return offset if offset >= 0 else None
            offset = hit[-1] - one.size


def overlaps(problem: Problem, offsets: dict[int, int], pools: dict[int, Pool]) -> Iterator[tuple[int, int]]:
    """The pairs that share a byte at some time."""
    changes = list[tuple[float, bool, int]]()  # when: what begins is after what ends
    for i, one in enumerate(problem.buffers):
        for begin, end in [(-inf, inf)] if one.always else one.lives:
            if one.size:
                changes += (begin, True, i), (end, False, i)
    # What lives, by pool and by the digits of sizes, and then by offset: what shares a byte with another
    # begins before its end, and no further below its begin than the most that so many digits can say.
    alive = [[list[tuple[int, int]]() for _ in range(64)] for _ in problem.pools]
    for _, begins, i in sorted(changes):
        at, size = offsets[i], problem.buffers[i].size
        there = alive[problem.pools.index(pools[i])]
        own = there[size.bit_length()]
        if not begins:
            own.pop(bisect_left(own, (at, i)))
            continue
        for digits, some in enumerate(there):
            first, end = bisect_left(some, (at - (1 << digits), 0)), bisect_left(some, (at + size, 0))
            for offset, j in some[first:end]:
                if at < offset + problem.buffers[j].size:
                    yield i, j
        insort(own, (at, i))


def values_of(problem: Problem, document: object) -> dict[str, int] | None:
    """The values of the terms of a plan that is right; None if it says infeasible."""
    if not isinstance(document, dict):
        raise NotCheckedError("no plan")
    if text(document.get("status")) == "infeasible":
        return None
    know(document["status"] in ("optimal", "feasible"), "no plan")
    know(bool(problem.terms), "another objective")
    offsets, pools = dict[int, int](), dict[int, Pool]()
    for value in items(document.get("placements")):
        one = fields(value, "buffer pool offset")
        i, k = problem.index.get(text(one.get("buffer"))), problem.pool.get(text(one.get("pool")))
        offset = number(one.get("offset"))
        if i is None or i in offsets:
            raise WrongError("an unknown buffer, or one twice")
        if k is None or k not in problem.buffers[i].pools:
            raise WrongError("another pool")
        offsets[i], pools[i] = offset, problem.pools[k]
    require(len(offsets) == len(problem.buffers), "a buffer without a place")
    for i, offset in offsets.items():
        buffer, pool = problem.buffers[i], pools[i]
        require(offset + buffer.size <= pool.end, "beyond the end of the pool")
        require(buffer.offset in (None, offset), "not at its pin")
        alignment = lcm(buffer.alignment, pool.alignment)
        require((pool.base + offset) % alignment == 0, "not aligned")
        hits = buffer.size and any(a < offset + buffer.size and offset < b for a, b in pool.reserved)
        require(not hits, "in a reserved range")
        first = problem.group_of(i)[0]
        kept = offset - offsets[first] == problem.distance(first, i) and pools[first] is pool
        require(kept, "another distance in a group")

    def share(i: int, j: int) -> bool:
        return pools[i] is pools[j] and problem.overlap(i, j, offsets[j] - offsets[i])

    for i, j in chain(overlaps(problem, offsets, pools), problem.conflicts):
        if share(i, j) and problem.meet(i, j):
            require(offsets[i] == offsets[j] and frozenset((i, j)) in problem.ties, "two overlap")
    peaks = [0] * len(problem.pools)
    for i, at in offsets.items():
        if problem.buffers[i].size:
            k = problem.pools.index(pools[i])
            peaks[k] = max(peaks[k], at + problem.buffers[i].size)
    know("sum of peaks" not in problem.terms or sum(peaks) <= LIMIT, "a sum of peaks beyond 2^62")
    paid = (cost for pair, cost in zip(problem.open, problem.prices, strict=True) if share(*pair))
    values = {"peak": max(peaks), "sum of peaks": min(sum(peaks), LIMIT)}
    values |= zip(problem.own.values(), peaks, strict=True)
    values["reuse cost"] = problem.fixed + sum(paid)
    for term in PLACEMENT:
        values[term] = sum(problem.buffers[i].costs[term][problem.pools.index(pools[i])] for i in offsets)
    return values


class Context:
    """Buffers with ranges; dead if one is empty."""

    def __init__(self, problem: Problem, ranges: Iterable[tuple[int, int, int]]) -> None:
        self.problem = problem
        self.ranges: Lemma = {}
        self.dead = False
        for i, low, high in ranges:
            self.ranges[i] = (0, 0)
            least, most = problem.up(i, low), problem.down(i, high)
            if least is None or most is None or least > most:
                self.dead = True
            else:
                self.ranges[i] = (least, most)

    def copy(self) -> "Context":
        """The same, to change."""
        other = Context(self.problem, ())
        other.ranges, other.dead = dict(self.ranges), self.dead
        return other

    def narrow(self, i: int, low: int | None = None, high: int | None = None) -> None:
        """Bounds that hold as well."""
        if self.dead:
            return
        before = self.ranges[i]
        least = before[0] if low is None or low <= before[0] else self.problem.up(i, low)
        most = before[1] if high is None or high >= before[1] else self.problem.down(i, high)
        if least is None or most is None or least > most:
            self.dead = True
        else:
            self.ranges[i] = (least, most)

    def push(self, j: int) -> None:
        """What follows for the others."""
        if self.dead:
            return
        low, high = self.ranges[j]
        size = self.problem.buffers[j].size
        for k, (least, most) in list(self.ranges.items()):
            ties = self.can_tie(j, k)
            if not ties and not self.conflict(j, k):
                continue
            own = self.problem.buffers[k].size
            # By what was so before: the first change is one of the low, the second one of the high.
            is_above, is_below = least + own > high, low + size > most
            if is_above:
                self.narrow(k, low=low if ties else low + size)
            if is_below:
                self.narrow(k, high=high if ties else high - own)

    def can_tie(self, i: int, j: int) -> bool:
        """Whether the two may have one offset."""
        (low, high), (least, most) = self.ranges[i], self.ranges[j]
        return self.problem.partners(i, j) and low <= most and least <= high

    def conflict(self, i: int, j: int) -> bool:
        """Whether the two conflict here."""
        return self.problem.conflict(i, j) or (self.problem.partners(i, j) and not self.can_tie(i, j))

    def has_place(self, i: int, at: int) -> bool:
        """Whether this is an allowed offset in its range."""
        low, high = self.ranges[i]
        return low <= at <= high and self.problem.up(i, at) == at

    def follow(self, j: int) -> None:
        """What follows for its group."""
        require(self.problem.buffers[j].group >= 0, "in no group")
        if self.dead:
            return
        low, high = self.ranges[j]
        for k in self.problem.group_of(j):
            if k in self.ranges:
                by = self.problem.distance(j, k)
                self.narrow(k, low=low + by, high=high + by)


class Proof:
    """The steps of a proof, one after the other."""

    def __init__(self, problem: Problem, data: bytes) -> None:
        self.problem, self.data, self.at = problem, data, 0
        self.lemmas: dict[int, Lemma] = {}
        self.made = self.pairs = 0
        self.tolls: dict[tuple[int, int], float] = {}
        self.named: list[Heights] = []
        self.read_as = self.laid_as = 0  # the numbers of the heights read last, and of the space
        self.within: dict[int, list[int]] = {}
        self.parts: list[tuple[int, list[int], int]] = []
        self.limits: list[Limit] = []
        known = ((term, self.cheapest(term, self.root())) for term in TERMS)
        self.known = [Statement(term, self.uniform(LIMIT), least) for term, least in known]
        self.statements: list[Statement] = []

    def number(self, limit: int = 1 << 64) -> int:
        """The next number, which is below the limit."""
        value = shift = 0
        while True:
            require(self.at < len(self.data), "cut off")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            require(value < limit and shift <= 70, "a number too large")
            if byte < 128:
                return value

    def amount(self) -> int:
        """An offset."""
        return self.number(LIMIT + 1)

    def uniform(self, height: int) -> Heights:
        """One height of all pools."""
        return (*[height] * len(self.problem.pools), LIMIT, LIMIT, LIMIT, LIMIT)

    def heights(self) -> Heights:
        """One of all, or some that have a number."""
        self.read_as = number = self.number()
        if number <= LIMIT:
            return self.uniform(number)
        require(number - LIMIT - 1 < len(self.named), "no such heights")
        return self.named[number - LIMIT - 1]

    def ascending(self, read: Callable[[int], None], limit: int | None = None, fewest: int = 1) -> None:
        """Buffers, or others up to the limit, in ascending order, each followed by what `read` takes."""
        limit = len(self.problem.buffers) if limit is None else limit
        count, next_one = self.number(), 0
        require(fewest <= count <= limit, "a list that is empty or too long")
        for _ in range(count):
            i = next_one + self.number()
            require(i < limit, "there is no such number")
            next_one = i + 1
            read(i)

    def member(self, context: Context) -> int:
        """A buffer of the context."""
        i = self.number()
        require(i in context.ranges, "not in the context")
        return i

    def back(self) -> int:
        """An earlier lemma."""
        which = self.made - self.number()
        require(which in self.lemmas and which < self.made, "no such lemma")
        return which

    def check(self, digest: bytes) -> None:
        """All steps; what they show stays in `statements`."""
        head = b"memstow proof 1\n"
        know(self.data.startswith(head), "no proof")
        self.at = len(head) + 32
        require(self.data[len(head) : self.at] == digest, "for another problem")
        steps, several = 0, len(self.problem.pools) > 1
        laid: Heights | None = None
        while kind := self.number():
            steps += 1
            is_first = kind in (4, 7, 11) or (not several and kind in (1, 2, 3, 10))
            require(is_first or laid is not None, "the height comes first")
            if kind == 1:
                self.lemma()
            elif kind == 2:
                del self.lemmas[self.back()]
            elif kind == 3:
                self.conclusion(laid)
            elif kind in (4, 7):
                self.lemmas.clear()
                laid, self.laid_as = self.heights(), self.read_as
                self.within = self.read_within() if kind == 7 else {}
                self.parts = [(unit, pools, 1) for unit, pools in self.within.items()]
                self.problem.lay_space(laid, self.within)
            elif kind == 5 and laid is not None:
                self.limits.append(self.spent(self.term(), laid))
            elif kind == 6:
                name, heights = self.term(), self.heights()
                lows, tops = [0] * len(self.problem.pools), self.problem.reach(heights)
                least = self.least_within(name, heights[len(lows) :], lows, tops, 1)
                self.statements.append(Statement(name, heights, least))
            elif kind == 8 and laid is not None:
                self.limits.append(self.row(laid))
            elif kind == 9:
                self.cost(self.term(), self.heights())
            elif kind == 10:
                self.lemmas.clear()
                self.problem.ties_count = bool(self.number(2))
            elif kind == 11:
                self.named.append(tuple(self.amount() for _ in self.uniform(0)))
            else:
                require(kind in (12, 13) and laid is not None, "an unknown step")
                self.limits.append(self.rows(laid or ()) if kind == 12 else self.chains(laid or ()))
        require(self.number() == steps and self.at == len(self.data), "another end")

    def term(self) -> str:
        """Which cost is meant."""
        number = self.number()
        require(number < len(TERMS), "no such term")
        return TERMS[number]

    def conclusion(self, laid: Heights | None) -> None:
        """That no layout is within the heights, or a limit."""
        heights = self.heights()
        require(laid is None or self.read_as == self.laid_as, "a conclusion for another height")
        several = len(self.problem.pools) > 1
        end = self.problem.end if several else min(heights[0], self.problem.end)
        out = {k for k, top in enumerate(self.problem.reach(heights)) if top == LIMIT and several}
        listed = ((i, one) for i, one in enumerate(self.problem.buffers) if out.isdisjoint(one.in_proof))
        sized = ((i, one.size) for i, one in listed if one.size)
        self.derive(Context(self.problem, ((i, 0, end - size) for i, size in sized)))
        if self.within:
            self.limits.append(Limit(self.parts, len(self.parts) - 1, heights))
        else:
            self.statements.append(Statement("reuse cost", heights, inf))

    def unit(self, i: int, pool: int | None = None) -> int:
        """The unit of a buffer, or of an open pair, which may be in the pool."""
        pair, unit = i - len(self.problem.buffers), -1
        if pair >= 0:
            require(pair < len(self.problem.open), "no such pair")
            unit = self.problem.first_pair + pair
        else:
            require(self.problem.buffers[i].size > 0, "a buffer without bytes")
            unit = self.problem.buffers[i].unit
        require(pool is None or pool in self.problem.units[unit].pools, "it may not be there")
        return unit

    def read_within(self) -> dict[int, list[int]]:
        """Some units, and the pools where they may be."""
        within: dict[int, list[int]] = {}

        def read(i: int) -> None:
            pools: list[int] = []
            self.ascending(pools.append, max(len(self.problem.pools), 2))
            for pool in pools:
                self.unit(i, pool)
            require(self.unit(i) not in within, "two of one unit")
            within[self.unit(i)] = pools

        self.ascending(read, len(self.problem.buffers) + len(self.problem.open))
        return within

    def crowd(self, pool: int, fewest: int) -> list[int]:
        """Buffers that may be in the pool."""
        some: list[int] = []
        self.ascending(some.append, fewest=fewest)
        for i in some:
            self.unit(i, pool)
        return some

    def filled(self, rows: dict[int, list[int]], cell: int, cells: int, divisor: int, top: Heights) -> Limit:
        """What is in so many cells: of two in one pool, either never shares a byte, or their pair pays."""
        require(divisor > 0, "a divisor of 0")
        taken = {i: -(-self.problem.buffers[i].size // cell) for some in rows.values() for i in some}
        weights = [(self.unit(i), pool, taken[i]) for pool, some in rows.items() for i in some]
        for some in rows.values():
            for i, j in combinations(some, 2):
                if not self.problem.never_share(i, j):
                    require((i, j) in self.problem.pair_units, "they share for nothing")
                    self.pairs += 1
                    know(self.pairs <= MOST_PAIRS, "rows have more than 2^21 pairs")
                    number = self.problem.pair_units[i, j]
                    weights.append((number, APART, min(taken[i], taken[j])))
        return self.relieved(weights, cells, divisor, top)

    def relieved(self, weights: list[tuple[int, int, int]], room: int, divisor: int, top: Heights) -> Limit:
        """The same, where pairs that share give room for more, or for what is too much."""
        need = sum(weight for unit, _, weight in weights if unit < self.problem.first_pair)
        excess, parts = max(need - room, 0), list[tuple[int, list[int], int]]()
        for unit, pool, weight in weights:
            least = weight
            if unit >= self.problem.first_pair:
                least = min(weight, excess)
                room += least
            parts.append((unit, [pool], least // divisor))
        require(max(need, room) <= LIMIT, "a sum beyond 2^62")
        return Limit(parts, room // divisor, top)

    def chains(self, heights: Heights) -> Limit:
        """What cells hold, of which each has a chain that is worth no more than this."""
        pool, worth, first = self.number(), self.amount(), len(self.problem.buffers)
        prices: dict[int, int] = {}
        self.ascending(lambda i: prices.update({i: self.amount()}), first + len(self.problem.open))
        some = [i for i in prices if i < first]
        for i in some:
            self.unit(i, pool)
        know(0 < len(some) <= 1000, "chains of no buffers, or of more than 1,000")
        cell, cells = self.cells(pool, some, heights)
        taken = {i: -(-self.problem.buffers[i].size // cell) for i in some}
        weights = [(self.unit(i), pool, prices[i] * taken[i]) for i in some]
        tolls: dict[tuple[int, int], float] = {}
        for a, b in combinations(range(len(some)), 2):
            i, j = some[a], some[b]
            unit = self.problem.pair_units.get((i, j), -1)
            toll = prices.get(unit - self.problem.first_pair + first) if unit >= 0 else None
            if self.problem.never_share(i, j):
                tolls[a, b] = inf
            elif toll is not None:
                tolls[a, b] = toll
                weights.append((unit, APART, toll * min(taken[i], taken[j])))
        self.tolls = tolls | {(b, a): toll for (a, b), toll in tolls.items()}
        self.no_worth_above(worth, {k: prices[i] for k, i in enumerate(some)}, 1)
        return self.relieved(weights, worth * cells, 1, heights)

    def no_worth_above(self, most: int, rests: dict[int, int], depth: int) -> None:
        """That a chain gains no more than this by those that have a rest of their price."""
        require(depth <= DEEPEST and most >= 0, "a chain that is worth more, or a tree too deep")
        if self.number(2):
            i = self.number()
            require(i in rests, "a branch that is none")
            own = rests.pop(i)
            left = {k: rest - self.tolls.get((i, k), 0) for k, rest in rests.items()}
            fewer = {k: int(rest) for k, rest in left.items() if rest > 0}
            self.no_worth_above(most - own, fewer, depth + 1)
            self.no_worth_above(most, rests, depth + 1)
            return
        classes: list[list[int]] = []
        for k in sorted(rests, key=lambda k: (-rests[k], k)):
            fits = (mine for mine in classes if all(self.tolls.get((j, k), 0) >= rests[k] for j in mine))
            mine = next(fits, None)
            if mine is None:
                classes.append([k])
            else:
                mine.append(k)
        require(sum(rests[mine[0]] for mine in classes) <= most, "a chain that may be worth more")

    def rows(self, heights: Heights) -> Limit:
        """How many bytes the peaks have together, and how many of them buffers take."""
        divisor, pools = self.amount(), range(len(self.problem.pools))
        total = heights[len(pools)]
        require(total < LIMIT, "any sum of peaks")
        return self.filled({k: self.crowd(k, 0) for k in pools}, 1, total, divisor, heights)

    def spent(self, term: str, heights: Heights) -> Limit:
        """What units may cost that is more than they must."""
        most, costs = heights[TERMS.index(term) - 3], [unit.costs[term] for unit in self.problem.units]
        floor, step = self.cheapest(term, self.root()), self.step(term)
        require(floor <= most < LIMIT and step > 0, "a cost that may be any, or cannot be")
        parts = [
            (unit, [pool], (cost - min(mine.values())) // step)
            for unit, mine in enumerate(costs)
            for pool, cost in mine.items()
        ]
        return Limit(parts, (most - floor) // step, heights)

    def least_within(self, term: str, rest: Heights, lows: list[int], tops: list[int], depth: int) -> float:
        """What layouts cost at least that have such peaks: a node of a tree."""
        require(depth <= DEEPEST, "a tree too deep")
        kind = self.number()
        if kind == 1:
            pool, peak = self.number(len(lows)), self.amount()
            lower, higher = [*tops], [*lows]
            lower[pool], higher[pool] = min(tops[pool], peak), max(lows[pool], peak + 1)
            least = self.least_within(term, rest, lows, lower, depth + 1)
            return min(least, self.least_within(term, rest, higher, tops, depth + 1))
        if rest[0] < LIMIT:
            tops = [min(top, rest[0] - sum(lows) + low) for top, low in zip(tops, lows, strict=True)]
        dead = any(top < low for top, low in zip(tops, lows, strict=True))
        if kind == 0:
            require(dead, "peaks that may be")
            return inf
        require(kind == 2, "an unknown node")
        number = self.number(len(self.statements))
        one = self.statements[number]
        require(one.term == term or one.least == inf, "of another cost")
        require(dead or self.problem.cover(one.heights, (*tops, *rest)), "it does not hold so high")
        return inf if dead else one.least

    def row(self, heights: Heights) -> Limit:
        """How many cells a pool has, and how many of them buffers take."""
        number, divisor = self.number(), self.amount()
        some = self.crowd(number, 1)
        return self.filled({number: some}, *self.cells(number, some, heights), divisor, heights)

    def cells(self, number: int, some: list[int], heights: Heights) -> tuple[int, int]:
        """What a cell of these in a pool has, and how many there are."""
        pool, buffers = self.problem.pools[number], [self.problem.buffers[i] for i in some]
        grid = gcd(*(lcm(one.alignment, pool.alignment) for one in buffers))

        def below(end: int) -> int:
            """The multiples of the grid from the base on, below an end."""
            return -(-(pool.base + end) // grid) - -(-pool.base // grid)

        top = self.problem.reach(heights)[number]
        taken = sum(below(min(end, top)) - below(min(begin, top)) for begin, end in pool.reserved)
        return grid, below(top) - taken

    def root(self) -> dict[int, list[int]]:
        """Each unit with all of its pools."""
        return {number: unit.pools for number, unit in enumerate(self.problem.units)}

    def cheapest(self, term: str, node: dict[int, list[int]]) -> int:
        """What all units cost at least that are in these pools."""
        units = self.problem.units
        fixed = self.problem.fixed if term == "reuse cost" else 0
        return fixed + sum(min((units[u].costs[term][k] for k in at), default=0) for u, at in node.items())

    def step(self, term: str) -> int:
        """What divides all differences between costs of a unit."""
        costs = [[*unit.costs[term].values()] for unit in self.problem.units]
        return gcd(*(one - some[0] for some in costs for one in some))

    def cost(self, term: str, heights: Heights) -> None:
        """What layouts cost at least."""
        step, cheapest = self.step(term), self.cheapest(term, self.root())
        least = max(self.least_cost(term, heights, self.root(), 1), cheapest)
        if least < inf and step:
            least += (cheapest - int(least)) % step
        none = least > self.problem.dearest[term]
        self.statements.append(Statement(term, heights, inf if none else least))

    def least_cost(self, term: str, heights: Heights, node: dict[int, list[int]], depth: int) -> float:
        """The same of those of a node."""
        require(depth <= DEEPEST, "a tree too deep")
        kind = self.number()
        if kind == 0:
            return self.cheapest(term, node)
        if kind == 1:
            i, pool = self.number(len(self.problem.buffers) + len(self.problem.open)), self.number()
            unit = self.unit(i, pool)
            rest = [k for k in node[unit] if k != pool]
            require(pool in node[unit] and bool(rest), "no branch")
            least = self.least_cost(term, heights, {**node, unit: [pool]}, depth + 1)
            return min(least, self.least_cost(term, heights, {**node, unit: rest}, depth + 1))
        require(kind == 2, "an unknown node")
        scale = self.amount()
        require(scale > 0, "a scale of 0")
        prices: list[tuple[Limit, int]] = []
        self.ascending(lambda k: prices.append((self.limits[k], self.amount())), len(self.limits))
        holds = all(self.problem.cover(limit.heights, heights) for limit, _ in prices)
        require(holds, "a limit that does not hold so high")
        more, rooms, broken = Counter[tuple[int, int]](), 0, False
        for limit, price in prices:
            room = limit.room
            for unit, pools, weight in limit.parts:
                if all(pool in pools for pool in node[unit]):
                    room -= weight
                    continue
                for pool in pools:
                    more[unit, pool] += price * weight
            broken = broken or room < 0
            rooms += price * max(room, 0)
        if broken:
            return inf
        units = {unit for unit, _ in more}
        total = scale * self.cheapest(term, {u: pools for u, pools in node.items() if u not in units})
        for unit in units:
            costs = self.problem.units[unit].costs[term]
            total += min(scale * costs[pool] + more[unit, pool] for pool in node[unit])
        require(max(total, rooms) <= LIMIT, "a sum beyond 2^62")
        return max(-(-(total - rooms) // scale), 0)

    def bound(self, term: str, most: dict[str, int]) -> float:
        """What layouts have at least of a term that have at most this of others."""
        pools = self.problem.pools
        names = [*self.problem.own.values()]
        least: float = 0
        total = most.get("sum of peaks", LIMIT)
        reached = [
            min(p.end, total, most.get("peak", LIMIT), most.get(n, LIMIT))
            for p, n in zip(pools, names, strict=True)
        ]
        reached += [total, *(most.get(one, LIMIT) for one in TERMS)]
        limiting = [*(("peak", "sum of peaks", name) for name in names), ("sum of peaks",)]
        limiting += ((one,) for one in TERMS)
        for one in [*self.known, *self.statements]:
            # Layouts that are not within the heights have more than this of the term.
            outside = [
                height if term in terms else -1
                for height, reach, terms in zip(one.heights, reached, limiting, strict=True)
                if reach > height
            ]
            if one.least > most.get(one.term, LIMIT):
                least = max(least, min(outside, default=LIMIT) + 1)
            elif one.term == term and not outside:
                least = max(least, one.least)
        return least

    def lemma(self) -> None:
        """A lemma with its rule."""
        ranges: list[tuple[int, int, int]] = []
        self.ascending(lambda i: ranges.append((i, self.amount(), self.amount())))
        require(all(self.problem.buffers[i].size for i, _, _ in ranges), "a buffer without bytes")
        context = Context(self.problem, ranges)
        require(not context.dead, "a lemma with an empty range")
        stated, rule = dict(context.ranges), self.number()
        require(rule <= 2, "an unknown rule")
        if rule == 0:
            self.derive(context)
        else:
            self.split(context, rule == 1)
        self.lemmas[self.made] = stated
        self.made += 1

    def split(self, context: Context, from_below: bool) -> None:
        """The two cases of a split."""
        problem = self.problem
        i, v = self.member(context), self.amount()
        low, high = context.ranges[i]
        require(v >= low if from_below else v <= high, "a split outside of the range")
        group = [k for k in problem.group_of(i) if k in context.ranges]
        places = all(context.has_place(k, v + problem.distance(i, k)) for k in group)
        require(len(group) < 2 or places, "no place of the group")
        case = context.copy()
        case.narrow(i, low=None if from_below else v, high=v if from_below else None)
        self.derive(case)
        # Else it would go to `there`, with all that ties with it; what stops one of them.
        there = problem.down(i, v) if from_below else problem.up(i, v)
        if there is None:
            raise WrongError("a split outside of the range")
        moves = [(k, problem.distance(i, k)) for k in group]
        seen, supports = set[tuple[int, int]](), list[int]()
        while moves:
            k, by = moves.pop()
            if (k, by) in seen:
                continue
            know(len(seen) < MOST_MOVING, "more than 16,384 move at a split")
            seen.add((k, by))
            stops: list[tuple[int, int]] = []
            for j, (least, most) in context.ranges.items():
                ties = context.can_tie(k, j)
                if ties or context.conflict(k, j):
                    up = problem.buffers[j].size if from_below else -problem.buffers[k].size
                    stops.append((least + up, most + up))
                if not ties or problem.same_group(i, j):
                    continue
                if problem.buffers[j].group < 0 and context.has_place(j, there + by):
                    moves.append((j, by))
                else:
                    stops.append((least, most))
            for least, most in stops:
                first = problem.up(k, least) if from_below else problem.down(k, most)
                is_out = most <= there + by if from_below else least >= there + by
                if not is_out and first is not None:
                    supports.append(first - by)
        case = context.copy()
        if not supports:
            case.dead = True
        elif from_below:
            case.narrow(i, low=max(v + 1, min(supports)))
        else:
            case.narrow(i, high=min(v - 1, max(supports)))
        self.derive(case)

    def derive(self, context: Context) -> None:
        """Pushes, and what closes the case."""
        while (kind := self.number()) in (1, 5):
            j = self.member(context)
            if kind == 1:
                context.push(j)
            else:
                context.follow(j)
        if kind == 2:
            require(context.dead, "no range is empty")
        elif kind == 3:
            self.overfull(context)
        else:
            require(kind == 4, "an unknown part")
            for i, (low, high) in self.lemmas[self.back()].items():
                if not context.dead:
                    require(i in context.ranges, "a lemma about others")
                    least, most = context.ranges[i]
                    require(low <= least and most <= high, "outside of the lemma")

    def overfull(self, context: Context) -> None:
        """Whether the listed ones do not fit."""
        begin, end = self.amount(), self.amount()
        some: list[int] = []
        self.ascending(some.append)
        require(all(i in context.ranges for i in some), "not in the context")
        if context.dead:
            return
        require(begin <= end, "a stretch that ends before it begins")
        buffers = [self.problem.buffers[i] for i in some]
        for i, one in zip(some, buffers, strict=True):
            low, high = context.ranges[i]
            require(begin <= low and high + one.size <= end, "it may be elsewhere")
        if not self.problem.live_at_once(some):
            require(all(context.conflict(i, j) for i, j in combinations(some, 2)), "no conflict")
        residue = buffers[0].residue
        grid = gcd(*(one.modulus for one in buffers), *(one.residue - residue for one in buffers))
        begin += (residue - begin) % grid
        within = [max(min(b, end) - max(a, begin), 0) for a, b in self.problem.reserved]
        gaps = 1 + sum(size > 0 for size in within)
        waste = sorted(-one.size % grid for one in buffers)[: max(len(some) - gaps, 0)]
        taken = sum(one.size for one in buffers) + sum(waste)
        require(taken > end - begin - sum(within), "not overfull")


def run(problem_path: str, plan_path: str, proof_path: str) -> int:
    """Check the three files and print the verdict."""
    data = Path(problem_path).read_bytes()
    problem = Problem(read_json(data))
    plan = values_of(problem, read_json(Path(plan_path).read_bytes()))
    proof = Proof(problem, Path(proof_path).read_bytes())
    proof.check(sha256(data).digest())
    highest = max(pool.end for pool in problem.pools)
    if plan is None:
        require(proof.bound("peak", {}) > highest, "the proof does not show that nothing fits")
        several = len(problem.pools) > 1
        print(f"verified: no layout fits into {'the pools' if several else f'{highest} bytes'}")
        return 0
    costs = [*COSTS.values()]
    contradicted = any(proof.bound(term, plan) > plan[term] for term in costs)
    require(not contradicted, "the proof contradicts the plan")
    # What each term is at least, among layouts that are no worse in the terms before it.
    bounds: dict[str, float] = {}
    for term in problem.terms:
        if term not in bounds:
            bounds[term] = proof.bound(term, {before: plan[before] for before in bounds})
    first, *others = bounds
    if bounds[first] == plan[first]:
        shown = takewhile(lambda term: bounds[term] == plan[term], others)
        then = "".join(f", then {term} {plan[term]}" for term in shown)
        print(f"verified: {first} {plan[first]} is least{then}")
        return 0
    print(
        f"the plan is right, but its {first} {plan[first]} is not proven least: "
        f"only that none is below {bounds[first]}"
    )
    return 3


def main(words: list[str]) -> int:
    """The exit code."""
    if len(words) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    sys.setrecursionlimit(4 * DEEPEST)
    try:
        return run(*words)
    except WrongError as error:
        print(f"wrong: {error}")
        return 1
    except (NotCheckedError, OSError) as error:
        print(f"not checked: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
