"""The way of the JSON through the planner and back: the only file here that knows the planner."""

import json
import threading
from typing import cast

from memstow.planner.formats import read_plan, read_problem, write_plan
from memstow.planner.model.errors import DeclinedError, InputError
from memstow.planner.model.events import Event
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Problem
from memstow.planner.solve.engine import plan
from tests.independent.documents import PlanDocument, ProblemDocument
from tests.independent.runs import Run

Refused = InputError | DeclinedError


def read(problem: ProblemDocument) -> Problem:
    """Through the reader that every door has."""
    return read_problem(json.dumps(problem).encode())


def answer(problem: ProblemDocument, hint: PlanDocument | None, run: Run) -> PlanDocument | Refused:
    """The plan as it would be written to a file, or why there is none to be had."""
    try:
        read_in = read(problem)
        start = read_plan(json.dumps(hint).encode(), read_in) if hint is not None else None
        options = Options(
            solver=run.solver,
            gap=run.gap,
            time_limit=run.time_limit,
            work_limit=run.work_limit,
            deterministic=run.deterministic,
            workers=run.workers,
            seed=run.seed,
            hint=start,
        )
        stop = _Stop(run.cancelled_at)
        found = plan(read_in, options, on_event=stop.hear, cancel=stop.cancel)
        return cast(PlanDocument, json.loads(write_plan(read_in, found)))
    except (InputError, DeclinedError) as error:
        return error


class _Stop:
    """Ends the run at one of its events, counted from 0."""

    def __init__(self, at: int | None) -> None:
        self.cancel = threading.Event()
        self._left = at

    def hear(self, _event: Event) -> None:
        if self._left is None:
            return
        if self._left <= 0:
            self.cancel.set()
        self._left -= 1
