"""The child's side of an isolated run: reads one request, sends updates and the result.

Started as `python -m memstow.api.workers.child EVENTS`, the number of the pipe for messages to the parent.
Standard input brings the request and perhaps a request to stop; its end means that the parent is gone.
"""

import os
import queue
import sys
import threading

from memstow.api.operations import operations
from memstow.api.operations.messages import encode_issues, encode_update
from memstow.planner.backends.messages import Teller
from memstow.planner.model.errors import InputError, MemstowError
from memstow.planner.processes import lifeline
from memstow.planner.processes.frames import Message, Reader

_PIECE = 1 << 20


def main(arguments: list[str]) -> None:
    """Serve one request."""
    requests: queue.SimpleQueue[Message] = queue.SimpleQueue()
    cancel = threading.Event()
    threading.Thread(target=_listen, args=(requests, cancel), daemon=True).start()
    lifeline.be_modest()
    teller = Teller(int(arguments[0]))
    operations.warm_up()
    request = requests.get()
    lifeline.limit_memory(request["memory"])
    lifeline.end_after(request["seconds"])
    teller.send(_answer(request, teller, cancel))


def _answer(request: Message, teller: Teller, cancel: threading.Event) -> Message:
    try:
        result = operations.perform_by_name(
            request["operation"],
            request["request"],
            lambda update: teller.send(encode_update(update)),
            cancel,
        )
    except InputError as error:
        return {"kind": "done", "issues": encode_issues(error)}
    except MemoryError:
        return {"kind": "done", "failure": "memory"}
    except MemstowError as error:
        return {"kind": "done", "declined": type(error).__name__, "message": str(error)[:2000]}
    except Exception as error:
        return {"kind": "done", "failure": "defect", "message": f"{type(error).__name__}: {error}"[:2000]}
    return {"kind": "done", "result": result}


def _listen(requests: "queue.SimpleQueue[Message]", cancel: threading.Event) -> None:
    """Hand on the request and the word to stop; when the parent is gone, end."""
    reader = Reader()
    try:
        while data := os.read(0, _PIECE):
            for message in reader.feed(data):
                if message["kind"] == "cancel":
                    cancel.set()
                else:
                    requests.put(message)
    finally:
        lifeline.end_everything()


if __name__ == "__main__":
    main(sys.argv[1:])
    # Threads of a back end may still run; nothing they do matters now.
    os._exit(0)
