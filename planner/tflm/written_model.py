"""The model to give to the runtime: with the plan, or as it was where the plan saves nothing.

So nobody needs more memory than before: the runtime's own rule may suit the scratch memory of some models
better than any plan around one block for each operator.
"""

from dataclasses import dataclass

from memstow.planner.model.plan import Plan
from memstow.planner.tflm.arena import arena_of
from memstow.planner.tflm.planned_model import planned_model, without_plan
from memstow.planner.tflm.scratch import Scratch, in_order


@dataclass(frozen=True, slots=True)
class WrittenModel:
    """A model, and the heads of its arena with the plan and without one."""

    model: bytes
    scratch: Scratch
    """What its kernels ask for, by the operators of this file."""
    is_planned: bool
    planned_head: int | None
    plain_head: int | None
    """None: there are too many tensors to follow the rule of the runtime."""


def written_model(
    model: bytes, plan: Plan, scratch: Scratch | None = None, *, replan: bool = False
) -> WrittenModel:
    """The model with the plan if that makes its head smaller, given what kernels ask for."""
    asked = scratch or {}
    moved = asked if plan.schedule is None else in_order(asked, plan.schedule.order)
    planned = planned_model(model, plan, replan=replan)
    plain = without_plan(model)
    heads = arena_of(planned, moved).head, arena_of(plain, asked).head
    if heads[0] is None or heads[1] is None or heads[0] < heads[1]:
        return WrittenModel(planned, moved, True, *heads)
    return WrittenModel(plain, asked, False, *heads)
