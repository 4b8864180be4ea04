"""Whether the solver that a caller named can honour what a front is asked of."""

from contextlib import suppress
from dataclasses import replace

from memstow.planner.front.request import FrontRequest
from memstow.planner.front.two_terms import two_terms
from memstow.planner.model.errors import MissingBackEndError
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import Kind, Problem, counts, terms_of
from memstow.planner.reduce import reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.portfolio import require_willing, solver_by_name
from memstow.planner.solve.run_state import task_of


def require_willing_solver(document: Problem | Graph, request: FrontRequest) -> None:
    """Raise DeclinedError where the first solve of the front would.

    A solver that is not installed here may be where the work is done.
    """
    with suppress(MissingBackEndError):
        solver = solver_by_name(request.options.solver)
        if solver is None:
            return
        problem, options = _first_solve(document, request)
        reduction = reduce(problem, options.hint if counts(problem, Kind.MOVES) else None)
        if isinstance(reduction, Explanation) or Bounds(reduction).misfit() is not None:
            return
        task, _ = task_of(reduction, dict.fromkeys(terms_of(problem), 0), options)
        require_willing(solver, task)


def _first_solve(document: Problem | Graph, request: FrontRequest) -> tuple[Problem, Options]:
    if isinstance(document, Problem):
        return two_terms(document, request.terms).limited_first(), request.options
    from memstow.planner.front.graph_terms import counted_pool
    from memstow.planner.graph.lowering import scheduled_problem

    problem, pool = scheduled_problem(document, None), counted_pool(document, request)
    aimed = problem if pool is None else replace(problem, objective=(f"peak:{pool}",))
    return aimed, replace(request.options, hint=None)
