"""All schedules of a tiny graph below a limit, the cheapest first: what is not on a front of live bytes.

The exact search knows one schedule for each cost. Its plan may need more than its live bytes, or find no
room in the pool where tensors wait; then another schedule may need less. Here bytes are counted as if all
that may be in another pool were there, so none is left out that may fit; but what must be in the pool that
counts leaves as soon as it can, and comes back just before it is needed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import product
from typing import Final

from memstow.planner.graph.live_bytes import most_saved
from memstow.planner.graph.operators import operator_costs
from memstow.planner.graph.recompute import Counting, Kind, Program, pools_of, program_of, turns_of
from memstow.planner.graph.schedules import can_spill
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Schedule, Spill
from memstow.planner.model.problem import end_of

MOST_OPERATORS: Final = 6
_MOST_NODES: Final = 100_000
# Prices are whole numbers of such parts.
_PARTS: Final = 1 << 20
_NEVER: Final = 1 << 200
"""The price of what is not possible."""

Limit = Callable[[int], int | None]
"""By cost, the most live bytes that are of use; None: nothing that costs so much or more is."""


@dataclass(frozen=True, slots=True)
class Way:
    """A schedule and what it costs above each operator once."""

    cost: int
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class _Wait:
    """A copy in a pool, made after the run `out` and brought back before the run `back`."""

    pool: str
    out: int
    back: int


@dataclass(frozen=True, slots=True)
class _Node:
    """What has run so far. What an item needs between two of its uses is counted at the later one."""

    cost: int = 0
    runs: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()
    """By run, the bytes that live meanwhile, as far as they are known."""
    gaps: tuple[tuple[int, int, int], ...] = ()
    """Behind each run, the bytes that stay, that are copied out there, and that are copied back."""
    onward: tuple[int, ...] = ()
    """By run, the items that it uses and that go on, in bits: nothing overwrites them."""
    last: tuple[int | None, ...] = ()
    """By item, the run that used it last, -1 for none; None: it is not made yet."""
    unused: frozenset[tuple[int, int]] = frozenset()
    """Runs again, and items that they make, as long as none is used."""
    copies: tuple[tuple[int, int, int, str], ...] = ()
    over: bool = False


def every_way(
    graph: Graph, order: Sequence[int], kinds: frozenset[Kind], pool: str | None, limit: Limit
) -> Iterator[Way | None]:
    """The schedules below the limit at their cost, ascending in cost; None for each step without one.

    The graph is valid, has no alternatives, and its first runs are in this order unless its order is free.
    """
    yield from _Every(graph, order, kinds, pool, limit).ways()


class _Every:
    def __init__(
        self,
        graph: Graph,
        order: Sequence[int],
        kinds: frozenset[Kind],
        pool: str | None,
        limit: Limit,
    ) -> None:
        self._limit = limit
        self._pool = pool
        costs = operator_costs(graph)
        # Who makes what is in another pool runs again for the room there.
        self._program = program_of(graph, order, costs, kinds, Counting(graph, None, certain=True))
        self._arrays = self._program.arrays
        counting = Counting(graph, pool, certain=True)
        self._counted = program_of(graph, order, costs, kinds, counting).arrays
        tensors = [graph.tensors[tensor] for tensor in self._program.tensors]
        sizes = zip(self._arrays.size, tensors, strict=True)
        self._size = [size if counting.counts(tensor) else 0 for size, tensor in sizes]
        self._count = len(order)
        self._turns = turns_of(graph, order, free=graph.order != GIVEN)
        self._rooms = _rooms(self._program, kinds, pool)
        self._has_choice = [len(pools_of(graph, tensor)) > 1 for tensor in tensors]
        self._is_here = [counting.counts(tensor) for tensor in tensors]
        self._saves: dict[tuple[int, int], int] = {}
        self._readers = [0] * len(tensors)
        for op in range(self._count):
            for item in self._arrays.inputs_of(op):
                self._readers[item] |= 1 << op
        self._prices = [self._price(item) for item in range(len(tensors))]
        counted = [item for item, size in enumerate(self._size) if size]
        self._by_price = sorted(counted, key=self._prices.__getitem__)

    def _price(self, item: int) -> int:
        """Of a byte of it that is not here for a while, at least, in parts."""
        arrays, op = self._arrays, self._arrays.producer[item]
        price = 2 * _PARTS if self._rooms[item] else _NEVER
        if op >= 0 and not arrays.once[op] and self._size[item]:
            output_bytes = sum(self._size[output] for output in arrays.outputs_of(op))
            price = min(price, arrays.cost[op] * _PARTS // output_bytes)
        return price

    def ways(self) -> Iterator[Way | None]:
        there = tuple(-1 if entry < 0 else None for entry in self._arrays.producer)
        heap = [(0, 0, _Node(last=there))]
        serial = 0
        while heap:
            cost, _, node = heappop(heap)
            if self._limit(cost) is None:
                return
            if node.over:
                yield Way(cost, self._schedule(node))
                continue
            yield None
            for other in self._after(node):
                least = self._least_cost(other)
                if least is not None and serial < _MOST_NODES:
                    serial += 1
                    heappush(heap, (least, -serial, other))

    def _after(self, node: _Node) -> Iterator[_Node]:
        if len(set(node.runs)) == self._count and all(op == node.runs[-1] for op, _ in node.unused):
            back = len(node.runs) - 1
            for over in self._ended(node):
                # Who runs again for nothing else gives a copy a place to come back before.
                if not node.unused or any(copy[2] == back for copy in over.copies):
                    yield over
        if len(node.runs) < 2 * self._count:
            for op in range(self._count):
                if self._may_run(node, op):
                    yield from self._run(node, op)

    def _may_run(self, node: _Node, op: int) -> bool:
        ran = set(node.runs)
        inputs = self._arrays.inputs_of(op)
        if any(node.last[item] is None for item in inputs):
            return False
        if op not in ran:
            return all(number in ran for number in range(self._count) if self._turns.needs[op] >> number & 1)
        outputs = self._arrays.outputs_of(op)
        if not outputs and len(ran) < self._count:
            return False
        if self._arrays.once[op] or any(self._turns.ends[op] >> entry & 1 for entry in ran):
            return False
        # It is of no use right after it has run, or what came of its last run again was not used.
        return node.runs[-1] != op and not any(run == op for run, _ in node.unused)

    def _run(self, node: _Node, op: int) -> Iterator[_Node]:
        arrays, at = self._arrays, len(node.runs)
        inputs, outputs = list(arrays.inputs_of(op)), list(arrays.outputs_of(op))
        again = op in node.runs
        counted = self._counted
        fixed = counted.base if again or self._turns.free else counted.fixed[op]
        used = sum(self._size[item] for item in {*inputs, *outputs})
        level = fixed + counted.extra[op] + used - self._saved(op, 0)
        last = list(node.last)
        for item in (*inputs, *outputs):
            last[item] = at
        read = {run for run, item in node.unused if item in inputs}
        unused = {entry for entry in node.unused if entry[0] not in read}
        if again and not any(arrays.kept[item] for item in outputs):
            unused |= {(op, item) for item in outputs or (-1,)}
        began = replace(
            node,
            cost=node.cost + (arrays.cost[op] if again else 0),
            runs=(*node.runs, op),
            last=tuple(last),
            unused=frozenset(unused),
        )
        for waits in product(*(self._waits(node, item, at) for item in inputs)):
            yield self._waited(began, node.last, list(zip(inputs, waits, strict=True)), at, (level,))

    def _ended(self, node: _Node) -> Iterator[_Node]:
        """Nothing runs any more; what is kept is there at the end."""
        kept = [item for item, entry in enumerate(self._arrays.kept) if entry]
        over = replace(node, over=True)
        at = len(node.runs)
        for waits in product(*(self._waits(node, item, at - 1) for item in kept)):
            yield self._waited(over, node.last, list(zip(kept, waits, strict=True)), at, ())

    def _waits(self, node: _Node, item: int, at: int) -> Sequence[_Wait | None]:
        """Where an item may be until this run, which uses it: here (None), or in another pool for a while."""
        last = node.last[item]
        since = max(last if last is not None else at, 0)
        # With no run between, a copy is of use to whom it brings from one pool to another.
        least = 1 if self._has_choice[item] else 2
        if since + least > at:
            return (None,)
        spans = [(since, at)]
        if not self._is_here[item]:
            # Whose place elsewhere is needed for one run may leave late, or be back early.
            spans = list(dict.fromkeys((*spans, (at - least, at), (since, since + least))))
        return (None, *(_Wait(pool, *span) for pool in self._rooms[item] for span in spans))

    def _waited(
        self,
        node: _Node,
        last: Sequence[int | None],
        waits: Sequence[tuple[int, _Wait | None]],
        at: int,
        own: tuple[int, ...],
    ) -> _Node:
        """The node with what these items need from their last use until this run."""
        levels, copies, cost = list(node.levels), list(node.copies), node.cost
        gaps, onward = [list(gap) for gap in node.gaps], list(node.onward)
        for item, wait in waits:
            size, used = self._size[item], last[item]
            if used is None:
                continue
            if used >= 0:
                before, onward[used] = onward[used], onward[used] | 1 << item
                op = node.runs[used]
                levels[used] += self._saved(op, before) - self._saved(op, onward[used])
            for number in range(used + 1, at):
                if wait is None or not wait.out < number < wait.back:
                    levels[number] += size
                elif wait.pool == self._pool:
                    levels[number] += self._arrays.size[item]
            if wait is None:
                for number in range(max(used, 0), at):
                    gaps[number][0] += size
            else:
                gaps[wait.out][1] += size
                gaps[wait.back - 1][2] += size
                copies.append((item, wait.out, wait.back, wait.pool))
                cost += 2 * self._arrays.size[item]
        if own:
            gaps.append([0, 0, 0])
            onward.append(0)
        return replace(
            node,
            cost=cost,
            levels=(*levels, *own),
            onward=tuple(onward),
            gaps=tuple((stay, out, back) for stay, out, back in gaps),
            copies=tuple(copies),
        )

    def _saved(self, op: int, onward: int) -> int:
        """What it saves at most that it works in place, where these items go on."""
        known = self._saves.get((op, onward))
        if known is None:
            pairs = [pair for pair in self._arrays.pairs[op] if not onward >> pair[0] & 1]
            known = self._saves[op, onward] = most_saved(self._size, pairs)
        return known

    def _least_cost(self, node: _Node) -> int | None:
        """What the schedule costs at least in the end; None: it is of no use."""
        most, high = self._limit(node.cost), self._high(node)
        if most is None or high > most:
            return None
        least = node.cost if node.over else node.cost + self._price_to_fit(node, most)
        most = None if least >= _NEVER // _PARTS else self._limit(least)
        return None if most is None or high > most else least

    def _high(self, node: _Node) -> int:
        """The most bytes that live at one time, as far as they are known."""
        base = self._counted.base
        copying = (base + stay + max(out, back) for stay, out, back in node.gaps if out or back)
        return max(max(node.levels, default=0), max(copying, default=0))

    def _price_to_fit(self, node: _Node, most: int) -> int:
        """What it costs at least that not all that is needed later is here all the time."""
        ran = 0
        for op in node.runs:
            ran |= 1 << op
        waiting: list[tuple[int, int, int]] = []
        for item in self._by_price:
            used = node.last[item]
            if used is not None and (self._arrays.kept[item] or self._readers[item] & ~ran):
                waiting.append((used, self._size[item], self._prices[item]))
        worst = 0
        for at, level in enumerate(node.levels):
            excess = level - most
            for used, size, _ in waiting:
                excess += size if used < at else 0
            if excess <= 0:
                continue
            price = 0
            for used, size, each in waiting:
                if used < at:
                    price += each * min(size, excess)
                    excess -= size
                    if excess <= 0:
                        break
            worst = max(worst, price)
        return -(-worst // _PARTS)

    def _schedule(self, node: _Node) -> Schedule:
        graph, order = self._program.graph, self._program.order
        spills = [
            Spill(tensor=graph.tensors[self._program.tensors[item]].id, pool=pool, out=out, back=back)
            for item, out, back, pool in node.copies
        ]
        return Schedule(
            order=tuple(graph.operators[order[op]].id for op in node.runs),
            spills=tuple(sorted(spills, key=lambda spill: (spill.out, spill.back, spill.tensor))),
        )


def _rooms(program: Program, kinds: frozenset[Kind], pool: str | None) -> list[tuple[str, ...]]:
    """By item, the pools that it may wait in."""
    graph = program.graph
    if "spill" not in kinds:
        return [() for _ in program.tensors]
    others = [entry for entry in graph.pools if entry.id != pool]
    sizes = program.arrays.size
    rooms: list[tuple[str, ...]] = []
    for tensor, size in zip(program.tensors, sizes, strict=True):
        element = graph.tensors[tensor]
        # In the pool that counts waits what leaves another; what can be there alone has no use of it.
        waits_in = graph.pools if pool is not None and pools_of(graph, element) != (pool,) else others
        there = (entry.id for entry in waits_in if entry.capacity is None or end_of(entry) >= size)
        rooms.append(tuple(there) if can_spill(graph, element) else ())
    return rooms
