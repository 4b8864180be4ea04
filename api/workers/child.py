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

    def failed(error: Exception) -> Message:
        from memstow.api.workers.executor import last_message_of

        return last_message_of(error)

    run_child(sender, warm_up, answer, failed)


if __name__ == "__main__":
    main(sys.argv[1:])
