"""Why shape inference refuses a model: which node it is, and whether other values of symbols would help."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memstow.planner.formats.onnx.inference import at_values, infer, shapes_at
from memstow.planner.formats.onnx.texts import path_of, said_of, text_of
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.shapes.at_point import values_text
from memstow.planner.shapes.onnx.light import without_weights

if TYPE_CHECKING:
    import onnx

_MOST_TRIED = 6


def what_is_wrong(
    model: "onnx.ModelProto",
    points: Sequence[tuple[Mapping[str, int], Mapping[str, int]]],
    error: InputError,
) -> InputError:
    """The error, with the node and the values at which it does not work.

    `points`: values of the symbols, and of the open dimensions there; the error is of the first.
    """
    if any(it.code != "contradicting_shapes" for it in error.issues):
        return error
    light = without_weights(model)
    at, values = points[0]
    node = _failing_node(at_values(light, values))
    tried = shapes_at(light, [it for _, it in points[:_MOST_TRIED]]) if len(points) > 1 else []
    everywhere = bool(tried) and all(isinstance(it, InputError) for it in tried)
    where = "at each value that was tried" if everywhere else f"at {values_text(at)}"
    what = f"{said_of(node)} cannot be: " if node is not None else ""
    advice = (
        "correct the model, or give other sizes"
        if everywhere
        else "change the range of a symbol, or give it a step"
    )
    path = path_of(text_of(next(iter(node.output), ""))) if node is not None else "$.graph"
    return InputError([Issue(it.code, path, f"{where} {what}{it.message}; {advice}") for it in error.issues])


def _failing_node(model: "onnx.ModelProto") -> "onnx.NodeProto | None":
    """The first node without which inference finds nothing wrong with what comes before it."""
    if _is_sound(model, len(model.graph.node)):
        return None
    sound, wrong = 0, len(model.graph.node)
    while wrong - sound > 1:
        middle = (sound + wrong) // 2
        if _is_sound(model, middle):
            sound = middle
        else:
            wrong = middle
    return model.graph.node[wrong - 1] if wrong else None


def _is_sound(model: "onnx.ModelProto", count: int) -> bool:
    from onnx.shape_inference import InferenceError

    first = type(model)()
    first.CopyFrom(model)
    del first.graph.node[count:]
    del first.graph.output[:]
    try:
        infer(first, follow_numbers=False)
    except (InferenceError, RuntimeError, ValueError, MemoryError):
        return False
    return True
