"""The child process of a supervisor: reads, solves and judges one run after another."""

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Final

from memstow.planner.bench import attempt, external_program
from memstow.planner.bench.instances import features_of, free_graph_of, problem_of
from memstow.planner.bench.task import SolverRequest, Task, task_from
from memstow.planner.bench.usage import cpu_seconds, peak_memory, reset_peak_memory
from memstow.planner.graph.graph_document import graph_digest
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import profile
from memstow.planner.processes import child_side
from memstow.planner.processes.child_side import write_all
from memstow.planner.processes.frames import Message, pack
from memstow.solvers.registry import BACK_ENDS


class BatchSender:
    """Collects messages from any thread, and sends them as one when flushed."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._waiting: list[Message] = []

    def send(self, message: Message) -> None:
        """Send the message with the next flush."""
        with self._lock:
            self._waiting.append(message)

    def flush(self) -> None:
        """Send the waiting messages, in their order."""
        with self._lock:
            write_all(self._pipe, self._batch())

    def close(self, message: Message) -> None:
        """Send the waiting messages, and a last one after them."""
        with self._lock:
            write_all(self._pipe, self._batch() + pack(message))

    def _batch(self) -> bytes:
        waiting, self._waiting = self._waiting, []
        return pack({"kind": "batch", "messages": waiting}) if waiting else b""


# Events are sent this often, so that those of a run that is killed are not lost.
_TELL_MILLISECONDS = 50
_FAILED: Final = 70
# A quick run; after any other the process ends.
_QUICK_SECONDS: Final = 0.25
_QUICK_MEMORY: Final = 64 << 20

Tell = Callable[[Message], None]


def serve(events: int) -> None:
    """Serve requests until there are no more."""
    requests: queue.SimpleQueue[Message] = queue.SimpleQueue()
    sender = BatchSender(events)
    # Not the main thread: there, each call of a solver would have one of its own, for Ctrl-C to be heard.
    threading.Thread(target=_run, args=(requests, sender), daemon=True).start()
    child_side.listen(requests.put, child_side.Idle(_TELL_MILLISECONDS, sender.flush))


def _run(requests: "queue.SimpleQueue[Message]", sender: BatchSender) -> None:
    """Serve the queue for as long as this process lives."""
    try:
        child_side.be_modest()
        while True:
            _run_all(requests.get(), sender)
    finally:
        os._exit(_FAILED)


def _run_all(request: Message, sender: BatchSender) -> None:
    """Do the runs one after another, until one is not quick or the time is over."""

    def tell(message: Message) -> None:
        sender.send(message)
        if message["kind"] == "problem":
            # Should the run end this process, the supervisor knows the problem.
            sender.flush()

    child_side.limit_memory(request["memory"])
    end = time.monotonic() + request["seconds"]
    again = True
    tasks = [task_from(run) for run in request["runs"]]
    for task in tasks:
        begin = time.monotonic()
        over = _over(task, request["memory"], tell)
        again = _may_go_on(task, over, time.monotonic() - begin)
        sender.send(over)
        if not again or time.monotonic() >= end or task is tasks[-1]:
            break
        # Should the next run end this process, the supervisor has the result of this one.
        sender.flush()
    sender.close({"kind": "done", "again": again})


def _over(task: Task, memory: int, tell: Tell) -> Message:
    """The result of a run; an error is one, too."""
    try:
        over = perform(task, memory, tell)
    except MemoryError:
        over = {"status": "killed", "error": "out of memory"}
    except Exception as error:
        over = {"status": "error", "error": f"{type(error).__name__}: {error}"[:1000]}
    # The memory of an outside program is in its result.
    return {"kind": "over", "cpu_total": cpu_seconds(), "peak_memory": peak_memory(), **over}


def _may_go_on(task: Task, over: Message, seconds: float) -> bool:
    """Whether the process is as good as new for another run."""
    ours = task.solver.command is None and not task.solver.back_ends
    quick = seconds < _QUICK_SECONDS and over["peak_memory"] < _QUICK_MEMORY
    clean = over.get("status") in ("optimal", "feasible", "infeasible", "unknown", "declined")
    return ours and quick and clean


def perform(task: Task, memory: int, tell: Tell) -> Message:
    """Do one run."""
    reset_peak_memory()
    solver = task.solver
    for name in solver.back_ends:
        missing = BACK_ENDS[name].how_to_get()
        if missing is not None:
            return {"missing": f"solver {name!r} needs {missing}"}
    try:
        graph = free_graph_of(task.source, solver.options) if "order" in solver.options else None
        problem = problem_of(task.source, solver.options) if graph is None else listed_problem(graph)
    except InputError as error:
        return {"unreadable": str(error.issues[0])[:300]}
    pressure = profile(problem.buffers)
    identity = digest(problem) if graph is None else graph_digest(graph)
    capacities = [pool.capacity for pool in problem.pools]
    tell(
        {
            "kind": "problem",
            "digest": identity,
            "features": features_of(problem, pressure, graph),
            "max_live": pressure.peak,
            "capacity": None if None in capacities else sum(filter(None, capacities)),
            "version": version_of(solver),
            "load": round(os.getloadavg()[0], 2),
        }
    )
    if solver.command is not None:
        return external_program.attempt(problem, task, solver.command, tell)
    if graph is not None:
        return attempt.attempt_graph(graph, problem, task, memory, tell)
    if "order" in solver.options:
        return {"status": "declined", "error": "it is a problem: there are no operators to be ordered"}
    return attempt.attempt(problem, identity, task, memory, tell)


def version_of(solver: SolverRequest) -> str:
    """The version of the solver."""
    if solver.command is not None:
        return external_program.version_of(solver.command, solver.folder)
    return attempt.version_of(solver.back_ends)
