"""All tensors of a model as the runtime lists them: what each takes of the arena, and when it lives.

The runtime gives memory to every tensor that is neither a weight nor a variable, also to those that nobody
uses: these live at the time -1, all together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.formats.tflite.format import RESOURCE, arena_bytes
from memstow.planner.formats.tflite.model import Subgraph, read_subgraphs
from memstow.planner.formats.tflite.operator_names import VAR_HANDLE
from memstow.planner.formats.tflite.subgraphs import Calls
from memstow.planner.graph.liveness import Span, liveness
from memstow.planner.graph.program import allowed_order
from memstow.planner.model.graph import Graph

NEVER: Final = (-1, 0)
"""When tensors live that nobody uses."""


@dataclass(frozen=True, slots=True)
class RuntimeTensor:
    """A tensor in the runtime's list."""

    name: str
    """Its id in the graph."""
    size: int
    """Bytes of the arena, a multiple of 16; 0: it is not there."""
    lifetime: Span
    is_planned: bool
    """Whether a plan may say where it is."""


@dataclass(frozen=True, slots=True)
class RuntimeModel:
    """What the runtime sees of a model whose operators run in a certain order."""

    tensors: Sequence[RuntimeTensor]
    subgraphs: int
    operators: dict[tuple[int, int], Span]
    """When each operator runs, by its subgraph and its index there, as they are prepared."""


def runtime_model(model: bytes, graph: Graph, order: Sequence[str]) -> RuntimeModel:
    """A model whose graph runs in the order of these ids, which are the indices of the operators."""
    subgraphs = read_subgraphs(model)
    indices = allowed_order(graph, order)
    live = liveness(graph, indices)
    spans = {it.id: span for it, span in zip(graph.operators, live.spans, strict=True)}
    lives: dict[tuple[int, int], Span] = {}
    there = set(map(str, subgraphs[0].inputs))
    for i, tensor in enumerate(graph.tensors):
        span = live.tensors[i]
        if span is not None:
            # What is read, but neither made nor an input, is there before the time of the inputs.
            is_unmade = span[0] == 0 and tensor.id not in there
            lives[0, int(tensor.id)] = (-1, span[1]) if is_unmade else span
    operators = {(0, i): spans[str(i)] for i in range(len(subgraphs[0].operators))}
    calls = Calls(subgraphs)
    for i, operator in enumerate(subgraphs[0].operators):
        begin = spans[str(i)][0]
        for called in calls.of(operator, f"$.subgraphs[0].operators[{i}]"):
            first, last = called.phases
            lives[called.subgraph, called.tensor] = (begin + first if first else -1, begin + last)
        for it in calls.operators():
            operators[it.subgraph, it.operator] = (begin + it.phases[0], begin + it.phases[1])
    prepared = sorted(operators, key=lambda key: (key[0], operators[key]))
    tensors = tuple(_tensors(subgraphs, lives))
    return RuntimeModel(tensors, len(subgraphs), {key: operators[key] for key in prepared})


def listed(graph: Graph) -> tuple[str, ...]:
    """The order in which a model lists its operators."""
    return tuple(it.id for it in graph.operators)


def _tensors(subgraphs: Sequence[Subgraph], lives: dict[tuple[int, int], Span]) -> Iterator[RuntimeTensor]:
    # The runtime looks up any variable as if it were in the first subgraph: that offset must not be planned.
    variables = {i for it in subgraphs[1:] for i, tensor in enumerate(it.tensors) if tensor.is_variable}
    for number, subgraph in enumerate(subgraphs):
        handles = {i for it in subgraph.operators if it.name == VAR_HANDLE for i in it.outputs}
        for i, tensor in enumerate(subgraph.tensors):
            size = 0 if i in handles else arena_bytes(tensor, f"$.subgraphs[{number}].tensors[{i}]")
            yield RuntimeTensor(
                name=f"{number}/{i}" if number else str(i),
                size=size,
                lifetime=lives.get((number, i), NEVER),
                is_planned=size > 0 and tensor.type != RESOURCE and not (number == 0 and i in variables),
            )
