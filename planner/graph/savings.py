"""The most bytes that an operator can save in place: a matching of inputs and outputs.

It grows by the path that adds the most, until none adds any: so it is the best one of each size in turn.
"""

from collections.abc import Sequence
from typing import Final

Pair = tuple[int, int]


# With more pairs in one part, no set saves more than what is counted, and maybe none as much.
_MOST_MATCHED: Final = 1_000


def most_saved(size: Sequence[int], pairs: Sequence[Pair]) -> int:
    """The most bytes that pairs save, each input and each output in one of them at most."""
    return sum(_saved_in_part(size, part) for part in _parts(pairs))


def _saved_in_part(size: Sequence[int], pairs: Sequence[Pair]) -> int:
    if len(pairs) == 1:
        return _saves(size, pairs[0])
    if len(pairs) > _MOST_MATCHED:
        return min(_best_of_each(size, pairs, 0), _best_of_each(size, pairs, 1))
    matching = _Matching(size, pairs)
    total = 0
    while gain := matching.grow():
        total += gain
    return total


def _best_of_each(size: Sequence[int], pairs: Sequence[Pair], end: int) -> int:
    """What is saved if each input (0) or output (1) has the best of its pairs."""
    best: dict[int, int] = {}
    for pair in pairs:
        best[pair[end]] = max(best.get(pair[end], 0), _saves(size, pair))
    return sum(best.values())


def _parts(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """The pairs that compete with each other, together."""
    of_end: dict[tuple[str, int], list[Pair]] = {}
    for pair in pairs:
        ends = ("in", pair[0]), ("out", pair[1])
        lists = [it for it in (of_end.get(end) for end in ends) if it is not None]
        part = max(lists, key=len, default=[])
        for other in lists:
            if other is not part:
                part.extend(other)
                for source, target in other:
                    of_end["in", source] = of_end["out", target] = part
        part.append(pair)
        for end in ends:
            of_end[end] = part
    return list({id(part): part for part in of_end.values()}.values())


def _saves(size: Sequence[int], pair: Pair) -> int:
    return min(size[pair[0]], size[pair[1]])


class _Matching:
    def __init__(self, size: Sequence[int], pairs: Sequence[Pair]) -> None:
        self._worth = {pair: _saves(size, pair) for pair in pairs}
        self._sources = {source for source, _ in pairs}
        self._chosen: dict[int, int] = {}
        """By output, the input in whose place it is."""

    def grow(self) -> int:
        """Take the path from a free input to a free output that adds the most; returns what it adds."""
        used = set(self._chosen.values())
        at_source = {source: 0 for source in self._sources if source not in used}
        at_target: dict[int, int] = {}
        came: dict[int, int] = {}
        changed = True
        while changed:
            changed = False
            for (source, target), worth in self._worth.items():
                there = at_source.get(source)
                if there is None or self._chosen.get(target) == source:
                    continue
                if target in at_target and at_target[target] >= there + worth:
                    continue
                at_target[target], came[target], changed = there + worth, source, True
                owner = self._chosen.get(target)
                if owner is not None:
                    at_source[owner] = there + worth - self._worth[owner, target]
        ends = {target: value for target, value in at_target.items() if target not in self._chosen}
        best = max(ends, key=ends.__getitem__, default=None)
        if best is None or ends[best] <= 0:
            return 0
        self._turn(best, came)
        return ends[best]

    def _turn(self, target: int, came: dict[int, int]) -> None:
        """Along the path, what was chosen is not, and the other way round."""
        target_of = {source: chosen for chosen, source in self._chosen.items()}
        end: int | None = target
        while end is not None:
            source = came[end]
            before = target_of.get(source)
            self._chosen[end] = source
            end = before
