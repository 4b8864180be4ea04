"""The child's side: import the back end, wait for a task, solve it, tell what is found.

Started as `python -m memstow.planner.backends.child NAME EVENTS`: the name of the back end and the number
of the pipe for messages to the parent. Its standard input brings the request and, by its end, the news
that the parent is gone.
"""

import os
import queue
import sys
import threading
from typing import Any

from memstow.planner.backends.messages import Teller
from memstow.planner.backends.wire import read_layout, read_task, write_layout
from memstow.planner.processes import lifeline
from memstow.planner.processes.frames import Message, Reader
from memstow.solvers.instance import Layout
from memstow.solvers.models.model import Limits
from memstow.solvers.models.register import model

_PIECE = 1 << 20


class Finder(Teller):
    """Tells what a back end finds."""

    def layout(self, layout: Layout) -> None:
        """A better layout."""
        self.send({"kind": "layout", "layout": write_layout(layout)})

    def bound(self, level: int, value: int, locks: tuple[int, ...]) -> None:
        """A better bound."""
        self.send({"kind": "bound", "level": level, "value": value, "locks": locks})

    def infeasible(self) -> None:
        """Nothing fits."""
        self.send({"kind": "infeasible", "core": []})


def main(arguments: list[str]) -> int:
    """Serve one request."""
    name, pipe = arguments[0], int(arguments[1])
    requests: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    lifeline.be_modest()
    teller = Finder(pipe)
    try:
        back_end = model(name)
        back_end.warm()
        teller.send({"kind": "ready"})
        request = requests.get()
        lifeline.limit_memory(request["memory"])
        if request["seconds"] is not None:
            lifeline.end_after(request["seconds"])
        teller.send(serve(back_end, request, teller))
    except MemoryError:
        teller.send({"kind": "done", "failure": "out of memory"})
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        teller.send({"kind": "done", "failure": text[:1000]})
    return 0


def serve(back_end: Any, request: Message, teller: Finder) -> Message:
    """Solve what was asked, telling what is found; the last message."""
    limits = Limits(seconds=request["seconds"], work=request["work"], gap=request["task"]["gap"])
    start = None if request["start"] is None else read_layout(request["start"])
    verdict = back_end.solve(read_task(request["task"]), start, limits, teller)
    if verdict.infeasible:
        teller.send({"kind": "infeasible", "core": verdict.core})
    return {"kind": "done", "failure": verdict.failure, "work": verdict.work}


def _listen(requests: "queue.SimpleQueue[Message]") -> None:
    """Hand on the request; when the parent is gone, end."""
    reader = Reader()
    try:
        while data := os.read(0, _PIECE):
            for message in reader.feed(data):
                requests.put(message)
    finally:
        lifeline.end_everything()


if __name__ == "__main__":
    code = main(sys.argv[1:])
    # Threads of a back end may still run; nothing they do matters now.
    os._exit(code)
