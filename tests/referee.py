"""The referee: the best plan of a tiny problem by trying every pool and every offset.

It shares no code with the solvers or with `planner.verify`, so that it can judge both. Buffers are placed one
rigid group after another; a branch is cut only where a constraint among the placed buffers is broken already,
or where the cost so far is no better than the best plan: every term only grows when buffers are added, and
the placement cost grows by what the rest costs at the least.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import lcm

from memstow.planner.model import Status
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem

Place = tuple[str, int]
Places = dict[str, Place]
Vector = tuple[int, ...]
Pair = frozenset[str]


@dataclass(frozen=True)
class Verdict:
    """Whether anything fits, the least objective vector, and a plan that has it."""

    status: Status
    vector: Vector | None
    places: Places | None


def best(problem: Problem, hint: Plan | None = None) -> tuple[Status, Vector | None]:
    """OPTIMAL with the lexicographically least values of the terms, or INFEASIBLE with None."""
    verdict = judge(problem, hint)
    return verdict.status, verdict.vector


def judge(problem: Problem, hint: Plan | None = None) -> Verdict:
    """Like `best`, with a plan."""
    search = _Search(problem, hint)
    search.place(0, {})
    if search.vector is None:
        return Verdict(Status.INFEASIBLE, None, None)
    return Verdict(Status.OPTIMAL, search.vector, search.places)


def least(problem: Problem, term: str, at_most: Vector, hint: Plan | None = None) -> int | None:
    """The least value of a term where the terms of the objective before it are no more than these."""
    search = _Least(problem, term, at_most, hint)
    search.place(0, {})
    return None if search.vector is None else search.vector[0]


def breaks(problem: Problem, places: Places) -> bool:
    """Whether these places of some or all buffers break a constraint."""
    rules = _Rules(problem)
    return not all(rules.alone(name, *places[name]) for name in places) or not all(
        rules.together(one, other, places[one], places[other]) for one, other in combinations(places, 2)
    )


def cost(problem: Problem, places: Places, hint: Plan | None = None) -> Vector:
    """The value of each term for these places."""
    return _Costs(problem, hint).vector(places)


class _Search:
    def __init__(self, problem: Problem, hint: Plan | None) -> None:
        self._rules = _Rules(problem)
        self._costs = _Costs(problem, hint)
        height = _enough(problem, hint)
        # Those with few choices first: it finds good plans early and changes nothing else.
        self._choices = sorted(
            (list(self._rules.choices(group, height)) for group in self._rules.groups()), key=len
        )
        least = [min(map(self._costs.placement, choices), default=0) for choices in self._choices]
        self._rest = [sum(least[depth + 1 :]) for depth in range(len(least))]
        self.vector: Vector | None = None
        self.places: Places | None = None

    def place(self, depth: int, placed: Places) -> None:
        """Try everything for the groups from `depth` on."""
        if depth == len(self._choices):
            self.vector, self.places = self._costs.vector(placed), placed
            return
        for more in self._choices[depth]:
            if not self._fits(more, placed):
                continue
            both = placed | more
            if self.vector is None or self._costs.vector(both, self._rest[depth]) < self.vector:
                self.place(depth + 1, both)

    def _fits(self, more: Places, placed: Places) -> bool:
        together = self._rules.together
        return all(
            together(one, other, place, there)
            for one, place in more.items()
            for other, there in placed.items()
        )


class _Least(_Search):
    """The same for one term alone, within what others may be."""

    def __init__(self, problem: Problem, term: str, at_most: Vector, hint: Plan | None) -> None:
        super().__init__(replace(problem, objective=(term,)), hint)
        self._at_most = at_most
        self._held = _Costs(replace(problem, objective=problem.terms()[: len(at_most)]), hint)

    def place(self, depth: int, placed: Places) -> None:
        """Nothing ever costs less for what comes later."""
        now = self._held.vector(placed)
        if all(value <= most for value, most in zip(now, self._at_most, strict=True)):
            super().place(depth, placed)


class _Rules:
    """What the problem demands of one buffer and of two."""

    def __init__(self, problem: Problem) -> None:
        self._buffers: dict[str, Buffer] = {buffer.id: buffer for buffer in problem.buffers}
        self._pools: dict[str, Pool] = {pool.id: pool for pool in problem.pools}
        self._in_place = {frozenset((pair.input, pair.output)) for pair in problem.in_place}
        self._groups = [{buffer.id: 0} for buffer in problem.buffers]
        for relation in problem.relative:
            self._join(relation.buffer, relation.base, relation.offset)
        # Distances lead through buffers of size 0, which are themselves anywhere.
        empty = [{buffer.id: 0} for buffer in problem.buffers if not buffer.size]
        sized = [{n: d for n, d in group.items() if self.size(n)} for group in self._groups]
        self._groups = [group for group in sized if group] + empty
        self._group_of = {name: group for group in self._groups for name in group}
        self._conflicts = set(_conflicts(problem))
        self._apart = {
            frozenset(pair)
            for conflict in problem.bank_conflicts
            if conflict.cost is None
            for pair in combinations(conflict.buffers, 2)
        }

    def groups(self) -> Iterator[dict[str, int]]:
        """The rigid groups, as the offsets of their members relative to each other."""
        yield from self._groups

    def size(self, name: str) -> int:
        return self._buffers[name].size

    def choices(self, group: dict[str, int], height: int) -> Iterator[Places]:
        """Every place the group could have alone; without a size, one place in each pool will do."""
        lowest = min(group.values())
        for pool in self._pools.values():
            top = height if pool.capacity is None else pool.capacity
            for start in range(-lowest, top - lowest + 1):
                places = {name: (pool.id, start + delta) for name, delta in group.items()}
                apart = all(
                    self._in_different_banks(one, other, places[one], places[other])
                    for one, other in combinations(places, 2)
                )
                if apart and all(self.alone(name, *place) for name, place in places.items()):
                    yield places
                    if not any(self.size(name) for name in group):
                        break

    def alone(self, name: str, pool_name: str, offset: int) -> bool:
        """Whether the buffer may be there as long as there is no other."""
        buffer, pool = self._buffers[name], self._pools[pool_name]
        end = offset + buffer.size
        return (
            offset >= 0
            and (buffer.pools is None or pool.id in buffer.pools)
            and (buffer.pool is None or buffer.pool == pool.id)
            and (buffer.offset is None or buffer.offset == offset)
            and ((pool.base or 0) + offset) % lcm(buffer.alignment, pool.alignment) == 0
            and (pool.capacity is None or end <= pool.capacity)
            and not any(
                byte in range(stretch.offset, stretch.offset + stretch.size)
                for stretch in pool.reserved
                for byte in range(offset, end)
            )
            and self._in_banks(buffer, pool, offset)
        )

    def _in_banks(self, buffer: Buffer, pool: Pool, offset: int) -> bool:
        homes = [_bank_of(pool, byte) for byte in range(offset, offset + buffer.size)]
        if buffer.banks is not None and not all(home in buffer.banks for home in homes):
            return False
        return not buffer.within_bank or not homes or (homes[0] is not None and len(set(homes)) == 1)

    def together(self, one: str, other: str, place: Place, there: Place) -> bool:
        """Whether the two may be there."""
        if not self._in_different_banks(one, other, place, there):
            return False
        mine, yours = self._group_of[one], self._group_of[other]
        if mine is yours:
            return place[0] == there[0] and place[1] - there[1] == mine[one] - mine[other]
        pair = frozenset((one, other))
        if pair not in self._conflicts or not _share(place, there, self.size(one), self.size(other)):
            return True
        return pair in self._in_place and place == there

    def _in_different_banks(self, one: str, other: str, place: Place, there: Place) -> bool:
        """As far as they must be."""
        return frozenset((one, other)) not in self._apart or not _share_bank(
            self._pools[place[0]], place, there, self.size(one), self.size(other)
        )

    def _join(self, buffer: str, base: str, distance: int) -> None:
        mine = next(group for group in self._groups if buffer in group)
        theirs = next(group for group in self._groups if base in group)
        if mine is theirs:
            return
        shift = theirs[base] + distance - mine[buffer]
        theirs.update({name: delta + shift for name, delta in mine.items()})
        self._groups = [group for group in self._groups if group is not mine]


class _Costs:
    """What places cost, of some or all buffers."""

    def __init__(self, problem: Problem, hint: Plan | None) -> None:
        self._terms = problem.terms()
        self._pools = problem.pools
        self._sized = {buffer.id: buffer for buffer in problem.buffers if buffer.size}
        self._pool_costs = {pool.id: pool.cost for pool in problem.pools}
        self._reuse = [
            (*entry.buffers, entry.cost)
            for entry in problem.reuse_costs
            if self._sized.keys() >= set(entry.buffers)
        ]
        self._bank_costs = [
            (*pair, conflict.cost)
            for conflict in problem.bank_conflicts
            if conflict.cost is not None
            for pair in combinations(conflict.buffers, 2)
            if self._sized.keys() >= set(pair)
        ]
        self._hint = {entry.buffer: (entry.pool, entry.offset) for entry in hint.placements} if hint else {}

    def vector(self, places: Places, rest: int = 0) -> Vector:
        """The value of each term; `rest` is placement cost of those without a place yet."""
        return tuple(
            self.placement(places) + rest if term == "placement_cost" else self._value(term, places)
            for term in self._terms
        )

    def placement(self, places: Places) -> int:
        return sum(
            (buffer.size if buffer.accesses is None else buffer.accesses) * self._pool_costs[places[name][0]]
            for name, buffer in self._sized.items()
            if name in places
        )

    def _pools_of(self, buffer: Buffer) -> list[str]:
        if buffer.pool is not None:
            return [buffer.pool]
        return [pool.id for pool in self._pools] if buffer.pools is None else list(buffer.pools)

    def _value(self, term: str, places: Places) -> int:
        if term == "reuse_cost":
            return sum(
                price
                for one, other, price in self._reuse
                if one in places
                and other in places
                and _share(places[one], places[other], self._sized[one].size, self._sized[other].size)
            )
        if term == "bank_cost":
            pools = {pool.id: pool for pool in self._pools}
            return sum(
                price
                for one, other, price in self._bank_costs
                if one in places
                and other in places
                and _share_bank(
                    pools[places[one][0]],
                    places[one],
                    places[other],
                    self._sized[one].size,
                    self._sized[other].size,
                )
            )
        if term == "preference":
            return sum(
                buffer.size * self._pools_of(buffer).index(places[name][0])
                for name, buffer in self._sized.items()
                if name in places
            )
        if term == "moves":
            return sum(
                name in self._hint and self._hint[name] != place
                for name, place in places.items()
                if name in self._sized
            )
        peaks = dict.fromkeys(self._pool_costs, 0)
        for name, (pool, offset) in places.items():
            if name in self._sized:
                peaks[pool] = max(peaks[pool], offset + self._sized[name].size)
        if term == "peak":
            return sum(peaks.values())
        return max(peaks.values()) if term == "max_peak" else peaks[term.removeprefix("peak:")]


def _share(place: Place, there: Place, size: int, other_size: int) -> bool:
    """Whether two buffers share a byte."""
    low, high = max(place[1], there[1]), min(place[1] + size, there[1] + other_size)
    return place[0] == there[0] and low < high


def _bank_of(pool: Pool, byte: int) -> int | None:
    """The number of the bank that holds the byte."""
    number = 0
    for run in sorted(pool.banks, key=lambda bank: bank.offset):
        for at in range(run.count):
            begin = run.offset + at * run.size
            if begin <= byte < begin + run.size:
                return number
            number += 1
    return None


def _share_bank(pool: Pool, place: Place, there: Place, size: int, other_size: int) -> bool:
    """Whether two buffers have a byte each in one bank."""
    if place[0] != there[0]:
        return False
    mine, yours = (
        {_bank_of(pool, byte) for byte in range(begin, begin + length)} - {None}
        for begin, length in ((place[1], size), (there[1], other_size))
    )
    return bool(mine & yours)


def _conflicts(problem: Problem) -> Iterator[Pair]:
    """Pairs that conflict, before rigid groups and in-place pairs are considered."""
    yield from (frozenset(pair) for pair in problem.conflicts)
    exclusive = {frozenset(pair) for pair in problem.exclusive}
    for one, other in combinations(problem.buffers, 2):
        pair = frozenset((one.id, other.id))
        if pair not in exclusive and _live_together(one, other):
            yield pair


def _live_together(one: Buffer, other: Buffer) -> bool:
    mine, yours = _moments(one), _moments(other)
    if mine is None or yours is None:
        return False
    return mine == "always" or yours == "always" or bool(set(mine) & set(yours))


def _moments(buffer: Buffer) -> str | list[int] | None:
    if buffer.lifetime == "always":
        return "always"
    ranges = buffer.lifetimes if buffer.lifetime is None else (buffer.lifetime,)
    if ranges is None:
        return None
    return [time for begin, end in ranges for time in range(int(begin), int(end))]


def _enough(problem: Problem, hint: Plan | None) -> int:
    """A height below which there is a best plan: everything can be stacked above all that is fixed."""
    fixed = [stretch.offset + stretch.size for pool in problem.pools for stretch in pool.reserved]
    fixed += [buffer.offset + buffer.size for buffer in problem.buffers if buffer.offset is not None]
    fixed += [entry.offset for entry in hint.placements] if hint is not None else []
    fixed += [bank.offset + bank.size * bank.count for pool in problem.pools for bank in pool.banks]
    pool_step = lcm(*(pool.alignment for pool in problem.pools))
    # The members of a rigid group together may be aligned as seldom as the common multiple says.
    tied = {name for relation in problem.relative for name in (relation.buffer, relation.base)}
    group_step = lcm(pool_step, *(buffer.alignment for buffer in problem.buffers if buffer.id in tied))
    stacked = sum(
        buffer.size + (group_step if buffer.id in tied else lcm(buffer.alignment, pool_step)) - 1
        for buffer in problem.buffers
        if buffer.offset is None
    )
    distances = sum(abs(relation.offset) for relation in problem.relative)
    return max(fixed, default=0) + stacked + distances + 4 * pool_step
