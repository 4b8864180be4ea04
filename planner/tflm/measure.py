"""Measures with the runtime itself, the package `tflite-micro`: scratch memory, and what stays in the arena.

It runs in a process of its own: a model that it cannot run may end the process.
"""

import sys
import time
from importlib.util import find_spec
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Arena
from memstow.planner.processes import machine
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import Process
from memstow.planner.processes.session import Terms, converse
from memstow.planner.reading.printable import printable
from memstow.planner.tflm.arena import arena
from memstow.planner.tflm.kernels import ELSEWHERE, custom_operators, obstacles
from memstow.planner.tflm.scratch import Scratch

_CHILD: Final = "memstow.planner.tflm.measure_child"
_SECONDS: Final = 120.0
_MEMORY_SHARE: Final = 0.5
_NO_CUSTOM: Final = "op code CUSTOM"
"""How the runtime names a custom operator that it does not have."""
_MOST_NAMES: Final = 5


def measure_scratch(model: bytes, seconds: float = _SECONDS) -> Scratch:
    """What the kernels of `tflite-micro` ask for, operator by operator, blocks of one taken together.

    Raises InputError where that package is missing, or cannot run the model.
    """
    answer = _asked({"kind": "scratch", "model": model}, seconds)
    scratch: dict[tuple[int, int], list[int]] = {}
    for subgraph, operator, size in answer["scratch"]:
        scratch[int(subgraph), int(operator)] = [int(size)]
    return scratch


def measure_arena(model: bytes, seconds: float = _SECONDS) -> Arena:
    """The arena that `tflite-micro` takes for the model, on this machine.

    Raises InputError where that package is missing, or cannot run the model.
    """
    answer = _asked({"kind": "arena", "model": model}, seconds)
    head, tail, least = int(answer["head"]), int(answer["tail"]), int(answer["least"])
    # Where planning needs less than the head, nobody sees how much less.
    return arena(head, least - tail if least - tail > head else None, tail)


def _why_not(model: bytes, failure: str) -> str:
    """What the model has that the runtime cannot run, and what works instead."""
    found = obstacles(model)
    if found:
        return f"{', and '.join(found)}; leave out --scratch, and {ELSEWHERE}"
    custom = custom_operators(model)
    if custom and _NO_CUSTOM in failure:
        names = ", ".join(custom[:_MOST_NAMES])
        return (
            f"it has no kernels of your own, and the model has custom operators ({names}); give the log of a "
            f"device that has them, or leave out --scratch"
        )
    said = printable(failure, 400)
    return f"{said}; leave out --scratch, and {ELSEWHERE}; or, if a device of yours runs it, give its log"


def _asked(request: Message, seconds: float) -> Message:
    if find_spec("tflite_micro") is None:
        message = "the package tflite-micro is not installed: pip install --pre tflite-micro, or give a log"
        raise InputError.single("missing_extra", "tflite_micro", message)
    memory = int(machine.memory() * _MEMORY_SHARE)
    answers: list[Message] = []
    request |= {"memory": memory, "seconds": seconds}
    process = Process([sys.executable, "-P", "-m", _CHILD, "{events}"])
    until = time.monotonic() + seconds
    failure = converse(process, request, Terms(until, memory, lambda: False), answers.append)
    if failure is None:
        failure = answers[-1]["failure"]
    if failure is not None:
        message = f"tflite-micro cannot run this model: {_why_not(request['model'], str(failure))}"
        raise InputError.single("cannot_measure", "$", message)
    return answers[-1]
