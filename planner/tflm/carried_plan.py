"""The plan that a model carries, made whole: what it leaves to the runtime is where that will put it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.formats.tflite.format import read_graph
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Placement, Plan, Schedule
from memstow.planner.model.problem import DEFAULT_POOL
from memstow.planner.tflm.layout import RuntimeLayout, runtime_layout
from memstow.planner.tflm.offline_plan import LEFT, carried_offsets
from memstow.planner.tflm.scratch import Scratch
from memstow.planner.tflm.tensors import RuntimeModel, listed, runtime_model

_MOST_REPORTED: Final = 20


@dataclass(frozen=True, slots=True)
class CarriedPlan:
    """The plan of a model as the runtime carries it out."""

    plan: Plan
    head: int
    """How much of the arena it takes for tensors and scratch."""
    left: int
    """How many tensors the runtime places by its own rule."""


def carried_plan(model: bytes, scratch: Scratch | None = None) -> CarriedPlan | None:
    """The plan that a TensorFlow Lite model carries; None without one. Whether it is right is for `verify`.

    Raises InputError where the runtime could not read it.
    """
    graph = read_graph(model)
    of_model = runtime_model(model, graph, listed(graph))
    offsets = carried_offsets(model, len(of_model.tensors))
    if offsets is None:
        return None
    issues = list(_outside(of_model, offsets))
    if issues:
        raise InputError(issues[:_MOST_REPORTED])
    layout = runtime_layout(of_model, offsets, scratch or {})
    if layout is None:
        message = "the plan leaves too many tensors to the runtime to follow where it would put them"
        raise InputError.single("too_large", "$", message)
    left = sum(tensor.size > 0 and at == LEFT for tensor, at in zip(of_model.tensors, offsets, strict=True))
    return CarriedPlan(_whole(graph, of_model, layout), layout.head, left)


def _outside(model: RuntimeModel, offsets: Sequence[int]) -> Iterator[Issue]:
    for tensor, at in zip(model.tensors, offsets, strict=True):
        if tensor.size and at < LEFT:
            message = f"the plan puts tensor {tensor.name} {-at:,} bytes before the arena"
            yield Issue("wrong_plan", "$", message)


def _whole(graph: Graph, model: RuntimeModel, layout: RuntimeLayout) -> Plan:
    places = {it.name: at for it, at in zip(model.tensors, layout.offsets, strict=True)}
    placements = tuple(
        Placement(buffer=buffer.id, pool=DEFAULT_POOL, offset=places[buffer.id])
        for buffer in listed_problem(graph).buffers
    )
    return Plan(status=Status.FEASIBLE, placements=placements, schedule=Schedule(order=listed(graph)))
