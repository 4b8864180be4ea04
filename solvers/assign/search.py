"""Solves a task level by level, with one master and one packer for all terms."""

from functools import partial

from memstow.solvers import _native
from memstow.solvers.assign.master import Master
from memstow.solvers.assign.packing import Packer
from memstow.solvers.assign.turns import Turns
from memstow.solvers.models.levels import Answer, Best, Level
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import Task


class Search:
    """The master and the packer of a task."""

    def __init__(self, task: Task, relations: Relations, first: int | None) -> None:
        self._task = task
        self._relations = relations
        self._master: Master | None = None
        self._make = partial(Master, task, relations, first)
        self._packer = Packer(task, relations.item_of)

    def solve(self, level: Level, best: Best) -> Answer:
        """Minimise one term."""
        budget = _native.Budget(
            -1.0 if level.seconds is None else level.seconds, -1 if level.work is None else level.work
        )
        if self._master is None:
            self._master = self._make()
        self._master.ask(level.term, level.locks)
        turns = Turns(self._task, self._relations, self._master, self._packer, level, best, budget)
        answer = turns.run()
        return Answer(answer.ended, answer.bound, budget.work, answer.failure)
