"""The best plan of a tiny problem by trying everything: each group in each pool at each offset.

A branch is cut only where two buffers cannot both be where they are, or where what is placed is already worth
no less than the best plan: every term only grows when buffers are added.
"""

from dataclasses import dataclass
from math import lcm

from tests.independent.meaning import Group, Meaning, Place, Places

Vector = tuple[int, ...]


class TooMuchError(Exception):
    """There are more plans than anyone would try."""


@dataclass(frozen=True)
class Best:
    """The least values, term after term, and places that have them."""

    vector: Vector
    places: dict[str, Place]


@dataclass(frozen=True)
class Sums:
    """What the terms that add up are, of what is placed so far."""

    placement: int = 0
    reuse: int = 0
    moves: int = 0
    preference: int = 0


@dataclass(frozen=True)
class _Choice:
    """One place of a group, and what it is worth alone."""

    places: dict[str, Place]
    pool: int
    end: int
    placement: int
    moves: int
    preference: int


def best_plan(meaning: Meaning, patience: int = 300_000, steps: int = 50_000) -> Best | None:
    """The best plan, or None where nothing fits or the question has no meaning."""
    if meaning.errors():
        return None
    search = _Search(meaning, patience, steps)
    search.place(0, search.open, (0,) * len(meaning.pools), Sums(), {})
    return search.best


def least_alone(meaning: Meaning, term: str, patience: int = 300_000) -> int | None:
    """The least of a term that adds up buffers, each group alone; None where one has no place."""
    total = 0
    for group in meaning.groups:
        choices = _choices(meaning, group, patience)
        if not choices:
            return None
        total += min(
            choice.placement if term == "placement_cost" else choice.preference for choice in choices
        )
    return total


class _Search:
    def __init__(self, meaning: Meaning, patience: int, steps: int) -> None:
        self._meaning = meaning
        self._left = steps
        self._names = list(meaning.pools)
        self._terms = meaning.terms
        self.best: Best | None = None
        groups = sorted(
            ((group, _choices(meaning, group, patience)) for group in meaning.groups),
            key=lambda entry: len(entry[1]),
        )
        self._groups = [group for group, _ in groups]
        self._choices = [choices for _, choices in groups]
        self._fits = [
            [self._compatible(one, other) for other in range(one + 1, len(groups))]
            for one in range(len(groups))
        ]
        self._reuse = [self._reuse_with(depth) for depth in range(len(groups))]
        least = [min((choice.placement for choice in choices), default=0) for choices in self._choices]
        self._rest = [sum(least[depth + 1 :]) for depth in range(len(groups))]
        self.open = tuple((1 << len(choices)) - 1 for choices in self._choices)

    def place(
        self,
        depth: int,
        open_choices: tuple[int, ...],
        peaks: Vector,
        sums: Sums,
        placed: Places,
    ) -> None:
        """Try everything for the groups from `depth` on."""
        if depth == len(self._choices):
            self.best = Best(self._vector(peaks, sums, 0), dict(placed))
            return
        mask = open_choices[depth]
        while mask:
            if self.best is not None and not self._terms:
                return
            lowest = mask & -mask
            mask ^= lowest
            index = lowest.bit_length() - 1
            choice = self._choices[depth][index]
            self._left -= 1
            if self._left < 0:
                raise TooMuchError
            after = peaks
            if choice.end > peaks[choice.pool]:
                after = (*peaks[: choice.pool], choice.end, *peaks[choice.pool + 1 :])
            both = {**placed, **choice.places}
            costs = Sums(
                sums.placement + choice.placement,
                sums.reuse + self._paid(depth, both),
                sums.moves + choice.moves,
                sums.preference + choice.preference,
            )
            if self.best is not None and self._vector(after, costs, self._rest[depth]) >= self.best.vector:
                continue
            fits = self._fits[depth]
            still = tuple(
                open_choices[other] if row is None else open_choices[other] & row[index]
                for other, row in enumerate(fits, depth + 1)
            )
            if all(still):
                self.place(depth + 1, (*open_choices[: depth + 1], *still), after, costs, both)

    def _vector(self, peaks: Vector, sums: Sums, rest: int) -> Vector:
        return tuple(self._value(term, peaks, sums, rest) for term in self._terms)

    def _value(self, term: str, peaks: Vector, sums: Sums, rest: int) -> int:
        if term == "peak":
            return sum(peaks)
        if term == "max_peak":
            return max(peaks)
        if term == "placement_cost":
            return sums.placement + rest
        if term == "reuse_cost":
            return sums.reuse
        if term == "moves":
            return sums.moves
        if term == "preference":
            return sums.preference
        return peaks[self._names.index(term.removeprefix("peak:"))]

    def _compatible(self, one: int, other: int) -> list[int] | None:
        """For each choice of one group, which of the other go with it; None where all do."""
        meaning = self._meaning
        pairs = [
            (mine, yours)
            for mine in self._groups[one].names
            for yours in self._groups[other].names
            if meaning.must_be_apart(mine, yours)
        ]
        if not pairs:
            return None
        rows = []
        for choice in self._choices[one]:
            row = 0
            for index, there in enumerate(self._choices[other]):
                if choice.pool != there.pool or all(
                    meaning.agree(mine, choice.places[mine], yours, there.places[yours])
                    for mine, yours in pairs
                ):
                    row |= 1 << index
            rows.append(row)
        return rows

    def _reuse_with(self, depth: int) -> list[tuple[str, str, int]]:
        """The costs of pairs of which one is in this group and none in a later one."""
        earlier = {name for group in self._groups[: depth + 1] for name in group.names}
        mine = set(self._groups[depth].names)
        return [
            (one, other, cost)
            for one, other, cost in self._meaning.reuse
            if {one, other} <= earlier and mine & {one, other}
        ]

    def _paid(self, depth: int, places: Places) -> int:
        return sum(
            cost
            for one, other, cost in self._reuse[depth]
            if self._meaning.share(one, places[one], other, places[other])
        )


def _choices(meaning: Meaning, group: Group, patience: int) -> list[_Choice]:
    """Every place the group could have alone, low ones first; without a size, one in each pool will do."""
    lowest = min(group.distances.values())
    sized = any(meaning.buffers[name]["size"] for name in group.names)
    result = []
    for number, pool in enumerate(meaning.pools):
        top = height(meaning, pool)
        if top > patience:
            raise TooMuchError
        for start in range(-lowest, top - lowest + 1):
            places = {name: (pool, start + distance) for name, distance in group.distances.items()}
            if meaning.faults_of_part(places):
                continue
            peak = meaning.peak(pool, places)
            placement = sum(meaning.placement_cost(name, pool) for name in group.names)
            moves = sum(meaning.moved(name, place) for name, place in places.items())
            preference = sum(meaning.preference(name, pool) for name in group.names)
            result.append(_Choice(places, number, peak, placement, moves, preference))
            if not sized:
                break
    return sorted(result, key=lambda choice: choice.end)


def height(meaning: Meaning, pool: str) -> int:
    """An end that some best plan does not pass.

    Above all that is fixed, a hole as large as the common multiple of all alignments can be closed by moving
    what is above it down by that: no two buffers meet that did not, and nothing is worth more.
    """
    capacity = meaning.pools[pool].get("capacity")
    if capacity is not None:
        return capacity
    fixed = [stretch["offset"] + stretch["size"] for stretch in meaning.pools[pool].get("reserved", [])]
    step = lcm(*(meaning.step(name, pool) for name in meaning.buffers))
    stacked = 0
    for group in meaning.groups:
        top = max(meaning.end(name, distance) for name, distance in group.distances.items())
        stacked += top - min(group.distances.values()) + step - 1
        # A pin or a place of the hint fixes the whole group.
        for name, distance in group.distances.items():
            places = [meaning.buffers[name].get("offset"), meaning.hinted.get(name, ("", None))[1]]
            fixed += [place - distance + top for place in places if place is not None]
    return max(fixed, default=0) + stacked
