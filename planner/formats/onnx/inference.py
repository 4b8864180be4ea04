"""The shapes of a model: here where they follow from each other, in a child process where they are computed.

Models that compute shapes while they run need the numbers in tensors to be followed. A few nodes can ask for
any amount of memory then, which ends the child and nothing else.
"""

import sys
import time
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.texts import text_of
from memstow.planner.model.errors import InputError
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import Process
from memstow.planner.processes.session import Terms, converse
from memstow.planner.reading.printable import printable

if TYPE_CHECKING:
    import onnx

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
    return _followed(inferred) if _has_numbers(inferred) and not _is_complete(inferred) else inferred


def infer(model: "onnx.ModelProto", *, follow_numbers: bool) -> "onnx.ModelProto":
    """The model with the shapes that inference finds."""
    from onnx import shape_inference

    return shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=follow_numbers)


def _has_numbers(model: "onnx.ModelProto") -> bool:
    """Whether nodes make lists of whole numbers, which may be shapes."""
    makers = {name for node in model.graph.node if node.op_type != "Constant" for name in node.output}
    return any(
        it.name in makers
        and it.type.tensor_type.elem_type in _WHOLE
        and len(it.type.tensor_type.shape.dim) <= 1
        for it in model.graph.value_info
    )


def _is_complete(model: "onnx.ModelProto") -> bool:
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

    data = model.SerializeToString()
    memory = _MEMORY + _MEMORY_PER_BYTE * len(data)
    answers: list[Message] = []
    failure = converse(
        Process([sys.executable, "-m", "memstow.planner.formats.onnx.inference_child", "{events}"]),
        {"kind": "infer", "model": data, "memory": memory, "seconds": _SECONDS},
        Terms(time.monotonic() + _SECONDS, memory, lambda: False),
        answers.append,
    )
    if failure is not None or not answers:
        message = f"finding its shapes was given up ({failure}); fold its constants first"
        raise InputError.single("too_large", "$.graph", message)
    answer = answers[-1]
    if isinstance(answer.get("model"), bytes):
        return onnx.load_model_from_string(answer["model"])
    raise _contradicting(text_of(str(answer.get("failure"))))


def _contradicting(why: str) -> InputError:
    message = f"the shapes of the model contradict each other: {printable(why.strip(), 300)}"
    return InputError.single("contradicting_shapes", "$.graph", message)
