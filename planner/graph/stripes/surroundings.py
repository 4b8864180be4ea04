"""What is live around a part of an order: other operators in its place are counted without the rest."""

from collections.abc import Iterable, Sequence

from memstow.planner.graph.check.flow import names_of_views
from memstow.planner.graph.links import NOBODY
from memstow.planner.graph.storages import storages
from memstow.planner.model.graph import Alternative, Graph, Operator, Tensor, is_planned


class Surroundings:
    """A valid graph in one order."""

    def __init__(self, graph: Graph, order: Sequence[int]) -> None:
        place = {operator: at for at, operator in enumerate(order)}
        self._tensors = {it.id: it for it in graph.tensors}
        self._always = [it for it in graph.tensors if is_planned(it) and it.kind in ("state", "constant")]
        self._operators = [graph.operators[it] for it in order]
        self._viewed = names_of_views(graph)
        self._lives: dict[str, tuple[int, int, Tensor]] = {}
        """By tensor, or piece of a group of views: the places of who makes it and of its last reader."""
        taken = {*self._tensors, *(it.id for other in graph.alternatives for it in other.tensors)}
        for number, it in enumerate(storages(graph)):
            tensor = graph.tensors[it.tensor]
            if it.begin is not None:
                name = f"#{number}"
                while name in taken:
                    name += "#"
                tensor = Tensor(id=name, size=it.size)
            first = NOBODY if it.from_start else min((place[at] for at in it.writers), default=NOBODY)
            used = [place[at] for at in (*it.writers, *it.readers)]
            self._lives[tensor.id] = first, len(order) if it.to_end else max(used, default=NOBODY), tensor
        self._over: dict[tuple[int, int], dict[str, Tensor]] = {}

    def knows(self, begin: int, end: int, alternative: Alternative) -> bool:
        """Whether neither these of the order nor the alternative touch views, so that a part tells all."""
        operators = (*self._operators[begin:end], *alternative.operators)
        return not self._viewed or self._viewed.isdisjoint(_used(operators))

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
            outputs=tuple({**over, **{it: None for it in data if self._lives[it][1] >= end}}),
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
            lives = self._lives.items()
            found = {it: tensor for it, (first, last, tensor) in lives if first < begin and last >= end}
            self._over[begin, end] = found
        return found


def _used(operators: Iterable[Operator]) -> dict[str, None]:
    return dict.fromkeys(name for it in operators for name in (*it.inputs, *it.outputs))
