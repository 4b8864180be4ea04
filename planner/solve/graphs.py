"""Plans of graphs: which orders of the operators are planned, and the choice among alternatives."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from memstow.planner.graph.check import require_valid
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.model.graph import FREE, GIVEN, Graph
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import Plan
from memstow.planner.solve.one_run import better
from memstow.planner.solve.schedules import NOTHING, plan_in_order, plan_schedule, with_order_bound
from memstow.records import replace
from memstow.solvers.core import Budget

if TYPE_CHECKING:
    from memstow.planner.graph.stripe_front import Candidate


_READ: Final = "read_problem reads a document"
_SYMBOLIC: Final = ("SymbolicProblem", "SymbolicGraph")
LEAST_PEAK: Final = "order"
"""The solver of orders that looks for the best one."""


def plan_graph(graph: Graph, options: Options, callbacks: Callbacks) -> Plan:
    """Solve the graph within the options' limits; the plan has the order of its operators."""
    _require_graph(graph)
    require_valid(graph)
    if options.hint is not None:
        # Most graphs are planned without one, and do not wait for this import.
        from memstow.planner.graph.schedules import require_hint_of_orders

        require_hint_of_orders(graph, options.hint)
    if graph.alternatives:
        return plan_with_alternatives(graph, options, callbacks)
    return plan_without_alternatives(graph, options, callbacks)


def _require_graph(graph: object) -> None:
    if not isinstance(graph, Graph):
        kind = type(graph).__name__
        instead = "plan_symbolic is for sizes that are formulas" if kind in _SYMBOLIC else _READ
        raise TypeError(f"plan takes a Problem or a Graph, not {kind}: memstow.{instead}")


def plan_without_alternatives(graph: Graph, options: Options, callbacks: Callbacks) -> Plan:
    """The plan of a valid graph whose operators all run as they are."""
    if graph.order == GIVEN:
        return plan_in_order(graph, listed_order(graph), options, callbacks, None)
    return plan_by(graph, LEAST_PEAK if graph.order == FREE else graph.order, options, callbacks)


def plan_by(graph: Graph, solver: str, options: Options, callbacks: Callbacks) -> Plan:
    """The plan in the order of this solver of orders, of a valid graph whose operators may run in any."""
    # Graphs whose order is given do not wait for this import.
    from memstow.planner.solve.free_orders import FreeRun

    return FreeRun(graph, solver, options, callbacks).plan()


# Of the limits: to place what runs as the graph says; and to choose.
_FIRST_SHARE: Final = 0.4
_CHOICE_SHARE: Final = 0.2


def plan_with_alternatives(graph: Graph, options: Options, callbacks: Callbacks) -> Plan:
    """The best plan of a valid graph in the orders that are known, with or without its alternatives."""
    first = _as_given(graph, _part(options, _FIRST_SHARE), callbacks)
    orders = [listed_order(graph)]
    if first.schedule is not None:
        index = links_of(graph).operator_index
        orders.append([index[name] for name in first.schedule.order])
    chosen = min(
        (entry for order in orders for entry in _chosen(graph, order, options)), key=_by_bytes, default=None
    )
    if chosen is None:
        return first
    rest = _part(options, 1 - _FIRST_SHARE - _CHOICE_SHARE)
    plan = with_order_bound(graph, plan_schedule(graph, chosen.schedule, rest, callbacks), NOTHING)
    best = plan if better(plan, first) else first
    return replace(best, seconds=round(first.seconds + plan.seconds, 6), work=first.work + plan.work)


def _as_given(graph: Graph, options: Options, callbacks: Callbacks) -> Plan:
    if graph.order == GIVEN:
        return plan_in_order(graph, listed_order(graph), options, callbacks, NOTHING)
    return plan_without_alternatives(graph, options, callbacks)


def _chosen(graph: Graph, order: Sequence[int], options: Options) -> "list[Candidate]":
    """The choice of the least live bytes in an order; nothing where that has no alternative."""
    # Few graphs have alternatives; the others do not wait for these imports.
    from fractions import Fraction

    from memstow.planner.graph.operators import operator_costs
    from memstow.planner.graph.order_front import order_front
    from memstow.solvers.graph_programs import MOST

    limit = graph.limits.cost if graph.limits is not None else None
    most = MOST if limit is None else int(Fraction(str(limit)) * sum(operator_costs(graph)))
    part = _part(options, _CHOICE_SHARE / 2)
    budget = Budget(-1.0, part.work_limit or 0) if options.deterministic else Budget(part.time_limit, -1)
    points = order_front(graph, order, budget, most, stripes=False).points[:1]
    return [entry for entry in points if entry.schedule.alternatives]


def _by_bytes(order: "Candidate") -> tuple[int, int]:
    return order.bytes, order.cost


def _part(options: Options, share: float) -> Options:
    from memstow.solvers.core import DEFAULT_WORK

    if options.deterministic:
        limit = DEFAULT_WORK if options.work_limit is None else options.work_limit
        return replace(options, work_limit=int(limit * share))
    return replace(options, time_limit=options.time_limit * share)
