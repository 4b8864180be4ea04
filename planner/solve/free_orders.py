"""A run for a graph whose operators may run in any order: an order first, then its places.

Where the problem of the best order does not pack at its live bytes, other orders that need no more are tried.
The order of a rule is taken as it is.
"""

import math
import threading
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import certificate_of, order_instance, start_height, steps
from memstow.planner.graph.schedules import allowed_order
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import FREE, Graph
from memstow.planner.model.options import Callbacks, Event, Incumbent, Listener, OnBetter, Options
from memstow.planner.model.plan import Cut, Plan
from memstow.planner.processes import machine
from memstow.planner.solve.one_run import Progress, better
from memstow.planner.solve.portfolio import AUTO, cancelling
from memstow.planner.solve.schedules import NOTHING, OrderBound, claimed, plan_in_order, with_bound
from memstow.records import record, replace
from memstow.solvers.core import DEFAULT_WORK, Budget
from memstow.solvers.known import Known, KnownOrders
from memstow.solvers.orders import (
    MOST_BYTES,
    CutProof,
    LeastPeak,
    OrderInstance,
    OrderListeners,
    OrderOutcome,
    OrderTask,
    order_within,
)
from memstow.solvers.registry import name_with_version, order_solver

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
    def wanted(self) -> bool:
        """Whether anybody asks for them."""
        return self._on_better is not None

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


# Of the time or the work that is left: what the search for an order may take, of more operators than few and
# of few, which are soon placed; what looking for one more order may take, and a placement, each at first and
# later. Of orders with the same live bytes some pack at once and others never.
_ORDER_SHARE: Final = 0.5
_ORDER_SHARE_OF_FEW: Final = 0.65
_FEW: Final = 1_000
_SHARE: Final = 0.5
_FIRST_SHARE: Final = 0.1
_FIRST_SHARE_TO_LOOK: Final = 0.05
_FIRST_TRIES: Final = 3
_MOST_TRIES: Final = 64
# Of more operators, placing one order well takes all the time there is: a greedy pass that is cut short has a
# peak of many times the live bytes.
_MOST_TO_TRY_OTHERS: Final = 2_000
_MOST_WORKERS: Final = 8


@record
class _BestOrder:
    """An order, its live bytes, and the bound of all orders."""

    order: Sequence[int]
    live: int
    bound: OrderBound


class FreeRun:
    """One run."""

    def __init__(self, graph: Graph, solver: str, options: Options, callbacks: Callbacks) -> None:
        self._graph = graph
        self._solver = order_solver(solver)
        self._options = options
        self._progress = Progress(callbacks.on_event)
        self._least: float = math.inf
        self._early = EarlyPlans(graph, options, callbacks.on_better)
        self._callbacks = replace(callbacks, on_event=self._since_begin(callbacks.on_event))
        self._work = 0
        self._best_order: Sequence[int] = ()

    def plan(self) -> Plan:
        """The best plan of the orders that the solver finds."""
        self._progress.phase("order")
        instance, hinted = self._start()
        first = self._first_order(instance)
        self._best_order = first.order
        orders = self._orders(instance, first, hinted)
        best = self._placed(first, *next(orders))
        while not self._is_enough(first, best):
            another = next(orders, None)
            if another is None:
                break
            plan = self._placed(first, *another)
            if better(plan, best):
                best, self._best_order = plan, another[0]
        early = self._early.best
        if early is not None and better(early, best):
            best = with_bound(self._graph, early, first.bound, self._options.hint)
        seconds = 0.0 if self._options.deterministic else round(self._progress.seconds(), 6)
        return replace(best, seconds=seconds, work=self._work)

    def prove(self) -> None:
        """The search for the first order alone, for what that proves of all orders."""
        self._first_order(self._start()[0])

    def _start(self) -> tuple[OrderInstance, list[int] | None]:
        """The operators, and the order of the hint, from which the search goes on."""
        instance, hinted = order_instance(self._graph), self._hinted_order()
        return (instance if hinted is None else replace(instance, listed=array("q", hinted))), hinted

    def _hinted_order(self) -> list[int] | None:
        """The order of the hint, where the graph allows it and the order is looked for."""
        hint = self._options.hint
        if hint is None or hint.schedule is None or self._solver.name != LeastPeak.name:
            return None
        with suppress(InputError):
            return allowed_order(self._graph, hint.schedule.order)
        return None

    def _first_order(self, instance: OrderInstance) -> _BestOrder:
        if sum(instance.size) + sum(instance.extra) + instance.base >= MOST_BYTES:
            return _BestOrder(listed_order(self._graph), 0, NOTHING)
        task = OrderTask(
            instance,
            workers=1 if self._options.deterministic else self._workers(),
            deterministic=self._options.deterministic,
        )
        few = len(self._graph.operators) <= _FEW
        budget = self._budget(_ORDER_SHARE_OF_FEW if few else _ORDER_SHARE)
        listeners = OrderListeners(
            order=(lambda _solver, _peak, order: self._early.offer(order)) if self._early.wanted else None,
            bound=self._tell_bound,
        )
        with cancelling(budget, self._callbacks.cancel):
            outcome = self._solver.solve(task, budget, listeners)
        self._work += budget.work
        if self._callbacks.on_known is not None and outcome.known is not None:
            self._callbacks.on_known(outcome.known)
        bound = bound_of_orders(self._graph, outcome, budget.work)
        return _BestOrder(outcome.order, max(outcome.peak, bound.value), bound)

    def _tell_bound(self, solver: str, bound: int) -> None:
        self._early.raise_bound(bound)
        self._progress.bound(bound, solver)

    def _workers(self) -> int:
        workers = self._options.workers
        return min(machine.processors(), _MOST_WORKERS) if workers is None else workers

    def _may_try_others(self, first: _BestOrder) -> bool:
        if self._solver.name != LeastPeak.name or len(self._graph.operators) > _MOST_TO_TRY_OTHERS:
            return False
        return len(self._graph.pools) <= 1 and first.live > 0

    def _is_enough(self, first: _BestOrder, plan: Plan) -> bool:
        """Whether no other order of this many live bytes can have a better plan."""
        if plan.status in (Status.OPTIMAL, Status.INFEASIBLE):
            return True
        return plan.status in PLANNED and sum(use.peak for use in plan.pools) <= first.live

    def _orders(
        self, instance: OrderInstance, first: _BestOrder, hinted: Sequence[int] | None
    ) -> Iterator[tuple[Sequence[int], float]]:
        """The orders to place, each with a share of what is left, while there is time.

        The first, that of the hint, whose places are known, and some that need no more have a moment each;
        then the best of these has its time, and further ones.
        """
        tried = {tuple(first.order)}
        from_hint = hinted is not None and tuple(hinted) not in tried
        if not self._may_try_others(first):
            yield first.order, _SHARE if from_hint else 1.0
            if hinted is not None and from_hint:
                yield hinted, 1.0
            return
        yield first.order, _FIRST_SHARE
        if hinted is not None and from_hint:
            tried.add(tuple(hinted))
            yield hinted, _SHARE
        for seed in range(1, _MOST_TRIES + 1):
            at_first = seed <= _FIRST_TRIES
            if self._is_over(self._budget(_SHARE)):
                return
            if seed == _FIRST_TRIES + 1:
                # Where none came at first, hardly any will.
                yield self._best_order, _SHARE if len(tried) > 1 else 1.0
            budget = self._budget(_FIRST_SHARE_TO_LOOK if at_first else _SHARE)
            with cancelling(budget, self._callbacks.cancel):
                order = order_within(instance, first.live, seed, budget)
            self._work += budget.work
            if order is not None and tuple(order) not in tried:
                tried.add(tuple(order))
                yield order, _FIRST_SHARE if at_first else _SHARE

    def _placed(self, first: _BestOrder, order: Sequence[int], share: float) -> Plan:
        """The plan of one order, within a share of what is left."""
        options = self._options
        if options.deterministic:
            options = replace(options, work_limit=int(self._work_left() * share))
        else:
            options = replace(options, time_limit=max(self._seconds_left() * share, 0.0))
        plan = plan_in_order(self._graph, order, options, self._callbacks, first.bound)
        self._work += plan.work
        return plan

    def _since_begin(self, listener: Listener | None) -> Listener | None:
        """Tells of events of the placement of an order with the seconds since this run began.

        Plans that are worse than one of an order before are no news.
        """
        if listener is None:
            return None

        def hear(event: Event) -> None:
            if isinstance(event, Incumbent):
                if event.value > min(self._least, self._early.value):
                    return
                self._least = event.value
            listener(replace(event, seconds=self._progress.seconds()))

        return hear

    def _seconds_left(self) -> float:
        return self._options.time_limit - self._progress.seconds()

    def _work_left(self) -> int:
        limit = self._options.work_limit
        return max((DEFAULT_WORK if limit is None else limit) - self._work, 0)

    def _budget(self, share: float) -> Budget:
        """A share of what is left."""
        limit = self._options.work_limit
        if self._options.deterministic:
            return Budget(-1.0, int(self._work_left() * share))
        work = -1 if limit is None else int(self._work_left() * share)
        return Budget(max(self._seconds_left() * share, 0.0), work)

    def _is_over(self, budget: Budget) -> bool:
        cancel = self._callbacks.cancel
        if cancel is not None and cancel.is_set():
            return True
        if self._options.deterministic:
            return self._work_left() == 0
        return budget.spent or self._seconds_left() <= 0.05 * self._options.time_limit


def orders_again(graph: Graph, plan: Plan, options: Options, cancel: threading.Event) -> KnownOrders | None:
    """What the deterministic run of a plan has proven of the orders, where that run is not at hand.

    None where no proof rests on that.
    """
    by_cut = bool(plan.objective) and isinstance(plan.objective[0].certificate, Cut)
    if by_cut or graph.order != FREE or not options.deterministic:
        return None
    shown = list[KnownOrders]()

    def hear(known: Known) -> None:
        if isinstance(known, KnownOrders):
            shown.append(known)

    FreeRun(graph, LeastPeak.name, options, Callbacks(cancel=cancel, on_known=hear)).prove()
    return shown[-1] if shown else None


def bound_of_orders(graph: Graph, outcome: OrderOutcome | None, nodes: int) -> OrderBound:
    """The bound of all orders, with its proof where that is written out; without a search, of the ends."""
    least = start_height(graph)
    if outcome is None or least > outcome.bound:
        # What is there from the start and nobody reads.
        return OrderBound(least, Cut(operator=None), name_with_version(LeastPeak.name))
    prover = outcome.prover or outcome.solver
    certificate = certificate_of(graph, outcome.proof)
    if certificate is None or not outcome.bound:
        return claimed(prover, outcome.bound, nodes)
    return OrderBound(outcome.bound, certificate, name_with_version(prover))


# Limited in work, so that a description is the same on every machine.
_WORK: Final = 20_000_000


@record
class Outlook:
    """The bytes that no order can do without, and those that the best one found needs."""

    bound: int
    needed: int
    cut: int | None
    """The operator that proves the bound by itself; None where a search does."""
    critical: tuple[int, ...]
    """The operators that need the most in the best order found."""
    order: tuple[int, ...]
    """The best order found."""


def outlook(graph: Graph, budget: Budget | None = None) -> Outlook | None:
    """The outlook of a valid graph; None where it has no operators, or too many bytes to count."""
    instance = order_instance(graph)
    total = sum(instance.size) + sum(instance.extra) + instance.base
    if not graph.operators or total >= MOST_BYTES:
        return None
    listeners = OrderListeners(order=None, bound=lambda *_: None)
    outcome = LeastPeak().solve(
        OrderTask(instance, deterministic=True), budget or Budget(-1.0, _WORK), listeners
    )
    taken = steps(graph, outcome.order)
    most = max(step.bytes for step in taken)
    bound = max(outcome.bound, start_height(graph))
    proof = outcome.proof
    by_cut = isinstance(proof, CutProof) and proof.operator >= 0 and proof.bytes == bound
    return Outlook(
        bound,
        max(most, bound),
        proof.operator if isinstance(proof, CutProof) and by_cut else None,
        tuple(step.operator for step in taken if step.bytes == most),
        tuple(outcome.order),
    )
