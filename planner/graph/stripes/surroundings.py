"""What is live around a part of an order: other operators in its place are counted without the rest."""

from collections.abc import Sequence

from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.model.graph import Alternative, Graph, Operator, Tensor, is_planned


class Surroundings:
    """A valid graph without views, in one order."""

    def __init__(self, graph: Graph, order: Sequence[int]) -> None:
        links = links_of(graph)
        place = {operator: at for at, operator in enumerate(order)}
        self._tensors = {it.id: it for it in graph.tensors}
        self._always = [it for it in graph.tensors if is_planned(it) and it.kind in ("state", "constant")]
        self._operators = [graph.operators[it] for it in order]
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        kept = set(graph.outputs)
        for tensor, maker, readers in zip(graph.tensors, links.producer, links.readers, strict=True):
            if tensor.kind == "data" and is_planned(tensor):
                self._first[tensor.id] = NOBODY if maker == NOBODY else place[maker]
                last = max((place[it] for it in readers), default=NOBODY)
                self._last[tensor.id] = len(order) if tensor.id in kept else last
        self._over: dict[tuple[int, int], dict[str, Tensor]] = {}

    def part(self, begin: int, end: int, alternative: Alternative) -> Graph:
        """A graph of the alternative alone, in the place of these of the order, with all that is live there.

        Each of its operators needs in it what it needs in the whole graph.
        """
        over = self._live_over(begin, end)
        own = {it.id: it for it in alternative.tensors}
        used = {it: own.get(it) or self._tensors[it] for it in _used(alternative.operators)}
        made = {it for operator in alternative.operators for it in operator.outputs}
        tensors = {**{it.id: it for it in self._always}, **over, **used}
        data = [name for name, it in used.items() if it.kind == "data" and name not in own]
        return Graph(
            tensors=tuple(tensors.values()),
            operators=alternative.operators,
            inputs=tuple({**over, **{it: None for it in data if it not in made}}),
            outputs=tuple({**over, **{it: None for it in data if self._last.get(it, NOBODY) >= end}}),
        )

    def read(self, begin: int, end: int) -> set[str]:
        """What these of the order read of others."""
        return self.read_by(self._operators[begin:end])

    def read_by(self, operators: Sequence[Operator]) -> set[str]:
        """What these operators read of others in the graph."""
        made = {name for operator in operators for name in operator.outputs}
        read = {name for operator in operators for name in operator.inputs}
        return {it for it in read - made if it in self._tensors}

    def _live_over(self, begin: int, end: int) -> dict[str, Tensor]:
        """What is made before, and read after or kept."""
        found = self._over.get((begin, end))
        if found is None:
            found = {
                it: self._tensors[it]
                for it, first in self._first.items()
                if first < begin and self._last[it] >= end
            }
            self._over[begin, end] = found
        return found


def _used(operators: Sequence[Operator]) -> dict[str, None]:
    return dict.fromkeys(name for it in operators for name in (*it.inputs, *it.outputs))
