"""The arena that the runtime needs for a model: tensors and scratch, what planning takes, what stays.

The runtime allocates from both ends of the arena. The *tail* stays; the *head* holds tensors and scratch, and
before that, while the model is loaded, the tables with which the runtime plans.
"""

from dataclasses import dataclass
from typing import Final

from memstow.planner.formats.tflite.format import read_graph
from memstow.planner.formats.tflite.model import read_subgraphs
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


@dataclass(frozen=True, slots=True)
class Arena:
    """Bytes of an arena."""

    head: int | None
    """For tensors and scratch; None: there are too many tensors to follow the rule of the runtime."""
    planning: int | None
    """For the tables with which the runtime plans, in the place of the head; None: no more than the head."""
    tail: int | None = None
    """What stays, and depends on the kernels; None: it was not measured."""

    @property
    def least(self) -> int | None:
        """The arena that is enough."""
        if self.head is None or self.tail is None:
            return None
        return self.tail + max(self.head, self.planning or 0)


def arena_of(
    model: bytes, scratch: Scratch | None = None, word: int = DEVICE, tail: int | None = None
) -> Arena:
    """The arena that a TensorFlow Lite model needs, with the plan that it carries or without one."""
    graph = read_graph(model)
    of_model = runtime_model(model, graph, listed(graph))
    asked = scratch or {}
    layout = runtime_layout(of_model, carried_offsets(model, len(of_model.tensors)), asked)
    main = read_subgraphs(model)[0]
    kept = _WORDS[word].persistent * (len(main.inputs) + len(main.outputs))
    planning = max(0, _planning(of_model, asked, _WORDS[word]) - kept)
    return Arena(None if layout is None else layout.head, planning, tail)


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
