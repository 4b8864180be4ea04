"""What any layout of one point needs: buffers that are live together are apart, so their sizes add up.

Chooses the buffers itself, and has `live_bytes` count what they prove about the problem at that point. Only
the chosen buffers and those tied to them are part of it: without the others nothing needs more.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from typing import Final

from memstow.planner.model.objective import PEAK, Term
from memstow.planner.model.plan import LiveBytes, Sum
from memstow.planner.model.problem import InPlace, Problem, Relative
from memstow.planner.verify.findings import Findings
from memstow.planner.verify.live_bytes import proven
from memstow.planner.verify.problem_index import ProblemIndex
from memstow.planner.verify.shapes.units import Units

_MOMENTS: Final = 8
"""Moments with the most live bytes that are compared where buffers may share bytes."""
_MOST_POOLS: Final = 16
_MOST_WITHOUT_TIME: Final = 2_000


class LiveBound:
    """Lower bounds of the objective at points."""

    def __init__(self, index: ProblemIndex, term: Term) -> None:
        self._index = index
        self._term = term
        self._tied = Units(len(index.buffers), index.relative)
        lives = index.lives_of(range(len(index.buffers)))
        self._events = sorted([(begin, 1, i) for i, begin, _ in lives] + [(end, 0, i) for i, _, end in lives])
        self._without_time = [] if lives else [i for pair in index.conflicts for i in pair]
        self._sharing: dict[int, set[int]] = {}
        for one, other in (*index.in_place, *(index.exclusive - index.conflicts)):
            self._sharing.setdefault(one, set()).add(other)
            self._sharing.setdefault(other, set()).add(one)
        self._must: list[frozenset[int]] = []
        """For each pool the buffers that can be in no other."""
        if 1 < len(index.pools) <= _MOST_POOLS:
            only = [index.allowed(i) for i in range(len(index.buffers))]
            self._must = [
                frozenset(i for i, pools in enumerate(only) if list(pools) == [pool])
                for pool in range(len(index.pools))
            ]

    def at(self, sizes: Sequence[int]) -> int:
        """No layout with these sizes has a lower objective."""
        pools = self._index.pools
        best = 0
        if len(pools) == 1:
            return self._best_of(sizes, None, self._term, pools[0].id)
        best = self._best_of(sizes, None, self._term, None)
        parts: list[LiveBytes] = []
        for pool, must in zip(pools, self._must, strict=False):
            certificate = next(self._certificates(sizes, must, pool.id), None) if must else None
            if certificate is not None:
                best = max(best, self._proven(sizes, self._term, certificate))
                parts.append(certificate)
        if self._term == PEAK and len(parts) > 1:
            best = max(best, self._proven(sizes, PEAK, Sum(parts=tuple(parts))))
        return best

    def _best_of(
        self, sizes: Sequence[int], among: frozenset[int] | None, term: Term, pool: str | None
    ) -> int:
        found = (self._proven(sizes, term, it) for it in self._certificates(sizes, among, pool))
        return max(found, default=0)

    def _certificates(
        self, sizes: Sequence[int], among: frozenset[int] | None, pool: str | None
    ) -> Iterator[LiveBytes]:
        """Sets of buffers of which every two conflict, those that add up to the most first."""
        sets = [(self._apart(live, sizes), time) for time, live in self._moments(sizes, among)]
        if self._without_time:
            listed = [i for i in dict.fromkeys(self._without_time) if sizes[i] and (not among or i in among)]
            sets.append((self._clique(listed, sizes), None))
        sets.sort(key=lambda it: -sum(sizes[i] for i in it[0]))
        for chosen, time in sets:
            if chosen:
                names = tuple(map(self._index.id_of, chosen))
                yield LiveBytes(pool=pool, time=time, buffers=names)

    def _moments(
        self, sizes: Sequence[int], among: frozenset[int] | None
    ) -> list[tuple[int | None, list[int]]]:
        """Moments with the most live bytes, and the buffers with bytes that live then."""
        live, before, rising = 0, 0, False
        totals: list[tuple[int, int]] = []
        for time, begins, i in self._events:
            if among is not None and i not in among:
                continue
            if begins:
                live, rising = live + sizes[i], True
            else:
                if rising:
                    totals.append((live, before))
                live, rising = live - sizes[i], False
            before = time
        count = _MOMENTS if self._sharing else 1
        index = self._index
        everyone = range(len(sizes)) if among is None else sorted(among)
        return [
            (time, [i for i in everyone if sizes[i] and index.lives_at(i, time)])
            for _, time in nlargest(count, totals, key=lambda it: it[0])
        ]

    def _apart(self, live: Iterable[int], sizes: Sequence[int]) -> list[int]:
        """Those of them that may share no bytes with each other; the largest are kept."""
        if not self._sharing:
            return list(live)
        kept: set[int] = set()
        for i in sorted(live, key=lambda i: -sizes[i]):
            if not kept & self._sharing.get(i, set()):
                kept.add(i)
        return sorted(kept)

    def _clique(self, listed: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """Buffers without lifetimes that are listed as conflicts, every two of them."""
        kept: list[int] = []
        for i in sorted(listed, key=lambda i: -sizes[i])[:_MOST_WITHOUT_TIME]:
            if all((min(i, it), max(i, it)) in self._index.conflicts for it in kept):
                kept.append(i)
        return self._apart(kept, sizes)

    def _proven(self, sizes: Sequence[int], term: Term, certificate: LiveBytes | Sum) -> int:
        parts = (certificate,) if isinstance(certificate, LiveBytes) else certificate.parts
        chosen = {self._index.buffer_index[name] for part in parts for name in part.buffers}
        units = {self._tied.unit[i] for i in chosen}
        part = sorted(i for u in units for i in self._tied.members[u])
        findings = Findings()
        index = ProblemIndex(self._problem_of(part, sizes), findings)
        if findings.total:
            return 0
        found = proven(index, term, certificate, cheapest_only=False)
        return 0 if isinstance(found, str) else found

    def _problem_of(self, part: Sequence[int], sizes: Sequence[int]) -> Problem:
        index = self._index
        there = set(part)
        names = {index.id_of(i) for i in part}

        def pairs(all_pairs: Iterable[tuple[int, int]]) -> list[tuple[str, str]]:
            return [(index.id_of(a), index.id_of(b)) for a, b in all_pairs if a in there and b in there]

        return Problem(
            pools=index.pools,
            buffers=[replace(index.buffers[i], size=sizes[i]) for i in part],
            conflicts=pairs(index.conflicts),
            exclusive=pairs(index.exclusive),
            in_place=[InPlace(input=one, output=other) for one, other in pairs(index.in_place)],
            relative=[
                Relative(buffer=it.buffer, base=it.base, offset=it.offset)
                for it in index.problem.relative
                if it.buffer in names and it.base in names
            ],
            objective=index.problem.objective,
        )
