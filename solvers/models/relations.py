"""Which parts must be apart, in the form that models use.

Most of it is rectangles: the bytes of an item over a range of time, where no two items may overlap. Conflicts
without times and pairs that may share bytes if they start together are pairs of parts.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memstow.solvers.instance import Instance

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


__all__ = ["Pair", "Rectangle", "Relations", "Reuse", "Span", "live_pairs", "merge", "rows"]
