"""Training steps: which results of the forward pass are kept for the backward pass, and which are made again.

A compiler splits the graph of a step in two programs. Whatever the backward one reads of the forward one is
kept from the one to the other, or made again from what is kept, once, just before it is needed first. So a
choice is a set of operators whose results are kept. What one needs is counted here as a compiler that fuses
would: results of element-wise operators that only such operators and reductions read are never in memory.
Choices come from the recompute front of the graph and from evenly spaced cuts of the forward pass; then as
much as has room is kept after all.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from memstow.planner.graph.links import listed_order
from memstow.planner.graph.recompute import Choice, ChosenPoint, Patience, recompute_points
from memstow.planner.model.graph import Graph, Operator, Tensor, size_of

_MOST_READ: Final = 4
"""An element-wise operator that would read more tensors than this when fused has its result in memory."""
_MOST_CUTS: Final = 12
_SHARES: Final = 8
"""In how many parts what might be kept is offered at first."""
_MOST_IMPROVED: Final = 3
_MOST_POINTS: Final = 16
_MOST_STATES: Final = 5_000
"""Choices among results that are looked at beside each other."""
_PER_OPERATOR: Final = 5
"""The work of judging a choice, by operator of the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStep:
    """Forward and backward pass in one graph, with its operators in an order that may run."""

    graph: Graph
    forward_outputs: frozenset[str]
    """The tensors of the graph that the forward pass returns; all other outputs are of the backward pass."""
    backward: frozenset[str]
    """The operators that can only run in the backward pass."""
    element_wise: frozenset[str]
    """The operators that may become part of whoever reads their result."""
    fusing: frozenset[str]
    """The operators that may have others as a part."""
    once: frozenset[str]
    """The operators that must not run again."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """What is kept of the forward pass, and what that needs."""

    kept: frozenset[str]
    """The operators of the forward pass whose results the backward pass gets."""
    again: frozenset[str]
    """The other operators that the backward pass runs beside its own."""
    peak: int
    """Live bytes at the tightest moment of both passes."""
    cost: int
    """The cost of the operators that run again."""


class CheckpointSearch:
    """Choices for a step: `judged` says what one needs, `within` finds one below a limit."""

    def __init__(self, step: TrainingStep, *, work: int) -> None:
        self._work = work
        self._passes = _Passes(step)
        self._known: dict[frozenset[int], Checkpoints] = {}
        self._left = work // (_PER_OPERATOR * max(len(step.graph.operators), 1))
        """How many choices may still be judged to make one better."""

    def judged(self, kept: Collection[str]) -> Checkpoints:
        """What it needs to keep the results of these operators, and of those that must not run again."""
        return self._judged(self._passes.indices(kept))

    def within(self, peak: int, start: Checkpoints) -> Checkpoints:
        """A cheap choice that needs at most this peak; where there is none, the one with the least.

        `start` is a choice that is known, such as the compiler's own.
        """
        choices = [start, self._lowered(start, peak), *map(self._judged, self._candidates())]
        least = sorted(choices, key=lambda choice: (choice.peak, choice.cost))[:_MOST_IMPROVED]
        choices += (self._lowered(choice, peak) for choice in least)
        fitting = sorted(
            (choice for choice in choices if choice.peak <= peak),
            key=lambda choice: (choice.cost, choice.peak),
        )
        if not fitting:
            return min(choices, key=lambda choice: (choice.peak, choice.cost))
        # What is cheapest as it is need not be when as much as has room is kept.
        polished = [self._polished(choice, peak) for choice in fitting[:_MOST_IMPROVED]]
        return min(polished, key=lambda choice: (choice.cost, choice.peak))

    def _judged(self, kept: frozenset[int]) -> Checkpoints:
        if kept not in self._known:
            self._known[kept] = self._passes.judged(kept)
            self._left -= 1
        return self._known[kept]

    def _candidates(self) -> Iterator[frozenset[int]]:
        yield frozenset()
        yield self._passes.not_fused()
        for parts in range(2, _MOST_CUTS + 1):
            yield self._passes.cut_in(parts)
        yield from self._passes.of_front(self._work)

    def _lowered(self, choice: Checkpoints, peak: int) -> Checkpoints:
        """Fewer results are kept, first what is cheap for its bytes, while that lowers the peak."""
        kept = self._passes.indices(choice.kept)
        for operator in reversed(self._passes.by_cost(kept)):
            if choice.peak <= peak or self._left <= 0:
                break
            other = self._judged(kept - {operator})
            if other.peak < choice.peak:
                choice, kept = other, kept - {operator}
        return choice

    def _polished(self, choice: Checkpoints, peak: int) -> Checkpoints:
        """More results are kept, first what is expensive for its bytes, while there is room."""
        dearest = self._passes.by_cost(self._passes.indices(choice.again))
        length = -(-len(dearest) // _SHARES)
        waiting = [dearest[begin : begin + length] for begin in range(0, len(dearest), max(length, 1))]
        while waiting and self._left > 0:
            part = waiting.pop(0)
            other = self._judged(self._passes.indices(choice.kept).union(part))
            if other.peak <= peak and other.cost <= choice.cost:
                choice = other
            elif len(part) > 1:
                waiting[:0] = [part[: len(part) // 2], part[len(part) // 2 :]]
        return choice


class _Passes:
    """The step as numbers, with what each choice needs."""

    def __init__(self, step: TrainingStep) -> None:
        graph = step.graph
        order = listed_order(graph)
        self._names = [graph.operators[operator].id for operator in order]
        self._index = {name: place for place, name in enumerate(self._names)}
        maker = {name: i for i, op in enumerate(self._names) for name in graph.operators[order[i]].outputs}
        sizes = {tensor.id: size_of(tensor) for tensor in graph.tensors if tensor.id in maker}
        numbers = {name: number for number, name in enumerate(sizes)}
        self._tensors = list(sizes)
        self._size = list(sizes.values())
        self._maker = [maker[name] for name in sizes]
        operators = [graph.operators[operator] for operator in order]
        self._reads = [_numbered(operator.inputs, numbers) for operator in operators]
        self._makes = [_numbered(operator.outputs, numbers) for operator in operators]
        self._cost = [operator.cost or 0 for operator in operators]
        self._is_backward = [name in step.backward for name in self._names]
        self._is_element_wise = [
            name in step.element_wise and len(self._makes[i]) == 1 for i, name in enumerate(self._names)
        ]
        self._is_fusing = [name in step.fusing for name in self._names]
        returned = {numbers[name] for name in step.forward_outputs if name in numbers}
        outputs = {numbers[name] for name in graph.outputs if name in numbers}
        self._returned = frozenset(returned)
        self._gradients = frozenset(outputs - returned)
        # What is returned is there anyway, for as long as the caller has it.
        self._once = self.indices(step.once).union(self._maker[t] for t in returned)
        # What is there for its effect, such as running statistics, has no output, or one that nobody reads.
        effects = [i for i, entry in enumerate(self._makes) if not entry and not self._is_backward[i]]
        self._forward = self._with_sources([*effects, *(self._maker[t] for t in returned)])

    def indices(self, names: Iterable[str]) -> frozenset[int]:
        """The operators of these names."""
        return frozenset(self._index[name] for name in names if name in self._index)

    def by_cost(self, operators: Iterable[int]) -> list[int]:
        """Those that may run again, first what is expensive for the bytes of its results."""
        return sorted(
            (i for i in operators if i not in self._once),
            key=lambda i: (-self._cost[i] / (sum(self._size[t] for t in self._makes[i]) + 1), i),
        )

    def judged(self, chosen: frozenset[int]) -> Checkpoints:
        """What it needs to keep the results of these operators."""
        backward, kept = self._backward_run(chosen)
        both = self._forward | self._with_sources(kept)
        forward = sorted(both)
        read = {t for i in backward for t in self._reads[i]} | self._gradients
        handed = {t for i in kept for t in self._makes[i] if t in read}
        peak = max(
            self._peak(forward, frozenset(), self._returned | handed),
            self._peak(backward, handed | self._returned, self._gradients | self._returned),
        )
        again = [i for i in backward if not self._is_backward[i]]
        return Checkpoints(
            kept=frozenset(self._names[i] for i in kept),
            again=frozenset(self._names[i] for i in again),
            peak=peak,
            cost=sum(self._cost[i] for i in again if i in both),
        )

    def not_fused(self) -> frozenset[int]:
        """All operators of the forward pass that are no part of others."""
        return frozenset(i for i in self._forward if not self._is_element_wise[i])

    def cut_in(self, parts: int) -> frozenset[int]:
        """What crosses the narrowest places that cut the forward pass in so many parts."""
        forward = sorted(self._forward)
        last: dict[int, int] = {}
        for place, i in enumerate(forward):
            last.update(dict.fromkeys(self._reads[i], place))
        crossing: list[list[int]] = [[] for _ in forward]
        live: set[int] = set()
        for place, i in enumerate(forward):
            live = {t for t in (*live, *self._makes[i]) if last.get(t, -1) > place}
            crossing[place] = sorted(live)
        width = len(forward) / parts
        kept: set[int] = set()
        for part in range(1, parts):
            middle = part * width
            near = range(max(int(middle - width / 3), 0), min(int(middle + width / 3) + 1, len(forward)))
            if near:
                # What is kept cannot be overwritten: rather keep what an element-wise operator makes.
                place = min(
                    near,
                    key=lambda p: (
                        sum(self._size[t] for t in crossing[p]),
                        sum(not self._is_element_wise[self._maker[t]] for t in crossing[p]),
                        p,
                    ),
                )
                kept.update(self._maker[t] for t in crossing[place])
        return frozenset(kept)

    def of_front(self, work: int) -> Iterator[frozenset[int]]:
        """What is not made again at the points of the recompute front, with element-wise operators fused."""
        inside, leaves = self._fused(range(len(self._names)), self._returned | self._gradients)
        own = [i for i in range(len(self._names)) if i not in inside]
        graph = Graph(
            tensors=[Tensor(id=str(t), size=self._size[t]) for i in own for t in self._makes[i]],
            operators=[
                Operator(
                    id=str(i),
                    inputs=[str(t) for t in leaves[i]],
                    outputs=[str(t) for t in self._makes[i]],
                    cost=self._cost[i],
                    # The front runs nobody again whose type says so.
                    type="random" if i in self._once or self._is_backward[i] else None,
                )
                for i in own
            ],
            outputs=[str(t) for t in sorted(self._returned | self._gradients)],
        )
        end = max(self._forward, default=-1)
        best: list[ChosenPoint] = []
        for point in recompute_points(graph, range(len(own)), Choice(), Patience(work=work)):
            best = [entry for entry in best if entry.cost < point.cost or entry.bytes < point.bytes]
            best.append(point)
        best.sort(key=lambda point: point.cost)
        for point in best[:: -(-len(best) // _MOST_POINTS)]:
            runs = Counter(map(int, point.schedule.order))
            yield frozenset(i for i in own if i <= end and runs[i] == 1 and not self._is_backward[i])

    def _backward_run(self, chosen: frozenset[int]) -> tuple[list[int], set[int]]:
        """The operators of the backward pass in their order, and those whose results it gets."""
        run: list[int] = []
        done: set[int] = set()
        kept: set[int] = set()

        def need(operators: Iterable[int]) -> None:
            waiting = [(i, False) for i in operators]
            while waiting:
                i, is_ready = waiting.pop()
                if i in done:
                    continue
                if not self._is_backward[i] and (i in chosen or i in self._once):
                    kept.add(i)
                elif is_ready or not self._reads[i]:
                    done.add(i)
                    run.append(i)
                else:
                    waiting.append((i, True))
                    waiting += [(self._maker[t], False) for t in reversed(self._reads[i])]

        for i, is_backward in enumerate(self._is_backward):
            if is_backward:
                need([i])
        need(self._maker[t] for t in sorted(self._gradients))
        return run, kept

    def _with_sources(self, operators: Iterable[int]) -> frozenset[int]:
        """The operators, and all whose results they need."""
        needed: set[int] = set()
        waiting = list(operators)
        while waiting:
            i = waiting.pop()
            if i not in needed:
                needed.add(i)
                waiting += [self._maker[t] for t in self._reads[i]]
        return frozenset(needed)

    def _fused(
        self, run: Sequence[int], stays: Collection[int]
    ) -> tuple[set[int], dict[int, dict[int, None]]]:
        """Who is a part of its readers; and the tensors in memory that each operator then reads."""
        alone: set[int] = set()
        readers: set[int] = set()
        for i in run:
            readers.update(self._reads[i])
            if not self._is_fusing[i]:
                alone.update(self._reads[i])
        inside: set[int] = set()
        leaves: dict[int, dict[int, None]] = {}
        for i in run:
            own: dict[int, None] = {}
            for t in self._reads[i]:
                own |= leaves[self._maker[t]] if self._maker[t] in inside else {t: None}
            leaves[i] = own
            if self._is_element_wise[i] and len(own) <= _MOST_READ:
                (result,) = self._makes[i]
                if result in readers and result not in alone and result not in stays:
                    inside.add(i)
        return inside, leaves

    def _peak(self, run: Sequence[int], at_start: Collection[int], stays: Collection[int]) -> int:
        """The live bytes at the tightest moment of one pass."""
        inside, leaves = self._fused(run, stays)
        own = [i for i in run if i not in inside]
        last: dict[int, int] = {}
        for place, i in enumerate(own):
            last.update(dict.fromkeys(leaves[i], place))
        ending: list[list[int]] = [[] for _ in own]
        for t, place in last.items():
            if t not in stays:
                ending[place].append(t)
        live = most = sum(self._size[t] for t in at_start)
        for place, i in enumerate(own):
            sizes = [self._size[t] for t in self._makes[i]]
            live += sum(sizes)
            # The result takes the place of what is read last here.
            is_in_place = self._is_element_wise[i] and any(
                self._size[t] in sizes for t in ending[place] if t not in at_start
            )
            most = max(most, live - is_in_place * sum(sizes))
            unread = [t for t in self._makes[i] if t not in last and t not in stays]
            live -= sum(self._size[t] for t in (*ending[place], *unread))
        return most


def kept_within(results: Sequence[tuple[int, int]], limit: int) -> frozenset[int]:
    """Which results are kept of a part of a step that runs again as a whole, with at most this many bytes.

    `results`: bytes, and the cost of making the result again. What is not kept costs the least, unless there
    are too many choices to look at.
    """
    order = sorted(
        (i for i, (size, cost) in enumerate(results) if cost and size <= limit),
        key=lambda i: (results[i][0] / results[i][1], i),
    )
    sizes = [0, *accumulate(results[i][0] for i in order)]
    costs = [0, *accumulate(results[i][1] for i in order)]
    best, kept = -1, frozenset[int]()
    states: list[_Kept] = [(0, 0, None)]
    for place in range(len(order) + 1):
        open_states: list[tuple[int, _Kept]] = []
        for state in states:
            size, cost, chosen = state
            # There is room for all before `end`, and no choice saves more than with a part of that one.
            end = bisect_right(sizes, limit - size + sizes[place]) - 1
            whole = cost + costs[end] - costs[place]
            if whole > best:
                best, kept = whole, frozenset((*_chain(chosen), *order[place:end]))
            if end < len(order):
                room = limit - size - (sizes[end] - sizes[place])
                whole += room * (costs[end + 1] - costs[end]) // (sizes[end + 1] - sizes[end])
            open_states.append((whole, state))
        rest = [state for bound, state in open_states if bound > best]
        if not rest:
            break
        own, saved = results[order[place]]
        taken = [
            (size + own, cost + saved, (order[place], chosen))
            for size, cost, chosen in rest
            if size + own <= limit
        ]
        states = []
        for state in sorted((*rest, *taken), key=lambda entry: (entry[0], -entry[1])):
            if not states or state[1] > states[-1][1]:
                states.append(state)
        states = states[:: -(-len(states) // _MOST_STATES)]
    return kept


_Chain = tuple[int, "_Chain"] | None
_Kept = tuple[int, int, _Chain]
"""Bytes that are kept, the cost that this saves, and the results, the last one first."""


def _chain(chosen: _Chain) -> Iterator[int]:
    while chosen is not None:
        yield chosen[0]
        chosen = chosen[1]


def _numbered(names: Iterable[str], numbers: dict[str, int]) -> list[int]:
    return [numbers[name] for name in dict.fromkeys(names) if name in numbers]
