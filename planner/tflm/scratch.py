"""Scratch memory: what kernels ask the runtime for, which it places around the plan by its own rule.

In the graph each operator that needs scratch has one temporary for all of its blocks. Wherever the runtime
puts them, they then fit: it fills the lowest gaps, and one of them is as large as all blocks together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from memstow.planner.formats.tflite.model import ModelOperator, read_subgraphs
from memstow.planner.formats.tflite.subgraphs import Calls
from memstow.planner.model.graph import Graph, Temporary

Scratch = Mapping[tuple[int, int], Sequence[int]]
"""By subgraph and operator, the blocks of memory that the kernel asks for while it runs, in bytes."""
SCRATCH: Final = "scratch/"
"""How the ids of scratch memory begin."""
_ALIGNMENT: Final = 16


def with_scratch(graph: Graph, model: bytes, scratch: Scratch) -> Graph:
    """The graph of a model with the memory that its kernels ask for, one block an operator."""
    subgraphs = read_subgraphs(model)
    calls = Calls(subgraphs)
    operators = []
    of_model = {str(i): (i, operator) for i, operator in enumerate(subgraphs[0].operators)}
    for operator in graph.operators:
        asked = _temporaries(*of_model[operator.id], calls, scratch) if operator.id in of_model else ()
        operators.append(replace(operator, temporaries=(*operator.temporaries, *asked)))
    return replace(graph, operators=tuple(operators))


def in_order(scratch: Scratch, order: Sequence[str]) -> Scratch:
    """The same for a model that lists its operators in this order."""
    moved = {(0, at): scratch[0, int(name)] for at, name in enumerate(order) if (0, int(name)) in scratch}
    return {**{key: sizes for key, sizes in scratch.items() if key[0]}, **moved}


def aligned(size: int) -> int:
    """Bytes as the runtime counts them."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _temporaries(index: int, operator: ModelOperator, calls: Calls, scratch: Scratch) -> Iterator[Temporary]:
    calls.of(operator, f"$.subgraphs[0].operators[{index}]")
    if size := _together(scratch, (0, index)):
        yield Temporary(id=f"{SCRATCH}{index}", size=size, alignment=_ALIGNMENT)
    for it in calls.operators():
        if size := _together(scratch, (it.subgraph, it.operator)):
            name = f"{SCRATCH}{it.subgraph}/{it.operator}"
            yield Temporary(id=name, size=size, phases=it.phases, alignment=_ALIGNMENT)


def _together(scratch: Scratch, operator: tuple[int, int]) -> int:
    return sum(map(aligned, scratch.get(operator, ())))
