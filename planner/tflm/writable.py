"""Whether a model can be written with the plan or the order that is asked for, before the search."""

from dataclasses import dataclass

from memstow.planner.formats.tflite.reordering import require_movable
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import GIVEN, Order
from memstow.planner.tflm.planned_model import require_plannable, without_plan


@dataclass(frozen=True, slots=True)
class Asked:
    """How the model is to be written."""

    order: Order = GIVEN
    in_place: bool = False
    order_only: bool = False
    replan: bool = False
    pools: int = 1


@dataclass(frozen=True, slots=True)
class OptionNames:
    """How errors name the options: those of a command line, or the parameters of a query."""

    free: str
    in_place: str
    order_only: str
    of_order: str = "$"
    of_in_place: str = "$"
    of_pools: str = "$"
    """Where the issue is, of these options."""


def require_writable(model: bytes, asked: Asked, names: OptionNames) -> None:
    """Raise an InputError where the model cannot be written as asked."""
    if asked.order_only:
        if asked.order == GIVEN:
            message = f"its operators would stay as they are listed, and the model the same; add {names.free}"
            raise InputError.single("same_model", names.of_order, message)
        require_movable(model)
        return
    if asked.in_place:
        message = (
            f"a model cannot say that tensors share bytes; leave out {names.in_place}, or add "
            f"{names.order_only}"
        )
        raise InputError.single("in_place", names.of_in_place, message)
    if asked.pools > 1:
        message = (
            "the runtime has one arena, and there are several memories; leave the target out, and give the "
            "capacity of one of them"
        )
        raise InputError.single("several_pools", names.of_pools, message)
    require_plannable(model, asked.replan)
    if asked.order != GIVEN:
        require_movable(without_plan(model))
