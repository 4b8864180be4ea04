"""One task by CP-SAT, alone or as a master: level by level, and an explanation where nothing fits."""

import time
from collections.abc import Callable

from memstow.solvers.instance import Layout
from memstow.solvers.models.layout_check import Examiner
from memstow.solvers.models.levels import Solves, lexicographic
from memstow.solvers.models.model import Limits, Report, Verdict
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import Task

Search = Callable[[Task, Relations, int | None], Solves]
"""What solves a level, given the value that a known layout has for the first term."""


def solve_levels(task: Task, start: Layout | None, limits: Limits, report: Report, search: Search) -> Verdict:
    """What is known when all levels are solved, the time is over, or nothing can fit."""
    begin = time.monotonic()
    relations = Relations(task.instance)

    def make(values: tuple[int, ...] | None) -> Solves:
        return search(task, relations, values[0] if values else None)

    verdict = lexicographic(task, Examiner(task, relations), start, limits, report, make)
    if not verdict.infeasible:
        return verdict
    from memstow.solvers.cpsat.explain import smallest_core

    report.infeasible()
    left = None if limits.seconds is None else limits.seconds - (time.monotonic() - begin)
    return Verdict(infeasible=True, core=smallest_core(task, limits, left), work=verdict.work)
