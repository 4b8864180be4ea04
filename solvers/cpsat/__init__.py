"""CP-SAT of OR-tools: the reference for every constraint and every term of the objective.

Nothing here imports OR-tools until a solve needs it.
"""

from memstow.solvers.cpsat.solve_levels import solve_levels
from memstow.solvers.instance import Layout
from memstow.solvers.models.model import Limits, Report, Verdict
from memstow.solvers.models.places import highest_stack
from memstow.solvers.solver import SUM_TERMS, Task, largest_sum

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
        costs = (largest_sum(instance, kind) for kind in SUM_TERMS)
        if max(*costs, sum(instance.reuse[2::3])) >= _MOST:
            return "costs that add up to more than 2^61"
        return None

    def warm(self) -> None:
        """Import OR-tools."""
        from ortools.sat.python import cp_model

        from memstow.solvers.cpsat import build, search

        _ = cp_model, build, search

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve level by level; explain if nothing fits."""
        from memstow.solvers.cpsat.search import Search

        return solve_levels(task, start, limits, report, Search)


def make(_name: str) -> CpSat:
    """The back end."""
    return CpSat()
