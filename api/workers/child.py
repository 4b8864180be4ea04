"""The child's side of an isolated run: reads one request, sends updates and the result.

Started as `python -m memstow.api.workers.child EVENTS`, the number of the pipe for messages to the parent.
Standard input brings the request and perhaps a request to stop; its end means that the parent is gone.
The program itself is imported when the child has lowered its priority: that takes longer than many a request
of the server that starts it.
"""

import sys
import threading
from typing import Final

from memstow.planner.processes import child_side
from memstow.planner.processes.child_side import Sender, run_child
from memstow.planner.processes.frames import Message

# What may take longer has a lower priority than what a caller may be waiting for.
_LONG_SECONDS: Final = 15.0


def main(arguments: list[str]) -> None:
    """Serve one request."""
    sender = Sender(int(arguments[0]))

    def answer(request: Message, cancel: threading.Event) -> Message:
        from memstow.api.operations import operations
        from memstow.api.operations.request_types import encode_update

        if request["seconds"] > _LONG_SECONDS:
            child_side.step_back()
        result = operations.perform_by_name(
            request["operation"],
            request["request"],
            lambda update: sender.send(encode_update(update)),
            cancel,
        )
        return {"kind": "done", "result": result}

    def warm_up() -> None:
        from memstow.api.operations import operations

        operations.warm_up()
        sender.send({"kind": "ready"})

    run_child(sender, warm_up, answer, _failed)


def _failed(error: Exception) -> Message:
    from memstow.api.operations.request_types import encode_issues
    from memstow.api.workers.executor import SHORTAGE, is_of_server, is_of_server_or_run
    from memstow.planner.model.errors import InputError, MemstowError

    if isinstance(error, InputError):
        return {"kind": "done", "issues": encode_issues(error)}
    if isinstance(error, MemoryError):
        return {"kind": "done", "failure": "memory"}
    if is_of_server(error):
        return {"kind": "done", "failure": SHORTAGE, "message": str(error)}
    if is_of_server_or_run(error):
        # Tried again, but not for ever.
        return {"kind": "done", "failure": "child_lost", "message": str(error)}
    if isinstance(error, MemstowError):
        return {"kind": "done", "declined": type(error).__name__, "message": str(error)[:2000]}
    return {"kind": "done", "failure": "defect", "message": f"{type(error).__name__}: {error}"[:2000]}


if __name__ == "__main__":
    main(sys.argv[1:])
