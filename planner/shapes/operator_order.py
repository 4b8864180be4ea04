"""The order of the operators of a graph whose sizes are formulas: one for every value, good at all points.

In: a symbolic graph and options. Out: the graph with its operators listed in that order, and what no order
can do without at each point. Nothing but live bytes is looked at: the places are for `plan_symbolic`.

The graph at each point is an ordinary one, whose search of orders gives an order that is good there and a
bound of all orders. These orders are candidates, and so are the order as listed and the best one of a graph
in which each size is the sum of its parts of the least peaks of all points. The best candidate is then
improved by moving one operator at a time, all points looked at together.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.formulas.sizes import sizes_of
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.live_bytes import order_instance, start_height, steps
from memstow.planner.graph.symbolic_graph import checked_graph, lower_symbolic
from memstow.planner.model.errors import require_kind
from memstow.planner.model.graph import Graph, Temporary, Tensor
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Cut, RefutedOrders
from memstow.planner.model.problem import Kind, parse_term
from memstow.planner.model.symbolic import Shapes, SymbolicGraph, graph_with_sizes, points_of
from memstow.planner.shapes.point_plans import Scale
from memstow.planner.solve.free_orders import bound_of_orders
from memstow.planner.solve.portfolio import Allowance, cancelling
from memstow.planner.solve.schedules import OrderBound
from memstow.solvers.orders import (
    MOST_BYTES,
    LeastPeak,
    OrderInstance,
    OrderListeners,
    OrderOutcome,
    OrderTask,
    peak_of,
)

# Of what the call may take: the orders of all points; and of the rest that of their mean, and the moves.
_POINTS_SHARE: Final = 0.6
_MEAN_SHARE: Final = 0.3
_MOVES_SHARE: Final = 0.8
# A least peak in the units of the mean, of which all points together are small beside what can be counted.
_WHOLE: Final = 1 << 32

# Of counting what one operator needs at one point, beside the steps of a search.
_WORK_PER_OPERATOR: Final = 50

_Sequence = tuple[int, ...]
"""The operators of an order, by their places in the list."""


@dataclass(frozen=True, slots=True)
class OrderedGraph:
    """A symbolic graph whose operators are listed in the order that was chosen."""

    graph: SymbolicGraph
    least: tuple[int, ...]
    """Of each point: no order has a smaller objective there, whatever the places. 0: nothing is known."""
    certificates: tuple[Cut | RefutedOrders | None, ...]
    """Of each point: why every order needs what `least` says; None: it is a claim, or nothing is known."""
    live: tuple[int, ...]
    """Of each point: the most bytes that are live at once in this order."""
    live_as_listed: tuple[int, ...]
    """The same of the order in which the operators were listed."""
    work: int


def order_symbolic(
    graph: SymbolicGraph,
    options: Options | None = None,
    *,
    shapes: Shapes = "order",
    cancel: threading.Event | None = None,
) -> OrderedGraph:
    """List the operators in the order that is best for the graph's `aim`, by live bytes at its points.

    For a plan of fixed offsets (`shapes`) live bytes with the largest sizes count alone. The order is one of
    those that the data and the states allow, and no worse than that of the list. When `cancel` is set, it is
    the best so far. Raises InputError for a graph that contradicts itself.
    """
    require_kind(graph, SymbolicGraph, "order_symbolic takes a SymbolicGraph")
    return _Search(graph, options or Options(), shapes, cancel).run()


class _Search:
    """One call."""

    def __init__(
        self, graph: SymbolicGraph, options: Options, shapes: Shapes, cancel: threading.Event | None
    ) -> None:
        self._symbolic = graph
        self._shapes = shapes
        self._options = options
        self._cancel = cancel
        self._allowance = Allowance(options)
        # Reports all that is wrong with the graph.
        problem = lower_symbolic(graph)
        self._term = parse_term(graph.objective[0])
        self._pools = len(problem.pools)
        self._points = points_of(problem)
        names = [buffer.id for buffer in problem.buffers]
        sizes = (sizes_of(problem).at(point.at) for point in self._points)
        self._graphs = [graph_with_sizes(graph, dict(zip(names, row, strict=True))) for row in sizes]
        self._instances = [order_instance(ordinary) for ordinary in self._graphs]
        self._after = list(map(set, links_of(self._graphs[0]).successors()))

    def run(self) -> OrderedGraph:
        """The graph in the best order."""
        listed: _Sequence = tuple(listed_order(self._graphs[0]))
        if not listed:
            heights = tuple(map(start_height, self._graphs))
            return self._result(
                listed, [bound_of_orders(graph, None, 0) for graph in self._graphs], heights, heights
            )
        candidates, proven = self._of_points()
        if self._shapes == "fixed":
            best = self._of_largest(listed, candidates)
            return self._result(best, proven, self._live_bytes(best), self._live_bytes(listed))
        bounds = [bound.value for bound in proven]
        live_as_listed = self._live_bytes(listed)
        best, live = listed, live_as_listed
        # Where nothing is known of all orders, that of the list is the measure.
        measure = tuple(bound or of_listed for bound, of_listed in zip(bounds, live, strict=True))
        scale = Scale(measure, tuple(point.weight for point in self._points), self._symbolic.aim)
        candidates += self._of_mean(measure)
        for order in dict.fromkeys(candidates):
            if self._over:
                break
            of_order = self._live_bytes(order)
            if scale.score(of_order) < scale.score(live):
                best, live = order, of_order
        best, live = self._moved(best, live, scale)
        return self._result(best, proven, live, live_as_listed)

    def _result(
        self,
        order: _Sequence,
        bounds: Sequence[OrderBound],
        live: tuple[int, ...],
        live_as_listed: tuple[int, ...],
    ) -> OrderedGraph:
        operators = tuple(self._symbolic.operators[number] for number in order)
        return OrderedGraph(
            replace(self._symbolic, operators=operators, order="given"),
            tuple(self._objective(bound.value) for bound in bounds),
            tuple(map(self._certificate, bounds)),
            live,
            live_as_listed,
            self._allowance.work,
        )

    def _certificate(self, bound: OrderBound) -> Cut | RefutedOrders | None:
        """That of what one pool holds, which is the objective."""
        certificate = bound.certificate
        return certificate if self._pools == 1 and isinstance(certificate, Cut | RefutedOrders) else None

    def _of_points(self) -> tuple[list[_Sequence], list[OrderBound]]:
        """Of each point an order, and the bytes that no order can do without."""
        orders: list[_Sequence] = []
        bounds: list[OrderBound] = []
        # The same part of the whole for each.
        for number, (graph, instance) in enumerate(zip(self._graphs, self._instances, strict=True)):
            left = len(self._graphs) - number
            share = _POINTS_SHARE / (left * _POINTS_SHARE + len(self._graphs) * (1 - _POINTS_SHARE))
            before = self._allowance.work
            outcome = self._searched(instance, share)
            orders += [] if outcome is None else [tuple(outcome.order)]
            bounds.append(bound_of_orders(graph, outcome, self._allowance.work - before))
        return orders, bounds

    def _of_largest(self, listed: _Sequence, candidates: Sequence[_Sequence]) -> _Sequence:
        """The best order where each size is at its largest."""
        graph = checked_graph(self._symbolic).largest
        instance = order_instance(graph)
        outcome = self._searched(instance, 1.0)
        others = [] if outcome is None else [tuple(outcome.order)]
        every = dict.fromkeys((listed, *others, *candidates))
        self._allowance.spend(_WORK_PER_OPERATOR * len(listed) * len(every))
        return min(every, key=lambda order: _most_live(graph, instance, order))

    def _of_mean(self, measure: Sequence[int]) -> list[_Sequence]:
        """The best order where each size is the sum of its parts of the least peaks, over all points."""
        # Views are at offsets that are bytes: they have no place in parts.
        if len(self._graphs) == 1 or self._symbolic.views:
            return []
        sizes: Counter[str] = Counter()
        for graph, least in zip(self._graphs, measure, strict=True):
            for element in _elements(graph):
                sizes[element.id] += min(element.size or 0, least) * _WHOLE // max(least, 1)
        outcome = self._searched(order_instance(graph_with_sizes(self._symbolic, sizes)), _MEAN_SHARE)
        return [] if outcome is None else [tuple(outcome.order)]

    def _searched(self, instance: OrderInstance, share: float) -> OrderOutcome | None:
        """The best order; None where there is no time, or are more bytes than can be counted."""
        if self._over or not _is_countable(instance):
            return None
        task = OrderTask(instance, workers=1, deterministic=self._options.deterministic)
        budget = self._allowance.budget(share)
        with cancelling(budget, self._cancel):
            outcome = LeastPeak().solve(task, budget, OrderListeners(order=None, bound=lambda *_: None))
        self._allowance.spend(budget.work)
        return outcome

    def _live_bytes(self, order: _Sequence) -> tuple[int, ...]:
        """The most that is live at once in this order, at each point."""
        self._allowance.spend(_WORK_PER_OPERATOR * len(order) * len(self._instances))
        return tuple(
            max(_most_live(graph, instance, order), start_height(graph))
            for graph, instance in zip(self._graphs, self._instances, strict=True)
        )

    def _moved(
        self, order: _Sequence, live: tuple[int, ...], scale: Scale
    ) -> tuple[_Sequence, tuple[int, ...]]:
        """A better order and its bytes: one operator is moved at a time, while that helps."""
        mark = self._allowance.mark(_MOVES_SHARE)
        moves = self._moves(order)
        while not scale.is_least(live):
            other = next(moves, None)
            if other is None or self._over or self._allowance.is_past(mark):
                break
            of_other = self._live_bytes(other)
            if scale.score(of_other) < scale.score(live):
                order, live, moves = other, of_other, self._moves(other)
        return order, live

    def _moves(self, order: _Sequence) -> Iterator[_Sequence]:
        """The orders in which one operator is later or earlier, as far as its neighbours allow."""
        for at, operator in enumerate(order):
            for to in range(at + 1, len(order)):
                if order[to] in self._after[operator]:
                    break
                yield (*order[:at], *order[at + 1 : to + 1], operator, *order[to + 1 :])
            for to in range(at - 1, -1, -1):
                if operator in self._after[order[to]]:
                    break
                yield (*order[:to], operator, *order[to:at], *order[at + 1 :])

    def _objective(self, live: int) -> int:
        """The least that the objective can be, by the bytes that are live."""
        kind = None if self._term is None else self._term.kind
        if self._pools == 1 or kind is Kind.PEAK:
            return live
        return -(-live // self._pools) if kind is Kind.MAX_PEAK else 0

    @property
    def _over(self) -> bool:
        return self._allowance.over or (self._cancel is not None and self._cancel.is_set())


def _is_countable(instance: OrderInstance) -> bool:
    """Whether native code can count its bytes."""
    return sum(instance.size) + sum(instance.extra) + instance.base < MOST_BYTES


def _most_live(graph: Graph, instance: OrderInstance, order: _Sequence) -> int:
    if _is_countable(instance):
        return peak_of(instance, list(order))
    return max(step.bytes for step in steps(graph, order))


def _elements(graph: Graph) -> Iterator[Tensor | Temporary]:
    yield from graph.tensors
    for operator in graph.operators:
        yield from operator.temporaries
