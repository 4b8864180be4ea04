"""Scratch memory from the log of a device whose runtime was compiled with TF_LITE_SHOW_MEMORY_USE.

Such a runtime prints its memory plan: a line for each tensor that needs memory, in the order of the model,
then one for each block that a kernel has asked for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.formats.tflite.format import read_graph
from memstow.planner.graph.liveness import Span
from memstow.planner.model.errors import InputError
from memstow.planner.tflm.scratch import aligned
from memstow.planner.tflm.tensors import RuntimeModel, listed, runtime_model

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
    found: dict[tuple[int, int], list[int]] = {}
    for row in rows:
        operator = running.get(row.lifetime)
        if operator is None:
            when = f"{row.lifetime[0]:,} to {row.lifetime[1] - 1:,}"
            message = f"a kernel asks for memory from {when}, when no operator of this model runs; {_ADVICE}"
            raise InputError.single("other_model", "$", message)
        found.setdefault(operator, []).append(row.size)
    return found
