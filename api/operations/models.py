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
    from memstow.planner.tflm import writable

    asked = writable.Asked(
        order="given" if isinstance(document, Problem) else document.order,
        in_place=form.changes.get("in_place") is True,
        order_only="order_only" in form.model_flags,
        replan="replan" in form.model_flags,
        pools=len(problem_of(document).pools),
    )
    names = writable.OptionNames(
        free="order=free",
        in_place="in_place=true",
        order_only="order_only=true",
        of_order="query.order",
        of_in_place="query.in_place",
        of_pools="query.target",
    )
    try:
        writable.require_writable(model, asked, names)
    except InputError as error:
        raise _named(error) from None


def written(model: bytes, plan: Plan, flags: tuple[str, ...]) -> bytes:
    """The model with the plan in it; without one where the rule of the runtime needs no more memory."""
    from memstow.planner.formats.tflite.reordering import reorder_model
    from memstow.planner.tflm.written_model import written_model

    if "order_only" in flags:
        if plan.schedule is None:
            raise InputError.single("no_order", "schedule", "the plan has no order of operators")
        return reorder_model(model, plan.schedule.order)
    try:
        return written_model(model, plan, replan="replan" in flags).model
    except InputError as error:
        raise _named(error) from None


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
