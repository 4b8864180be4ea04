"""A back end as a solver like any other: what happens to its child stays with its child.

Children may have imported their back end already: that takes longer than most solves. `prepare` is called as
soon as a back end will be needed, `take` when it is. At most one child of a name waits; it ends with this
process.
"""

import atexit
import os
import threading
import time
from dataclasses import replace

from memstow.planner.backends.child import read_layout, write_layout, write_task
from memstow.planner.processes import machine
from memstow.planner.processes.frames import GarbageError, Message
from memstow.planner.processes.process import OUT_OF_TIME, Process, Terms, child_command, converse
from memstow.solvers.constraints import Relations
from memstow.solvers.core import Budget, unplaceable
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Examiner
from memstow.solvers.one_pool import MOST_ITEMS
from memstow.solvers.registry import BACK_ENDS, model
from memstow.solvers.solver import Listeners, ModelBound, Outcome, Task

_LAST_SECONDS = 5.0

_lock = threading.Lock()
_waiting: dict[str, Process] = {}


def prepare(name: str) -> None:
    """Start a child of this name, if none waits."""
    with _lock:
        spare = _waiting.get(name)
        if spare is not None and spare.alive():
            return
        if spare is not None:
            del _waiting[name]
            spare.close()
        _waiting[name] = Process(command_for(name))


def take(name: str) -> Process:
    """A child of this name: the one that waits, or a new one."""
    with _lock:
        spare = _waiting.pop(name, None)
    if spare is not None:
        if spare.alive():
            return spare
        spare.close()
    return Process(command_for(name))


def command_for(name: str) -> list[str]:
    """The command that starts a child of this back end."""
    return child_command("memstow.planner.backends.child", name)


def dismiss() -> None:
    """End every child that waits."""
    with _lock:
        idle = list(_waiting.values())
        _waiting.clear()
    for spare in idle:
        # This process may be about to end, so no thread can do it later.
        spare.close(wait=_LAST_SECONDS)


def _forget() -> None:
    """A forked process does not own the children of its parent."""
    global _lock
    _lock = threading.Lock()
    _waiting.clear()


atexit.register(dismiss)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# The child's own limit is a little earlier than the kill, so that its last result is not lost.
_MARGIN_SECONDS = 0.1
_MARGIN_SHARE = 0.03
# Killing a child and waiting for its end takes about this long, and is part of the limit.
_CLOSING_SECONDS = 0.05
# The share of the memory that a child may use by default.
_MEMORY_SHARE = 0.5


class IsolatedSolver:
    """Runs one back end in a child process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.summary = BACK_ENDS[name].summary
        self.supports = BACK_ENDS[name].supports

    def declines(self, task: Task) -> str | None:
        """The reason why the model cannot honour the task; None if it can."""
        return model(self.name).declines(task)

    def solve(self, task: Task, budget: Budget, listeners: Listeners) -> Outcome:
        """The best layout that the child has sent in time."""
        return self.solve_with(take(self.name), task, budget, listeners)

    def solve_with(self, process: Process, task: Task, budget: Budget, listeners: Listeners) -> Outcome:
        """The same with a given child, which is ended afterwards."""
        memory = task.memory or int(machine.memory() * _MEMORY_SHARE)
        seconds = None if task.deterministic else budget.seconds_left
        until = None if seconds is None else time.monotonic() + max(seconds - _CLOSING_SECONDS, 0.0)
        if seconds is not None:
            seconds = max(seconds - max(_MARGIN_SECONDS, seconds * _MARGIN_SHARE), seconds * 0.5)
        request = request_of(task, memory, seconds, budget)
        responses = ResponseReader(self.name, task, listeners)
        ended = converse(process, request, Terms(until, memory, lambda: budget.cancelled), responses.read)
        budget.count(responses.work)
        # The end of its time is no failure, even if it has not said so.
        failure = None if ended == OUT_OF_TIME else ended
        return _with_smaller_core(task, responses.outcome(failure), budget)


def _with_smaller_core(task: Task, outcome: Outcome, budget: Budget) -> Outcome:
    """The outcome with fewer items in `misfit` where the back end names all of them and there is one pool."""
    instance = task.instance
    if outcome.misfit is None or instance.pool_count != 1 or instance.item_count > MOST_ITEMS:
        return outcome
    if len(outcome.misfit) < instance.item_count:
        return outcome
    dead = unplaceable(instance, outcome.misfit, instance.capacity[0], budget)
    return replace(outcome, misfit=tuple(dead))


def request_of(task: Task, memory: int, seconds: float | None, budget: Budget) -> Message:
    """The request to a child."""
    return {
        "kind": "solve",
        "memory": memory,
        "seconds": seconds,
        "work": budget.work_left if task.deterministic else None,
        "task": write_task(task),
        "start": None if task.start is None or -1 in task.start.offset else write_layout(task.start),
    }


class ResponseReader:
    """Reads a child's messages. Layouts are checked; bounds are taken on trust."""

    def __init__(self, name: str, task: Task, listeners: Listeners) -> None:
        self._name = name
        self._task = task
        self._listeners = listeners
        self._examiner: Examiner | None = None
        self._layout: Layout | None = None
        self._values: tuple[int, ...] | None = None
        self._bounds: list[ModelBound] = []
        self._core: tuple[int, ...] | None = None
        self._failure: str | None = None
        self.work = 0

    def read(self, message: Message) -> None:
        """Read one message; GarbageError if it is not valid."""
        match message["kind"]:
            case "ready":
                pass
            case "layout":
                self._read_layout(read_layout(message.get("layout")))
            case "bound":
                self._read_bound(message)
            case "infeasible":
                self._read_infeasible(message.get("core"))
            case "done":
                failure = message.get("failure")
                self._failure = None if failure is None else str(failure)
                self.work = message["work"] if isinstance(message.get("work"), int) else 0
            case kind:
                raise GarbageError(f"a message of kind {kind!r}")

    def outcome(self, failure: str | None) -> Outcome:
        """The outcome of all messages; `failure` is the reason why the session ended early."""
        return Outcome(
            layout=self._layout,
            fits=self._layout is not None,
            values=self._values or (),
            solver=self._name,
            misfit=self._core,
            bounds=tuple(self._bounds),
            failure=failure or self._failure,
        )

    def _read_layout(self, layout: Layout) -> None:
        if self._examiner is None:
            self._examiner = Examiner(self._task, Relations(self._task.instance))
        values = self._examiner.values(layout)
        if values is None:
            raise GarbageError("a layout that breaks a constraint")
        if self._values is None or values < self._values:
            self._layout, self._values = layout, values
            if values:
                self._listeners.incumbent(self._name, values[0], layout)

    def _read_bound(self, message: Message) -> None:
        match message:
            case {"level": int(level), "value": int(value), "locks": list(locks)}:
                valid = 0 <= level < len(self._task.terms) and all(isinstance(lock, int) for lock in locks)
            case _:
                valid = False
        if not valid:
            raise GarbageError("an invalid bound")
        self._bounds.append(ModelBound(level, value, tuple(locks)))
        if level == 0:
            self._listeners.bound(self._name, value)

    def _read_infeasible(self, core: object) -> None:
        items = range(self._task.instance.item_count)
        if not isinstance(core, list) or not all(isinstance(x, int) and x in items for x in core):
            raise GarbageError("an invalid set of items that do not fit")
        if core or self._core is None:
            self._core = tuple(core) or tuple(items)
