"""What ONNX Runtime makes of inputs: in a process of its own.

The reference evaluator of `onnx` is no referee: of some windows it computes something else than runtimes do.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from memstow.planner.firmware.check import Referee, Runs
from memstow.planner.firmware.onnx.model import OnnxModel
from memstow.planner.firmware.program import Port
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable
from memstow.planner.processes import machine
from memstow.planner.processes.process import ask_child

_CHILD: Final = "memstow.planner.firmware.onnx.child"
_SECONDS: Final = 60.0
_MEMORY_SHARE: Final = 0.5


def onnx_referee(model: bytes, onnx: OnnxModel) -> Referee:
    """ONNX Runtime, where it is installed."""

    def run(runs: Runs) -> Runs:
        if find_spec("onnxruntime") is None:
            raise InputError.single("no_runtime", "$", "the package onnxruntime is not installed")
        request = {
            "kind": "outputs",
            "model": model,
            "inputs": [_order(onnx, port) for port in onnx.inputs],
            "outputs": [_order(onnx, port) for port in onnx.outputs],
            "runs": [list(run) for run in runs],
        }
        answer = ask_child(_CHILD, request, int(machine.memory() * _MEMORY_SHARE), _SECONDS)
        if answer.get("failure") is not None or "outputs" not in answer:
            message = f"ONNX Runtime cannot run this model: {printable(str(answer.get('failure')), 400)}"
            raise InputError.single("cannot_run", "$", message)
        return [list(run) for run in answer["outputs"]]

    return Referee("ONNX Runtime", run)


def _order(onnx: OnnxModel, port: Port) -> list[object]:
    """A value by its name, with its type, its shape and how it lies in memory."""
    shape, layout = onnx.layouts[port.name]
    lists: Sequence[Sequence[int]] = shape, layout.stored, layout.turn
    return [port.name, port.type, *map(list, lists)]
