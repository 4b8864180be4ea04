"""The child that follows the numbers in tensors: gets a model, answers with the model and its shapes.

Started as `python -m memstow.planner.formats.onnx.child EVENTS`: the number of the pipe for what
it sends."""

import sys
import threading
from typing import TYPE_CHECKING

from memstow.planner.processes.child_side import Sender, run_child
from memstow.planner.processes.frames import Message

if TYPE_CHECKING:
    import onnx


def _warm_up() -> None:
    import onnx.shape_inference  # noqa: F401


def _answer(request: Message, _cancel: threading.Event) -> Message:
    import onnx

    from memstow.planner.formats.onnx.inference import infer

    model = onnx.load_model_from_string(request["model"])
    if "points" in request:
        return {"kind": "done", "shapes": [_shapes(model, point) for point in request["points"]]}
    return {"kind": "done", "model": infer(model, follow_numbers=True).SerializeToString()}


def _shapes(model: "onnx.ModelProto", point: dict[str, int]) -> dict[str, tuple[int, ...]] | str:
    """The shapes at these values of open dimensions, or why there are none."""
    from onnx.shape_inference import InferenceError

    from memstow.planner.formats.onnx.inference import at_values, infer, shapes_in

    try:
        return shapes_in(infer(at_values(model, point), follow_numbers=True))
    except (InferenceError, RuntimeError, ValueError) as error:
        return str(error)[:1000]


if __name__ == "__main__":
    run_child(Sender(int(sys.argv[1])), _warm_up, _answer)
