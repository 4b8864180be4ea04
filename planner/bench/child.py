"""The child process of a supervisor: reads, solves and judges one run after another.

A run of a solver of memstow is repeated here until it can be measured; that of an outside program, in
`external_program`.
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Final

import memstow
from memstow.planner.bench import external_program
from memstow.planner.bench.instances import free_graph_of, problem_of
from memstow.planner.bench.judgement import (
    Judge,
    Judgement,
    Tell,
    checked_by,
    judged,
    judgement_of,
    outcome,
    seconds_for_proof,
)
from memstow.planner.bench.task import SolverRequest, Task, task_from
from memstow.planner.bench.usage import (
    ResourceUsage,
    Stopwatch,
    cpu_seconds,
    peak_memory,
    repeat_short_run,
    reset_peak_memory,
)
from memstow.planner.graph.graph_document import graph_digest
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import DeclinedError, InputError, MemstowError, PlugInError
from memstow.planner.model.features import features_of
from memstow.planner.model.graph import FREE, Graph
from memstow.planner.model.options import Bound, Callbacks, Event, Incumbent, Listener, Options, Phase
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem, counted_once, profile
from memstow.planner.processes import child_side
from memstow.planner.processes.child_side import write_all
from memstow.planner.processes.frames import Message, pack
from memstow.planner.solve.graphs import LEAST_PEAK, plan_by
from memstow.planner.solve.problem_plans import plan_for_judge
from memstow.planner.verify import verify
from memstow.solvers.registry import BACK_ENDS, is_ours


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


_DIGITS: Final = 6
# Events are sent this often, so that those of a run that is killed are not lost.
_TELL_MILLISECONDS = 50
_FAILED: Final = 70
# A quick run; after any other the process ends.
_QUICK_SECONDS: Final = 0.25
_QUICK_MEMORY: Final = 64 << 20


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
    ours = task.solver.command is None and is_ours(task.solver.name) and not task.solver.back_ends
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
    pressure = profile(counted_once(problem))
    identity = digest(problem) if graph is None else graph_digest(graph)
    capacities = [pool.capacity for pool in problem.pools]
    tell(
        {
            "kind": "problem",
            "digest": identity,
            "features": features_of(problem, pressure, graph),
            "max_live": pressure.peak,
            "capacity": None if None in capacities else sum(filter(None, capacities)),
            "version": _version_of(solver),
            "load": round(os.getloadavg()[0], 2),
        }
    )
    if solver.command is not None:
        return external_program.attempt(problem, task, solver.command, tell)
    if graph is not None:
        return _attempt_graph(graph, problem, task, memory, tell)
    if "order" in solver.options:
        return {"status": "declined", "error": "it is a problem: there are no operators to be ordered"}
    return _attempt(problem, identity, task, memory, tell)


def _version_of(solver: SolverRequest) -> str:
    """The version of a program, or those of memstow and of the packages that its solver needs."""
    if solver.command is not None:
        return external_program.version_of(solver.command, solver.folder)
    if not is_ours(solver.name):
        from memstow.planner.plugins.installed import find

        plug_in = find("solver", solver.name)
        return memstow.__version__ if plug_in is None else f"{memstow.__version__} {plug_in.origin}"
    needed = dict.fromkeys(package for name in solver.back_ends for package in BACK_ENDS[name].needs)
    return " ".join((memstow.__version__, *(f"{package} {version(package)}" for package in needed)))


# The share of the memory of a run that the process of a model may use: the rest is for its parent.
_MODEL_SHARE = 0.8


class EventSender:
    """Sends each better value and bound once; keeps why a solver gave up."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._incumbent: int | None = None
        self._bound: int | None = None
        self.failure: str | None = None

    def hear(self, event: Event) -> None:
        """Take note of an event of the run."""
        match event:
            case Phase() if event.is_note:
                self.failure = event.name
            case Incumbent() if self._incumbent is None or event.value < self._incumbent:
                self._incumbent = event.value
                self._send(event.seconds, incumbent=event.value)
            case Bound() if self._bound is None or event.value > self._bound:
                self._bound = event.value
                self._send(event.seconds, bound=event.value)

    def _send(self, seconds: float, **value: int) -> None:
        self._tell({"kind": "event", "seconds": round(seconds, _DIGITS), **value})


def _attempt(problem: Problem, digest: str, task: Task, memory: int, tell: Tell) -> Message:
    """Solve and judge; return the fields of the record."""
    judge = Judge(problem, digest)
    # With a judge of its own: this one remembers the plan of the first run.
    other = Judge(problem, digest)
    options = _options(task.solver, task.seed, memory)
    proofs: list[bytes] = []
    return _measured(
        lambda hear: plan_for_judge(problem, options, Callbacks(hear, on_proof=proofs.append), judge.judge),
        lambda hear: plan_for_judge(problem, options, Callbacks(hear), other.judge),
        lambda plan: judgement_of(problem, plan, judge),
        problem,
        task,
        tell,
        proofs,
    )


def _attempt_graph(graph: Graph, problem: Problem, task: Task, memory: int, tell: Tell) -> Message:
    """The same for a graph, in the order of the solver of orders; `problem`: that of its listed order."""
    options = _options(task.solver, task.seed, memory)
    order = task.solver.options["order"]
    solver = LEAST_PEAK if order == FREE else order

    def run(hear: Listener) -> Plan:
        return plan_by(graph, solver, options, Callbacks(on_event=hear))

    return _measured(run, run, lambda plan: judged(verify(graph, plan), problem, plan), graph, task, tell)


_Run = Callable[[Listener], Plan]


def _measured(
    run: _Run,
    repeat: _Run,
    judgement: Callable[[Plan], Judgement],
    planned: Problem | Graph,
    task: Task,
    tell: Tell,
    proofs: Sequence[bytes] = (),
) -> Message:
    """Run, repeat and judge it; `proofs` are those that the checker has accepted by then."""
    sender = EventSender(tell)
    stopwatch = Stopwatch()
    try:
        plan = run(sender.hear)
    except DeclinedError as error:
        return {"status": "declined", "error": str(error), **stopwatch.usage().values()}
    except PlugInError as error:
        if not error.codes:
            return {"status": "error", "error": str(error)[:1000], **stopwatch.usage().values()}
        judged_as = {"valid": False, "violations": sorted(set(error.codes)), "checked": None}
        refused = {"status": "invalid", "judged": judged_as, "error": str(error)[:1000]}
        return {**refused, **stopwatch.usage().values()}
    except MemstowError as error:
        return {"status": "error", "error": str(error)[:1000], **stopwatch.usage().values()}
    used = repeat_short_run(stopwatch.usage(), lambda: _repeat(repeat), task.solver.repeat_seconds)
    tell({"kind": "judging"})
    verdict = judgement(plan)
    known = proofs[0] if proofs else None
    checked = checked_by(planned, plan, seconds_for_proof(used.seconds), known) if verdict.valid else None
    return {**outcome(verdict, plan, checked, known), **used.values(), "error": sender.failure}


def _repeat(run: _Run) -> ResourceUsage | None:
    """Do the run again for its times alone; None if it fails."""
    stopwatch = Stopwatch()
    try:
        run(lambda _event: None)
    except MemstowError:
        return None
    return stopwatch.usage()


def _options(solver: SolverRequest, seed: int, memory: int) -> Options:
    options = solver.options
    return Options(
        solver=solver.name,
        time_limit=float(options["time_limit"]),
        gap=float(options["gap"]),
        deterministic=options["deterministic"],
        work_limit=options["work_limit"],
        workers=options["workers"],
        memory_limit=int(memory * _MODEL_SHARE),
        seed=seed,
    )
