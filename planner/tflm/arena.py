"""The arena that the runtime needs for a model: tensors and scratch, what planning takes, what stays.

The runtime allocates from both ends of the arena. The *tail* stays; the *head* holds tensors and scratch, and
before that, while the model is loaded, the tables with which the runtime plans.
"""

from dataclasses import dataclass
from typing import Final

from memstow.planner.formats.tflite.format import read_graph
from memstow.planner.formats.tflite.model import read_subgraphs
from memstow.planner.model.plan import Arena
from memstow.planner.tflm.layout import runtime_layout
from memstow.planner.tflm.offline_plan import carried_offsets
from memstow.planner.tflm.scratch import Scratch
from memstow.planner.tflm.tensors import RuntimeModel, listed, runtime_model

# Requests for which the runtime makes room at any time, beside those that were made.
_SPARE_REQUESTS: Final = 12


@dataclass(frozen=True, slots=True)
class _Words:
    """Bytes of the runtime's own records."""

    subgraph: int
    request: int
    tensor: int
    planned: int
    persistent: int


_WORDS: Final = {
    4: _Words(subgraph=4, request=12, tensor=24, planned=40, persistent=40),
    8: _Words(subgraph=8, request=16, tensor=32, planned=40, persistent=64),
}
DEVICE, WORKSTATION = 4, 8
"""Bytes of an address: on a microcontroller, and where `tflite-micro` runs."""


def arena(head: int | None, planning: int | None, tail: int | None) -> Arena:
    """An arena of these parts."""
    least = None if head is None or tail is None else tail + max(head, planning or 0)
    return Arena(head=head, planning=planning, tail=tail, least=least)


def arena_of(
    model: bytes, scratch: Scratch | None = None, word: int = DEVICE, tail: int | None = None
) -> Arena:
    """The arena that a TensorFlow Lite model needs, with the plan that it carries or without one.

    `scratch` is the memory that its kernels ask for, `tail` what stays; without them, only tensors and the
    tables of the runtime are known. `word` is the size of an address.
    """
    graph = read_graph(model)
    of_model = runtime_model(model, graph, listed(graph))
    asked = scratch or {}
    layout = runtime_layout(of_model, carried_offsets(model, len(of_model.tensors)), asked)
    main = read_subgraphs(model)[0]
    kept = _WORDS[word].persistent * (len(main.inputs) + len(main.outputs))
    planning = max(0, _planning(of_model, asked, _WORDS[word]) - kept)
    return arena(None if layout is None else layout.head, planning, tail)


def _planning(model: RuntimeModel, scratch: Scratch, words: _Words) -> int:
    """What is there at once: requests of kernels, a record of each tensor, the rows of the planner."""
    requests = sum(map(len, scratch.values()))
    planned = sum(tensor.size > 0 for tensor in model.tensors) + requests
    return (
        words.request * (_SPARE_REQUESTS + requests)
        + words.subgraph * model.subgraphs
        + words.tensor * (len(model.tensors) + requests)
        + words.planned * planned
    )
