"""The judge's own reading of a graph without times: storages, what comes before what, pairs in place."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from memstow.planner.model.graph import Graph, Operator, size_of
from memstow.planner.model.order_proofs import StorageName
from memstow.planner.verify.effort import Effort, TooMuch
from memstow.planner.verify.graphs.chains import Broken
from memstow.planner.verify.graphs.untimed import Ops, Stored, Untimed, members

# Each operator has a few sets of operators, with a bit for each.
_MOST_OPERATORS: Final = 20_000


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """Operators and storages by number, and the numbers of their names."""

    untimed: Untimed
    operators: dict[str, int]
    storages: dict[StorageName, int]


def named_graph(graph: Graph) -> NamedGraph:
    """The graph without times. Raises Broken for views that the judge cannot follow."""
    if len(graph.operators) > _MOST_OPERATORS:
        raise TooMuch
    return _Reading(graph).result()


class _Reading:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.effort = Effort()
        self.operators = {operator.id: number for number, operator in enumerate(graph.operators)}
        self.tensors = {tensor.id: tensor for tensor in graph.tensors}
        self.views = {view.tensor: view for view in graph.views}
        self.writers: dict[str, Ops] = dict.fromkeys(self.tensors, 0)
        self.readers: dict[str, Ops] = dict.fromkeys(self.tensors, 0)
        for number, operator in enumerate(graph.operators):
            for name in operator.outputs:
                self.writers[name] |= 1 << number
            for name in operator.inputs:
                self.readers[name] |= 1 << number

    def result(self) -> NamedGraph:
        graph = self.graph
        stored = dict(self.stored())
        numbers = {name: number for number, name in enumerate(stored)}
        pairs = [
            [
                (numbers[source], numbers[target])
                for source, target in operator.in_place
                if source in numbers and target in numbers
            ]
            for operator in graph.operators
        ]
        extra = [_most_at_once(operator) for operator in graph.operators]
        resident = sum(
            size_of(it)
            for it in graph.tensors
            if it.kind == "state" or (it.kind == "constant" and it.pools is not None)
        )
        untimed = Untimed(extra, list(stored.values()), self.before(), pairs, resident, self.effort)
        return NamedGraph(untimed, self.operators, numbers)

    def stored(self) -> Iterator[tuple[StorageName, Stored]]:
        """Tensors that are no views and have none, and the pieces of the others."""
        groups: dict[str, list[tuple[str, int]]] = {}
        for view in self.graph.views:
            outer, begin = self.outermost(view.tensor)
            groups.setdefault(outer, [(outer, 0)]).append((view.tensor, begin))
        inside = {name for group in groups.values() for name, _ in group}
        for tensor in self.graph.tensors:
            if tensor.id in groups:
                yield from self.pieces(tensor.id, groups[tensor.id])
            elif tensor.id not in inside and tensor.kind == "data":
                yield tensor.id, self.over(size_of(tensor), [tensor.id])

    def outermost(self, name: str) -> tuple[str, int]:
        views, begin = self.views, 0
        for _ in views:
            if name not in views:
                break
            self.effort.spend(1)
            begin += views[name].offset
            name = views[name].of
        if name in views:
            raise Broken("views lie in each other")
        return name, begin

    def pieces(self, outer: str, group: list[tuple[str, int]]) -> Iterator[tuple[StorageName, Stored]]:
        """A storage for each range of bytes over which the same tensors lie."""
        ranges = [(begin, begin + size_of(self.tensors[name]), name) for name, begin in group]
        cuts = sorted({cut for begin, end, _ in ranges for cut in (begin, end)})
        for begin, end in pairwise(cuts):
            self.effort.spend(len(ranges))
            names = [name for first, last, name in ranges if first <= begin and end <= last]
            if any(self.tensors[name].kind != "data" for name in names) or not self.connected(names):
                raise Broken("tensors that share bytes need not be live one right after the other")
            if names:
                yield (outer, begin), self.over(end - begin, names)

    def connected(self, names: list[str]) -> bool:
        """Whether the lives of these tensors leave no gap: whoever makes one reads another."""
        reached, left = set(names[:1]), names[:1]
        while left:
            self.effort.spend(len(names))
            name = left.pop()
            for other in names:
                fed = self.writers[other] & self.readers[name] or self.writers[name] & self.readers[other]
                if other not in reached and fed:
                    reached.add(other)
                    left.append(other)
        return len(reached) == len(set(names))

    def over(self, size: int, names: list[str]) -> Stored:
        begins = ends = 0
        for name in names:
            begins |= self.writers[name]
            ends |= self.writers[name] | self.readers[name]
        there, kept = set(self.graph.inputs), set(self.graph.outputs)
        return Stored(size, begins, ends, bool(there & set(names)), bool(kept & set(names)))

    def before(self) -> list[Ops]:
        """By operator, those right before it."""
        found = [0] * len(self.operators)
        maker = {
            name: number
            for number, operator in enumerate(self.graph.operators)
            for name in operator.outputs
            if self.tensors[name].kind != "state"
        }
        latest: dict[str, tuple[Ops, Ops]] = {}  # by state: the last writer, readers since
        for number, operator in enumerate(self.graph.operators):
            for name in operator.inputs:
                if name in maker and maker[name] != number:
                    found[number] |= 1 << maker[name]
            for name in dict.fromkeys((*operator.outputs, *operator.inputs)):
                if self.tensors[name].kind == "state":
                    writer, readers = latest.get(name, (0, 0))
                    if name in operator.outputs:
                        found[number] |= writer | readers
                        latest[name] = 1 << number, 0
                    else:
                        found[number] |= writer
                        latest[name] = writer, readers | 1 << number
        for first, then in self.graph.before:
            found[self.operators[then]] |= 1 << self.operators[first]
        if _has_circle(found):
            raise Broken("operators wait for each other")
        return found


def _has_circle(before: list[Ops]) -> bool:
    waits = [it.bit_count() for it in before]
    after: list[list[int]] = [[] for _ in before]
    for then, them in enumerate(before):
        for first in members(them):
            after[first].append(then)
    ready = [op for op, count in enumerate(waits) if not count]
    for op in ready:
        for then in after[op]:
            waits[then] -= 1
            if not waits[then]:
                ready.append(then)
    return len(ready) < len(before)


def _most_at_once(operator: Operator) -> int:
    """The most bytes of temporaries in one phase."""
    throughout = sum(it.size for it in operator.temporaries if it.phases is None)
    phased = [(it.phases, it.size) for it in operator.temporaries if it.phases is not None]
    begins = ((phases[0], size) for phases, size in phased)
    ends = ((phases[1], -size) for phases, size in phased)
    # What ends in a moment is gone before what begins in it.
    changes = sorted((*begins, *ends))
    return throughout + max(accumulate((size for _, size in changes), initial=0))
