"""The side of the runtime: loads models and says what was allocated.

Started as `python -m memstow.planner.tflm.measure_child EVENTS`, with the number of the pipe for messages to
the parent. What the runtime allocates for a model cut to one operator, beside its tensors, is scratch memory.
"""

import os
import re
import sys
import tempfile
import threading
from importlib import import_module
from typing import Any, Final

from memstow.planner.formats.flatbuffer import FieldValue, Flatbuffer, NewParts, OldPart, Part
from memstow.planner.formats.tflite_format import arena_bytes
from memstow.planner.formats.tflite_model import (
    CALLING,
    VAR_HANDLE,
    ModelField,
    OperatorField,
    Subgraph,
    SubgraphField,
    TensorField,
    read_subgraphs,
)
from memstow.planner.processes.child_side import Sender, run_child
from memstow.planner.processes.frames import Message
from memstow.planner.tflm.runtime_model import WORKSTATION, arena_of


def cut_model(model: bytes, subgraphs: list[Subgraph], subgraph: int, operator: int) -> tuple[bytes, int]:
    """A model of one operator, and the bytes of the arena that its tensors take."""
    root = Flatbuffer(model).root()
    table = list(root.tables(ModelField.SUBGRAPHS))[subgraph]
    held = subgraphs[subgraph]
    entry = held.operators[operator]
    listed = list(table.tables(SubgraphField.OPERATORS))[operator].integers(OperatorField.INTERMEDIATES)
    used = {*entry.inputs, *entry.outputs, *[i for i in listed or () if 0 <= i < len(held.tensors)]}
    handles = set(entry.outputs) if entry.name == VAR_HANDLE else set()
    sizes = {
        i: 0 if i in handles else arena_bytes(held.tensors[i], f"$.subgraphs[{subgraph}].tensors[{i}]")
        for i in used
    }
    front = NewParts(model)
    nothing = front.table({TensorField.SHAPE: front.numbers([0])})
    tensors: list[Part] = [
        OldPart(at) if i in used else nothing for i, at in enumerate(table.targets(SubgraphField.TENSORS))
    ]
    outputs = set(entry.outputs)
    fields: dict[int, FieldValue] = {
        SubgraphField.TENSORS: front.list(tensors),
        SubgraphField.INPUTS: front.numbers(
            [i for i in dict.fromkeys(entry.inputs) if sizes[i] and i not in outputs]
        ),
        SubgraphField.OUTPUTS: front.numbers(list(entry.outputs)),
        SubgraphField.OPERATORS: front.list([OldPart(table.targets(SubgraphField.OPERATORS)[operator])]),
    }
    whole: dict[int, FieldValue] = {
        ModelField.VERSION: root.number(ModelField.VERSION, "<I"),
        ModelField.SUBGRAPHS: front.list([front.table(fields)]),
    }
    for field in (ModelField.CODES, ModelField.BUFFERS):
        target = root.target(field)
        if target is not None:
            whole[field] = OldPart(target)
    return front.file(front.table(whole)), sum(sizes.values())


_USED: Final = re.compile(rb"Arena allocation (head|tail) (\d+) bytes")
_SPARE: Final = 1 << 20
_STEP: Final = 16
_STDERR: Final = 2


class Runtime:
    """Loads models. What the runtime prints goes past Python, into a file."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        os.dup2(self._log.fileno(), _STDERR)
        self._interpreter: Any = import_module("tflite_micro").runtime.Interpreter

    def used(self, model: bytes, arena: int) -> dict[str, int]:
        """The head and the tail of a model that has been loaded."""
        self._log.seek(0)
        self._log.truncate()
        try:
            self._interpreter.from_bytes(model, arena_size=arena).print_allocations()
        except (RuntimeError, ValueError) as error:
            raise RuntimeError(self._said() or str(error)) from None
        sizes = {name.decode(): int(size) for name, size in _USED.findall(self._read())}
        if sizes.keys() != {"head", "tail"}:
            raise RuntimeError(self._said() or "the runtime does not say how much it has allocated")
        return sizes

    def outputs(self, model: bytes, arena: int, runs: list[list[bytes]]) -> list[list[bytes]]:
        """What the model makes of the inputs of each run."""
        numpy = import_module("numpy")
        interpreter = self._interpreter.from_bytes(model, arena_size=arena)
        made = []
        for run in runs:
            for place, data in enumerate(run):
                about = interpreter.get_input_details(place)
                values = numpy.frombuffer(data, dtype=about["dtype"]).reshape(about["shape"])
                interpreter.set_input(values, place)
            interpreter.invoke()
            count = len(read_subgraphs(model)[0].outputs)
            made.append([interpreter.get_output(place).tobytes() for place in range(count)])
        return made

    def _read(self) -> bytes:
        self._log.seek(0)
        return self._log.read(1 << 16)

    def _said(self) -> str:
        return " ".join(self._read().decode("utf-8", "replace").split())


def _answer(request: Message, _cancel: threading.Event) -> Message:
    runtime = Runtime()
    model: bytes = request["model"]
    # An arena that is surely large enough: pages of it that nobody touches take no memory.
    arena = arena_of(model, word=WORKSTATION)
    enough = _stepped(2 * (arena.head or 0) + (arena.planning or 0) + 4 * len(model) + _SPARE)
    if request["kind"] == "outputs":
        made = runtime.outputs(model, enough, request["runs"])
        return {"kind": "done", "failure": None, "outputs": made}
    used = runtime.used(model, enough)
    if request["kind"] == "arena":
        figures: Message = {"least": _least(runtime, model, used["tail"], enough), **used}
    else:
        figures = {"scratch": _scratch(runtime, model)}
    return {"kind": "done", "failure": None, **figures}


def _least(runtime: Runtime, model: bytes, too_small: int, enough: int) -> int:
    """The smallest arena, in steps of 16 bytes, in which the runtime loads the model."""
    first, last = too_small // _STEP, enough // _STEP
    while last - first > 1:
        middle = (first + last) // 2
        if _loads(runtime, model, middle * _STEP):
            last = middle
        else:
            first = middle
    return last * _STEP


def _loads(runtime: Runtime, model: bytes, arena: int) -> bool:
    """Whether the arena is enough, as a process of its own tries it: the runtime may write beyond it."""
    child = os.fork()
    if child == 0:
        try:
            runtime.used(model, arena)
        finally:
            os._exit(sys.exc_info()[0] is not None)
    return os.waitpid(child, 0)[1] == 0


def _stepped(size: int) -> int:
    return -(-size // _STEP) * _STEP


def _scratch(runtime: Runtime, model: bytes) -> list[tuple[int, int, int]]:
    """The subgraph and the index of each operator whose kernel asks for memory, and how much."""
    subgraphs = read_subgraphs(model)
    sizes = []
    for number, subgraph in enumerate(subgraphs):
        for index, operator in enumerate(subgraph.operators):
            # Control flow asks for nothing itself, and its subgraphs would be missing.
            if operator.name not in CALLING and (
                size := _scratch_bytes(runtime, model, subgraphs, number, index)
            ):
                sizes.append((number, index, size))
    return sizes


def _scratch_bytes(
    runtime: Runtime, model: bytes, subgraphs: list[Subgraph], subgraph: int, operator: int
) -> int:
    cut, tensors = cut_model(model, subgraphs, subgraph, operator)
    name = subgraphs[subgraph].operators[operator].name
    try:
        return runtime.used(cut, _stepped(2 * tensors + 4 * len(model) + _SPARE))["head"] - tensors
    except RuntimeError as error:
        raise RuntimeError(f"operator {operator} of subgraph {subgraph}, {name}: {error}") from None


def _failed(error: Exception) -> Message:
    return {"kind": "done", "failure": str(error)[:1000] or type(error).__name__}


if __name__ == "__main__":
    run_child(Sender(int(sys.argv[1])), lambda: None, _answer, _failed)
