"""CP-SAT of OR-tools: the reference for every constraint and every term of the objective.

Nothing here imports OR-tools until a solve needs it.
"""

import time
from collections.abc import Callable

from memstow.solvers.constraints import Relations, highest_stack, too_many_in_banks
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Examiner, Limits, Report, Solves, Verdict, lexicographic
from memstow.solvers.solver import SUM_TERMS, Task, choice_weights, largest_sum

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
    from memstow.solvers.cpsat_model import smallest_core

    report.infeasible()
    seconds_left = None if limits.seconds is None else limits.seconds - (time.monotonic() - begin)
    return Verdict(infeasible=True, core=smallest_core(task, limits, seconds_left), work=verdict.work)


# Sums inside CP-SAT must stay below 2^63; this leaves a factor of two.
_MOST = 1 << 61


class CpSat:
    """The constraint model, solved by CP-SAT."""

    name = "cpsat"
    summary = (
        "constraint model on OR-tools CP-SAT: every constraint and term, proofs, two-dimensional packing"
    )

    def declines(self, task: Task) -> str | None:
        """It declines only numbers that it cannot add up."""
        instance = task.instance
        height = min(max(instance.capacity, default=0), highest_stack(task))
        moments = len(instance.life_begin) + len(instance.life_end) + 1
        if height * max(moments, instance.pool_count) >= _MOST:
            return f"heights of {height:,} units over {moments:,} moments: their area passes 2^61"
        crowded = too_many_in_banks(instance)
        if crowded is not None:
            return crowded
        # Most are so small that even all choices together would do.
        costs = (
            largest_sum(instance, kind) for kind in SUM_TERMS if sum(choice_weights(instance, kind)) >= _MOST
        )
        if max(*costs, sum(instance.reuse[2::3]), sum(instance.bank_costs[2::3])) >= _MOST:
            return "costs that add up to more than 2^61"
        return None

    def warm(self) -> None:
        """Import OR-tools."""
        from ortools.sat.python import cp_model

        from memstow.solvers import cpsat_model

        _ = cp_model, cpsat_model

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve level by level; explain if nothing fits."""
        from memstow.solvers.cpsat_model import Search

        return solve_levels(task, start, limits, report, Search)


def make(_name: str) -> CpSat:
    """The back end."""
    return CpSat()
