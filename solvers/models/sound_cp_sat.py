"""CP-SAT without the steps that are known to prove what is not so."""

from ortools.sat.python import cp_model


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
