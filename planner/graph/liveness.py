"""What is live when, for one order of the operators.

Time 0 is before the first operator, when the inputs are there. Each operator then takes as many steps of time
as it has phases, so the first begins at time 1. A tensor lives from the first step of its producer to the
last step of its last reader; an input from time 0; an output to the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memstow.planner.graph.links import NOBODY, links_of
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
        operator = graph.operators[index]
        until = clock + phase_count(operator) if operator.temporaries else clock + 1
        spans[index] = (clock, until)
        clock = until
    there = {links.tensor_index[name] for name in graph.inputs}
    kept = {links.tensor_index[name] for name in graph.outputs}
    lives: list[Span | None] = []
    ends = [end for _, end in spans]
    for number, (tensor, maker, readers) in enumerate(
        zip(graph.tensors, links.producer, links.readers, strict=True)
    ):
        if tensor.kind == "state" or tensor.kind == "constant":
            lives.append(None)
            continue
        begin, last = (0, 1) if maker == NOBODY or number in there else spans[maker]
        if number in kept:
            last = clock
        elif readers:
            last = ends[readers[0]] if len(readers) == 1 else max([ends[it] for it in readers])
        lives.append((begin, last))
    return Liveness(spans, lives, clock)
