"""Judged plans of the schedules of a graph, with the least peak in the pool that counts."""

from dataclasses import replace

from memstow.planner.front.aside import least_peak_plan
from memstow.planner.front.candidates import Candidate
from memstow.planner.front.plan_values import PlansFor
from memstow.planner.graph.lowering import scheduled_problem
from memstow.planner.graph.schedules import only_orders
from memstow.planner.model import PLANNED
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.solve import engine
from memstow.planner.solve.graphs import NOTHING, Callbacks, with_order_bound
from memstow.planner.solve.schedules import is_only_order, judged, plan_schedule
from memstow.planner.verify.graph_verdict import schedule_cost


class GraphPlans:
    """Makes plans for the schedules of one graph."""

    def __init__(self, graph: Graph, pool: str | None, callbacks: Callbacks) -> None:
        self._graph = graph
        self._pool = pool
        self._callbacks = callbacks

    @property
    def capacity(self) -> int | None:
        """Of the only pool; what may go to several need not be in the one that counts."""
        return self._graph.pools[0].capacity if len(self._graph.pools) == 1 else None

    def peak(self, plan: Plan) -> int:
        """Of the pool that counts."""
        return sum(use.peak for use in plan.pools if self._pool in (None, use.pool))

    def at_once(self, it: Candidate, options: Options) -> Plan:
        """The same without time, whoever wants it to stop: what can be found at a glance."""
        plans = GraphPlans(self._graph, self._pool, Callbacks(self._callbacks.on_event))
        return plans.plan(it, replace(options, time_limit=0.0))

    def plan(self, it: Candidate, options: Options) -> Plan:
        """The plan of a schedule, judged as of the graph; its cost is counted again."""
        options = replace(options, hint=None)
        plan = self._in_pool(it, options, self._pool) if self._pool is not None else self._alone(it, options)
        counted = schedule_cost(self._graph, it.schedule)
        if counted != it.cost:
            raise RefusedPlanError(f"a schedule costs {counted:,}, not {it.cost:,}; please report it")
        return plan

    def _alone(self, it: Candidate, options: Options) -> Plan:
        return plan_schedule(self._graph, it.schedule, options, self._callbacks)

    def _in_pool(self, it: Candidate, options: Options, pool: str) -> Plan:
        """With the least peak of this pool; then it is a plan of the problem with its own objective."""
        problem = scheduled_problem(self._graph, it.schedule)
        plan = least_peak_plan(problem, pool, options, self._solve)
        if plan.status not in PLANNED:
            return plan
        plan = PlansFor(problem, None).plan(plan)
        if only_orders(it.schedule) and not is_only_order(self._graph, it.schedule):
            plan = with_order_bound(self._graph, plan, NOTHING)
        return judged(self._graph, plan, it.schedule)

    def _solve(self, problem: Problem, options: Options) -> Plan:
        return engine.plan(problem, options, self._callbacks.on_event, self._callbacks.cancel)
