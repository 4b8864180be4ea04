"""Plans of the orders that a search finds on its way, for callers who want the best plan so far.

A search for an order takes half of the time of a run. Each better order is offered as soon as it is found,
and placed by a quick rule when the caller asks for its plan.
"""

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memstow.planner.model.graph import Graph
from memstow.planner.model.options import OnBetter, Options
from memstow.planner.model.plan import Plan
from memstow.planner.solve.better_plan import better
from memstow.planner.solve.graphs import Callbacks, plan_in_order
from memstow.planner.solve.order_bounds import claimed
from memstow.planner.solve.portfolio import AUTO
from memstow.solvers.order.solver import LeastPeak

_QUICK_SOLVER: Final = "greedy"
_QUICK_SECONDS: Final = 1.0


class EarlyPlans:
    """The plans of one run that are made before it places its orders."""

    def __init__(self, graph: Graph, options: Options, on_better: OnBetter | None) -> None:
        # A solver that was named makes all plans of its run. In pools with capacities a rule may find none.
        # When a caller asks is a matter of time, on which a deterministic run must not depend.
        wanted = options.solver == AUTO and not options.deterministic
        roomy = all(pool.capacity is None for pool in graph.pools)
        self._on_better = on_better if wanted and roomy else None
        self._graph = graph
        seconds = min(_QUICK_SECONDS, options.time_limit)
        self._options = replace(options, solver=_QUICK_SOLVER, time_limit=seconds, work_limit=None, workers=1)
        self._lock = threading.Lock()
        self._bound = 0
        self._best: Plan | None = None

    @property
    def best(self) -> Plan | None:
        """The best that was asked for; its bound is a claim."""
        return self._best

    @property
    def value(self) -> float:
        """What the best that was asked for has as its first term; infinite where there is none."""
        best = self._best
        return best.objective[0].value if best is not None and best.objective else math.inf

    def raise_bound(self, bound: int) -> None:
        """No order needs less: plans that are asked for from now on claim it."""
        self._bound = max(self._bound, bound)

    def offer(self, order: Sequence[int]) -> None:
        """There is a better order; any thread may offer, and the plan is made only if the caller asks."""
        if self._on_better is not None:
            kept = list(order)
            self._on_better(lambda: self._plan(kept))

    def _plan(self, order: Sequence[int]) -> Plan:
        with self._lock:
            bound = claimed(LeastPeak.name, self._bound, 0)
            plan = plan_in_order(self._graph, order, self._options, Callbacks(), bound)
            if self._best is None or better(plan, self._best):
                self._best = plan
            return self._best
