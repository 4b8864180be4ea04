"""Several pools: a master chooses the pool of each item, native searches the offsets in each pool.

The master (CP-SAT) knows the bytes live at each time but no offsets, so its optimum is a bound. Its proposal
is packed pool by pool. Items that do not fit in one pool together come back to it as a cut.

Nothing here imports OR-tools until a solve needs it.
"""

from memstow.solvers.cpsat import CpSat, solve_levels
from memstow.solvers.instance import Layout
from memstow.solvers.lexicographic import Limits, Report, Verdict
from memstow.solvers.solver import Task


class Assign:
    """Master and packing in turns."""

    name = "assign"
    summary = "pools by a CP-SAT master, offsets by the native packing, cuts between the two"

    def declines(self, task: Task) -> str | None:
        """It declines banks, and numbers that CP-SAT cannot add up."""
        return task.banks or CpSat().declines(task)

    def warm(self) -> None:
        """Import OR-tools."""
        from ortools.sat.python import cp_model

        from memstow.solvers import cpsat_model
        from memstow.solvers.assign import turns

        _ = cp_model, turns, cpsat_model

    def solve(self, task: Task, start: Layout | None, limits: Limits, report: Report) -> Verdict:
        """Solve level by level; explain if nothing fits."""
        from memstow.solvers.assign.turns import Search

        return solve_levels(task, start, limits, report, Search)


def make(_name: str) -> Assign:
    """The back end."""
    return Assign()
