"""The problem as the rules of proofs see it, and questions for the search.

Buffers in one pool, the offsets that each may have on the grid, and the pairs that conflict.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, takewhile
from math import gcd, lcm
from typing import Final

from memstow.planner.model.problem import (
    ALWAYS,
    LIMIT,
    Buffer,
    Kind,
    Problem,
    Range,
    end_of,
    merged,
    rigid_groups,
)
from memstow.records import record
from memstow.solvers.core import ProofQuestion


@record
class Heights:
    """Which layouts are meant: the greatest peak of each pool, of all in all, and costs. LIMIT: any."""

    peaks: tuple[int, ...]
    total: int = LIMIT
    costs: tuple[int, int, int] = (LIMIT, LIMIT, LIMIT)
    """By term, as proofs number them."""

    @property
    def numbers(self) -> list[int]:
        """As a proof has them."""
        return [*self.peaks, self.total, *self.costs]

    def within(self, other: "Heights") -> bool:
        """Whether no layout is meant that the other does not mean."""
        return all(mine <= theirs for mine, theirs in zip(self.numbers, other.numbers, strict=True))


def up_to(problem: Problem, height: int) -> Heights:
    """The same height in all pools, which ends where they do."""
    return Heights(tuple(min(end_of(pool), height) for pool in problem.pools))


def may_leave_the_capacities(problem: Problem, buffer: Buffer) -> bool:
    """Whether the buffer may be in a pool without a capacity."""
    names = buffer.pools if buffer.pool is None else (buffer.pool,)
    return any(end_of(pool) == LIMIT for pool in problem.pools if names is None or pool.id in names)


def pose(
    problem: Problem,
    heights: Heights,
    kept: Sequence[int],
    ties_count: bool = False,
    apart: Iterable[tuple[int, int]] = (),
) -> tuple[ProofQuestion, int] | None:
    """These buffers up to heights, and the end of all addresses; None where that is no question.

    Pairs in place tie or are apart if ties count; else they may overlap, which is easier to search. Pairs
    that are apart conflict.
    """
    space = Space(problem, heights)
    open_pools = {k for k, peak in enumerate(heights.peaks) if len(heights.peaks) > 1 and peak == LIMIT}
    if open_pools and any(open_pools.intersection(space.pools_of(problem.buffers[index])) for index in kept):
        return None
    if not space.is_read:
        return None
    number_of = dict[tuple[int, ...], int]()
    items = list[tuple[int, int, int, int, int, int]]()
    for index in kept:
        buffer = problem.buffers[index]
        ranges = number_of.setdefault(space.pools_of(buffer), len(number_of))
        items.append((index, buffer.size, *space.place(buffer), ranges))
    buffers = [problem.buffers[index] for index in kept]
    question = ProofQuestion(
        items,
        space.reserved,
        [space.barred(pools) for pools in number_of],
        moments_of(buffers),
        *_special_pairs(problem, buffers, apart),
        ties_count,
        _groups_among(problem, kept),
    )
    return question, space.end


COST_TERMS: Final = (Kind.PLACEMENT_COST, Kind.PREFERENCE, Kind.REUSE_COST)
"""As proofs number them."""


def provable_terms(problem: Problem) -> tuple[str, ...]:
    """The terms that the objective begins with and that proofs are about."""
    names = [f"{Kind.PEAK}:{pool.id}" for pool in problem.pools]
    known = {Kind.PEAK, Kind.MAX_PEAK, *COST_TERMS, *names}
    return tuple(takewhile(lambda term: term in known, problem.terms()))


@record
class OpenPair:
    """Two buffers, by their indices, that a layout pays for if they share a byte."""

    number: int
    """In a proof, after all buffers."""
    first: int
    second: int
    cost: int


def costs_of(problem: Problem) -> tuple[int, list[OpenPair]]:
    """What every layout pays, and the pairs that pay or not, as a proof numbers them."""
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    costs = Counter[tuple[int, int]]()
    for entry in problem.reuse_costs:
        i, j = sorted(index_of[name] for name in entry.buffers)
        costs[i, j] += entry.cost
    places = {i: (number, place) for number, group in enumerate(groups_of(problem)) for i, place in group}
    fixed, pairs = 0, list[OpenPair]()
    for (i, j), cost in sorted(costs.items()):
        if i in places and j in places and places[i][0] == places[j][0]:
            by = places[j][1] - places[i][1]
            fixed += cost if -problem.buffers[j].size < by < problem.buffers[i].size else 0
        else:
            pairs.append(OpenPair(len(problem.buffers) + len(pairs), i, j, cost))
    return fixed, pairs


def sharing_pairs(problem: Problem) -> list[OpenPair]:
    """The pairs that pay something in some layouts, as far as bytes and conflicts tell."""
    conflict = _Conflicts(problem)
    in_place = {frozenset((pair.input, pair.output)) for pair in problem.in_place}

    def may_pay(pair: OpenPair) -> bool:
        one, other = problem.buffers[pair.first], problem.buffers[pair.second]
        if not (pair.cost and one.size and other.size):
            return False
        return frozenset((one.id, other.id)) in in_place or not conflict(one, other)

    return list(filter(may_pay, costs_of(problem)[1]))


def ties_to_try(problem: Problem) -> tuple[bool, ...]:
    """Whether ties count, the easier way first; they need not if no pair in place conflicts otherwise."""
    by_id = {buffer.id: buffer for buffer in problem.buffers}
    conflict = _Conflicts(problem)
    pairs = ((by_id[pair.input], by_id[pair.output]) for pair in problem.in_place)
    matter = any(one.size and other.size and conflict(one, other) for one, other in pairs)
    return (False, True) if matter else (False,)


class _Conflicts:
    """Whether two buffers conflict, unless they are in place."""

    def __init__(self, problem: Problem) -> None:
        self._listed = {frozenset(pair) for pair in problem.conflicts}
        self._exclusive = {frozenset(pair) for pair in problem.exclusive}

    def __call__(self, one: Buffer, other: Buffer) -> bool:
        pair = frozenset((one.id, other.id))
        if pair in self._listed or pair in self._exclusive:
            return pair in self._listed
        return any(len(moment) > 1 for moment in moments_of((one, other)))


_Pairs = list[tuple[int, int]]
Places = list[tuple[int, int]]
"""Of a rigid group: its buffers with bytes by their indices, and how far each is from the lowest."""


def groups_of(problem: Problem) -> list[Places]:
    """The rigid groups of buffers with bytes."""
    if not problem.relative:
        return []
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    return [list(zip(group.members, group.deltas, strict=True)) for group in rigid_groups(problem, index_of)]


def _groups_among(problem: Problem, kept: Sequence[int]) -> list[Places]:
    """The groups among these buffers, by their places in that list."""
    at = {index: number for number, index in enumerate(kept)}
    among = ([(at[i], place) for i, place in group if i in at] for group in groups_of(problem))
    return [group for group in among if len(group) > 1]


def _special_pairs(
    problem: Problem, buffers: Sequence[Buffer], apart: Iterable[tuple[int, int]] = ()
) -> tuple[_Pairs, _Pairs, _Pairs]:
    """Pairs of these that do not conflict when they live together, that do in any case, and in place."""
    at = {buffer.id: number for number, buffer in enumerate(buffers)}
    kept_apart = {frozenset((problem.buffers[i].id, problem.buffers[j].id)) for i, j in apart}
    ties = {frozenset((pair.input, pair.output)) for pair in problem.in_place} - kept_apart
    listed = {frozenset(pair) for pair in problem.conflicts} | kept_apart
    exempt = {frozenset(pair) for pair in problem.exclusive} - listed

    def numbers(pairs: Iterable[frozenset[str]]) -> _Pairs:
        known = (sorted(at[name] for name in pair) for pair in pairs if all(name in at for name in pair))
        return sorted((one, other) for one, other in known)

    return numbers(exempt), numbers(listed), numbers(ties)


def conflicts_of(problem: Problem, buffers: Sequence[Buffer]) -> _Pairs:
    """The pairs of these buffers that conflict, each and all ascending."""
    exempt, listed, ties = _special_pairs(problem, buffers)
    together = {pair for moment in moments_of(buffers) for pair in combinations(moment, 2)}
    return sorted(together.difference(exempt).union(listed).difference(ties))


class Space:
    """The addresses of a pool up to its height; of several pools they lie one after the other.

    Pools begin where alignments and the grid are the same in all. What is between them is reserved.
    """

    def __init__(self, problem: Problem, heights: Heights) -> None:
        self._pools = problem.pools
        # Of several those without an end are left out.
        lengths = heights.peaks
        several = len(problem.pools) > 1
        self._lengths = [0 if several and length == LIMIT else length for length in lengths]
        self._starts = [0]
        self._base = problem.pools[0].base or 0
        self.end = self._lengths[0]
        sized = [buffer for buffer in problem.buffers if buffer.size]
        taken = [(one.offset, one.offset + one.size) for one in problem.pools[0].reserved]
        pinned = [buffer for buffer in sized if buffer.offset is not None]
        grid = gcd(
            *(buffer.size for buffer in sized),
            *(place for group in groups_of(problem) for _, place in group),
        )
        # One of each kind, as far as alignments go.
        kinds = list({(one.alignment, one.pools, one.pool): one for one in sized}.values())
        if len(problem.pools) > 1:
            taken = self._place(kinds, gcd(grid, *(buffer.offset or 0 for buffer in pinned)))
        self.reserved = merged(taken)
        pins, ends = [self._pin(buffer) for buffer in pinned], [end for _, end in self.reserved]
        # Checkers refuse other addresses.
        self.is_read = max([self.end, *pins, *ends]) <= LIMIT
        self._grid = gcd(grid, *pins, *ends)
        grains = {self._grain(buffer) for buffer in kinds}
        before = None
        while before != self._grid:
            before = self._grid
            for grain in grains:
                if not self._is_free(grain):
                    self._grid = gcd(self._grid, grain, self._base)

    def _place(self, kinds: Sequence[Buffer], grid: int) -> list[Range]:
        """Put several pools one after the other; what no buffer may touch."""
        reserved = [
            merged((one.offset, one.offset + one.size) for one in pool.reserved) for pool in self._pools
        ]
        ends = (end for ranges in reserved for _, end in ranges)
        grid = gcd(grid, *ends, *(pool.base or 0 for pool in self._pools)) or 1
        step = lcm(
            grid, *(lcm(b.alignment, self._pools[k].alignment) for b in kinds for k in self.pools_of(b))
        )
        self._starts, self._base, self.end = [], 0, -1
        taken = list[Range]()
        for pool, length, ranges in zip(self._pools, self._lengths, reserved, strict=True):
            start = (pool.base or 0) % step
            start += max(-(-(self.end + 1 - start) // step), 0) * step
            taken.append((max(self.end, 0), start))
            for begin, end in ranges:
                if begin < length:
                    is_last = pool is self._pools[-1]
                    taken.append((start + begin, start + (end if is_last else min(end, length))))
            self._starts.append(start)
            self.end = start + length
        return [(begin, end) for begin, end in taken if begin < end]

    def pools_of(self, buffer: Buffer) -> tuple[int, ...]:
        """The pools where the buffer may be, by their places."""
        names = buffer.pools if buffer.pool is None else (buffer.pool,)
        return tuple(k for k, pool in enumerate(self._pools) if names is None or pool.id in names)

    def pool_at(self, offset: int) -> int:
        """The pool that an address is in, by its place."""
        return bisect_right(self._starts, offset) - 1

    def _grain(self, buffer: Buffer) -> int:
        """Its alignment in any of its pools."""
        return gcd(*(lcm(buffer.alignment, self._pools[k].alignment) for k in self.pools_of(buffer)))

    def _is_free(self, grain: int) -> bool:
        return self._grid % grain == 0 and self._base % grain == 0

    def place(self, buffer: Buffer) -> tuple[int, int, int]:
        """Modulus and residue of the addresses that it may have without loss, and its pin or -1."""
        grain = self._grain(buffer)
        if self._is_free(grain):
            return self._grid, 0, self._pin(buffer)
        return grain, -self._base % grain, self._pin(buffer)

    def _pin(self, buffer: Buffer) -> int:
        return -1 if buffer.offset is None else self._starts[self.pools_of(buffer)[0]] + buffer.offset

    def barred(self, pools: tuple[int, ...]) -> list[Range]:
        """What a buffer may not touch that may be in these pools."""
        others = (k for k in range(len(self._pools)) if k not in pools)
        lengths = ((self._starts[k], self._starts[k] + self._lengths[k]) for k in others)
        return merged([*self.reserved, *(one for one in lengths if one[0] < one[1])])


def lives_of(buffer: Buffer) -> Sequence[Range]:
    """The lives of one that does not always live."""
    if buffer.lifetimes is not None:
        return buffer.lifetimes
    return () if buffer.lifetime is None or buffer.lifetime == ALWAYS else (buffer.lifetime,)


def moments_of(buffers: Sequence[Buffer]) -> list[list[int]]:
    """The greatest sets of buffers that are live at one time, each ascending."""
    return [sorted(live) for live, _ in _live_sets(buffers)]


def size_of_moments(buffers: Sequence[Buffer]) -> int:
    """How many members these sets have in all."""
    return sum(len(live) for live, _ in _live_sets(buffers))


def _live_sets(buffers: Sequence[Buffer]) -> Iterator[tuple[set[int], int]]:
    """These sets and their bytes, by time. A set is the same object each time, since all may be too many."""
    always = [i for i, buffer in enumerate(buffers) if buffer.lifetime == ALWAYS]
    begins, ends = dict[int, list[int]](), dict[int, list[int]]()
    for i, buffer in enumerate(buffers):
        for begin, end in merged(lives_of(buffer)):
            begins.setdefault(begin, []).append(i)
            ends.setdefault(end, []).append(i)
    live, grown, size = set(always), bool(always), sum(buffers[i].size for i in always)
    for time in sorted(begins.keys() | ends.keys()):
        if time in ends:
            if grown:
                yield live, size
            live.difference_update(ends[time])
            size -= sum(buffers[i].size for i in ends[time])
            grown = False
        if time in begins:
            live.update(begins[time])
            size += sum(buffers[i].size for i in begins[time])
            grown = True
    if always and not ends:
        yield live, size


def fullest_of(problem: Problem) -> list[int]:
    """The buffers with the most bytes that are live at one time, where no pair is exempt."""
    exempt = {name for pair in problem.exclusive for name in pair}
    exempt |= {name for pair in problem.in_place for name in (pair.input, pair.output)}
    exempt |= {problem.buffers[i].id for group in groups_of(problem) for i, _ in group}
    kept = [i for i, buffer in enumerate(problem.buffers) if buffer.id not in exempt]
    buffers = [problem.buffers[i] for i in kept]
    most = max((size for _, size in _live_sets(buffers)), default=0)
    return next((sorted(kept[i] for i in live) for live, size in _live_sets(buffers) if size == most), [])


def crowds_of(problem: Problem, kept: Sequence[int]) -> list[list[int]]:
    """Sets of these buffers that conflict pairwise, as great as they can be, by their indices."""
    buffers = [problem.buffers[index] for index in kept]
    question = ProofQuestion(
        [(index, problem.buffers[index].size, 1, 0, -1, 0) for index in kept],
        [],
        [[]],
        moments_of(buffers),
        *_special_pairs(problem, buffers),
        False,
        _groups_among(problem, kept),
    )
    return [[kept[number] for number in row] for row in question.rows]
