"""Looks for tiles that a tiling says are not there: better ones, smaller ones, missing points of its front.

All sizes and both places of the channels among the loops are tried, or left out by a bound: what is counted
of a tile grows with the figures of each cut, so the other directions at their best bound all that still
comes. What a tiling says is a bound as well, so that little is looked at where it is right.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.model.tiling import CHANNELS_INSIDE, CHANNELS_OUTSIDE, Loop, TilingTerm
from memstow.planner.verify.effort import Effort
from memstow.planner.verify.tilings.counts import (
    LOOPS,
    Counted,
    Cut,
    Cuts,
    Ways,
    counted,
    extents_of,
    needs_of,
)
from memstow.planner.verify.tilings.memory import Memory
from memstow.planner.verify.tilings.reading import Reading

LONGEST: Final = 2048
"""Of longer directions not all sizes are tried, and nobody can say that there is no better tile."""
MOST_LOOKED_AT: Final = 1_000_000
"""Tiles that are looked at for a tiling, some microseconds each."""
LAST: Final[tuple[TilingTerm, ...]] = ("bytes", "tiles", "l1")
"""What decides where the objective does not."""

Key = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """All tiles of an operator."""

    ways: Ways
    memory: Memory
    effort: Effort

    @property
    def found(self) -> Reading:
        """The operator."""
        return self.ways.found

    @property
    def has_all_sizes(self) -> bool:
        """Whether no direction is too long for that."""
        *places, inputs = extents_of(self.found)
        return max(*places, inputs if self.found.adds_up else 1) <= LONGEST

    def least_key(self, terms: Sequence[TilingTerm], capacity: int | None, most: Key) -> "Key | None":
        """Of the tiles that fit, the least values of these terms, the first most important.

        None: those of all tiles are more than `most`.
        """
        best: Key | None = None

        def is_of_use(it: Counted) -> bool:
            if capacity is not None and it.l1 > capacity:
                return False
            key = key_of(it, terms)
            return key <= most if best is None else key < best

        for it in self._walk(is_of_use):
            best = key_of(it, terms)
        return best

    def missing_point(self, points: Sequence[tuple[int, int]], capacity: int) -> tuple[int, int] | None:
        """Memory and bytes of a tile that fits and that none of the points, by memory, is as good as."""
        memories = [l1 for l1, _ in points]

        def is_of_use(it: Counted) -> bool:
            if it.l1 > capacity:
                return False
            at = bisect_right(memories, it.l1)
            return at == 0 or points[at - 1][1] > it.bytes

        return next(((it.l1, it.bytes) for it in self._walk(is_of_use)), None)

    def _walk(self, is_of_use: Callable[[Counted], bool]) -> Iterator[Counted]:
        """The tiles that are of use: what is worse in every figure than one that is not is not, either."""
        self.effort.spend(1)
        options = self.ways.options
        all_ways = self._all_ways()
        least = Cuts(*(Cut(*map(min, zip(*some, strict=True))) for some in all_ways))
        by_loop = dict(zip(LOOPS, all_ways, strict=True))

        def look(some: Cuts, loops: tuple[Loop, ...]) -> Counted | None:
            self.effort.spend(1)
            it = counted(needs_of(self.found, some, loops, options), some, options, self.memory)
            return it if is_of_use(it) else None

        for loops in (CHANNELS_OUTSIDE, CHANNELS_INSIDE)[: 1 if self.found.groups > 1 else 2]:
            for inputs in by_loop["inputs"]:
                for channels in by_loop["channels"]:
                    outer = least._replace(channels=channels, inputs=inputs)
                    if look(outer, loops) is None:
                        continue
                    for rows in by_loop["rows"]:
                        middle = outer._replace(rows=rows)
                        if look(middle, loops) is None:
                            continue
                        for columns in by_loop["columns"]:
                            it = look(middle._replace(columns=columns), loops)
                            if it is not None:
                                yield it

    def _all_ways(self) -> list[list[Cut]]:
        """How each direction may be cut, without what is worse than another way in every figure."""
        return [
            _best(
                self.ways.cut(loop, size)
                for size in (
                    [extent] if loop == "inputs" and not self.found.adds_up else range(1, extent + 1)
                )
            )
            for loop, extent in zip(LOOPS, extents_of(self.found), strict=True)
        ]


def key_of(it: Counted, terms: Sequence[TilingTerm]) -> Key:
    """The values of these terms."""
    return tuple(getattr(it, term) for term in terms)


def _best(cuts: Iterable[Cut]) -> list[Cut]:
    kept: list[Cut] = []
    for it in sorted(cuts):
        if not any(all(a <= b for a, b in zip(other, it, strict=True)) for other in kept):
            kept.append(it)
    return kept
