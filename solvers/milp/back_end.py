"""The back ends of the integer program: the same program, run by CBC or by HiGHS."""

from functools import partial
from importlib import import_module

from memstow.solvers.instance import Layout
from memstow.solvers.milp.numbers import too_large
from memstow.solvers.models.layout_check import Examiner
from memstow.solvers.models.levels import lexicographic
from memstow.solvers.models.model import Limits, Report, Verdict
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import Task


class IntegerProgram:
    """The integer program, solved by CBC or HiGHS, which are imported when needed."""

    def __init__(self, name: str, home: str) -> None:
        self.name = name
        self._home = home

    def declines(self, task: Task) -> str | None:
        """It declines only numbers beyond the tolerances of the solvers."""
        return too_large(task)

    def warm(self) -> None:
        """Import PuLP and the solver."""
        import_module(self._home)

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve level by level."""
        relations = Relations(task.instance)
        make = partial(import_module(self._home).make, task, relations)
        verdict = lexicographic(task, Examiner(task, relations), start, limits, report, make)
        if verdict.infeasible:
            report.infeasible()
        return verdict
