"""TensorFlow Lite models that came as the body of a request: written again as their plan says, and judged."""

from typing import TYPE_CHECKING, Final

from memstow.api.operations.documents import problem_of
from memstow.api.operations.requests import BodyForm
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph

FLAGS: Final = ("order_only", "replan")
"""What a query may say about a model that is written: no plan in it; a plan in the place of its own."""


def require_writable(model: bytes, document: "Problem | Graph", form: BodyForm) -> None:
    """Refuse a model that cannot be written again as the request asks, before anything is searched."""
    from memstow.planner.formats.tflite.reordering import require_movable
    from memstow.planner.tflm.planned_model import require_plannable, without_plan

    is_free = not isinstance(document, Problem) and document.order != "given"
    if "order_only" in form.model_flags:
        if not is_free:
            message = "its operators would stay as they are listed, and the model the same; add order=free"
            raise InputError.single("same_model", "query.order", message)
        require_movable(model)
        return
    if form.changes.get("in_place") is True:
        message = "a model cannot say that tensors share bytes; leave it out, or add order_only=true"
        raise InputError.single("in_place", "query.in_place", message)
    if len(problem_of(document).pools) > 1:
        message = "the runtime has one arena, and there are several memories; plan for one"
        raise InputError.single("several_pools", "query.target", message)
    replan = "replan" in form.model_flags
    try:
        require_plannable(model, replan)
    except InputError as error:
        raise _named(error) from None
    if is_free:
        require_movable(without_plan(model))


def written(model: bytes, plan: Plan, flags: tuple[str, ...]) -> bytes:
    """The model with the plan in it; without one where the rule of the runtime needs no more memory."""
    from memstow.planner.formats.tflite.reordering import reorder_model
    from memstow.planner.tflm.arena import arena_of
    from memstow.planner.tflm.planned_model import planned_model, without_plan

    if "order_only" in flags:
        if plan.schedule is None:
            raise InputError.single("no_order", "schedule", "the plan has no order of operators")
        return reorder_model(model, plan.schedule.order)
    try:
        planned = planned_model(model, plan, replan="replan" in flags)
    except InputError as error:
        raise _named(error) from None
    plain = without_plan(model)
    heads = arena_of(plain).head, arena_of(planned).head
    return plain if heads[0] is not None and heads[1] is not None and heads[0] <= heads[1] else planned


def carried(model: bytes) -> Plan:
    """The plan that a model carries."""
    from memstow.planner.tflm.carried_plan import carried_plan

    found = carried_plan(model)
    if found is None:
        message = "this model carries no memory plan; send a problem with its plan, or a model that has one"
        raise InputError.single("no_plan", "$", message)
    return found.plan


def _named(error: InputError) -> InputError:
    """The error with the parameter of the query in the place of the option of the command line."""
    if error.issues[0].code != "carries_plan":
        return error
    message = "the model carries a memory plan already; replan=true puts a new one in its place"
    return InputError.single("carries_plan", "$", message)
