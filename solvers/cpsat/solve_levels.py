"""Solves a task level by level with CP-SAT, alone or as a master; explains it where nothing fits."""

import time
from collections.abc import Callable

from memstow.solvers.instance import Layout
from memstow.solvers.models.layout_check import Examiner
from memstow.solvers.models.levels import Solves, lexicographic
from memstow.solvers.models.model import Limits, Report, Verdict
from memstow.solvers.models.relations import Relations
from memstow.solvers.solver import Task

Search = Callable[[Task, Relations, int | None], Solves]
"""Makes the solver of levels, given the first term's value in a known layout."""


def solve_levels(task: Task, start: Layout | None, limits: Limits, report: Report, search: Search) -> Verdict:
    """Solve level by level; if nothing fits, look for a small set of items that does not fit."""
    begin = time.monotonic()
    relations = Relations(task.instance)

    def make(values: tuple[int, ...] | None) -> Solves:
        return search(task, relations, values[0] if values else None)

    verdict = lexicographic(task, Examiner(task, relations), start, limits, report, make)
    if not verdict.infeasible:
        return verdict
    from memstow.solvers.cpsat.explain import smallest_core

    report.infeasible()
    seconds_left = None if limits.seconds is None else limits.seconds - (time.monotonic() - begin)
    return Verdict(infeasible=True, core=smallest_core(task, limits, seconds_left), work=verdict.work)
