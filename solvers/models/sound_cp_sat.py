"""CP-SAT without steps that are known to prove what is not so, and its bounds as far as they are exact."""

from collections.abc import Callable
from typing import Final

from ortools.sat.python import cp_model

MOST_EXACT: Final = 1 << 53
"""A bound is read from a float, which holds integers exactly up to here."""


def sound_solver() -> cp_model.CpSolver:
    """A solver that leaves out two steps of OR-tools 9.15 which lose solutions.

    The one keeps coefficients of two-variable constraints in 32 bits: with numbers of 2^31, and with less
    where products pass it, models that have a solution were infeasible. The other adds up coefficients of
    Booleans in 32 bits, and takes a sum that it gave up half way for a whole one; it then drops the condition
    of a constraint (google/or-tools#5293, #5294). `tests/solvers/models/test_large_numbers.py` fails with
    either.
    """
    solver = cp_model.CpSolver()
    solver.parameters.auto_detect_greater_than_at_least_one_of = False
    solver.parameters.presolve_inclusion_work_limit = 0
    return solver


def proven_bound(solver: cp_model.CpSolver, cp: cp_model.CpModel) -> int | None:
    """The proven bound in integers, as CP-SAT has it internally; valid however the solve ended."""
    offset = cp.proto.objective.offset
    if abs(offset) > MOST_EXACT:
        return None
    return int(solver.response_proto.inner_objective_lower_bound) + round(offset)


def tell_bounds(solver: cp_model.CpSolver, tell: Callable[[int], None]) -> None:
    """Have it tell its bounds while it runs, as far as the floats that it reports are exact."""

    def on_bound(bound: float) -> None:
        if abs(bound) < MOST_EXACT:
            tell(round(bound))

    solver.best_bound_callback = on_bound
