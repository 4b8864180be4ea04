"""What a problem demands of places and what places are worth, written from `docs/` alone.

Nothing here is shared with the planner or the solvers: what both had wrong in the same way would be seen by
none.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from math import lcm
from typing import Final

from tests.independent.documents import (
    BufferDocument,
    PlacementDocument,
    PlanDocument,
    PoolDocument,
    ProblemDocument,
    ReservedDocument,
)

Place = tuple[str, int]
Places = Mapping[str, Place]

_UNBOUNDED: Final[PoolDocument] = {"id": "memory"}


@dataclass(frozen=True)
class Group:
    """Buffers at fixed distances from each other; most have one member, at distance 0."""

    distances: dict[str, int]

    @property
    def names(self) -> Iterable[str]:
        return self.distances.keys()


class Meaning:
    """One problem, with the plan from which `moves` counts."""

    def __init__(self, problem: ProblemDocument, hint: PlanDocument | None = None) -> None:
        self.pools: dict[str, PoolDocument] = {
            pool["id"]: pool for pool in problem.get("pools", [_UNBOUNDED])
        }
        self.buffers: dict[str, BufferDocument] = {buffer["id"]: buffer for buffer in problem["buffers"]}
        self.terms = tuple(problem.get("objective", _default_terms(len(self.pools))))
        self.hinted = {
            placement["buffer"]: (placement["pool"], placement["offset"]) for placement in _placements(hint)
        }
        self._hints = len(_placements(hint))
        self.groups = _groups(problem)
        self._group_of = {name: group for group in self.groups for name in group.names}
        self._conflicts = {frozenset(pair) for pair in problem.get("conflicts", [])}
        self._exclusive = {frozenset(pair) for pair in problem.get("exclusive", [])}
        self._in_place = {frozenset((pair["input"], pair["output"])) for pair in problem.get("in_place", [])}
        self.reuse = [
            (cost["buffers"][0], cost["buffers"][1], cost["cost"])
            for cost in problem.get("reuse_costs", [])
            if all(self.buffers[name]["size"] for name in cost["buffers"])
        ]

    def with_terms(self, *terms: str) -> "Meaning":
        """The same problem with another objective."""
        other = copy(self)
        other.terms = terms
        return other

    def only(self, names: Iterable[str]) -> "Meaning":
        """These buffers and what is tied to them alone, without an objective."""
        some = set(names)
        other = copy(self)
        other.terms = ()
        other.groups = [group for group in self.groups if not some.isdisjoint(group.names)]
        kept = {name for group in other.groups for name in group.names}
        other.buffers = {name: buffer for name, buffer in self.buffers.items() if name in kept}
        other.reuse = [(one, another, cost) for one, another, cost in self.reuse if {one, another} <= kept]
        return other

    def with_capacity(self, pool: str, capacity: int) -> "Meaning":
        """The same problem with that capacity of the pool."""
        other = copy(self)
        other.pools = {**self.pools, pool: {**self.pools[pool], "capacity": capacity}}
        return other

    def errors(self) -> list[str]:
        """Why the problem has no meaning: it must be refused, whatever else there is."""
        wrong = [
            f"{name} reserves more than its capacity"
            for name, pool in self.pools.items()
            if (capacity := pool.get("capacity")) is not None
            and any(_end_of(reserved) > capacity for reserved in pool.get("reserved", []))
        ]
        if len(self.hinted) < self._hints:
            wrong.append("the hint names a buffer twice")
        return wrong

    # What is allowed.

    def allowed(self, name: str) -> list[str]:
        """The pools that the buffer may be in."""
        buffer = self.buffers[name]
        pools = buffer.get("pools", list(self.pools))
        return [pool for pool in pools if buffer.get("pool", pool) == pool]

    def step(self, name: str, pool: str) -> int:
        """The effective alignment of the buffer there."""
        return lcm(self.buffers[name].get("alignment", 1), self.pools[pool].get("alignment", 1))

    def end(self, name: str, offset: int) -> int:
        return offset + self.buffers[name]["size"]

    def objections(self, name: str, place: Place) -> list[str]:
        """What speaks against the place, were the buffer the only one."""
        where, offset = place
        if where not in self.pools:
            return [f"{name} is in {where}, which is no pool"]
        pool, buffer = self.pools[where], self.buffers[name]
        capacity = pool.get("capacity")
        against = []
        if where not in self.allowed(name):
            against.append(f"{name} may not be in {where}")
        if offset < 0:
            against.append(f"{name} is below 0")
        if (pool.get("base", 0) + offset) % self.step(name, where):
            against.append(f"{name} is not aligned")
        if buffer.get("offset", offset) != offset:
            against.append(f"{name} is not where it is pinned")
        if capacity is not None and self.end(name, offset) > capacity:
            against.append(f"{name} ends beyond the capacity of {where}")
        for reserved in pool.get("reserved", []):
            ours, theirs = (offset, self.end(name, offset)), (reserved["offset"], _end_of(reserved))
            if _meet(ours, theirs):
                against.append(f"{name} is in a reserved range")
        return against

    def must_be_apart(self, one: str, other: str) -> bool:
        """Whether the two conflict; members of one rigid group do not, unless they are listed."""
        if not (self.buffers[one]["size"] and self.buffers[other]["size"]):
            return False
        pair = frozenset((one, other))
        if pair in self._conflicts:
            return True
        if self.tied(one, other):
            return False
        return pair not in self._exclusive and self._live_together(one, other)

    def tied(self, one: str, other: str) -> bool:
        """Whether a rigid group holds the two."""
        return self._group_of[one] is self._group_of[other]

    def may_start_together(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self._in_place

    def agree(self, one: str, place: Place, other: str, there: Place) -> bool:
        """Whether the two may be there as far as they concern each other."""
        if self.tied(one, other):
            distances = self._group_of[one].distances
            held = place[0] == there[0] and place[1] - there[1] == distances[one] - distances[other]
            if not held or not self.must_be_apart(one, other) or not self.share(one, place, other, there):
                return held
            return place == there and self.may_start_together(one, other)
        if not self.must_be_apart(one, other) or not self.share(one, place, other, there):
            return True
        return place == there and self.may_start_together(one, other)

    def share(self, one: str, place: Place, other: str, there: Place) -> bool:
        """Whether the two have a byte in common."""
        return place[0] == there[0] and _meet(
            (place[1], self.end(one, place[1])), (there[1], self.end(other, there[1]))
        )

    def faults(self, places: Places) -> list[str]:
        """All that is wrong with the places; nothing if they are a plan."""
        wrong = [f"{name} has no place" for name in self.buffers if name not in places]
        wrong += [f"{name} is no buffer" for name in places if name not in self.buffers]
        return wrong + self.faults_of_part({name: at for name, at in places.items() if name in self.buffers})

    def faults_of_part(self, places: Places) -> list[str]:
        """All that is wrong with the places of some buffers."""
        wrong = [fault for name, place in places.items() for fault in self.objections(name, place)]
        wrong += [
            f"{one} and {other} may not be where they are"
            for one, other in combinations(places, 2)
            if not self.agree(one, places[one], other, places[other])
        ]
        return wrong

    # What is live.

    def lives(self, name: str) -> list[tuple[int, int]]:
        """The ranges of the buffer's life, without those that are always live."""
        buffer = self.buffers[name]
        life = buffer.get("lifetime")
        ranges = buffer.get("lifetimes", []) if life is None or life == "always" else [life]
        return [(begin, end) for begin, end in ranges]

    def always(self, name: str) -> bool:
        return self.buffers[name].get("lifetime") == "always"

    def live_at(self, name: str, time: int) -> bool:
        return self.always(name) or any(begin <= time < end for begin, end in self.lives(name))

    def moments(self) -> list[int]:
        """The times at which anything begins: between two of them nothing more is live."""
        return sorted({begin for name in self.buffers for begin, _ in self.lives(name)})

    def _live_together(self, one: str, other: str) -> bool:
        mine, yours = self.lives(one), self.lives(other)
        if self.always(one):
            return self.always(other) or bool(yours)
        if self.always(other):
            return bool(mine)
        return any(_meet(a, b) for a in mine for b in yours)

    # What it is worth.

    def peak(self, pool: str, places: Places) -> int:
        """The largest end of a buffer in the pool."""
        ends = (self.end(name, offset) for name, (where, offset) in self._sized(places) if where == pool)
        return max(ends, default=0)

    def placement_cost(self, name: str, pool: str) -> int:
        buffer = self.buffers[name]
        if not buffer["size"]:
            return 0
        return buffer.get("accesses", buffer["size"]) * self.pools[pool].get("cost", 0)

    def preference(self, name: str, pool: str) -> int:
        """Its bytes for each pool that the buffer would rather be in; nothing where it is pinned."""
        buffer = self.buffers[name]
        if "pool" in buffer:
            return 0
        return buffer["size"] * self.allowed(name).index(pool)

    def value(self, term: str, places: Places) -> int:
        """What the term of the objective is for these places."""
        if term == "placement_cost":
            return sum(self.placement_cost(name, pool) for name, (pool, _) in places.items())
        if term == "reuse_cost":
            return sum(
                cost for one, other, cost in self.reuse if self.share(one, places[one], other, places[other])
            )
        if term == "moves":
            return sum(self.moved(name, place) for name, place in places.items())
        if term == "preference":
            return sum(self.preference(name, pool) for name, (pool, _) in places.items())
        if term.startswith("peak:"):
            return self.peak(term.removeprefix("peak:"), places)
        peaks = [self.peak(pool, places) for pool in self.pools]
        return max(peaks) if term == "max_peak" else sum(peaks)

    def moved(self, name: str, place: Place) -> bool:
        return self.buffers[name]["size"] > 0 and self.hinted.get(name, place) != place

    def vector(self, places: Places) -> tuple[int, ...]:
        return tuple(self.value(term, places) for term in self.terms)

    def _sized(self, places: Places) -> list[tuple[str, Place]]:
        return [(name, place) for name, place in places.items() if self.buffers[name]["size"]]


def places_of(plan: PlanDocument) -> dict[str, Place]:
    return {
        placement["buffer"]: (placement["pool"], placement["offset"])
        for placement in plan.get("placements", [])
    }


def _placements(plan: PlanDocument | None) -> list[PlacementDocument]:
    return [] if plan is None else plan.get("placements", [])


def _default_terms(pools: int) -> list[str]:
    return ["peak"] if pools == 1 else ["placement_cost", "peak"]


def _end_of(reserved: ReservedDocument) -> int:
    return reserved["offset"] + reserved["size"]


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _groups(problem: ProblemDocument) -> list[Group]:
    ties: dict[str, list[tuple[str, int]]] = {buffer["id"]: [] for buffer in problem["buffers"]}
    for tie in problem.get("relative", []):
        ties[tie["buffer"]].append((tie["base"], -tie["offset"]))
        ties[tie["base"]].append((tie["buffer"], tie["offset"]))
    sizes = {buffer["id"]: buffer["size"] for buffer in problem["buffers"]}
    groups: list[Group] = []
    seen: set[str] = set()
    for name in ties:
        if name in seen:
            continue
        distances = {name: 0}
        frontier = [name]
        while frontier:
            here = frontier.pop()
            for there, distance in ties[here]:
                if there not in distances:
                    distances[there] = distances[here] + distance
                    frontier.append(there)
        seen |= distances.keys()
        groups += _held(distances, sizes)
    return groups


def _held(distances: dict[str, int], sizes: Mapping[str, int]) -> list[Group]:
    """What ties that pass through all of these hold: those with bytes to each other, the others nowhere."""
    sized = {name: distance for name, distance in distances.items() if sizes[name]}
    empty = [Group({name: 0}) for name in distances if not sizes[name]]
    return [Group(sized), *empty] if sized else empty
