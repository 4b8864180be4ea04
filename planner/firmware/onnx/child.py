"""The side of the runtime: runs a model on some inputs.

Started as `python -m memstow.planner.firmware.onnx.child EVENTS`, with the number of the pipe for messages to
the parent. A model that the runtime cannot run may end the process.
"""

import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from memstow.planner.processes.child_side import Sender, run_child
from memstow.planner.processes.frames import Message

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Array = NDArray[numpy.generic]


def _answer(request: Message, _cancel: threading.Event) -> Message:
    import numpy

    names = [name for name, *_ in request["outputs"]]
    outputs = []
    try:
        for run in request["runs"]:
            inputs = {}
            for (name, kind, shape, stored, turn), data in zip(request["inputs"], run, strict=True):
                array = numpy.frombuffer(data, kind).reshape(stored).transpose(turn).reshape(shape)
                inputs[name] = numpy.ascontiguousarray(array)
            results = _run(request["model"], names, inputs)
            outputs.append(
                [
                    _in_memory(array, stored, turn).tobytes()
                    for array, (_, _, _, stored, turn) in zip(results, request["outputs"], strict=True)
                ]
            )
    except Exception as error:
        return {"kind": "done", "failure": str(error)[:1000]}
    return {"kind": "done", "failure": None, "outputs": outputs}


def _in_memory(array: "Array", stored: list[int], turn: list[int]) -> "Array":
    import numpy

    turned = [stored[axis] for axis in turn]
    back = [turn.index(axis) for axis in range(len(turn))]
    return numpy.ascontiguousarray(array.reshape(turned).transpose(back))


def _run(model: bytes, names: list[str], inputs: "Mapping[str, Array]") -> "list[Array]":
    ort = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    # Where it may, it computes in integers, as programs do.
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return cast("list[Array]", session.run(names, dict(inputs)))


def _warm_up() -> None:
    import numpy  # noqa: F401


if __name__ == "__main__":
    run_child(Sender(int(sys.argv[1])), _warm_up, _answer)
