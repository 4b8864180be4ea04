"""The child's side of a back end: imports it, waits for a task, solves it, sends what it finds.

Started as `python -m memstow.planner.backends.child NAME EVENTS`: the name of the back end and the number
of the pipe for messages to the parent.
"""

import os
import sys
import threading

from memstow.planner.backends.wire import read_layout, read_task, write_layout
from memstow.planner.processes.child import Sender, serve_request
from memstow.planner.processes.frames import Message
from memstow.solvers.instance import Layout
from memstow.solvers.models.model import Limits, Model
from memstow.solvers.models.register import model


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

    serve_request(sender, warm_up, answer, _failed)


def solve(back_end: Model, request: Message, sender: ReportSender) -> Message:
    """Solve the task of the request, and return the last message."""
    limits = Limits(seconds=request["seconds"], work=request["work"], gap=request["task"]["gap"])
    start = None if request["start"] is None else read_layout(request["start"])
    verdict = back_end.solve(read_task(request["task"]), start, limits, sender)
    if verdict.infeasible:
        sender.send({"kind": "infeasible", "core": verdict.core})
    return {"kind": "done", "failure": verdict.failure, "work": verdict.work}


def _failed(error: Exception) -> Message:
    if isinstance(error, MemoryError):
        return {"kind": "done", "failure": "out of memory"}
    return {"kind": "done", "failure": f"{type(error).__name__}: {error}"[:1000]}


if __name__ == "__main__":
    main(sys.argv[1:])
    # Threads of a back end may still run; nothing they do matters now.
    os._exit(0)
