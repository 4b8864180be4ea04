"""Encodes tasks and layouts for a child. Arrays are base64 of 64-bit little-endian integers."""

import sys
from array import array
from base64 import b64decode, b64encode
from dataclasses import asdict, fields, replace
from typing import Any

from memstow.planner.processes.frames import GarbageError
from memstow.solvers.instance import Instance, Layout
from memstow.solvers.solver import HintPlace, Task, Term, TermKind


def write_array(values: "array[int]") -> str:
    """Encode an array."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return b64encode(values.tobytes()).decode("ascii")


def read_array(text: object) -> "array[int]":
    """Decode an array; GarbageError if it is not valid."""
    if not isinstance(text, str):
        raise GarbageError("an array that is not text")
    values = array("q")
    try:
        values.frombytes(b64decode(text, validate=True))
    except ValueError as error:
        raise GarbageError(f"an array that is not base64 of 64-bit integers: {error}") from None
    if sys.byteorder == "big":
        values.byteswap()
    return values


def write_layout(layout: Layout) -> list[str]:
    """Encode a layout, as two arrays."""
    return [write_array(layout.pool), write_array(layout.offset)]


def read_layout(value: object) -> Layout:
    """Decode a layout."""
    if not isinstance(value, list) or len(value) != 2:
        raise GarbageError("a layout that is not two arrays")
    return Layout(read_array(value[0]), read_array(value[1]))


def write_task(task: Task) -> dict[str, Any]:
    """Encode a task without its start, which has a field of its own in the request."""
    return {
        "instance": {
            field.name: write_array(getattr(task.instance, field.name)) for field in fields(Instance)
        },
        "terms": [[int(term.kind), term.pool] for term in task.terms],
        "lower_bounds": list(task.lower_bounds),
        "gap": task.gap,
        "seed": task.seed,
        "workers": task.workers,
        "deterministic": task.deterministic,
        "hint_places": [list(asdict(place).values()) for place in task.hint_places],
        "hint_buffers": task.hint_buffers,
    }


def read_task(value: dict[str, Any]) -> Task:
    """Decode a task."""
    arrays = {field.name: read_array(value["instance"][field.name]) for field in fields(Instance)}
    return replace(
        Task(instance=Instance(**arrays), terms=(), lower_bounds=()),
        terms=tuple(Term(TermKind(kind), pool) for kind, pool in value["terms"]),
        lower_bounds=tuple(value["lower_bounds"]),
        gap=value["gap"],
        seed=value["seed"],
        workers=value["workers"],
        deterministic=value["deterministic"],
        hint_places=tuple(HintPlace(*entry) for entry in value["hint_places"]),
        hint_buffers=value["hint_buffers"],
    )
