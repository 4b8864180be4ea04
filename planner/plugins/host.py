"""The process that a plug-in runs in: loads it, calls it, sends what it returns.

Started as `python -m memstow.planner.plugins.host KIND PLACE EVENTS`: solver or format, its module and
attribute, and the number of the pipe for messages. Two processes stand for one: the plug-in runs in a fork,
and the other waits for its end. Whatever the plug-in has started is below that one, also what has left its
group and its parent, and is ended with it.
"""

import contextlib
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NoReturn, cast

import memstow
from memstow.planner.plugins.interface import FORMAT_METHODS, Search
from memstow.planner.processes import child_side
from memstow.planner.processes.child_side import Sender
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import end_children

_LOOK_MILLISECONDS: Final = 20
_LONGEST: Final = 1000
_LARGEST_FILE: Final = 1 << 30
_LONGEST_TRACE: Final = 20_000
# Offers are sent this often, however many there are.
_OFFER_SECONDS: Final = 0.1


def main(arguments: list[str]) -> NoReturn:
    """Serve one request of this kind, about the plug-in at this place."""
    kind, place, pipe = arguments
    child_side.adopt_orphans()
    process = os.fork()
    if process:
        os.close(int(pipe))
        _wait(process)
    # One that never stops writing would fill the disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    # What it reads is nothing: requests come by the number of standard input.
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    serve(kind, place, Sender(int(pipe)))


def _wait(process: int) -> NoReturn:
    """Wait until the process or the parent of both has ended; then end all that is left, and as it did."""
    hung_up = select.poll()
    hung_up.register(0, 0)
    status = 0
    while not hung_up.poll(_LOOK_MILLISECONDS):
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            break
    end_children()
    child_side.remove_folder()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(max(code, 0))


def serve(kind: str, place: str, sender: Sender) -> NoReturn:
    """Load the plug-in, and answer the request."""
    plug_in: Any = None

    def warm_up() -> None:
        nonlocal plug_in
        plug_in = load(place)

    def answer(request: Message, _cancel: threading.Event) -> Message:
        if request["call"] == "describe":
            return {"kind": "done", **described(kind, plug_in)}
        if kind == "solver":
            return solved(plug_in, request, sender)
        return converted(plug_in, request)

    def failed(error: Exception) -> Message:
        if kind == "format" and isinstance(error, memstow.InputError):
            # What it was given is wrong; a solver has no such excuse.
            issues = [[issue.code, issue.path, issue.message] for issue in error.issues]
            return {"kind": "done", "issues": issues or [["bad_input", "$", str(error)]]}
        if os.environ.get("MEMSTOW_DEBUG"):
            lines = "".join(traceback.format_exception(error))
            return {"kind": "done", "failure": lines[-_LONGEST_TRACE:]}
        return child_side.failure_of(error)

    child_side.run_child(sender, warm_up, answer, failed)


def load(place: str) -> Any:
    """The object at `module:attribute`; of a class, an instance."""
    module, _, attribute = place.partition(":")
    value: Any = import_module(module.strip())
    for name in filter(None, attribute.partition("[")[0].strip().split(".")):
        value = getattr(value, name)
    return value() if isinstance(value, type) else value


def described(kind: str, plug_in: object) -> Message:
    """What it says of itself, in words."""
    summary = str(getattr(plug_in, "summary", ""))[:_LONGEST]
    if kind == "solver":
        if not callable(getattr(plug_in, "solve", None)):
            raise TypeError("it has no method `solve`")
        return {"summary": summary, "supports": str(getattr(plug_in, "supports", ""))[:_LONGEST]}
    methods = [name for name in FORMAT_METHODS if callable(getattr(plug_in, name, None))]
    if not methods:
        raise TypeError(f"it has none of the methods {', '.join(FORMAT_METHODS)}")
    return {"summary": summary, "methods": methods}


class _Offers:
    """Sends the newest plan that is offered, now and then, in a thread of its own; and the newest proof."""

    def __init__(self, send: Callable[[memstow.Plan, bytes | None], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._newest: memstow.Plan | None = None
        self._proven: tuple[memstow.Plan, bytes] | None = None
        self._offered = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def offer(self, plan: memstow.Plan, proof: bytes | None) -> None:
        """Send this plan instead of those that still wait."""
        if proof is None:
            self._newest = plan
        else:
            self._proven = plan, proof
        self._offered.set()

    def flush(self) -> None:
        """Send what waits."""
        with self._lock:
            newest, self._newest = self._newest, None
            proven, self._proven = self._proven, None
            if proven is not None:
                self._send(*proven)
            if newest is not None:
                self._send(newest, None)

    def _serve(self) -> NoReturn:
        while True:
            self._offered.wait()
            self._offered.clear()
            self.flush()
            time.sleep(_OFFER_SECONDS)


def solved(solver: Any, request: Message, sender: Sender) -> Message:
    """The answer of a solver to a request."""
    problem = memstow.read_problem(request["problem"], "json")
    if request["deterministic"] and not getattr(solver, "deterministic", False):
        return {
            "kind": "done",
            "declined": "deterministic runs, since it does not say that it is deterministic",
        }
    declines = getattr(solver, "declines", None)
    reason = None if declines is None else declines(problem)
    if reason is not None:
        return {"kind": "done", "declined": str(reason)[:_LONGEST]}

    def send(plan: memstow.Plan, proof: bytes | None) -> None:
        sender.send({"kind": "plan", "plan": memstow.write_plan(problem, plan), "proof": proof})

    offers = _Offers(send)
    hint = request["hint"]
    search = Search(
        # On the clock of both processes: to start and to load it has taken a part of the time.
        None if request["until"] is None else request["until"] - time.monotonic(),
        request["work"],
        request["seed"],
        request["workers"],
        request["memory"],
        None if hint is None else memstow.read_plan(hint, problem, "json"),
        offers.offer,
        request["problem"],
    )
    try:
        plan = solver.solve(problem, search)
    finally:
        # Also where it raises: what it has offered stays.
        offers.flush()
    if plan is None:
        return {"kind": "done"}
    if not isinstance(plan, memstow.Plan):
        raise TypeError(f"it returned {type(plan).__name__}, and not a memstow.Plan")
    return {"kind": "done", "plan": memstow.write_plan(problem, plan)}


def converted(form: Any, request: Message) -> Message:
    """The answer of a format: what it reads comes as native JSON, what it writes as it is."""
    call = request["call"]
    if not callable(getattr(form, call, None)):
        return {"kind": "done", "lacks": True}
    if call == "read_problem":
        document = form.read_problem(request["data"])
        if isinstance(document, memstow.Graph):
            return {"kind": "done", "data": memstow.write_graph(document)}
        return {
            "kind": "done",
            "data": memstow.write_problem(_checked(call, document, memstow.Problem), "json"),
        }
    problem = memstow.read_problem(request["problem"], "json")
    if call == "read_plan":
        plan = _checked(call, form.read_plan(request["data"], problem), memstow.Plan)
        return {"kind": "done", "data": memstow.write_plan(problem, plan)}
    if call == "write_problem":
        return {"kind": "done", "data": bytes(_checked(call, form.write_problem(problem), bytes))}
    plan = memstow.read_plan(request["plan"], problem, "json")
    return {"kind": "done", "data": bytes(_checked(call, form.write_plan(problem, plan), bytes))}


def _checked(call: str, value: object, wanted: type[Any]) -> Any:
    if not isinstance(value, wanted):
        raise TypeError(f"{call} returned {type(value).__name__}, and not {wanted.__name__}")
    return cast(Any, value)


if __name__ == "__main__":
    main(sys.argv[1:])
