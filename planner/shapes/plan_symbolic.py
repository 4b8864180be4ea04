"""The door of plans of symbolic problems and graphs: offsets for every value, one order, or several.

In: a symbolic problem or graph, options, and the kind of plan. Out: a symbolic plan that the judge has
accepted.
"""

import threading

from memstow.planner.model.errors import InputError, require_kind
from memstow.planner.model.options import Listener, Options
from memstow.planner.model.symbolic import (
    MOST_ORDERS,
    Shapes,
    SymbolicGraph,
    SymbolicPlan,
    SymbolicProblem,
    unused_pieces,
)
from memstow.planner.shapes.symbolic_run import OnBetterPlan, PlanRequest, plan_problem


def plan_symbolic(
    problem: SymbolicProblem | SymbolicGraph,
    options: Options | None = None,
    *,
    shapes: Shapes = "order",
    pieces: int | None = None,
    on_event: Listener | None = None,
    on_better: OnBetterPlan | None = None,
    cancel: threading.Event | None = None,
) -> SymbolicPlan:
    """Lay out every value of the symbols, within the limits of the options.

    `shapes` says what the plan consists of: offsets for every value (fixed), an order from which they follow
    (order), or several orders (pieces), at most `pieces`, by default two. The plan of a graph has the order
    of its operators. When `cancel` is set, the best plan so far is returned. The judge has accepted every
    plan, also those that `on_better` hears of on the way. Raises InputError for a problem that contradicts
    itself, DeclinedError for what an order cannot honour.
    """
    if pieces is not None and not 1 <= pieces <= MOST_ORDERS:
        raise InputError.single("pieces", "pieces", f"use 1 to {MOST_ORDERS} orders")
    if pieces is not None and shapes != "pieces":
        raise InputError.single("unused_option", "pieces", unused_pieces(shapes))
    request = PlanRequest(shapes, pieces, on_event, on_better, cancel)
    if isinstance(problem, SymbolicGraph):
        # Problems do not wait for this import.
        from memstow.planner.shapes.graph_run import GraphRun

        return GraphRun(problem, options or Options(), request).plan()
    require_kind(problem, SymbolicProblem, "plan_symbolic takes a SymbolicProblem or a SymbolicGraph")
    return plan_problem(problem, options or Options(), request)
