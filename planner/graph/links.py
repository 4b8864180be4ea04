"""Who makes and who reads each tensor, which operator must run before which, and what lies in what.

All by index, names left out. Names that the graph does not have are passed over; `planner.graph.check`
reports them. `roots` follows views to the tensor in which each lies in the end, and how far from its begin.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Final

from memstow.planner.model._instances import GraphColumns
from memstow.planner.model.graph import STATE, Graph, Operator, View, columns_of
from memstow.records import Remembered

NOBODY: Final = -1


class Links:
    """Tensors and operators by their index in the document."""

    def __init__(
        self, columns: GraphColumns, at_states: list[tuple[int, int]], before: list[tuple[int, int]]
    ) -> None:
        self._columns = columns
        self._at_states = at_states
        self.tensor_index = columns.tensor_number
        self.operator_index = columns.operator_number
        self.before = before
        """The pairs of operators that the document orders."""
        self.as_listed = columns.is_listed_in_order and all(first < second for first, second in before)
        """Whether the operators can run as they are listed."""

    @cached_property
    def producer(self) -> Sequence[int]:
        """By tensor, the operator that makes it; `NOBODY` for inputs, constants and states."""
        return self._columns.producers()

    @cached_property
    def readers(self) -> Sequence[Sequence[int]]:
        """By tensor, the operators that read it, each once, ascending."""
        return self._columns.readers()

    @cached_property
    def after(self) -> Sequence[Sequence[int]]:
        """By operator, those that must come later: they read what it makes, or are later at a state."""
        return self._columns.successors(self._at_states)

    def edges(self) -> "array[int]":
        """The first and the second of each pair of operators that run in this order, each pair once."""
        return self._columns.edges([*self._at_states, *self.before])

    def successors(self) -> list[list[int]]:
        """By operator, all that must run later."""
        lists = [list(them) for them in self.after]
        for first, second in self.before:
            lists[first].append(second)
        return lists


@Remembered
def links_of(graph: Graph) -> Links:
    """The links of a graph. `note` those of one with the same tensors and operators for another."""
    columns = columns_of(graph)
    number = columns.operator_number
    at_states: list[tuple[int, int]] = []
    if STATE in columns.kinds:
        states = {tensor.id for tensor in graph.tensors if tensor.kind == "state"}
        at_states += state_order(enumerate(graph.operators), states)
    before = [
        (number[first], number[second])
        for first, second in graph.before
        if first in number and second in number
    ]
    return Links(columns, at_states, before)


def topological_order(
    successors: Sequence[Sequence[int]], preferred: Sequence[int] | None = None
) -> list[int]:
    """An order in which nobody comes before who must be first, as near to the preferred one as can be.

    Without one, as near to the indices. Operators in a cycle, and those after one, are missing.
    """
    rank: Sequence[int] | dict[int, int]
    if preferred is None:
        preferred = rank = range(len(successors))
    else:
        rank = {operator: at for at, operator in enumerate(preferred)}
    waiting = [0] * len(successors)
    for them in successors:
        for other in them:
            waiting[other] += 1
    ready = [at for at, operator in enumerate(preferred) if not waiting[operator]]
    heapify(ready)
    order: list[int] = []
    while ready:
        operator = preferred[heappop(ready)]
        order.append(operator)
        for other in successors[operator]:
            waiting[other] -= 1
            if not waiting[other]:
                heappush(ready, rank[other])
    return order


def listed_order(graph: Graph) -> list[int]:
    """The order of the document, or the nearest one that the graph allows."""
    if links_of(graph).as_listed:
        return list(range(len(graph.operators)))
    return topological_order(links_of(graph).successors())


def has_other_orders(graph: Graph) -> bool:
    """Whether the operators of a valid graph can run in more than one order."""
    successors = links_of(graph).successors()
    return any(then not in successors[first] for first, then in pairwise(listed_order(graph)))


def state_order(
    operators: Iterable[tuple[int, Operator]], states: AbstractSet[str]
) -> Iterator[tuple[int, int]]:
    """Of numbered operators, those at one state keep their order, unless both only read it."""
    writer: dict[str, int] = {}
    reading: dict[str, list[int]] = {}
    for i, operator in operators if states else ():
        written, read = states & set(operator.outputs), states & set(operator.inputs)
        for state in read | written:
            if state in writer:
                yield writer[state], i
        for state in read - written:
            reading.setdefault(state, []).append(i)
        for state in written:
            for reader in reading.pop(state, ()):
                yield reader, i
            writer[state] = i


def view_of(graph: Graph) -> dict[str, View]:
    """The view by the tensor that it places."""
    return {view.tensor: view for view in graph.views}


def roots(graph: Graph) -> dict[str, tuple[str, int]]:
    """By view, the tensor that is no view itself, and the distance from its begin; cycles left out."""
    views = view_of(graph)
    root_of: dict[str, tuple[str, int] | None] = {}
    for name in views:
        chain: list[str] = []
        at = name
        entered: set[str] = set()
        while at in views and at not in root_of and at not in entered:
            entered.add(at)
            chain.append(at)
            at = views[at].of
        base = None if at in entered else root_of.get(at, (at, 0))
        for link in reversed(chain):
            base = None if base is None else (base[0], base[1] + views[link].offset)
            root_of[link] = base
    return {name: base for name, base in root_of.items() if base is not None}
