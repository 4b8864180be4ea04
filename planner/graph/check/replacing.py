"""Whether operators wait for each other once an alternative has taken the place of others.

What must run before and after the operators of an alternative is looked up, in an order of the graph as it
is: where all before it come earlier than all after it, there is no cycle, and nothing else is touched.
Only where some do not, edges of the whole graph are gone through.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from memstow.planner.graph.check.cycles import find_cycle
from memstow.planner.graph.links import NOBODY, links_of, state_order, topological_order
from memstow.planner.model.graph import Alternative, Graph, Operator


@dataclass
class _State:
    """Who uses a state, in the order of the document."""

    operators: list[int] = field(default_factory=list)
    latest: list[int] = field(default_factory=list)
    """By number in `operators`: the last place of these up to here."""
    earliest: list[int] = field(default_factory=list)
    """The first place of these from here on."""


@dataclass(frozen=True, slots=True)
class _Around:
    """Of the operators of an alternative: edges between them, and from and to the rest of the graph."""

    inside: Sequence[tuple[int, int]]
    before: Sequence[tuple[int, int]]
    after: Sequence[tuple[int, int]]


class Replacing:
    """A valid graph, with what can be known of it once for all alternatives."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._links = links_of(graph)
        self._place = [0] * len(graph.operators)
        for place, operator in enumerate(topological_order(self._links.successors())):
            self._place[operator] = place
        self._kept_states = {tensor.id for tensor in graph.tensors if tensor.kind == "state"}
        self._states = self._find_states()
        self.steps = 0
        """How many operators and tensors were gone through for alternatives that needed it."""

    def cycle(self, alternative: Alternative) -> list[str]:
        """Operators that wait for each other with the alternative, by id; empty: there are none."""
        gone = {self._links.operator_index[name] for name in alternative.replaces}
        around = self._around(alternative, gone)
        if self._is_plain(alternative, around, min(gone)):
            return []
        self.steps += len(self._graph.operators) + len(self._graph.tensors)
        count, first = len(self._graph.operators), min(gone)
        found = find_cycle(
            self._successors(alternative, gone, around),
            # The operators of the alternative stand where the first was that they replace.
            lambda it: (first, it - count) if it >= count else (it, 0),
            gone,
        )
        operators = (*self._graph.operators, *alternative.operators)
        return [operators[it].id for it in found]

    def _find_states(self) -> dict[str, _State]:
        states: dict[str, _State] = {}
        for i, operator in enumerate(self._graph.operators) if self._kept_states else ():
            for name in self._kept_states.intersection((*operator.inputs, *operator.outputs)):
                states.setdefault(name, _State()).operators.append(i)
        for state in states.values():
            places = [self._place[it] for it in state.operators]
            state.latest = list(accumulate(places, max))
            state.earliest = list(accumulate(reversed(places), min))[::-1]
        return states

    def _around(self, alternative: Alternative, gone: set[int]) -> _Around:
        links, operators = self._links, alternative.operators
        made = [(name, j) for j, operator in enumerate(operators) for name in operator.outputs]
        maker = {name: j for name, j in made if name not in self._kept_states}
        read = [(name, j) for j, operator in enumerate(operators) for name in dict.fromkeys(operator.inputs)]
        known = [(name, j) for name, j in read if name in links.tensor_index and name not in maker]
        sources = [(links.producer[links.tensor_index[name]], j) for name, j in known]
        followed = [(j, links.tensor_index[name]) for name, j in maker.items() if name in links.tensor_index]
        return _Around(
            [(maker[name], j) for name, j in read if name in maker],
            [(source, j) for source, j in sources if source != NOBODY and source not in gone],
            [(j, it) for j, tensor in followed for it in links.readers[tensor] if it not in gone],
        )

    def _is_plain(self, alternative: Alternative, around: _Around, first: int) -> bool:
        """Whether all that its operators wait for comes before all that waits for them."""
        if any(one >= other for one, other in around.inside):
            return False
        last = max((self._place[it] for it, _ in around.before), default=-1)
        least = min((self._place[it] for _, it in around.after), default=len(self._place))
        for state in self._touched(alternative.operators):
            used = self._states[state]
            at = bisect_left(used.operators, first)
            if at > 0:
                last = max(last, used.latest[at - 1])
            if at < len(used.operators):
                least = min(least, used.earliest[at])
        return last < least

    def _touched(self, operators: Iterable[Operator]) -> set[str]:
        """The states of the graph that they read or write."""
        if not self._states:
            return set()
        names = (name for it in operators for name in (*it.inputs, *it.outputs))
        return self._states.keys() & set(names)

    def _successors(self, alternative: Alternative, gone: set[int], around: _Around) -> list[list[int]]:
        """Who must run after whom: the operators of the graph, then those of the alternative."""
        count = len(self._graph.operators)
        changed = self._touched(alternative.operators)
        changed |= self._touched([self._graph.operators[it] for it in gone])
        successors = list(self._without_states if changed else self._all)
        successors += [[] for _ in alternative.operators]
        for one, other in (
            *((one + count, other + count) for one, other in around.inside),
            *((one, other + count) for one, other in around.before),
            *((one + count, other) for one, other in around.after),
            *(self._state_edges(alternative, gone) if changed else ()),
        ):
            successors[one] = [*successors[one], other]
        for operator in gone:
            successors[operator] = []
        return successors

    @cached_property
    def _all(self) -> list[list[int]]:
        return self._links.successors()

    @cached_property
    def _without_states(self) -> list[list[int]]:
        successors: list[list[int]] = [[] for _ in self._graph.operators]
        for maker, readers in zip(self._links.producer, self._links.readers, strict=True):
            if maker != NOBODY:
                successors[maker] += readers
        for one, other in self._links.before:
            successors[one].append(other)
        return successors

    def _state_edges(self, alternative: Alternative, gone: set[int]) -> Iterator[tuple[int, int]]:
        """Who comes later at a state: what stays is in the order of the document."""
        first, count = min(gone), len(self._graph.operators)
        users = sorted({it for state in self._states.values() for it in state.operators} - gone)
        kept = [(it, self._graph.operators[it]) for it in users]
        at = bisect_left(users, first)
        own = [(count + j, operator) for j, operator in enumerate(alternative.operators)]
        yield from state_order([*kept[:at], *own, *kept[at:]], self._kept_states)
