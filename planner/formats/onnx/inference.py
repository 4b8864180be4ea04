"""The shapes of a model: here where they follow from each other, in a child process where they are computed.

Models that compute shapes while they run need the numbers in tensors to be followed. A few nodes can ask for
any amount of memory then, which ends the child and nothing else.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.texts import text_of
from memstow.planner.model.errors import InputError
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import Process
from memstow.planner.processes.session import Terms, converse
from memstow.planner.reading.printable import printable

if TYPE_CHECKING:
    import onnx

Shapes = dict[str, tuple[int, ...]]
"""By the names of values."""

_WHOLE: Final = (6, 7)  # 32 and 64 bits
_SECONDS: Final = 60.0
_MEMORY: Final = 1 << 30
_MEMORY_PER_BYTE: Final = 20


def with_shapes(model: "onnx.ModelProto") -> "onnx.ModelProto":
    """The model with the shapes of all values that can be found; InputError if they contradict each other."""
    from onnx.shape_inference import InferenceError

    try:
        inferred = infer(model, follow_numbers=False)
    except (InferenceError, RuntimeError, ValueError, MemoryError) as error:
        raise _contradicting(str(error)) from None
    # What was inferred has made-up names (unk__0) that would stay: numbers are followed in the model itself.
    return _followed(model) if _has_numbers(inferred) and not is_complete(inferred) else inferred


def infer(model: "onnx.ModelProto", *, follow_numbers: bool) -> "onnx.ModelProto":
    """The model with the shapes that inference finds."""
    from onnx import shape_inference

    return shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=follow_numbers)


def shapes_at(model: "onnx.ModelProto", points: Sequence[Mapping[str, int]]) -> list[Shapes | InputError]:
    """The shapes that inference finds where open dimensions of inputs have these values, at each point.

    As in `with_shapes`, numbers are followed, in a child, only where some shape is missing without.
    """
    from onnx.shape_inference import InferenceError

    found: list[Shapes | InputError] = []
    for i, point in enumerate(points):
        try:
            inferred = infer(at_values(model, point), follow_numbers=False)
        except (InferenceError, RuntimeError, ValueError, MemoryError) as error:
            found.append(_contradicting(str(error)))
            continue
        if i == 0 and _has_numbers(inferred) and not is_complete(inferred):
            return _followed_at(model, points)
        found.append(shapes_in(inferred))
    return found


def at_values(model: "onnx.ModelProto", values: Mapping[str, int]) -> "onnx.ModelProto":
    """The model, changed: dimensions of inputs with these names have these values."""
    changed = type(model)()
    changed.CopyFrom(model)
    for value in changed.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            known = values.get(text_of(dimension.dim_param))
            if known is not None:
                dimension.dim_value = known
    return changed


def shapes_in(model: "onnx.ModelProto") -> Shapes:
    """The shapes of values that are known whole."""
    return {
        text_of(it.name): tuple(extent.dim_value for extent in it.type.tensor_type.shape.dim)
        for it in (*model.graph.value_info, *model.graph.output)
        if it.type.tensor_type.HasField("shape")
        and all(extent.HasField("dim_value") for extent in it.type.tensor_type.shape.dim)
    }


def types_in(model: "onnx.ModelProto") -> dict[str, int]:
    """The types of elements of all values that are known."""
    graph = model.graph
    return {
        text_of(it.name): it.type.tensor_type.elem_type
        for it in (*graph.value_info, *graph.output, *graph.input)
    }


def _has_numbers(model: "onnx.ModelProto") -> bool:
    """Whether nodes make lists of whole numbers, which may be shapes."""
    makers = {name for node in model.graph.node if node.op_type != "Constant" for name in node.output}
    return any(
        it.name in makers
        and it.type.tensor_type.elem_type in _WHOLE
        and len(it.type.tensor_type.shape.dim) <= 1
        for it in model.graph.value_info
    )


def is_complete(model: "onnx.ModelProto") -> bool:
    """Whether the shapes of all that nodes make are known."""
    graph = model.graph
    known = {
        it.name
        for it in (*graph.value_info, *graph.output)
        if it.type.HasField("tensor_type")
        and it.type.tensor_type.HasField("shape")
        and all(extent.HasField("dim_value") for extent in it.type.tensor_type.shape.dim)
    }
    made = {name for node in graph.node if node.op_type != "Constant" for name in node.output if name}
    return made <= known


def _followed(model: "onnx.ModelProto") -> "onnx.ModelProto":
    import onnx

    answer = _answer_of_child(model, {})
    if isinstance(answer.get("model"), bytes):
        return onnx.load_model_from_string(answer["model"])
    raise _contradicting(text_of(str(answer.get("failure"))))


def _followed_at(model: "onnx.ModelProto", points: Sequence[Mapping[str, int]]) -> list[Shapes | InputError]:
    answer = _answer_of_child(model, {"points": [dict(it) for it in points]})
    if not isinstance(answer.get("shapes"), list):
        raise _contradicting(text_of(str(answer.get("failure"))))
    return [
        _contradicting(it) if isinstance(it, str) else {name: tuple(extents) for name, extents in it.items()}
        for it in answer["shapes"]
    ]


def _answer_of_child(model: "onnx.ModelProto", more: Message) -> Message:
    data = model.SerializeToString()
    memory = _MEMORY + _MEMORY_PER_BYTE * len(data)
    answers: list[Message] = []
    failure = converse(
        Process([sys.executable, "-P", "-m", "memstow.planner.formats.onnx.inference_child", "{events}"]),
        {"kind": "infer", "model": data, "memory": memory, "seconds": _SECONDS, **more},
        Terms(time.monotonic() + _SECONDS, memory, lambda: False),
        answers.append,
    )
    if failure is not None or not answers:
        message = f"finding its shapes was given up ({failure}); fold its constants first"
        raise InputError.single("too_large", "$.graph", message)
    return answers[-1]


def _contradicting(why: str) -> InputError:
    if "external tensor" in why:
        message = (
            "a shape follows from numbers that are in another file, which is not read; save the model with "
            "small tensors inside: onnx.save_model(..., save_as_external_data=True, size_threshold=1024)"
        )
        return InputError.single("external_data", "$.graph", message)
    # The first line is the first node; what follows from it comes after that.
    first = why.strip().partition("\n")[0]
    message = f"the shapes of the model contradict each other: {printable(first, 600)}"
    return InputError.single("contradicting_shapes", "$.graph", message)
