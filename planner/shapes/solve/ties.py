"""Pairs in place that share their place at every value: which of them to tie.

An order says of each conflicting pair which is above the other, so sharing is decided once, for all values.
What shares becomes a rigid group, as if the problem had said so.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

from memstow.planner.model.problem import ALWAYS, Buffer, InPlace, Problem, Relative
from memstow.planner.model.rigid_groups import Distances
from memstow.planner.reduce.parts import lifetime_ranges
from memstow.planner.shapes.solve.points import PointPlan

Ties = frozenset[tuple[str, str]]
"""Pairs of an input and an output that begin at one offset."""

NONE: Final[Ties] = frozenset()
_MOST_SETS: Final = 4
_FEW_PAIRS: Final = 3


def likely_ties(problem: Problem, points: Iterable[PointPlan]) -> list[Ties]:
    """Sets of pairs to try, the most promising first: what plans at single points share, and none."""
    if not problem.in_place:
        return [NONE]
    votes: Counter[Ties] = Counter()
    for point in points:
        place = {it.buffer: (it.pool, it.offset) for it in point.plan.placements}
        shared = [
            it for it in problem.in_place if it.input in place and place[it.input] == place.get(it.output)
        ]
        votes[possible(problem, shared)] += 1
    votes[possible(problem, problem.in_place)] += 0
    ranked = [ties for ties, _ in votes.most_common(_MOST_SETS)]
    return ranked if NONE in ranked else [*ranked[: _MOST_SETS - 1], NONE]


def all_ties(problem: Problem) -> list[Ties] | None:
    """Every set of pairs that may be tied together; None where there are many."""
    pairs = problem.in_place
    if len(pairs) > _FEW_PAIRS:
        return None
    sets = {possible(problem, some) for count in range(len(pairs) + 1) for some in combinations(pairs, count)}
    return sorted(sets, key=sorted)


def tied(problem: Problem, ties: Ties) -> Problem:
    """The problem where these share their place and no other pair does."""
    bound = tuple(Relative(buffer=output, base=source, offset=0) for source, output in sorted(ties))
    rest = tuple(it for it in problem.in_place if (it.input, it.output) in ties)
    # Not checked again: members of a group may share bytes where the pair may.
    return Problem(
        version=1,
        name=problem.name,
        pools=problem.pools,
        buffers=problem.buffers,
        conflicts=problem.conflicts,
        exclusive=problem.exclusive,
        relative=(*problem.relative, *bound),
        in_place=rest,
        objective=problem.objective,
    )


def possible(problem: Problem, pairs: Iterable[InPlace]) -> Ties:
    """Of these pairs, in turn, those that can be tied beside those before."""
    return _Tying(problem).tie(pairs)


class _Tying:
    def __init__(self, problem: Problem) -> None:
        self.buffers = problem.buffers
        self.index = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
        self.distances = Distances()
        self.exclusive = {frozenset(pair) for pair in problem.exclusive}
        self.in_place = {frozenset((it.input, it.output)) for it in problem.in_place}
        self.apart = {frozenset(pair) for pair in problem.conflicts}
        for tie in problem.relative:
            self.distances.tie(self.index[tie.buffer], self.index[tie.base], tie.offset)
        self.members: dict[int, list[int]] = {}
        for number in range(len(self.buffers)):
            self.members.setdefault(self.distances.find(number)[0], []).append(number)

    def tie(self, pairs: Iterable[InPlace]) -> Ties:
        found: set[tuple[str, str]] = set()
        for pair in pairs:
            source, output = self.index[pair.input], self.index[pair.output]
            # What has no bytes has nothing to share.
            both_sized = self.buffers[source].size and self.buffers[output].size
            if both_sized and self._may_meet(source, output):
                ours, theirs = (self.distances.find(it)[0] for it in (source, output))
                if ours != theirs:
                    self.distances.tie(output, source, 0)
                    both = [*self.members.pop(ours), *self.members.pop(theirs)]
                    self.members[self.distances.find(source)[0]] = both
                found.add((pair.input, pair.output))
        return frozenset(found)

    def _may_meet(self, source: int, output: int) -> bool:
        """Whether the groups of both can be one, with nobody on somebody else."""
        ours, at = self.distances.find(source)
        theirs, there = self.distances.find(output)
        if ours == theirs:
            return at == there
        first = {it: self.distances.find(it)[1] - at for it in self.members[ours]}
        second = {it: self.distances.find(it)[1] - there for it in self.members[theirs]}
        starts = self._pinned_starts(first | second)
        if len(starts) > 1 or any(start + self._lowest(first | second) < 0 for start in starts):
            return False
        return not any(self._on(a, first[a], b, second[b]) for a in first for b in second)

    def _pinned_starts(self, members: Mapping[int, int]) -> set[int]:
        """Where the group begins, as its pinned members say."""
        pins = ((self.buffers[it].offset, at) for it, at in members.items() if self.buffers[it].size)
        return {pin - at for pin, at in pins if pin is not None}

    def _lowest(self, members: Mapping[int, int]) -> int:
        """How far the lowest is above where the group begins."""
        return min(at for it, at in members.items() if self.buffers[it].size)

    def _on(self, first: int, at: int, second: int, there: int) -> bool:
        """Whether two buffers that must be apart would not be."""
        one, two = self.buffers[first], self.buffers[second]
        pair = frozenset((one.id, two.id))
        if pair in self.in_place and at == there:
            return False
        if pair not in self.apart and (pair in self.exclusive or not _live_together(one, two)):
            return False
        low, high = (one, two) if at <= there else (two, one)
        return low.size > 0 and high.size > 0 and abs(at - there) < low.size


def _live_together(one: Buffer, two: Buffer) -> bool:
    """Whether their lifetimes meet."""
    return any(a[0] < b[1] and b[0] < a[1] for a in _lives(one) for b in _lives(two))


_EVER: Final = (-(10**4001), 10**4001)


def _lives(buffer: Buffer) -> Sequence[tuple[int, int]]:
    return (_EVER,) if buffer.lifetime == ALWAYS else lifetime_ranges(buffer)


def shared_places(ties: Ties) -> dict[str, str]:
    """Of each tied buffer but one of each group, another whose place it shares: all of them are joined so.

    An output shares the place of an input where that says enough.
    """
    joined: dict[str, set[str]] = {}
    for source, output in ties:
        joined.setdefault(source, set()).add(output)
        joined.setdefault(output, set()).add(source)
    outputs = {output for _, output in ties}
    found: dict[str, str] = {}
    seen: set[str] = set()
    for root in sorted(joined, key=lambda it: (it in outputs, it)):
        if root in seen:
            continue
        seen.add(root)
        left = [root]
        for one in left:
            for other in sorted(joined[one] - seen):
                seen.add(other)
                found[other] = one
                left.append(other)
    return found
