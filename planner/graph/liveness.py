"""What is live when, for one order of the operators.

Time 0 is before the first operator, when the inputs are there. Each operator then takes as many steps of time
as it has phases, so the first begins at time 1. A tensor lives from the first step of its producer to the
last step of its last reader; an input from time 0; an output to the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memstow.planner.graph.links import NOBODY, Links, links_of
from memstow.planner.model.graph import Graph, phase_count
from memstow.planner.model.problem import ALWAYS

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Liveness:
    """The lifetimes of one order."""

    spans: Sequence[Span]
    """By operator (index in the document), when it runs."""
    tensors: Sequence[Span | None]
    """By tensor, its lifetime; None: always."""
    end: int
    """When the last operator has run."""

    def lifetime(self, tensor: int) -> Span | str:
        """The lifetime as a buffer has it."""
        return self.tensors[tensor] or ALWAYS


def liveness(graph: Graph, order: Sequence[int]) -> Liveness:
    """The lifetimes when the operators of these indices run in this order."""
    links = links_of(graph)
    spans: list[Span] = [(0, 0)] * len(graph.operators)
    clock = 1
    for index in order:
        phases = phase_count(graph.operators[index])
        spans[index] = (clock, clock + phases)
        clock += phases
    there = {links.tensor_index[name] for name in graph.inputs}
    kept = {links.tensor_index[name] for name in graph.outputs}
    lives = [_life(graph, links, spans, tensor, clock, there, kept) for tensor in range(len(graph.tensors))]
    return Liveness(spans, lives, clock)


def _life(
    graph: Graph, links: Links, spans: list[Span], tensor: int, end: int, there: set[int], kept: set[int]
) -> Span | None:
    if graph.tensors[tensor].kind in ("state", "constant"):
        return None
    maker = links.producer[tensor]
    begin, last = (0, 1) if tensor in there or maker == NOBODY else spans[maker]
    last = max((spans[reader][1] for reader in links.readers[tensor]), default=last)
    return begin, end if tensor in kept else last
