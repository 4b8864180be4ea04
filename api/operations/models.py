"""Models that came as the body of a request, and are written again as their plan says."""

from typing import TYPE_CHECKING

from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph


def require_rewritable(model: bytes, document: "Problem | Graph") -> None:
    """Refuse a TensorFlow Lite model that cannot be written again, before anything is searched."""
    from memstow.planner.formats.tflite.reordering import require_movable

    if isinstance(document, Problem) or document.order != "free":
        message = "its operators would stay as they are listed, and the model the same; add order=free"
        raise InputError.single("same_model", "query.order", message)
    require_movable(model)


def rewritten(model: bytes, plan: Plan) -> bytes:
    """The model with its operators in the order of the plan."""
    from memstow.planner.formats.tflite.reordering import reorder_model

    if plan.schedule is None:
        raise InputError.single("no_order", "schedule", "the plan has no order of operators")
    return reorder_model(model, plan.schedule.order)
