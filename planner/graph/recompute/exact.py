"""The exact front of a tiny program: the cheapest way to stay below a limit, limit after limit.

A state is which operators have run for the first time, what is here, and what waits elsewhere. Dijkstra's
search over states finds the least cost; a state is left by a run, a copy, or by letting an item go.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations
from typing import Final

from memstow.planner.graph.savings import most_saved
from memstow.solvers.recompute import RecomputeArrays

MOST_ITEMS: Final = 18
MOST_OPERATORS: Final = 18

# Sets in bits: operators that have run, items here, items away. The last tells that a copy came back after
# the last first run: an operator has to follow.
_State = tuple[int, int, int, bool]
_RUN, _OUT, _BACK, _LET_GO = range(4)
_Action = tuple[int, int]


_LOOKS: Final = 256
"""States after which the clock is looked at again."""


class TooManyStatesError(Exception):
    """The search was stopped."""


@dataclass
class States:
    """How many states may still be looked at, and whether there is time for more."""

    left: int
    is_over: Callable[[], bool]

    def count(self) -> None:
        """One more."""
        self.left -= 1
        if self.left < 0 or (self.left % _LOOKS == 0 and self.is_over()):
            raise TooManyStatesError


@dataclass(frozen=True, slots=True)
class Turns:
    """When operators may run: sets of operators in bits, by operator."""

    needs: Sequence[int]
    """Those that have run before it runs for the first time."""
    ends: Sequence[int]
    """Those of which none has run when it runs for the last time."""
    free: bool
    """Whether first runs are in any order that this allows: what is no item counts where it does in all."""


def turns_in_order(count: int, ends: Sequence[int]) -> Turns:
    """First runs as they are listed."""
    return Turns([(1 << op) - 1 for op in range(count)], ends, free=False)


def turns_in_any_order(successors: Sequence[Sequence[int]], ends: Sequence[int]) -> Turns:
    """First runs in all orders in which nobody runs before who must be first."""
    needs = [0] * len(successors)
    for op, them in enumerate(successors):
        for other in them:
            needs[other] |= 1 << op
    return Turns(needs, ends, free=True)


@dataclass(frozen=True, slots=True)
class Path:
    """What to do, in order: runs, by operator, and copies, by item with the runs after and before them."""

    cost: int
    runs: Sequence[int]
    copies: Sequence[tuple[int, int, int]]


def is_tiny(arrays: RecomputeArrays) -> bool:
    """Whether the exact search is worth a try."""
    return len(arrays.size) <= MOST_ITEMS and len(arrays.cost) <= MOST_OPERATORS


def cheapest_path(
    arrays: RecomputeArrays, turns: Turns, limit: int, most: int | None, states: States
) -> Path | None:
    """The cheapest run that never has more live bytes than the limit nor costs more than `most`.

    None: there is none. Raises TooManyStatesError.
    """
    return _Search(arrays, turns, limit, most, states).run()


class _Search:
    def __init__(
        self, arrays: RecomputeArrays, turns: Turns, limit: int, most: int | None, states: States
    ) -> None:
        self.arrays = arrays
        self.turns = turns
        self.limit = limit
        self.most = most
        self.states = states
        self.count = len(arrays.cost)
        self.all = (1 << self.count) - 1
        self.inputs = [_mask(arrays.inputs_of(op)) for op in range(self.count)]
        self.outputs = [_mask(arrays.outputs_of(op)) for op in range(self.count)]
        self.kept = _mask(i for i, it in enumerate(arrays.kept) if it)
        self.there = _mask(i for i, it in enumerate(arrays.producer) if it < 0)

    def run(self) -> Path | None:
        if self.arrays.start > self.limit:
            return None
        start = (0, self.there, 0, False)
        best: dict[_State, int] = {start: 0}
        came: dict[_State, tuple[_State, _Action]] = {}
        heap = [(0, 0, start)]
        serial = 0
        while heap:
            cost, _, state = heappop(heap)
            if cost > best[state]:
                continue
            self.states.count()
            if state[0] == self.all and state[1] & self.kept == self.kept and not state[3]:
                return _path(cost, state, came)
            for other, more, action in self._steps(state):
                total = cost + more
                if (self.most is None or total <= self.most) and total < best.get(other, total + 1):
                    best[other] = total
                    came[other] = state, action
                    serial -= 1
                    heappush(heap, (total, serial, other))
        return None

    def _steps(self, state: _State) -> Iterator[tuple[_State, int, _Action]]:
        done, here, away, waits = state
        arrays = self.arrays
        for item in _members(here):
            yield (done, here & ~(1 << item), away, waits), 0, (_LET_GO, item)
        for op in range(self.count):
            first = not done >> op & 1
            if self.inputs[op] & ~here or (self.turns.needs[op] & ~done if first else arrays.once[op]):
                continue
            if not first and (self.turns.ends[op] & done or self.outputs[op] & away):
                continue
            # Who makes nothing that is missing runs again where a copy that came back needs it. Else what it
            # makes is let go before.
            if not first and not waits and not self.outputs[op] & ~here:
                continue
            yield from self._run(state, op, first)
        if not done:
            return
        gap = self._gap(done)
        for item, can in enumerate(arrays.spillable):
            cost = arrays.size[item]
            if can and not waits and here >> item & 1 and self._bytes(here) + gap <= self.limit:
                yield (done, here & ~(1 << item), away | 1 << item, waits), cost, (_OUT, item)
            if away >> item & 1 and self._bytes(here | 1 << item) + gap <= self.limit:
                back = done, here | 1 << item, away & ~(1 << item), done == self.all
                yield back, cost, (_BACK, item)

    def _run(self, state: _State, op: int, first: bool) -> Iterator[tuple[_State, int, _Action]]:
        done, here, away, _ = state
        arrays = self.arrays
        after = here | self.outputs[op]
        level = self._bytes(after) + arrays.extra[op] + (self._fixed(op) if first else self._gap(done))
        cost = 0 if first else arrays.cost[op]
        sources = sorted({source for source, _ in arrays.pairs[op]})
        for some in range(len(sources) + 1):
            for ends in combinations(sources, some):
                pairs = [pair for pair in arrays.pairs[op] if pair[0] in ends]
                if level - most_saved(arrays.size, pairs) <= self.limit:
                    left = after & ~_mask(ends)
                    yield (done | 1 << op, left, away, False), cost, (_RUN, op)

    def _fixed(self, op: int) -> int:
        """What is no item, while the operator runs for the first time."""
        return self.arrays.base if self.turns.free else self.arrays.fixed[op]

    def _gap(self, done: int) -> int:
        """The same between the first runs that are done and the next."""
        if done == self.all:
            return self.arrays.end
        return self.arrays.base if self.turns.free else self.arrays.gap[done.bit_count()]

    def _bytes(self, items: int) -> int:
        return sum(self.arrays.size[item] for item in _members(items))


def _path(cost: int, state: _State, came: dict[_State, tuple[_State, _Action]]) -> Path:
    actions: list[_Action] = []
    while state in came:
        state, action = came[state]
        actions.append(action)
    runs: list[int] = []
    copies: list[tuple[int, int, int]] = []
    out: dict[int, int] = {}
    for kind, it in reversed(actions):
        if kind == _RUN:
            runs.append(it)
        elif kind == _OUT:
            out[it] = len(runs) - 1
        elif kind == _BACK:
            copies.append((it, out.pop(it), len(runs)))
    return Path(cost, runs, copies)


def _mask(items: "Iterator[int] | Sequence[int]") -> int:
    mask = 0
    for item in items:
        mask |= 1 << item
    return mask


def _members(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
