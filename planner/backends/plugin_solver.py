"""A solver of another package as a solver like any other, in a process of its own.

It reads no arrays: the task has the problem by name as well (`Named`). A plan counts once the judge has
accepted it, what it claims only as far as the judge or the checker of proofs can check that.
"""

import time
from collections.abc import Callable
from typing import Final

from memstow.planner.model.errors import DeclinedError, PlugInError
from memstow.planner.plugins.installed import PlugIn
from memstow.planner.plugins.process import ask, failed, start
from memstow.planner.processes import machine
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import OUT_OF_TIME, Terms
from memstow.solvers.core import Budget
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, ModelBound, Named, Outcome, Proof, Shown, Task

# The plug-in is to return a little earlier than its process is ended, so that its last plan is not lost.
_MARGIN_SECONDS: Final = 0.1
_MARGIN_SHARE: Final = 0.03
# Ending the process and waiting for that takes about this long, and is part of the limit.
_CLOSING_SECONDS: Final = 0.05
_MEMORY_SHARE: Final = 0.5
# A deterministic run is bounded by work, which only the plug-in counts: what never ends fails after this.
_ENDLESS_SECONDS: Final = 3600.0


class PlugInSolver:
    """Runs the solver of another package."""

    def __init__(self, plug_in: PlugIn) -> None:
        self.name = plug_in.name
        self.summary = f"a plug-in of {plug_in.origin}"
        self.supports = "what it does not decline"
        self._plug_in = plug_in

    def declines(self, _task: Task) -> str | None:
        """Nothing: to find out, its process has to be started. `solve` raises DeclinedError."""
        return None

    def solve(self, task: Task, budget: Budget, listeners: Listeners) -> Outcome:
        """The best plan that it has sent in time; PlugInError where it fails without one."""
        if task.named is None:
            raise AssertionError("a solver of another package needs the problem by name")
        reader = _Reader(self._plug_in, task, task.named, listeners)
        seconds = None if task.deterministic else budget.seconds_left
        left = _ENDLESS_SECONDS if seconds is None else max(seconds - _CLOSING_SECONDS, 0.0)
        memory = task.memory or int(machine.memory() * _MEMORY_SHARE)
        terms = Terms(time.monotonic() + left, memory, lambda: budget.cancelled)
        request = _request(task, task.named, seconds, memory, budget)
        process = start(self._plug_in)
        try:
            answer, ended = ask(process, request, terms, reader.read)
            failure = self._failure(answer, ended, reader, budget, is_timed=seconds is not None)
        except PlugInError as error:
            if reader.layout is None:
                raise
            failure = str(error)
        finally:
            process.close()
        # A run that was ended has what it wants, or nobody waits for it.
        stop = _stop_of(budget, is_timed=seconds is not None)
        shown = Shown() if budget.cancelled else task.named.shown(stop)
        claim = None
        if not shown.nothing_fits:
            has_plan = reader.layout is not None
            claim = task.named.claim(next(iter(task.lower_bounds), None), has_plan=has_plan)
        return Outcome(
            layout=reader.layout,
            fits=reader.layout is not None,
            values=reader.values,
            solver=self.name,
            proof=Proof(shown.bounds[0], ()) if shown.bounds else None,
            misfit=tuple(range(task.instance.item_count)) if shown.nothing_fits else None,
            bounds=tuple(
                ModelBound(term, bound, shown.locks[:term], searches=1)
                for term, bound in enumerate(shown.bounds)
            )[1:],
            failure=failure,
            claim=claim,
            refused=shown.refused,
        )

    def _failure(
        self, answer: Message, ended: str | None, reader: "_Reader", budget: Budget, *, is_timed: bool
    ) -> str | None:
        """Why it ended early, where it has a plan all the same or nothing is wrong; else PlugInError."""
        declined = answer.get("declined")
        if isinstance(declined, str):
            raise DeclinedError(f"solver {self.name!r} cannot honour {declined}; use 'auto'")
        if ended is None:
            if isinstance(answer.get("plan"), bytes):
                reader.read(answer)
            return None
        if budget.cancelled:
            return None
        if ended == OUT_OF_TIME and is_timed:
            return "it did not return in time, and was ended"
        raise failed(self._plug_in, ended)


def _stop_of(budget: Budget, *, is_timed: bool) -> Callable[[], bool]:
    """When the check of a proof ends: with the run, and in any case some time."""
    left = (budget.seconds_left or 0.0) if is_timed else _ENDLESS_SECONDS
    until = time.monotonic() + left
    return lambda: budget.cancelled or time.monotonic() >= until


def _request(task: Task, named: Named, seconds: float | None, memory: int, budget: Budget) -> Message:
    if seconds is not None:
        seconds = max(seconds - max(_MARGIN_SECONDS, seconds * _MARGIN_SHARE), seconds * 0.5)
    return {
        "kind": "call",
        "call": "solve",
        "memory": memory,
        "seconds": _ENDLESS_SECONDS if seconds is None else seconds,
        "until": None if seconds is None else time.monotonic() + seconds,
        "work": budget.work_left if task.deterministic else None,
        "seed": task.seed,
        "workers": task.workers,
        "deterministic": task.deterministic,
        "problem": named.document(),
        "hint": named.hint(),
    }


class _Reader:
    """Reads the plans that a plug-in sends, and keeps the best."""

    def __init__(self, plug_in: PlugIn, task: Task, named: Named, listeners: Listeners) -> None:
        self._plug_in = plug_in
        self._task = task
        self._named = named
        self._listeners = listeners
        self.layout: Layout | None = None
        self.values: tuple[int, ...] = ()

    def read(self, message: Message) -> None:
        """Read one message; PlugInError if it is not a plan, or one that the judge refuses."""
        data = message.get("plan")
        if not isinstance(data, bytes):
            if message["kind"] == "ready":
                return
            raise failed(self._plug_in, "it sent something else than plans")
        proof = message.get("proof")
        if not isinstance(proof, bytes | None):
            raise failed(self._plug_in, "it sent a proof that is no bytes")
        received = self._named.read(data, self._plug_in.name, proof)
        if received is None:
            return
        if self.layout is None or received.values < self.values:
            self.layout, self.values = received.layout, received.values
            if self.values:
                self._listeners.incumbent(self._plug_in.name, self.values[0], received.layout)
