"""The problem as the judge reads it: ids resolved to indices, everything else in the terms of the user.

Nothing here raises on a problem that contradicts itself. What cannot be resolved is reported as
`invalid_problem` and left out: a plan for such a problem is never accepted.
"""

from collections.abc import Iterable, Sequence
from math import gcd, lcm
from typing import NamedTuple

from memstow.planner.model.objective import parse_term
from memstow.planner.model.problem import Buffer, Pool, Problem, allowed_pools, end_of, named_pools
from memstow.planner.model.ranges import Range, merged
from memstow.planner.verify.findings import Code, Findings

IndexPair = tuple[int, int]

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


class ProblemIndex:
    """One problem with its buffers and pools by index: pairs, reserved ranges, rigid groups, grids, lives."""

    def __init__(self, problem: Problem, findings: Findings) -> None:
        self.problem = problem
        self.buffers: tuple[Buffer, ...] = problem.buffers
        self.pools: tuple[Pool, ...] = problem.pools
        self._findings = findings
        self.buffer_index = {buffer.id: i for i, buffer in enumerate(problem.buffers)}
        self.pool_index = {pool.id: p for p, pool in enumerate(problem.pools)}
        self._check_ids()

        self.reserved: list[list[Range]] = [
            merged((r.offset, r.offset + r.size) for r in pool.reserved) for pool in problem.pools
        ]
        self.ends = [end_of(pool) for pool in problem.pools]
        self.conflicts = self._pairs("conflicts", problem.conflicts)
        self.exclusive = self._pairs("exclusive", problem.exclusive)
        self.in_place = self._pairs("in_place", ((e.input, e.output) for e in problem.in_place))
        self.reuse_costs = [
            (pair, entry.cost)
            for entry in problem.reuse_costs
            if (pair := self._pair("reuse_costs", *entry.buffers)) is not None
        ]
        self.relative = [
            (pair[0], pair[1], entry.offset)
            for entry in problem.relative
            if (pair := self._resolved("relative", entry.buffer, entry.base)) is not None
        ]
        self.rigid = Rigid([bool(buffer.size) for buffer in self.buffers], self.relative)
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
        found = self._grids.get((alignment, pool))
        if found is None:
            step = lcm(alignment, self.pools[pool].alignment)
            found = self._grids[alignment, pool] = Grid(step, -(self.pools[pool].base or 0) % step)
        return found

    def grid_of(self, buffer: int, pool: int) -> Grid | None:
        """Where this buffer may start so that its whole rigid group is aligned; None: nowhere."""
        group = self.rigid.group[buffer]
        if group == ALONE:
            return self.grid(self.buffers[buffer].alignment, pool)
        if (group, pool) not in self._group_grids:
            self._group_grids[group, pool] = self._group_grid(group, pool)
        found = self._group_grids[group, pool]
        return found and Grid(found.step, (found.first + self.rigid.delta[buffer]) % found.step)

    def _group_grid(self, group: int, pool: int) -> Grid | None:
        """Where the origin of the group's deltas may be."""
        found: Grid | None = Grid(1, 0)
        for member in self.rigid.members[group]:
            step, first = self.grid(self.buffers[member].alignment, pool)
            found = found and both(found, Grid(step, (first - self.rigid.delta[member]) % step))
        return found

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

    def lives(self, buffer: int) -> list[Range]:
        """When the buffer lives, as disjoint ranges; "always" is the span of all lifetimes."""
        it = self.buffers[buffer]
        if it.lifetime is not None:
            if isinstance(it.lifetime, str):
                return [self.span]
            return [it.lifetime] if it.lifetime[0] < it.lifetime[1] else []
        return merged(it.lifetimes) if it.lifetimes else []

    def lives_of(self, buffers: Iterable[int]) -> list[tuple[int, int, int]]:
        """(buffer, begin, end) of each life of these buffers."""
        return [(buffer, begin, end) for buffer in buffers for begin, end in self.lives(buffer)]

    def lives_at(self, buffer: int, time: int) -> bool:
        it = self.buffers[buffer]
        if isinstance(it.lifetime, str):
            return True
        if it.lifetime is not None:
            return it.lifetime[0] <= time < it.lifetime[1]
        return any(begin <= time < end for begin, end in it.lifetimes or ())

    def conflict_lifted(self, pair: IndexPair, same_offset: bool) -> bool:
        """Whether two buffers that live together may share bytes all the same."""
        if pair in self.in_place and same_offset:
            return True
        return (pair in self.exclusive and pair not in self.conflicts) or self.rigid.together(*pair)

    def _span(self) -> Range:
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

    def _pairs(self, field: str, pairs: Iterable[tuple[str, str]]) -> set[IndexPair]:
        return {found for one, other in pairs if (found := self._pair(field, one, other)) is not None}

    def _pair(self, field: str, one: str, other: str) -> IndexPair | None:
        """Their indices, the smaller first: in every symmetric list the order does not matter."""
        pair = self._resolved(field, one, other)
        return pair if pair is None or pair[0] < pair[1] else (pair[1], pair[0])

    def _resolved(self, field: str, one: str, other: str) -> IndexPair | None:
        first, second = self.buffer_index.get(one), self.buffer_index.get(other)
        if first is None or second is None:
            self._invalid("{} names {!r}, which is not a buffer", field, one if first is None else other)
            return None
        if first == second:
            self._invalid("{} pairs {!r} with itself", field, one)
            return None
        return first, second

    def _check_ids(self) -> None:
        if len(self.buffer_index) < len(self.buffers):
            self._invalid("two buffers have one id")
        if len(self.pool_index) < len(self.pools):
            self._invalid("two pools have one id")
        named = {pool for buffer in self.buffers if buffer.pools is not None for pool in buffer.pools}
        for pool in sorted(named - self.pool_index.keys()):
            self._invalid("an allowed pool is {!r}, which is not a pool", pool)
        for buffer in self.buffers:
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


class Rigid:
    """Rigid groups: buffers that `relative` holds together, and where each is within its group.

    `group[i]` is `ALONE`, or the same number for all members of one group.

    A buffer of size 0 passes on the distances of those that are tied through it, and is itself no member.
    `delta[i]` is the offset of a member less an origin that its group has in common. `contradicted` holds the
    entries whose distance differs from what other entries imply.
    """

    def __init__(self, sized: Sequence[bool], entries: Iterable[tuple[int, int, int]]) -> None:
        self.group = [ALONE] * len(sized)
        self.delta: dict[int, int] = {}
        self.members: list[list[int]] = []
        self.contradicted: list[tuple[int, int, int]] = []

        neighbours: dict[int, list[tuple[int, int]]] = {}
        entries = list(entries)
        for buffer, base, distance in entries:
            neighbours.setdefault(buffer, []).append((base, -distance))
            neighbours.setdefault(base, []).append((buffer, distance))
        for first in neighbours:
            if self.group[first] == ALONE:
                self._gather(first, neighbours)
        for entry in entries:
            buffer, base, distance = entry
            if self.delta[buffer] - self.delta[base] != distance:
                self.contradicted.append(entry)
        self.members = [[member for member in members if sized[member]] for members in self.members]
        for index in neighbours:
            if not sized[index]:
                self.group[index] = ALONE

    def _gather(self, first: int, neighbours: dict[int, list[tuple[int, int]]]) -> None:
        number = len(self.members)
        self.group[first] = number
        self.delta[first] = 0
        reached = [first]
        for member in reached:
            for other, distance in neighbours[member]:
                if self.group[other] == ALONE:
                    self.group[other] = number
                    self.delta[other] = self.delta[member] + distance
                    reached.append(other)
        self.members.append(reached)

    def together(self, one: int, other: int) -> bool:
        """Whether the two are in one group, and so may overlap."""
        return self.group[one] != ALONE and self.group[one] == self.group[other]
