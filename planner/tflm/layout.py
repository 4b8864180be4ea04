"""Where everything is once the runtime has taken the offsets of a plan, and placed the rest by its rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memstow.planner.tflm.first_fit import Block, first_fit, head_of
from memstow.planner.tflm.offline_plan import LEFT
from memstow.planner.tflm.scratch import Scratch, aligned
from memstow.planner.tflm.tensors import NEVER, RuntimeModel


@dataclass(frozen=True, slots=True)
class RuntimeLayout:
    """What the runtime makes of a plan."""

    head: int
    """How much of the arena is for tensors and scratch."""
    offsets: Sequence[int]
    """By tensor; those that need no memory are at 0."""


def runtime_layout(
    model: RuntimeModel, offsets: Sequence[int] | None, scratch: Scratch
) -> RuntimeLayout | None:
    """The layout with these offsets, or without a plan; None where there is too much to place by the rule."""
    told = offsets or [LEFT] * len(model.tensors)
    needed = [i for i, tensor in enumerate(model.tensors) if tensor.size]
    blocks = [
        Block(model.tensors[i].size, model.tensors[i].lifetime, None if told[i] == LEFT else told[i])
        for i in needed
    ]
    blocks += [
        Block(aligned(size), lifetime)
        for operator, lifetime in model.operators.items()
        for size in scratch.get(operator, ())
    ]
    places = first_fit(blocks)
    if places is None:
        return None
    of_tensors = [0] * len(model.tensors)
    for i, at in zip(needed, places, strict=False):
        of_tensors[i] = at
    return RuntimeLayout(head_of(blocks, places), of_tensors)


def planned_offsets(model: RuntimeModel, places: Mapping[str, int]) -> list[int]:
    """The offsets that a model carries for these places, by the names of tensors.

    What nobody uses needs no bytes of its own: all of it lies at 0.
    """
    return [
        LEFT if not tensor.is_planned else places.get(tensor.name, 0 if tensor.lifetime == NEVER else LEFT)
        for tensor in model.tensors
    ]
