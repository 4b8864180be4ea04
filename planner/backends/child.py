"""The child's side of a back end: imports it, waits for a task, solves it, sends what it finds.

Started as `python -m memstow.planner.backends.child NAME EVENTS`: the name of the back end and the number
of the pipe for messages to the parent. Arrays in messages are base64 of 64-bit little-endian integers.
"""

import sys
import threading
from array import array
from base64 import b64decode, b64encode
from typing import Any

from memstow.planner.processes.child_side import Sender, run_child
from memstow.planner.processes.frames import GarbageError, Message
from memstow.records import fields, replace
from memstow.solvers.instance import Instance, Layout
from memstow.solvers.lexicographic import Limits, Model
from memstow.solvers.registry import model
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
        "hint_places": [[place.item, place.pool, place.offset, place.count] for place in task.hint_places],
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


class ReportSender(Sender):
    """Sends a back end's report to the parent."""

    def layout(self, layout: Layout) -> None:
        """A better layout."""
        self.send({"kind": "layout", "layout": write_layout(layout)})

    def bound(self, level: int, value: int, locks: tuple[int, ...]) -> None:
        """A better bound."""
        self.send({"kind": "bound", "level": level, "value": value, "locks": locks})

    def infeasible(self) -> None:
        """Nothing fits."""
        self.send({"kind": "infeasible", "core": []})


def main(arguments: list[str]) -> None:
    """Serve one request."""
    name, pipe = arguments
    sender = ReportSender(int(pipe))
    back_end: Model | None = None

    def warm_up() -> None:
        nonlocal back_end
        back_end = model(name)
        back_end.warm()
        sender.send({"kind": "ready"})

    def answer(request: Message, _cancel: threading.Event) -> Message:
        assert back_end is not None  # noqa: S101
        return solve(back_end, request, sender)

    run_child(sender, warm_up, answer)


def solve(back_end: Model, request: Message, sender: ReportSender) -> Message:
    """Solve the task of the request, and return the last message."""
    limits = Limits(seconds=request["seconds"], work=request["work"], gap=request["task"]["gap"])
    start = None if request["start"] is None else read_layout(request["start"])
    verdict = back_end.solve(read_task(request["task"]), start, limits, sender)
    if verdict.infeasible:
        sender.send({"kind": "infeasible", "core": verdict.core})
    return {"kind": "done", "failure": verdict.failure, "work": verdict.work}


if __name__ == "__main__":
    main(sys.argv[1:])
