"""The door of planning: which kind of document is to be planned, and in which form it is solved.

A problem of objects goes its way in `problem_plans.py`, or where it is large and plain in `column_plans.py`;
both make arrays of it, and `one_run.py` lets the solvers take their turns. A graph becomes a problem first
(`graphs.py`).
"""

import threading
from typing import TYPE_CHECKING

from memstow.planner.model.errors import require_kind
from memstow.planner.model.options import Callbacks, Listener, OnBetter, Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.solve.column_plans import plan_in_columns
from memstow.planner.solve.one_run import Progress
from memstow.planner.solve.problem_plans import Judge, plan_for_judge, prices_again, recount
from memstow.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from memstow.planner.model.graph import Graph
    from memstow.solvers.known import Known


def plan(
    problem: "Problem | Graph",
    options: "Options | None" = None,
    on_event: "Listener | None" = None,
    cancel: "threading.Event | None" = None,
    on_better: "OnBetter | None" = None,
    on_proof: "Callable[[bytes], None] | None" = None,
) -> "Plan":
    """Solve the problem or the graph within the options' limits.

    `on_event` and `on_better` are called from threads of the run. When `cancel` is set, the best plan so far
    is returned. The judge has accepted every plan. `on_proof` gets a proof of a plug-in, about the bytes of
    `write_problem`, if the checker accepts it and it shows more than memstow knew.
    Raises InputError for a problem that contradicts itself, UnknownSolverError, MissingBackEndError and
    DeclinedError for a solver that does not exist, is not installed, or cannot honour a constraint.
    """
    chosen = options or Options()
    require_kind(chosen, Options, "the options of a plan are memstow.Options")
    return run(problem, chosen, Callbacks(on_event, cancel, on_better, on_proof))


def run(problem: "Problem | Graph", options: Options, callbacks: Callbacks) -> Plan:
    """The same, where also what is proven may be heard."""
    if not isinstance(problem, Problem):
        # Most calls are about problems, and do not wait for this import.
        from memstow.planner.solve.graphs import plan_graph

        # A proof of one order is about no file of the caller.
        return plan_graph(problem, options, replace(callbacks, on_proof=None))
    return plan_problem(problem, options, callbacks)


def plan_problem(problem: Problem, options: Options, callbacks: Callbacks, judge: Judge = recount) -> Plan:
    """The plan of a problem that this judge accepts; plans in columns have a judge of their own."""
    progress = Progress(callbacks.on_event)
    in_columns = plan_in_columns(problem, options, callbacks, progress)
    return plan_for_judge(problem, options, callbacks, judge, progress) if in_columns is None else in_columns


def proven_again(
    document: "Problem | Graph", plan: Plan, options: Options, cancel: threading.Event
) -> "Known | None":
    """What the deterministic run of a plan has proven, by that run, where it is not at hand.

    None where no proof rests on that.
    """
    if isinstance(document, Problem):
        return prices_again(document, plan, options, cancel)
    # Most calls are about problems, and do not wait for this import.
    from memstow.planner.solve.free_orders import orders_again

    return orders_again(document, plan, options, cancel)
