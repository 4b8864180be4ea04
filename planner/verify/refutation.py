"""Refutes claims that cannot be counted again (a bound, that nothing fits) by layouts of the judge's own.

In: the open claims of a plan. Out: those that a layout contradicts, as violations. Layouts are made by
stacking all buffers, then by first fit in several orders, and count only if the judge finds them valid: each
body (a buffer, or a rigid group) in turn goes to the lowest free place. They need not be good: one that is
better than a plan claims to be possible refutes the claim. Everything that costs more than a look at each
buffer is counted (`Effort`). Where no layout contradicts a claim, the claim stays open.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from memstow.planner.model import PLANNED
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Range, Term, terms_of
from memstow.planner.verify.layout import (
    ALONE,
    Layout,
    ObjectiveValues,
    ProblemIndex,
    check_places,
    lives_meet,
)
from memstow.planner.verify.overlaps import check_overlaps
from memstow.planner.verify.verdict import Claims, Code, Effort, Findings, Subject, TooMuch
from memstow.records import record

Prefer = Callable[[int, int], int]
"""Ranks a pool for a body that would end there at that offset: the lowest rank is taken."""


@record
class Body:
    """Buffers that are placed by one offset: a single buffer, or a rigid group at fixed distances."""

    members: tuple[int, ...]
    deltas: tuple[int, ...]
    pools: tuple[int, ...]
    start: int | None
    """The offset that it is pinned to."""
    bytes: int


class _Pool:
    __slots__ = ("placed", "top")

    def __init__(self) -> None:
        self.top = 0
        self.placed: list[int] = []


def bodies(index: ProblemIndex, chosen: Iterable[int]) -> list[Body]:
    """These buffers, each with all of its group."""
    gathered: list[Body] = []
    seen: set[int] = set()
    for buffer in chosen:
        group = index.rigid.group[buffer]
        if group == ALONE:
            gathered.append(_body(index, (buffer,)))
        elif group not in seen:
            seen.add(group)
            gathered.append(_body(index, tuple(index.rigid.members[group])))
    return gathered


def _body(index: ProblemIndex, members: tuple[int, ...]) -> Body:
    places = [index.rigid.delta.get(i, 0) for i in members]
    deltas = tuple(place - places[0] for place in places)
    pins = [
        offset - delta
        for i, delta in zip(members, deltas, strict=True)
        if (offset := index.buffers[i].offset) is not None
    ]
    return Body(
        members,
        deltas,
        tuple(index.allowed(members[0])),
        pins[0] if pins else None,
        sum(index.buffers[i].size for i in members),
    )


class Packing:
    """A layout that is being built."""

    def __init__(self, index: ProblemIndex, effort: Effort) -> None:
        self._index = index
        self._effort = effort
        self._layout = Layout(index)
        self._pools = [_Pool() for _ in index.pools]
        self._lives: dict[int, Sequence[Range]] = {}

    def place_all(self, order: Sequence[Body], prefer: Prefer, stacked: bool) -> Layout | None:
        """Place all bodies, pinned ones first; `stacked`: no byte is used twice. None if one has no place."""
        pinned = [body for body in order if body.start is not None]
        free = [body for body in order if body.start is None]
        for body in (*pinned, *free):
            places = [
                (prefer(pool, offset + body.bytes), pool, offset)
                for pool in body.pools
                if (offset := self._lowest(body, pool, stacked)) is not None
            ]
            if not places:
                return None
            _, pool, offset = min(places, key=lambda place: place[0])
            there = self._pools[pool]
            for i, delta in zip(body.members, body.deltas, strict=True):
                self._layout.pool[i] = pool
                self._layout.offset[i] = offset + delta
                size = self._index.buffers[i].size
                if size:
                    there.placed.append(i)
                    there.top = max(there.top, offset + delta + size)
        return self._layout

    def _lowest(self, body: Body, pool: int, stacked: bool) -> int | None:
        """The lowest free offset of the body; of a pinned one its pin, if that is in the pool."""
        index = self._index
        grid = index.grid_of(body.members[0], pool)
        if grid is None:
            return None
        sizes = [index.buffers[i].size for i in body.members]
        highest = index.ends[pool] - max(d + size for d, size in zip(body.deltas, sizes, strict=True))
        start = -min(body.deltas)
        if body.start is not None:
            return body.start if start <= body.start <= highest else None
        if stacked and body.bytes:
            start += self._pools[pool].top
        taken: list[Range] = []
        for i, d, size in zip(body.members, body.deltas, sizes, strict=True):
            if not size:
                continue
            taken += ((begin - d - size, end - d) for begin, end in index.reserved[pool])
            if not stacked:
                taken += self._in_the_way(i, d, size, pool)
        taken.sort()
        self._effort.spend(len(taken) + 1)
        start = grid.lowest_from(start)
        for below, above in taken:
            # A start strictly between the two would share a byte.
            if below < start < above:
                start = grid.lowest_from(above)
        return start if start <= highest else None

    def _in_the_way(self, buffer: int, delta: int, size: int, pool: int) -> list[Range]:
        """Starts that the body may not have, because of placed buffers that conflict with this member."""
        placed, index, offset = self._pools[pool].placed, self._index, self._layout.offset
        self._effort.spend(len(placed))
        mine = self._lives_of(buffer)
        closed = []
        for other in placed:
            pair = (buffer, other) if buffer < other else (other, buffer)
            # Pairs in place are kept apart, too: the layout need not be a good one.
            if pair not in index.conflicts and (
                pair in index.exclusive or not lives_meet(mine, self._lives_of(other))
            ):
                continue
            begin = offset[other]
            closed.append((begin - delta - size, begin + index.buffers[other].size - delta))
        return closed

    def _lives_of(self, buffer: int) -> Sequence[Range]:
        lives = self._lives.get(buffer)
        if lives is None:
            lives = self._lives[buffer] = self._index.lives(buffer)
        return lives


MOST_BUFFERS: Final = 100_000
"""For more buffers no layout is made: it would take as long as the whole judgement."""
MOST_STEPS: Final = 1_000_000
"""Rounds of the innermost loop over all layouts for one plan: a fraction of a second."""


def refute_claims(
    index: ProblemIndex, plan: Plan, hint: Plan | None, claims: Claims, findings: Findings
) -> None:
    """Refute the open claims that a valid layout of the judge contradicts."""
    open_claims = claims.only_claimed()
    if not open_claims or len(index.buffers) > MOST_BUFFERS:
        return
    effort = Effort(most=MOST_STEPS)
    if any(claim.subject is Subject.NOTHING_FITS for claim in open_claims):
        # Lay out the buffers named by the explanation, or all buffers if it names none.
        named = plan.explanation.buffers if plan.explanation is not None else ()
        chosen = [index.buffer_index[name] for name in named] or range(len(index.buffers))
        if next(_layouts(index, plan, (), bodies(index, chosen), effort), None) is not None:
            claims.refute(Subject.NOTHING_FITS, None)
            findings.add(
                Code.EXPLANATION,
                "the explanation does not show that nothing fits: the judge has found places for {}",
                "these buffers" if named else "all buffers",
            )
    waiting = {claim.name for claim in open_claims if claim.subject is Subject.BOUND}
    if not waiting:
        return
    everything = bodies(index, range(len(index.buffers)))
    for layout in _layouts(index, plan, terms_of(index.problem), everything, effort):
        values = ObjectiveValues(index, layout, hint, claims.graph.cost)
        for term in plan.objective:
            value = values.value(term.term)
            if value is not None and value < term.bound and term.term in waiting:
                claims.refute(Subject.BOUND, term.term)
                findings.add(
                    Code.CERTIFICATE,
                    "the bound {} of {} is too high: the judge has found a plan with {}",
                    term.bound,
                    term.term,
                    value,
                )
                waiting.remove(term.term)
            # A bound holds for plans that are worth the same in the terms before.
            if value != term.value:
                break
        if not waiting:
            return


def _layouts(
    index: ProblemIndex, plan: Plan, terms: Sequence[Term], chosen: Sequence[Body], effort: Effort
) -> Iterator[Layout]:
    """Valid layouts of these bodies, until the effort is spent."""
    preferences = _preferences(index, terms)
    try:
        for prefer in preferences:
            yield from _valid(index, Packing(index, effort).place_all(chosen, prefer, stacked=True))
        # Each body is compared with those in its pool: where there are no steps for that, none are wasted.
        if len(chosen) ** 2 // (2 * len(index.pools)) > effort.left:
            return
        for order in _orders(index, plan, chosen):
            for prefer in preferences:
                yield from _valid(index, Packing(index, effort).place_all(order, prefer, stacked=False))
    except TooMuch:
        return


def _orders(index: ProblemIndex, plan: Plan, chosen: Sequence[Body]) -> Iterator[Sequence[Body]]:
    """Orders to place bodies in: as in the plan from below, by size, by length of life, by begin of life."""
    by_size = sorted(chosen, key=lambda body: -body.bytes)
    lives = {i: index.lives(i) for body in chosen for i in body.members}
    if plan.status in PLANNED:
        place_of = {place.buffer: place.offset for place in plan.placements}
        yield sorted(by_size, key=lambda body: place_of.get(index.id_of(body.members[0]), 0))
    yield by_size
    yield sorted(
        by_size,
        key=lambda body: -max(end - begin for i in body.members for begin, end in lives[i] or [(0, 0)]),
    )
    yield sorted(
        by_size, key=lambda body: min(begin for i in body.members for begin, _ in lives[i] or [(0, 0)])
    )


def _preferences(index: ProblemIndex, terms: Sequence[Term]) -> list[Prefer]:
    """Ways to choose a pool: the lowest end, the cheapest pool, any pool but one whose peak is a term."""
    if len(index.pools) == 1:
        return [lambda _, end: end]
    cost = [pool.cost for pool in index.pools]
    preferences: list[Prefer] = [lambda _, end: end, lambda pool, _: cost[pool]]
    for term in terms:
        if term.pool is not None:
            counted = index.pool_index[term.pool]
            preferences.append(lambda pool, _, counted=counted: int(pool == counted))  # type: ignore[misc]
    return preferences


def _valid(index: ProblemIndex, layout: Layout | None) -> Iterator[Layout]:
    """The layout if the judge finds no violation, else nothing."""
    if layout is None:
        return
    findings = Findings()
    check_places(index, layout, findings)
    check_overlaps(index, layout, findings)
    if not findings.total:
        yield layout
