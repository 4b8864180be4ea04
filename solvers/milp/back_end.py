"""The back ends of the integer program: the same program, run by CBC or by HiGHS."""

from functools import partial
from importlib import import_module
from itertools import islice

from memstow.solvers.instance import Layout
from memstow.solvers.milp.numbers import too_large
from memstow.solvers.models.layout_check import Examiner
from memstow.solvers.models.levels import lexicographic
from memstow.solvers.models.model import Limits, Report, Verdict
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import Task

# Pairs times pools. What CBC does before its first node, which nothing limits, took 8 s with 4,300 and more
# than 40 s with 5,400.
_MOST_CHOICES = 4_000


def _unlimited(task: Task) -> str | None:
    """The message that a run which only counts nodes would not end; None if it does."""
    if not task.deterministic:
        return None
    instance = task.instance
    pools = len(instance.capacity)
    most = _MOST_CHOICES // pools
    pairs = sum(1 for _ in islice(Relations(instance).all_pairs(), most + 1))
    if pairs <= most:
        return None
    return (
        f"more than {most:,} pairs of buffers in conflict, the most for so many pools: only a time limit "
        "bounds the work on them; leave `deterministic` out"
    )


class IntegerProgram:
    """The integer program, solved by CBC or HiGHS, which are imported when needed."""

    def __init__(self, name: str, home: str) -> None:
        self.name = name
        self._home = home

    def declines(self, task: Task) -> str | None:
        """It declines numbers beyond the tolerances of the solvers, and work that nothing would limit."""
        return too_large(task) or _unlimited(task)

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
