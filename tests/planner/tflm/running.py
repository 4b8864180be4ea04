"""Runs models in TensorFlow Lite Micro: what comes out of several runs, and how much of the arena they take.

`python -m tests.planner.tflm.running RUNS FILE...` answers in a process of its own, with a line for each
model: what the runtime prints goes past Python, and a model that it cannot run may end the process.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE

needs_runtime = pytest.mark.skipif(
    find_spec("tflite_micro") is None, reason="needs tflite-micro: pip install --pre tflite-micro"
)
RUNS = 8
_USED = re.compile(r"Arena allocation (head|tail) (\d+) bytes")
_ARENA = 4_000_000


@dataclass(frozen=True)
class Ran:
    """Digests of all outputs after each run, and bytes of the arena."""

    outputs: Sequence[str]
    head: int
    tail: int


def run_models(models: Sequence[bytes], folder: Path, runs: int = RUNS, arena: int = _ARENA) -> list[Ran]:
    """Run each model so often with inputs made of a seed, its state kept from one run to the next."""
    paths = []
    for number, model in enumerate(models):
        paths.append(folder / f"{number}.tflite")
        paths[-1].write_bytes(model)
    command = [sys.executable, "-m", __name__, str(runs), str(arena), *map(str, paths)]
    root = Path(__file__).parents[3]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 0, (ran.stdout[-200:], ran.stderr[-2000:])
    return [Ran(*json.loads(line)) for line in ran.stdout.splitlines()]


def _run(model: bytes, runs: int, arena: int, log: Any) -> None:
    numpy = import_module("numpy")
    log.seek(0)
    log.truncate()
    interpreter = import_module("tflite_micro").runtime.Interpreter.from_bytes(model, arena_size=arena)
    graph = import_module("memstow").read_graph(model)
    outputs = []
    for run in range(runs):
        random = numpy.random.default_rng(run)
        for i in range(len(graph.inputs)):
            about = interpreter.get_input_details(i)
            values = random.integers(-128, 128, about["shape"])
            interpreter.set_input(values.astype(about["dtype"]), i)
        interpreter.invoke()
        made = b"".join(interpreter.get_output(i).tobytes() for i in range(len(graph.outputs)))
        outputs.append(sha256(made).hexdigest())
    interpreter.print_allocations()
    log.seek(0)
    used = dict(_USED.findall(log.read().decode()))
    print(json.dumps([outputs, int(used["head"]), int(used["tail"])]))  # noqa: T201


def _main(runs: str, arena: str, *paths: str) -> None:
    said = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            for path in paths:
                _run(Path(path).read_bytes(), int(runs), int(arena), log)
        except BaseException:
            log.seek(0)
            os.write(said, path.encode() + b"\n" + log.read())
            raise


if __name__ == "__main__":
    _main(*sys.argv[1:])
