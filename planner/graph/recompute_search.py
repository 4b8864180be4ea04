"""Searches on the arrays of a program whose operators may run again, or whose items may wait elsewhere.

`Archive` keeps runs that no other beats in both bytes and cost. `Moments` is a lower bound of the peak for
each cost, the least that the first run of some operator takes: each line says that byte price x peak + cost
price x cost is at least so much in every schedule, so lines are found once and hold for all costs
(docs/recompute.md proves them). `cheapest_path` is exact for tiny programs: a state is which operators have
run for the first time, what is here, and what waits elsewhere; Dijkstra's search over states finds the
least cost, and a state is left by a run, a copy, or by letting an item go. `Search` is for large programs:
rehearsals in less and less memory, with tastes and weights.
"""

import math
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations, product
from random import Random
from typing import Final, Generic, Protocol, TypeVar

from memstow.planner.graph.live_bytes import most_saved
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import RecomputeArrays


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run of the program: operators by place in the order, copies by item, after and before runs."""

    bytes: int
    cost: int
    runs: Sequence[int]
    copies: Sequence[tuple[int, int, int]]


class Costed(Protocol):
    """A way to run a graph, as far as fronts compare ways."""

    @property
    def bytes(self) -> int:
        """What is live at its fullest moment."""

    @property
    def cost(self) -> int:
        """What its operators cost."""


T = TypeVar("T", bound=Costed)


class Archive(Generic[T]):
    """The front of what was offered: those that no other is as good as in both bytes and cost.

    Of equal ones the first stays.
    """

    def __init__(self, offered: Iterable[T] = ()) -> None:
        self.items: list[T] = []
        """By ascending bytes and descending cost."""
        for one in offered:
            self.offer(one)

    def beats(self, size: int, cost: int) -> bool:
        """Whether one that is here is as good in both."""
        least = self.least_cost(size)
        return least is not None and least <= cost

    def offer(self, one: T) -> bool:
        """Take it in, unless it is beaten; those that it beats go."""
        if self.beats(one.bytes, one.cost):
            return False
        begin = bisect_left(self.items, one.bytes, key=lambda item: item.bytes)
        end = begin
        while end < len(self.items) and self.items[end].cost >= one.cost:
            end += 1
        self.items[begin:end] = [one]
        return True

    def forget(self, one: T) -> None:
        """Take it out."""
        self.items.remove(one)

    def least_bytes(self, cost: int) -> int | None:
        """The least bytes of those that cost no more."""
        return next((item.bytes for item in self.items if item.cost <= cost), None)

    def least_cost(self, size: int) -> int | None:
        """The least cost of those that need no more bytes."""
        at = bisect_right(self.items, size, key=lambda item: item.bytes)
        return self.items[at - 1].cost if at else None


_BYTE_PRICE: Final = 1 << 10
_MOST: Final = 1 << 60
_HALVINGS: Final = 14


class Moments:
    """Bounds of one program; `free`: of all orders of first runs, else of the one given."""

    def __init__(
        self, arrays: RecomputeArrays, successors: "Sequence[Sequence[int]] | None", budget: Budget
    ) -> None:
        self.arrays = arrays
        self.budget = budget
        self.free = successors is not None
        count = len(arrays.cost)
        self._after: Sequence[Sequence[int]] = successors or []
        self._before: list[list[int]] = [[] for _ in range(count)] if self.free else []
        for op, them in enumerate(self._after):
            for other in them:
                self._before[other].append(op)
        self._own = [self._own_bytes(op) for op in range(count)]
        # Whatever the cost.
        self.least = max([arrays.start, *self._own])
        self._lines: dict[tuple[int, int, int], Sequence[int]] = {}
        total = sum(arrays.size) + 1
        cost = sum(arrays.cost) + 2 * total
        self._byte_price = _BYTE_PRICE if total * _BYTE_PRICE < _MOST else 1
        self._most_cost_price = _MOST // max(cost, 1)
        self._can_cut = total * self._byte_price < _MOST

    def bound(self, cost: int) -> int:
        """No schedule whose runs again and copies cost at most this has a lower peak."""
        best = self.least
        for byte_price, cost_price, total in self._lines:
            best = max(best, -((cost_price * cost - total) // byte_price))
        return best

    def held(self, cost: int) -> Sequence[int]:
        """The items that are held where the bound of this cost comes from."""
        best = max(self._lines, key=lambda line: (line[2] - line[1] * cost) / line[0], default=None)
        return () if best is None else self._lines[best]

    def tighten(self, op: int, cost: int) -> None:
        """Look for the best lines of the operator for this cost."""
        if not self._can_cut:
            return
        around = self._around(op)
        low, high = 0, self._most_cost_price
        best: tuple[int, int, int] | None = None
        for _ in range(_HALVINGS):
            # Prices go over many orders of magnitude: the exponent is halved first.
            middle = (low + high) // 2 if high < 4 * low else _between(low, high)
            moment = self.arrays.native.cheapest(op, *around, self._byte_price, middle, self.budget)
            line = self._byte_price, middle, moment.price + self._byte_price * self._own[op]
            if best is None or line[2] - middle * cost > best[2] - best[1] * cost:
                best = line
                self._lines[line] = moment.kept
            if moment.cost == cost or high - low <= 1 or self.budget.spent:
                break
            low, high = (middle, high) if moment.cost > cost else (low, middle)

    def _own_bytes(self, op: int) -> int:
        """What the first run of the operator takes whatever else is held."""
        arrays = self.arrays
        size = arrays.size
        saved: dict[int, int] = {}
        for source, target in arrays.pairs[op]:
            saved[source] = max(saved.get(source, 0), min(size[source], size[target]))
        fixed = arrays.base if self.free else arrays.fixed[op]
        inputs = sum(size[item] - saved.get(item, 0) for item in arrays.inputs_of(op))
        return fixed + arrays.extra[op] + inputs + sum(size[item] for item in arrays.outputs_of(op))

    def _around(self, op: int) -> tuple[list[bool], list[bool]]:
        """Who has run before the operator, and who runs later, whatever the order."""
        count = len(self.arrays.cost)
        if not self.free:
            return [number < op for number in range(count)], [number > op for number in range(count)]
        return _reached(op, self._before, count), _reached(op, self._after, count)


def _between(low: int, high: int) -> int:
    return 1 << ((max(low, 1).bit_length() + high.bit_length()) // 2) if high > 1 else high


def _reached(op: int, edges: Sequence[Sequence[int]], count: int) -> list[bool]:
    reached = [False] * count
    stack = [op]
    while stack:
        for other in edges[stack.pop()]:
            if not reached[other]:
                reached[other] = True
                stack.append(other)
    return reached


MOST_ITEMS: Final = 18
MOST_OPERATORS: Final = 18

# Sets in bits: operators that have run, where items are here, where they wait; a bit for each memory and
# item. The last tells that a copy came back after the last run.
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


@dataclass(frozen=True)
class Memory:
    """What counts in one memory of a limited size; items are in bits."""

    arrays: RecomputeArrays
    """What is no item and can be nowhere else."""
    room: int
    """The bytes there are; a search has a limit of its own for the first memory."""
    holds: int
    """Items that may be in it."""
    waits: int
    """Items that may wait in it."""


@dataclass(frozen=True)
class TinyProgram:
    """Items that are in limited memories, whatever the plan; the peak of the first memory counts."""

    arrays: RecomputeArrays
    extras: Sequence[Sequence[Sequence[int]]]
    """By operator, the ways to have its temporaries in memories: by memory, the bytes."""
    tensors: Sequence[int]
    """By item, the tensor."""
    memories: Sequence[Memory]
    waits: int
    """Items, in bits, that may wait where there is room for all."""
    pools: Sequence[str]
    """By memory the pool, and the one where there is room for all."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing can be in more than one of the memories."""
        places = sum(memory.holds.bit_count() for memory in self.memories)
        return places == len(self.arrays.size) and all(len(ways) == 1 for ways in self.extras)


def is_tiny(arrays: RecomputeArrays) -> bool:
    """Whether the exact search is worth a try."""
    return len(arrays.size) <= MOST_ITEMS and len(arrays.cost) <= MOST_OPERATORS


@dataclass(frozen=True, slots=True)
class Path:
    """What to do, in order: runs, by operator, and copies."""

    cost: int
    bytes: int
    """Live at the fullest moment of the first memory."""
    runs: Sequence[int]
    copies: Sequence[tuple[int, int, int, int]]
    """Items, with the runs after and before them, and where they wait: see `TinyProgram.pools`."""


def cheapest_path(
    program: TinyProgram, turns: Turns, limit: int, most: int | None, states: States
) -> Path | None:
    """The cheapest run that never has more live bytes than the limit nor costs more than `most`.

    None: there is none. Raises TooManyStatesError.
    """
    return _Search(program, turns, limit, most, states).run()


class _Search:
    def __init__(
        self, program: TinyProgram, turns: Turns, limit: int, most: int | None, states: States
    ) -> None:
        self.arrays = program.arrays
        self.memories = program.memories
        self.extras = program.extras
        self.limits = [limit, *(memory.room for memory in program.memories[1:])]
        self.waits = [*(memory.waits for memory in program.memories), program.waits]
        self.turns = turns
        self.most = most
        self.states = states
        self.count = len(self.arrays.cost)
        self.width = len(self.arrays.size)
        self.row = (1 << self.width) - 1
        self.all = (1 << self.count) - 1
        self.inputs = [_mask(self.arrays.inputs_of(op)) for op in range(self.count)]
        self.outputs = [_mask(self.arrays.outputs_of(op)) for op in range(self.count)]
        self.kept = flagged(self.arrays.kept)
        # Who lets go of what nobody makes, and is kept, has lost.
        stays = self.kept & flagged(entry < 0 for entry in self.arrays.producer)
        self.stays = sum(stays << number * self.width for number in range(len(self.memories)))
        self.bytes_of: dict[int, int] = {}

    def run(self) -> Path | None:
        there = flagged(entry < 0 for entry in self.arrays.producer)
        # What can be in one memory alone is in what is live at its start.
        starts, shared = [memory.arrays.start for memory in self.memories], self._shared()
        levels: dict[_State, int] = {}
        for here in self._placed(there):
            level = self._level(here & shared, 0, starts)
            if level is not None:
                levels[0, here, 0, False] = level
        best = dict.fromkeys(levels, 0)
        came: dict[_State, tuple[_State, _Action, int]] = {}
        heap = [(0, number, state) for number, state in enumerate(levels)]
        serial = 0
        while heap:
            cost, _, state = heappop(heap)
            if cost > best[state]:
                continue
            self.states.count()
            done, here, _, is_back = state
            if done == self.all and self._anywhere(here) & self.kept == self.kept and not is_back:
                return _path(cost, state, came, levels, self.width)
            for other, more, action, level in self._steps(state):
                total = cost + more
                if (self.most is None or total <= self.most) and total < best.get(other, total + 1):
                    best[other] = total
                    came[other] = state, action, level
                    serial -= 1
                    heappush(heap, (total, serial, other))
        return None

    def _steps(self, state: _State) -> Iterator[tuple[_State, int, _Action, int]]:
        """What can be next: the state, what it costs, what is done, and the bytes that are live meanwhile."""
        done, here, away, is_back = state
        arrays = self.arrays
        for place in _members(here & ~self.stays):
            yield (done, here & ~(1 << place), away, is_back), 0, (_LET_GO, place), 0
        there, waiting = self._anywhere(here), self._anywhere(away)
        # In a limited memory it counts who comes back before another leaves: with a run between them.
        turns_back = is_back and (done == self.all or len(self.memories) > 1)
        for op in range(self.count):
            first = not done >> op & 1
            if self.inputs[op] & ~there or (self.turns.needs[op] & ~done if first else arrays.once[op]):
                continue
            if not first and (self.turns.ends[op] & done or self.outputs[op] & waiting):
                continue
            # Who makes nothing that is missing runs again where a copy that came back needs it. Else what it
            # makes is let go before.
            if not first and not turns_back and not self.outputs[op] & ~there:
                continue
            yield from self._run(state, op, first)
        if done:
            yield from self._copies(state, turns_back)

    def _copies(self, state: _State, turns_back: bool) -> Iterator[tuple[_State, int, _Action, int]]:
        """Items that are copied out, unless an operator has to run first, and back."""
        done, here, away, is_back = state
        gap = [self._gap(memory, done) for memory in self.memories]
        for item, size in enumerate(self.arrays.size):
            places = self._places(item)
            for slot in range(len(self.waits)):
                at = slot * self.width + item
                # It may wait in the memory where it is, and come back in another.
                if self.waits[slot] >> item & 1 and here & places and not turns_back:
                    level = self._level(here, away | 1 << at, gap)
                    if level is not None:
                        yield (done, here & ~places, away | 1 << at, is_back), size, (_OUT, at), level
                for place in self._placed(1 << item) if away >> at & 1 else ():
                    level = self._level(here | place, away, gap)
                    if level is not None:
                        yield (done, here | place, away & ~(1 << at), True), size, (_BACK, at), level

    def _run(self, state: _State, op: int, first: bool) -> Iterator[tuple[_State, int, _Action, int]]:
        done, here, away, _ = state
        arrays = self.arrays
        still = here
        for item in arrays.outputs_of(op):
            still &= ~self._places(item)
        cost = 0 if first else arrays.cost[op]
        fixed = [self._fixed(memory, op) if first else self._gap(memory, done) for memory in self.memories]
        sources = sorted({source for source, _ in arrays.pairs[op]})
        for outputs, extra in product(self._placed(self.outputs[op]), self.extras[op]):
            after = still | outputs
            own = [sum(pair) for pair in zip(fixed, extra, strict=True)]
            for some in range(len(sources) + 1):
                for ends in combinations(sources, some):
                    pairs = [pair for pair in arrays.pairs[op] if pair[0] in ends]
                    level = self._level(after, away, own, pairs)
                    if level is not None:
                        left = after
                        for item in ends:
                            left &= ~self._places(item)
                        yield (done | 1 << op, left, away, False), cost, (_RUN, op), level

    def _level(
        self, here: int, away: int, others: Sequence[int], pairs: Sequence[tuple[int, int]] = ()
    ) -> int | None:
        """The bytes in the first memory, with others in each; None where one has less room."""
        first = 0
        for number, other in enumerate(others):
            places = here >> number * self.width & self.row
            level = other + self._bytes(places) + self._bytes(away >> number * self.width & self.row)
            if pairs:
                sizes = [size if places >> item & 1 else 0 for item, size in enumerate(self.arrays.size)]
                level -= most_saved(sizes, pairs)
            if level > self.limits[number]:
                return None
            first = first if number else level
        return first

    def _fixed(self, memory: Memory, op: int) -> int:
        """What is no item, while the operator runs for the first time."""
        return memory.arrays.base if self.turns.free else memory.arrays.fixed[op]

    def _gap(self, memory: Memory, done: int) -> int:
        """The same between the first runs that are done and the next."""
        if done == self.all:
            return memory.arrays.end
        return memory.arrays.base if self.turns.free else memory.arrays.gap[done.bit_count()]

    def _placed(self, items: int) -> list[int]:
        """All ways to have these items in memories that may hold them."""
        ways = [0]
        for item in _members(items):
            ways = [
                way | 1 << number * self.width + item
                for way in ways
                for number, memory in enumerate(self.memories)
                if memory.holds >> item & 1
            ]
        return ways

    def _places(self, item: int) -> int:
        """All places of an item."""
        return _mask(number * self.width + item for number in range(len(self.memories)))

    def _shared(self) -> int:
        """All places of items that may be in more than one memory."""
        places = 0
        for item in range(self.width):
            if sum(memory.holds >> item & 1 for memory in self.memories) > 1:
                places |= self._places(item)
        return places

    def _anywhere(self, places: int) -> int:
        """The items that are somewhere."""
        items = 0
        while places:
            items |= places & self.row
            places >>= self.width
        return items

    def _bytes(self, items: int) -> int:
        known = self.bytes_of.get(items)
        if known is None:
            known = self.bytes_of[items] = sum(self.arrays.size[item] for item in _members(items))
        return known


def _path(
    cost: int,
    state: _State,
    came: dict[_State, tuple[_State, _Action, int]],
    starts: dict[_State, int],
    width: int,
) -> Path:
    actions: list[_Action] = []
    most = 0
    while state in came:
        state, action, level = came[state]
        actions.append(action)
        most = max(most, level)
    most = max(most, starts[state])
    runs: list[int] = []
    copies: list[tuple[int, int, int, int]] = []
    out: dict[int, int] = {}
    for kind, entry in reversed(actions):
        if kind == _RUN:
            runs.append(entry)
        elif kind == _OUT:
            out[entry] = len(runs) - 1
        elif kind == _BACK:
            copies.append((entry % width, out.pop(entry), len(runs), entry // width))
    return Path(cost, most, runs, copies)


def _mask(items: "Iterator[int] | Sequence[int]") -> int:
    mask = 0
    for item in items:
        mask |= 1 << item
    return mask


def flagged(flags: Iterable[int]) -> int:
    """The indices of those that are set, in bits."""
    return _mask(index for index, flag in enumerate(flags) if flag)


def _members(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


_LEVELS: Final = 16
_TASTES: Final = ((0.0, 1.0), (0.0, 0.3), (0.5, 1.0), (0.5, 0.3), (1.0, 0.3), (1.0, 1.0))
_SHARES: Final = (0.8, 1.0)
_FACTORS: Final = (3.0, 20.0)
_TRIES: Final = 12
"""Changed weights that are tried for a limit before the next has its turn."""
_MOST_COST: Final = (1 << 62) - 1
"""What costs more is not counted to the last."""
_PATIENT_TURNS: Final = 30
"""Turns of all limits in a row that may find nothing."""


class Effort:
    """When the search must stop: by the clock, by work, or when told."""

    def __init__(self, seconds: float | None, work: int | None, cancel: threading.Event | None) -> None:
        self.budget = Budget(-1.0 if seconds is None else seconds, -1 if work is None else work)
        self._cancel = cancel

    def spent(self) -> bool:
        """Whether nothing is left."""
        if self._cancel is not None and self._cancel.is_set():
            self.budget.cancel()
        return self.budget.spent


@dataclass
class Level:
    """The best run below one limit so far, and how to have it again."""

    limit: int
    excess: int
    cost: int
    weights: list[float] = field(repr=False)
    taste: tuple[float, float]
    again: list[int] = field(repr=False)
    """Items that are made more than once in it."""

    def rank(self) -> tuple[int, int]:
        """Less is better: first stay below the limit."""
        return self.excess, self.cost


class Search:
    """Fills an archive."""

    def __init__(
        self, arrays: RecomputeArrays, archive: Archive[FoundRun], effort: Effort, most: int | None
    ) -> None:
        self.arrays = arrays
        self.archive = archive
        self.effort = effort
        self.most = _MOST_COST if most is None else min(most, _MOST_COST)
        # Only `random()` keeps its sequence in all versions of Python. Nothing here is a secret.
        self.random = Random(1).random  # noqa: S311
        self.plain = [1.0] * len(arrays.size)
        self.levels: list[Level] = []

    def rounds(self, top: int, held: Callable[[int], Sequence[int]]) -> Iterator[None]:
        """Search; pauses where there may be new points to tell.

        `top` is the peak where each operator runs once. `held` gives the items that are best held at the
        tightest moment, for a cost.
        """
        if not self.arrays.size:
            return
        for limit in self._limits(top):
            if self.effort.spent():
                return
            self.levels.append(self._first(limit))
            yield
        self.guide(held)
        yield
        idle = 0
        while idle < _PATIENT_TURNS and not self.effort.spent():
            better = False
            for level in self.levels:
                for _ in range(_TRIES):
                    if self.effort.spent():
                        return
                    better = self._improve(level) or better
            idle = 0 if better else idle + 1
            yield

    def _limits(self, top: int) -> Iterator[int]:
        """Limits from high to low, down to where the cost is too much or the peak falls no more."""
        bottom = self._bottom(top)
        for k in range(_LEVELS):
            yield top - (top - bottom) * (k + 1) // _LEVELS

    def _bottom(self, top: int) -> int:
        """About the least limit that can be kept within the cost."""
        low, high = self.arrays.start, top
        while high - low > max(top // 256, 1) and not self.effort.spent():
            middle = (low + high) // 2
            excess, cost = self._first(middle).rank()
            if excess or cost > self.most:
                low = middle
            else:
                high = middle
        return high

    def _first(self, limit: int) -> Level:
        levels = [self._try(limit, self.plain, taste) for taste in _TASTES]
        return min(levels, key=Level.rank)

    def guide(self, held: Callable[[int], Sequence[int]]) -> None:
        """Try to hold what the bound of a cost holds at its tightest moment."""
        for level in self.levels:
            for share in _SHARES:
                kept = held(int(level.cost * share)) if level.cost else ()
                for factor in _FACTORS if kept else ():
                    if self.effort.spent():
                        return
                    weights = list(self.plain)
                    for item in kept:
                        weights[item] = factor
                    self._take(
                        level, self._try(level.limit, weights, _TASTES[int(self.random() * len(_TASTES))])
                    )

    def _improve(self, level: Level) -> bool:
        """Try other weights of some items."""
        weights = list(level.weights)
        for _ in range(1 + int(self.random() ** 2 * 8)):
            some = level.again if level.again and self.random() < 0.5 else range(len(weights))
            item = some[int(self.random() * len(some))]
            weights[item] *= math.exp((self.random() - 0.5) * 6)
        return self._take(level, self._try(level.limit, weights, level.taste))

    def _take(self, level: Level, candidate: Level) -> bool:
        """Keep what was found where it is as good; whether it is better."""
        better = candidate.rank() < level.rank()
        if candidate.rank() <= level.rank():
            level.excess, level.cost, level.weights = candidate.excess, candidate.cost, candidate.weights
            level.taste, level.again = candidate.taste, candidate.again
        return better

    def _try(self, limit: int, weights: list[float], taste: tuple[float, float]) -> Level:
        run = self.arrays.native.rehearse(limit, weights, *taste, True, self.effort.budget)
        if not run.runs:
            return Level(limit, limit, 0, weights, taste, [])
        if run.cost <= self.most and not self.archive.beats(run.peak, run.cost):
            self.archive.offer(FoundRun(run.peak, run.cost, run.runs, run.copies))
        counts = Counter(run.runs)
        again = [i for op, count in counts.items() if count > 1 for i in self.arrays.outputs_of(op)]
        return Level(limit, max(run.peak - limit, 0), run.cost, weights, taste, again)
