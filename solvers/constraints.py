"""The constraints of an instance in the form that models use.

Instances of some of the items; which parts must be apart, and cliques of them; the offsets of an item as
values of a model's variable: ranges of steps from the first aligned offset.
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import lcm
from operator import add

from memstow.solvers.instance import UNBOUNDED, Instance
from memstow.solvers.solver import Task, TermKind


def restrict_to(instance: Instance, items: Sequence[int]) -> Instance:
    """The instance of these items, in this order, with all relations among them."""
    part_of: dict[int, int] = {}
    result = Instance(
        capacity=instance.capacity,
        reserved_start=instance.reserved_start,
        reserved_begin=instance.reserved_begin,
        reserved_end=instance.reserved_end,
        bank_start=instance.bank_start,
        bank_begin=instance.bank_begin,
        bank_end=instance.bank_end,
    )
    for item in items:
        chosen = slice(instance.choice_start[item], instance.choice_start[item + 1])
        for name in ("pool", "modulus", "residue", "low", "high", "cost", "rank"):
            getattr(result, f"choice_{name}").extend(getattr(instance, f"choice_{name}")[chosen])
        result.choice_start.append(len(result.choice_pool))
        if len(instance.window_start) > 1:
            for choice in range(instance.choice_start[item], instance.choice_start[item + 1]):
                for low, high in instance.windows(choice) or ():
                    result.window_low.append(low)
                    result.window_high.append(high)
                result.window_start.append(len(result.window_low))
        for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
            part_of[part] = len(result.part_size)
            result.part_delta.append(instance.part_delta[part])
            result.part_size.append(instance.part_size[part])
            lives = slice(instance.life_start[part], instance.life_start[part + 1])
            result.life_begin.extend(instance.life_begin[lives])
            result.life_end.extend(instance.life_end[lives])
            result.life_start.append(len(result.life_begin))
        result.item_parts.append(len(result.part_size))
    result.conflicts.extend(_among(instance.conflicts, 2, part_of))
    result.exempt.extend(_among(instance.exempt, 3, part_of))
    result.reuse.extend(_among(instance.reuse, 3, part_of))
    result.apart.extend(_among(instance.apart, 2, part_of))
    result.bank_costs.extend(_among(instance.bank_costs, 3, part_of))
    return result


def _among(entries: "array[int]", width: int, part_of: dict[int, int]) -> "array[int]":
    """The entries with both parts in the subset, renumbered, the lower part first."""
    result = array("q")
    for at in range(0, len(entries), width):
        first, second, *rest = entries[at : at + width]
        if first in part_of and second in part_of:
            result.extend((*sorted((part_of[first], part_of[second])), *rest))
    return result


Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Bytes [delta, delta + size) of an item over the moments [begin, end), counted in ranks of times."""

    item: int
    begin: int
    end: int
    delta: int
    size: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two parts of different items that must be apart in the same pool; `shared`: or start together."""

    first: int
    second: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class BankPair:
    """Two parts that cost something if they touch one bank; None: they may not. They may be of one item."""

    first: int
    second: int
    cost: int | None


def bank_pairs(instance: Instance) -> list[BankPair]:
    """All such pairs."""
    apart, costs = instance.apart, instance.bank_costs
    return [
        *(BankPair(apart[i], apart[i + 1], None) for i in range(0, len(apart), 2)),
        *(BankPair(*costs[i : i + 3]) for i in range(0, len(costs), 3)),
    ]


# A model has a clause for each pair and bank, and some for each part and bank: more of them take longer to
# build than a search has time.
_MOST_IN_BANKS = 1_000_000
_CLAUSES_OF_PART = 8


def too_many_in_banks(instance: Instance) -> str | None:
    """The message that a model of all pairs in all banks would be too large; None if not."""
    pairs = bank_pairs(instance)
    parts = len({part for pair in pairs for part in (pair.first, pair.second)})
    if max(parts * _CLAUSES_OF_PART, len(pairs)) * len(instance.bank_begin) <= _MOST_IN_BANKS:
        return None
    return f"{len(pairs):,} pairs of buffers that banks matter to, in {len(instance.bank_begin):,} banks"


@dataclass(frozen=True, slots=True)
class Reuse:
    """Two parts whose overlap costs something."""

    first: int
    second: int
    cost: int


class Relations:
    """The conflicts, exemptions and reuse costs between the parts of an instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.item_of = [
            item
            for item in range(instance.item_count)
            for _ in range(instance.item_parts[item], instance.item_parts[item + 1])
        ]
        self.moments, self.lives = _lives_as_ranks(instance)
        listed = instance.conflicts
        self.listed = {(listed[i], listed[i + 1]) for i in range(0, len(listed), 2)}
        free: set[tuple[int, int]] = set()
        shared: set[tuple[int, int]] = set()
        exempt = instance.exempt
        for i in range(0, len(exempt), 3):
            (shared if exempt[i + 2] else free).add((exempt[i], exempt[i + 1]))
        self.free = free - self.listed
        self.shared = {p for p in shared if p in self.listed or _meet(self.lives[p[0]], self.lives[p[1]])}

    def apart(self, first: int, second: int) -> bool:
        """Whether two parts of different items conflict, in-place pairs included."""
        pair = (first, second) if first < second else (second, first)
        return pair in self.listed or (pair not in self.free and _meet(self.lives[first], self.lives[second]))

    def reuse(self) -> tuple[list[Reuse], int]:
        """The pairs that can overlap or not, and the cost that no layout can avoid."""
        entries: dict[tuple[int, int], int] = {}
        instance, fixed = self.instance, 0
        for i in range(0, len(instance.reuse), 3):
            one, two, cost = instance.reuse[i : i + 3]
            a, b = (one, two) if one < two else (two, one)
            if self.item_of[a] == self.item_of[b]:
                low = max(instance.part_delta[a], instance.part_delta[b])
                high = min(self._top(a), self._top(b))
                fixed += cost if low < high else 0
            elif cost and ((a, b) in self.shared or not self.apart(a, b)):
                entries[a, b] = entries.get((a, b), 0) + cost
        return [Reuse(a, b, cost) for (a, b), cost in entries.items()], fixed

    def all_pairs(self) -> Iterator[Pair]:
        """All pairs of parts of different items that must be apart, each once."""
        for a, b in live_pairs(self.lives):
            if (a, b) not in self.free and (a, b) not in self.listed and self.item_of[a] != self.item_of[b]:
                yield Pair(a, b, (a, b) in self.shared)
        for a, b in sorted(self.listed):
            yield Pair(a, b, (a, b) in self.shared)

    def rectangles(self) -> "tuple[list[Rectangle], list[Pair]]":
        """Rectangles that may not overlap unless they are of one item, and the pairs that they do not cover.

        Where two parts live together and need not be apart, one of them has no rectangle for that time; the
        parts that it meets only then become pairs.
        """
        trimmed = list(self.lives)
        for a, b in sorted(self.free | self.shared):
            if not _meet(trimmed[a], trimmed[b]):
                continue
            short, long = (a, b) if _length(self.lives[a]) <= _length(self.lives[b]) else (b, a)
            trimmed[short] = _without(trimmed[short], trimmed[long])
        pairs = {p for p in self.listed if not _meet(trimmed[p[0]], trimmed[p[1]])} | self.shared
        shorter = [part for part in range(len(trimmed)) if trimmed[part] != self.lives[part]]
        for a, b in _pairs_with(self.lives, shorter):
            outside = self.item_of[a] != self.item_of[b] and (a, b) not in self.free
            if outside and not _meet(trimmed[a], trimmed[b]):
                pairs.add((a, b))
        result = [
            rectangle for item in range(self.instance.item_count) for rectangle in self._of(item, trimmed)
        ]
        return result, [Pair(a, b, (a, b) in self.shared) for a, b in sorted(pairs)]

    def _top(self, part: int) -> int:
        return self.instance.part_delta[part] + self.instance.part_size[part]

    def _of(self, item: int, lives: list[list[Span]]) -> Iterator[Rectangle]:
        """The bytes of the item over time as disjoint rectangles: parts of a group may overlap each other."""
        instance = self.instance
        parts = range(instance.item_parts[item], instance.item_parts[item + 1])
        if len(parts) == 1:
            for begin, end in lives[parts[0]]:
                yield Rectangle(item, begin, end, instance.part_delta[parts[0]], instance.part_size[parts[0]])
            return
        times = sorted({time for part in parts for span in lives[part] for time in span})
        open_since: dict[Span, int] = {}
        for begin in times:
            living = [p for p in parts if any(a <= begin < b for a, b in lives[p])]
            ranges = set(merge((instance.part_delta[p], self._top(p)) for p in living))
            for low, high in [r for r in open_since if r not in ranges]:
                yield Rectangle(item, open_since.pop((low, high)), begin, low, high - low)
            for span in ranges:
                open_since.setdefault(span, begin)


def merge(ranges: Iterable[Span]) -> list[Span]:
    """The union as sorted ranges that neither overlap nor touch."""
    result: list[Span] = []
    for begin, end in sorted(ranges):
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((begin, end))
    return result


def live_pairs(lives: list[list[Span]]) -> Iterator[tuple[int, int]]:
    """Pairs (a < b) that are live at a common time, each once."""
    events = sorted((begin, end, part) for part, spans in enumerate(lives) for begin, end in spans)
    living: list[tuple[int, int]] = []  # (end, part)
    several = [len(spans) > 1 for spans in lives]
    seen: set[tuple[int, int]] = set()
    for begin, end, part in events:
        del living[: bisect_right(living, (begin, len(lives)))]
        for _, other in living:
            pair = (part, other) if part < other else (other, part)
            if several[part] or several[other]:
                if pair in seen:
                    continue
                seen.add(pair)
            yield pair
        insort(living, (end, part))


def rows(rectangles: list[Rectangle]) -> list[list[Rectangle]]:
    """The maximal sets of rectangles that are live together, in time order."""
    begins = sorted(rectangles, key=lambda r: r.begin)
    ends = sorted({r.end for r in rectangles})
    result: list[list[Rectangle]] = []
    living: list[Rectangle] = []
    at = 0
    for end in ends:
        came = False
        while at < len(begins) and begins[at].begin < end:
            living.append(begins[at])
            came = True
            at += 1
        if came:
            result.append(list(living))
        living = [r for r in living if r.end > end]
    return result


def _lives_as_ranks(instance: Instance) -> tuple[int, list[list[Span]]]:
    """The number of different times, and the lives of each part as ranks of times."""
    times = sorted(set(instance.life_begin) | set(instance.life_end))
    rank = {time: i for i, time in enumerate(times)}
    starts = instance.life_start
    lives = []
    for part in range(instance.part_count):
        spans = range(starts[part], starts[part + 1])
        lives.append(
            merge(
                (rank[instance.life_begin[i]], rank[instance.life_end[i]])
                for i in spans
                if instance.life_begin[i] < instance.life_end[i]
            )
        )
    return len(times), lives


def _meet(one: list[Span], two: list[Span]) -> bool:
    """Whether two sorted lists of spans share a moment."""
    if len(one) == 1 and len(two) == 1:
        return one[0][0] < two[0][1] and two[0][0] < one[0][1]
    i = j = 0
    while i < len(one) and j < len(two):
        if max(one[i][0], two[j][0]) < min(one[i][1], two[j][1]):
            return True
        if one[i][1] <= two[j][1]:
            i += 1
        else:
            j += 1
    return False


def _without(spans: list[Span], removed: list[Span]) -> list[Span]:
    """The moments of `spans` that are not in `taken`; both sorted."""
    remaining: list[Span] = []
    for begin, end in spans:
        at = begin
        for low, high in removed:
            if high <= at or low >= end:
                continue
            if low > at:
                remaining.append((at, low))
            at = max(at, high)
        if at < end:
            remaining.append((at, end))
    return remaining


def _length(spans: list[Span]) -> int:
    return sum(end - begin for begin, end in spans)


def _pairs_with(lives: list[list[Span]], chosen: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs (a < b) that share a moment and one of which is chosen."""
    events = sorted((begin, end, part) for part, spans in enumerate(lives) for begin, end in spans)
    begins = [event[0] for event in events]
    longest = max((event[1] - event[0] for event in events), default=0)
    for part in chosen:
        for begin, end in lives[part]:
            first, last = bisect_left(begins, begin - longest), bisect_left(begins, end)
            for _, other_end, other in events[first:last]:
                if other_end > begin and other != part:
                    yield (part, other) if part < other else (other, part)


# With more parts than this no cliques are searched for.
_MOST_PARTS = 2_000


def cliques(relations: Relations) -> list[list[int]]:
    """For each part with a listed conflict a set that contains it, grown greedily by size; no set twice."""
    if not relations.listed or len(relations.lives) > _MOST_PARTS:
        return []
    sizes, item_of = relations.instance.part_size, relations.item_of
    neighbours: dict[int, set[int]] = {}
    for pair in relations.all_pairs():
        if not pair.shared:
            neighbours.setdefault(pair.first, set()).add(pair.second)
            neighbours.setdefault(pair.second, set()).add(pair.first)
    result = set()
    for seed in sorted({part for pair in relations.listed for part in pair}):
        clique, items = [seed], {item_of[seed]}
        candidates = neighbours.get(seed, set())
        while candidates:
            best = max(candidates, key=lambda part: (sizes[part], -part))
            candidates = candidates & neighbours[best]
            if item_of[best] not in items:
                clique.append(best)
                items.add(item_of[best])
        if len(clique) > 1:
            result.add(tuple(sorted(clique)))
    return [list(clique) for clique in sorted(result)]


@dataclass(frozen=True, slots=True)
class Choice:
    """A pool of an item; its offsets are residue + modulus x step, for steps in the ranges."""

    index: int  # among the choices of the instance
    pool: int
    modulus: int
    residue: int
    steps: tuple[tuple[int, int], ...]  # ends included; sorted

    def least(self) -> int:
        """The lowest offset."""
        return self.residue + self.modulus * self.steps[0][0]

    def most(self) -> int:
        """The highest offset."""
        return self.residue + self.modulus * self.steps[-1][1]

    def step_of(self, offset: int) -> int | None:
        """The step that leads to the offset, if it is allowed."""
        step, rest = divmod(offset - self.residue, self.modulus)
        return step if not rest and any(low <= step <= high for low, high in self.steps) else None


def tops(instance: Instance) -> list[int]:
    """By item: its end, relative to its offset."""
    ends = list(map(add, instance.part_delta, instance.part_size))
    if len(ends) == instance.item_count:
        return ends
    return [max(ends[first:last]) for first, last in pairwise(instance.item_parts)]


def horizons(task: Task, relations: Relations, first_value: int | None) -> list[int]:
    """By pool: a height that some optimal layout does not exceed.

    A layout can be pressed down until every item rests on a chain of others that ends at 0, at a reserved
    range, at a pin or at a place of the hint; items that share a start move as one. `first_value` is a
    known value of the first term: if that is a peak, no better layout exceeds it.
    """
    instance = task.instance
    above = _stack(task, relations)
    result = []
    for capacity, fixed in zip(instance.capacity, _highest_fixed(task), strict=True):
        result.append(min(capacity, UNBOUNDED, fixed + above))
    if first_value is not None and task.terms:
        term = task.terms[0]
        for pool in range(instance.pool_count):
            if term.kind in (TermKind.PEAK, TermKind.MAX_PEAK) or (
                term.kind is TermKind.POOL_PEAK and term.pool == pool
            ):
                result[pool] = min(result[pool], first_value)
    return result


def highest_stack(task: Task) -> int:
    """A height that no pool exceeds in some optimal layout, computed without pairs, to check magnitudes."""
    instance = task.instance
    fixed = max(_highest_fixed(task), default=0)
    total = sum(tops(instance))
    moduli = instance.choice_modulus
    kinds = set(moduli)
    if len(kinds) > 1 and not any(instance.exempt[2::3]):
        return fixed + total + sum([lcm(*moduli[a:b]) for a, b in pairwise(instance.choice_start)])
    return fixed + total + instance.item_count * lcm(*kinds)


def _stack(task: Task, relations: Relations) -> int:
    """The height of all items on top of each other, with the largest loss by alignment."""
    instance = task.instance
    group = list(range(instance.item_count))

    def root(item: int) -> int:
        while group[item] != item:
            group[item] = group[group[item]]
            item = group[item]
        return item

    for a, b in relations.shared:
        group[root(relations.item_of[a])] = root(relations.item_of[b])
    total = 0
    moduli: dict[int, int] = {}
    for item, top in enumerate(tops(instance)):
        total += top
        where = root(item)
        for c in range(instance.choice_start[item], instance.choice_start[item + 1]):
            moduli[where] = lcm(moduli.get(where, 1), instance.choice_modulus[c])
    return total + sum(moduli.values())


def _highest_fixed(task: Task) -> list[int]:
    """By pool: the highest end in it that does not come from stacking."""
    instance = task.instance
    reserved = pairwise(instance.reserved_start)
    highest = [max(instance.reserved_end[first:last], default=0) for first, last in reserved]
    ends = tops(instance)
    # A low that is not 0 is a pin.
    pinned = [c for c, low in enumerate(instance.choice_low) if low]
    for c in pinned:
        pool, item = instance.choice_pool[c], bisect_right(instance.choice_start, c) - 1
        highest[pool] = max(highest[pool], instance.choice_low[c] + ends[item])
    if instance.has_banks:
        # Items are pressed down no farther than to the bank that they touch, or to the end of the one below.
        for pool in range(instance.pool_count):
            highest[pool] = max(highest[pool], *(end for _, end in instance.banks_of(pool)), 0)
        highest = [high + max(ends, default=0) for high in highest]
    if any(term.kind is TermKind.MOVES for term in task.terms):
        for place in task.hint_places:
            highest[place.pool] = max(highest[place.pool], place.offset + ends[place.item])
    return highest


def choices(instance: Instance, horizon: list[int]) -> list[list[Choice]]:
    """By item: the choices with a place below the horizons."""
    ends = tops(instance)
    result: list[list[Choice]] = []
    for item in range(instance.item_count):
        mine = []
        for c in range(instance.choice_start[item], instance.choice_start[item + 1]):
            pool, modulus = instance.choice_pool[c], instance.choice_modulus[c]
            residue = instance.choice_residue[c] % modulus
            low, high = instance.choice_low[c], min(instance.choice_high[c], horizon[pool] - ends[item])
            windows = instance.windows(c)
            free = [
                span
                for first, last in ([(low, high)] if windows is None else windows)
                for span in _free(instance, item, pool, max(low, first), min(high, last))
            ]
            steps = _steps(free, modulus, residue)
            if steps:
                mine.append(Choice(c, pool, modulus, residue, steps))
        result.append(mine)
    return result


def _free(instance: Instance, item: int, pool: int, low: int, high: int) -> list[tuple[int, int]]:
    """Ranges of offsets (ends included) at which no part touches a reserved range."""
    taken = sorted(
        (begin - instance.part_delta[p] - instance.part_size[p] + 1, end - instance.part_delta[p] - 1)
        for begin, end in zip(
            instance.reserved_begin[instance.reserved_start[pool] : instance.reserved_start[pool + 1]],
            instance.reserved_end[instance.reserved_start[pool] : instance.reserved_start[pool + 1]],
            strict=True,
        )
        for p in range(instance.item_parts[item], instance.item_parts[item + 1])
    )
    free = []
    at = low
    for begin, end in taken:
        if begin > high:
            break
        if begin > at:
            free.append((at, begin - 1))
        at = max(at, end + 1)
    if at <= high:
        free.append((at, high))
    return free


def _steps(free: list[tuple[int, int]], modulus: int, residue: int) -> tuple[tuple[int, int], ...]:
    steps = ((-(-(low - residue) // modulus), (high - residue) // modulus) for low, high in free)
    result: list[tuple[int, int]] = []
    for low, high in steps:
        if low > high:
            continue
        if result and low <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(high, result[-1][1]))
        else:
            result.append((low, high))
    return tuple(result)


def look_alikes(task: Task, relations: Relations) -> list[list[int]]:
    """Sets of items that can be exchanged for each other in every layout, without change of its worth."""
    instance = task.instance
    special = {relations.item_of[part] for i, part in enumerate(instance.exempt) if i % 3 != 2}
    special |= {relations.item_of[part] for i, part in enumerate(instance.reuse) if i % 3 != 2}
    special |= {relations.item_of[part] for part in instance.conflicts}
    special |= {place.item for place in task.hint_places}
    special |= {
        relations.item_of[part] for pair in bank_pairs(instance) for part in (pair.first, pair.second)
    }
    keyed = []
    for item in range(instance.item_count):
        first, last = instance.item_parts[item], instance.item_parts[item + 1]
        if item in special or last - first != 1 or not relations.lives[first]:
            continue
        c = slice(instance.choice_start[item], instance.choice_start[item + 1])
        key = (
            instance.part_size[first],
            tuple(relations.lives[first]),
            tuple(instance.choice_pool[c]),
            tuple(instance.choice_modulus[c]),
            tuple(instance.choice_residue[c]),
            tuple(instance.choice_low[c]),
            tuple(instance.choice_high[c]),
            tuple(instance.choice_cost[c]),
            tuple(instance.choice_rank[c]),
            tuple(tuple(instance.windows(choice) or ()) for choice in range(c.start, c.stop)),
        )
        keyed.append((key, item))
    keyed.sort()
    sets = [[item for _, item in same] for _, same in groupby(keyed, key=lambda entry: entry[0])]
    return [same for same in sets if len(same) > 1]
