"""Which pool and which offset, together: a master decides the pools, the native packing each pool's offsets.

The master (CP-SAT) knows what is live at each moment, but no offsets, so its optimum is a bound. What it
proposes is packed pool by pool. Items that turn out not to share a pool come back to it as a cut.

Nothing here imports OR-tools until a solve needs it.
"""

from memstow.solvers.cpsat import CpSat
from memstow.solvers.cpsat.solve_levels import solve_levels
from memstow.solvers.instance import Layout
from memstow.solvers.models.model import Limits, Report, Verdict
from memstow.solvers.solver import Task


class Assign:
    """The master and the packing, in turns."""

    name = "assign"
    summary = "pools by a CP-SAT master, offsets by the native packing, cuts between the two"

    def declines(self, task: Task) -> str | None:
        """It honours everything whose numbers CP-SAT can add up."""
        return CpSat().declines(task)

    def warm(self) -> None:
        """Import OR-tools."""
        from ortools.sat.python import cp_model

        from memstow.solvers.assign import search
        from memstow.solvers.cpsat import explain

        _ = cp_model, search, explain

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve level by level; explain what cannot fit."""
        from memstow.solvers.assign.search import Search

        return solve_levels(task, start, limits, report, Search)


def make(_name: str) -> Assign:
    """The back end."""
    return Assign()
