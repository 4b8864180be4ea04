"""Scratch memory, and what stays in the arena: measured by the runtime itself, or from the log of a device.

The package `tflite-micro` runs in a process of its own (`measure_child`): a model that it cannot run may end
the process. What is known without the runtime of what it cannot run is for the version that was tried
(docs/integrations.md): its operators without a kernel, and weights that the kernels do not take. A device
whose runtime was compiled with TF_LITE_SHOW_MEMORY_USE prints its memory plan: a line for each tensor that
needs memory, in the order of the model, then one for each block that a kernel has asked for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from memstow.planner.formats.tflite_format import TYPES, read_graph
from memstow.planner.formats.tflite_model import ModelOperator, Subgraph, is_listed, read_subgraphs
from memstow.planner.graph.lowering import Span
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Arena
from memstow.planner.model.printable import printable
from memstow.planner.processes import machine
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import ask_child
from memstow.planner.tflm.runtime_model import RuntimeModel, Scratch, aligned, arena, listed, runtime_model

ELSEWHERE: Final = (
    "for a runtime of your own, write the plan as code or data: --output memory.h --output memory.c, or "
    "--output plan.json"
)
"""What works where this runtime does not."""
_NAMES: Final = """
BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN BUCKETIZE COMPLEX_ABS CONCAT_EMBEDDINGS
CONV_3D CONV_3D_TRANSPOSE DELEGATE DENSIFY EMBEDDING_LOOKUP_SPARSE FAKE_QUANT GELU HASHTABLE
HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_LOOKUP HASHTABLE_SIZE IMAG LOCAL_RESPONSE_NORMALIZATION
LSH_PROJECTION LSTM MATRIX_DIAG MATRIX_SET_DIAG MULTINOMIAL NON_MAX_SUPPRESSION_V4
NON_MAX_SUPPRESSION_V5 ONE_HOT PLACEHOLDER_FOR_GREATER_OP_CODES POW RANDOM_STANDARD_NORMAL
RANDOM_UNIFORM RANGE RANK REAL REDUCE_ANY REDUCE_PROD RELU_N1_TO_1 REVERSE_SEQUENCE RFFT2D RNN
SCATTER_ND SEGMENT_SUM SELECT SKIP_GRAM SPARSE_TO_DENSE TILE TOPK_V2 UNIDIRECTIONAL_SEQUENCE_RNN
UNIQUE WHERE
"""
_WITHOUT: Final = frozenset(_NAMES.split())
# By operator, which of its inputs are the data and the weights.
_WEIGHED: Final = {
    "CONV_2D": (0, 1),
    "DEPTHWISE_CONV_2D": (0, 1),
    "FULLY_CONNECTED": (0, 1),
    "TRANSPOSE_CONV": (2, 1),
}
_FLOAT: Final = "float32"
_TAKEN: Final = frozenset(((_FLOAT, _FLOAT), ("int8", "int8"), ("int8", "int4"), ("int16", "int8")))
"""The types of data and weights that kernels take; some of them others as well, but none weights of another
type for data in floating point."""
_STRICT: Final = frozenset(("CONV_2D",))
_MOST_KINDS: Final = 4
_MOST_PLACES: Final = 3


def obstacles(model: bytes) -> list[str]:
    """Why the runtime cannot run the model, in sentences without a subject; none if nothing is known."""
    subgraphs = read_subgraphs(model)
    missing: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for number, subgraph in enumerate(subgraphs):
        for index, operator in enumerate(subgraph.operators):
            place = f"{number}/{index}" if number else str(index)
            if not operator.is_custom and (operator.name in _WITHOUT or not is_listed(operator.name)):
                missing.setdefault(operator.name, []).append(place)
            elif (types := _refused_types(operator, subgraph)) is not None:
                kind = f"{operator.name} with {types[0]} data and {types[1]} weights"
                refused.setdefault(kind, []).append(place)
    reasons = []
    if missing:
        reasons.append(f"it has no kernel for {_listed(missing)}")
    if refused:
        reasons.append(f"its kernels do not take {_listed(refused)}")
    return reasons


def custom_operators(model: bytes) -> list[str]:
    """The names of the custom operators, whose kernels come with a program."""
    operators = (operator for subgraph in read_subgraphs(model) for operator in subgraph.operators)
    return sorted({printable(operator.name, 40) for operator in operators if operator.is_custom})


def _refused_types(operator: ModelOperator, subgraph: Subgraph) -> tuple[str, str] | None:
    """The types of data and weights, if the kernel does not take these."""
    inputs = _WEIGHED.get(operator.name)
    if operator.is_custom or inputs is None or max(inputs) >= len(operator.inputs):
        return None
    data, weights = (TYPES.get(subgraph.tensors[operator.inputs[i]].type, "other") for i in inputs)
    is_refused = (data, weights) not in _TAKEN and (data == _FLOAT or operator.name in _STRICT)
    return (data, weights) if is_refused else None


def _listed(places: dict[str, list[str]]) -> str:
    some = [f"{printable(name, 80)} ({_operators(operators)})" for name, operators in places.items()]
    return _some(some, _MOST_KINDS)


def _operators(places: list[str]) -> str:
    return f"operator{'s' if len(places) > 1 else ''} {_some(places, _MOST_PLACES)}"


def _some(words: list[str], most: int) -> str:
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


_LINE: Final = re.compile(
    r"\(id=(\d{1,9})\): size=(\d{1,10}), offset=-?\d{1,10}, first_used=(-?\d{1,9}),? last_used=(-?\d{1,9})"
)
_TAIL: Final = re.compile(r"Arena allocation tail (\d{1,10}) bytes")
_ADVICE: Final = "give the log of a device that runs this model, compiled with -DTF_LITE_SHOW_MEMORY_USE"


@dataclass(frozen=True, slots=True)
class Measured:
    """What kernels ask for, and what else is known of the arena."""

    scratch: dict[tuple[int, int], list[int]]
    tail: int | None


@dataclass(frozen=True, slots=True)
class _Row:
    size: int
    lifetime: Span


def read_log(model: bytes, log: bytes) -> Measured:
    """The scratch memory of a model in the log; an InputError where that has no plan of this model."""
    graph = read_graph(model)
    of_model = runtime_model(model, graph, listed(graph))
    sizes = [tensor.size for tensor in of_model.tensors if tensor.size]
    text = log.decode("utf-8", "replace")
    plans = list(_plans(text))
    if not plans:
        raise InputError.single("no_memory_plan", "$", f"the log has no memory plan; {_ADVICE}")
    # A log may hold several starts, and several models: the last of this one counts.
    for rows in reversed(plans):
        if [aligned(row.size) for row in rows[: len(sizes)]] == sizes:
            tails = _TAIL.findall(text)
            return Measured(_scratch(of_model, rows[len(sizes) :]), int(tails[-1]) if tails else None)
    message = f"no memory plan in the log has the {len(sizes):,} tensors of this model; {_ADVICE}"
    raise InputError.single("other_model", "$", message)


def _plans(text: str) -> Iterator[Sequence[_Row]]:
    """The rows of each plan; the ids of one begin at 0 and have no gaps."""
    rows: list[_Row] = []
    for number, size, first, last in _LINE.findall(text):
        if int(number) != len(rows):
            if rows:
                yield rows
            rows = []
        if int(number) == len(rows):
            rows.append(_Row(int(size), (int(first), int(last) + 1)))
    if rows:
        yield rows


def _scratch(model: RuntimeModel, rows: Sequence[_Row]) -> dict[tuple[int, int], list[int]]:
    running = {lifetime: operator for operator, lifetime in model.operators.items()}
    by_operator: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        operator = running.get(row.lifetime)
        if operator is None:
            when = f"{row.lifetime[0]:,} to {row.lifetime[1] - 1:,}"
            message = f"a kernel asks for memory from {when}, when no operator of this model runs; {_ADVICE}"
            raise InputError.single("other_model", "$", message)
        by_operator.setdefault(operator, []).append(row.size)
    return by_operator


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
    answer = _answer_of_child({"kind": "scratch", "model": model}, seconds)
    scratch: dict[tuple[int, int], list[int]] = {}
    for subgraph, operator, size in answer["scratch"]:
        scratch[int(subgraph), int(operator)] = [int(size)]
    return scratch


def measure_arena(model: bytes, seconds: float = _SECONDS) -> Arena:
    """The arena that `tflite-micro` takes for the model, on this machine.

    Raises InputError where that package is missing, or cannot run the model.
    """
    answer = _answer_of_child({"kind": "arena", "model": model}, seconds)
    head, tail, least = int(answer["head"]), int(answer["tail"]), int(answer["least"])
    # Where planning needs less than the head, nobody sees how much less.
    return arena(head, least - tail if least - tail > head else None, tail)


def run_model(model: bytes, runs: Sequence[Sequence[bytes]], seconds: float = _SECONDS) -> list[list[bytes]]:
    """What `tflite-micro` makes of the inputs of each run, one run after the other: the bytes of its outputs.

    Raises InputError where that package is missing, or cannot run the model.
    """
    answer = _answer_of_child(
        {"kind": "outputs", "model": model, "runs": [list(run) for run in runs]}, seconds
    )
    return [list(run) for run in answer["outputs"]]


def _why_not(model: bytes, failure: str) -> str:
    """What the model has that the runtime cannot run, and what works instead."""
    reasons = obstacles(model)
    if reasons:
        return f"{', and '.join(reasons)}; leave out --scratch, and {ELSEWHERE}"
    custom = custom_operators(model)
    if custom and _NO_CUSTOM in failure:
        names = ", ".join(custom[:_MOST_NAMES])
        return (
            f"it has no kernels of your own, and the model has custom operators ({names}); give the log of a "
            f"device that has them, or leave out --scratch"
        )
    message = printable(failure, 400)
    return f"{message}; leave out --scratch, and {ELSEWHERE}; or, if a device of yours runs it, give its log"


def _answer_of_child(request: Message, seconds: float) -> Message:
    if find_spec("tflite_micro") is None:
        message = "the package tflite-micro is not installed: pip install --pre tflite-micro, or give a log"
        raise InputError.single("missing_extra", "tflite_micro", message)
    memory = int(machine.memory() * _MEMORY_SHARE)
    answer = ask_child(_CHILD, request, memory, seconds)
    if answer["failure"] is not None:
        message = f"tflite-micro cannot run this model: {_why_not(request['model'], str(answer['failure']))}"
        raise InputError.single("cannot_measure", "$", message)
    return answer
