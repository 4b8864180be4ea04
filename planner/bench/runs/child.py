"""The child's side of runs: one after another, each read, solved, judged and told of.

It is forked from a keeper that has imported everything. By the end of its standard input it knows that the
keeper is gone.
"""

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from memstow.planner.bench.instances.features import features_of
from memstow.planner.bench.instances.problem import problem_of
from memstow.planner.bench.runs import attempt, external_program
from memstow.planner.bench.runs.message_batches import Teller
from memstow.planner.bench.runs.resource_usage import cpu_seconds, peak_memory, reset_peak_memory
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.live_profile import profile
from memstow.planner.model.problem import Problem
from memstow.planner.processes import child, lifeline
from memstow.planner.processes.frames import Message
from memstow.solvers.models.register import BACK_ENDS

# What is found on the way is told so often, so that it is known of a run that is killed.
_TELL_MILLISECONDS = 50
_FAILED: Final = 70
# What is quick: after anything else there is no next run.
_QUICK_SECONDS: Final = 0.25
_QUICK_MEMORY: Final = 64 << 20

Tell = Callable[[Message], None]


def serve(events: int) -> None:
    """Serve requests until there are no more."""
    requests: queue.SimpleQueue[Message] = queue.SimpleQueue()
    teller = Teller(events)
    # Not the main thread: there, each call of a solver would have one of its own, for Ctrl-C to be heard.
    threading.Thread(target=_run, args=(requests, teller), daemon=True).start()
    child.listen(requests.put, child.Idle(_TELL_MILLISECONDS, teller.flush))


def _run(requests: "queue.SimpleQueue[Message]", teller: Teller) -> None:
    """Do what is requested, for as long as this process lives."""
    try:
        lifeline.be_modest()
        while True:
            _together(requests.get(), teller)
    finally:
        os._exit(_FAILED)


def _together(request: Message, teller: Teller) -> None:
    """Runs one after another, until one is not quick or there is no more time."""

    def tell(message: Message) -> None:
        teller.send(message)
        if message["kind"] == "problem":
            # Should the run end this process, it is known what it was a run on.
            teller.flush()

    lifeline.limit_memory(request["memory"])
    end = time.monotonic() + request["seconds"]
    again = True
    for run in request["runs"]:
        begin = time.monotonic()
        over = _over(run, request["memory"], tell)
        again = _may_go_on(run, over, time.monotonic() - begin)
        teller.send(over)
        if not again or time.monotonic() >= end or run is request["runs"][-1]:
            break
        # Should the next run end this process, what came of this one is known.
        teller.flush()
    teller.close({"kind": "done", "again": again})


def _over(request: Message, memory: int, tell: Tell) -> Message:
    """What came of a run, whatever that is."""
    try:
        over = perform(request, memory, tell)
    except MemoryError:
        over = {"status": "killed", "error": "out of memory"}
    except Exception as error:
        over = {"status": "error", "error": f"{type(error).__name__}: {error}"[:1000]}
    # An outside program has told its own memory.
    return {"kind": "over", "cpu_total": cpu_seconds(), "peak_memory": peak_memory(), **over}


def _may_go_on(request: Message, over: Message, seconds: float) -> bool:
    """Whether nothing of this run can be left in the process, and a next one would not wait for long."""
    asked = request["asked"]
    ours = asked["command"] is None and asked["name"] not in BACK_ENDS
    quick = seconds < _QUICK_SECONDS and over["peak_memory"] < _QUICK_MEMORY
    clean = over.get("status") in ("optimal", "feasible", "infeasible", "unknown", "declined")
    return ours and quick and clean


def perform(request: Message, memory: int, tell: Tell) -> Message:
    """One run."""
    reset_peak_memory()
    asked: dict[str, Any] = request["asked"]
    try:
        problem = _problem(request)
    except InputError as error:
        return {"unreadable": str(error.issues[0])[:300]}
    pressure = profile(problem.buffers)
    identity = digest(problem)
    capacities = [pool.capacity for pool in problem.pools]
    tell(
        {
            "kind": "problem",
            "digest": identity,
            "features": features_of(problem, pressure),
            "max_live": pressure.peak,
            "capacity": None if None in capacities else sum(filter(None, capacities)),
            "version": version_of(asked),
            "load": round(os.getloadavg()[0], 2),
        }
    )
    if asked["command"] is not None:
        return external_program.attempt(problem, request, tell)
    return attempt.attempt(problem, identity, request, memory, tell)


def version_of(asked: dict[str, Any]) -> str:
    """The version of who solves."""
    if asked["command"] is not None:
        return external_program.version_of(asked["command"], asked["folder"])
    return attempt.version_of(asked["name"])


def _problem(request: Message) -> Problem:
    return problem_of(request["data"], request["generated"], request["asked"]["options"])
