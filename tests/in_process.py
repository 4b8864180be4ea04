"""Back ends run in this process: all that goes to a child and back travels, and only the child is left out.

Starting one for each of thousands of tiny problems takes fifty times as long as solving them.
"""

from contextlib import suppress
from importlib import import_module

import pytest

from memstow.planner.backends import isolated_solver
from memstow.planner.backends.child import ReportSender, solve
from memstow.planner.backends.isolated_solver import IsolatedSolver, ResponseReader, request_of
from memstow.planner.processes.frames import Message, Reader, pack
from memstow.solvers import _native
from memstow.solvers.registry import model
from memstow.solvers.solver import Listeners, Outcome, Task


class _Wire(ReportSender):
    """Hands each message on as it comes out at the other end."""

    def __init__(self, responses: ResponseReader) -> None:
        self._responses = responses

    def send(self, message: Message) -> None:
        """Hear it at once."""
        self._responses.read(_travelled(message))


def run_back_ends_in_process(monkeypatch: pytest.MonkeyPatch, *, with_highs: bool = False) -> None:
    """Until the test ends; `with_highs` in a process where no other back end is to run."""
    if not with_highs:
        # PuLP, for CBC, imports highspy: after its copy of HiGHS that of OR-tools cannot be loaded.
        with suppress(ModuleNotFoundError):
            import_module("ortools.sat.python.cp_model")
    monkeypatch.setattr(IsolatedSolver, "solve", _solve)
    monkeypatch.setattr(isolated_solver, "prepare", lambda _name: None)


def _solve(isolated: IsolatedSolver, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
    responses = ResponseReader(isolated.name, task, listeners)
    request = _travelled(request_of(task, 0, budget.seconds_left, budget))
    wire = _Wire(responses)
    wire.send(solve(model(isolated.name), request, wire))
    budget.count(responses.work)
    return responses.outcome(None)


def _travelled(message: Message) -> Message:
    [received] = Reader().feed(pack(message))
    return received
