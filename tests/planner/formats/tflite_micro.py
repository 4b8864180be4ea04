"""TensorFlow Lite Micro itself: what it makes of a model, and how much memory it takes for it.

`python -m tests.planner.formats.tflite_micro MODEL RUNS` answers in a process of its own: what the runtime
prints goes past Python, and a model that it cannot run may end the process.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE

_USED = re.compile(r"Arena allocation (\w+) (\d+) bytes")
_ARENA = 4_000_000


@dataclass(frozen=True)
class Measured:
    """Digests of all outputs and all tensors after each of several runs, and bytes of the arena."""

    outputs: Sequence[str]
    tensors: Sequence[str]
    head: int
    tail: int


def measure(model: Path, runs: int) -> Measured:
    """Run the model so often with inputs made of a seed, its state kept from one run to the next."""
    command = [sys.executable, "-m", __name__, str(model), str(runs)]
    root = Path(__file__).parents[3]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    used = dict(_USED.findall(ran.stderr))
    answer = json.loads(ran.stdout)
    return Measured(answer["outputs"], answer["tensors"], int(used["head"]), int(used["tail"]))


def _run(model: bytes, runs: int) -> None:
    from memstow import read_graph

    runtime = import_module("tflite_micro").runtime
    graph = read_graph(model)
    kept = {tensor.id for tensor in graph.tensors if tensor.kind == "data"}
    made = [int(name) for operator in graph.operators for name in operator.outputs if name in kept]
    recording = runtime.Interpreter.from_bytes(model, arena_size=_ARENA)
    whole = runtime.Interpreter.from_bytes(
        model, arena_size=_ARENA, intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors
    )
    outputs, tensors = list[str](), list[str]()
    for run in range(runs):
        for interpreter in (recording, whole):
            _set_inputs(interpreter, len(graph.inputs), run)
            interpreter.invoke()
        outputs.append(_digest(recording.get_output(i) for i in range(len(graph.outputs))))
        tensors.append(_digest(whole.GetTensor(i, 0)["tensor_data"] for i in sorted(made)))
    recording.print_allocations()
    print(json.dumps({"outputs": outputs, "tensors": tensors}))  # noqa: T201


def _set_inputs(interpreter: Any, count: int, seed: int) -> None:
    numpy = import_module("numpy")
    random = numpy.random.default_rng(seed)
    for i in range(count):
        about = interpreter.get_input_details(i)
        values = random.integers(-128, 128, about["shape"])
        interpreter.set_input(values.astype(about["dtype"]), i)


def _digest(arrays: Any) -> str:
    return sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


if __name__ == "__main__":
    _run(Path(sys.argv[1]).read_bytes(), int(sys.argv[2]))
