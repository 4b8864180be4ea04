"""Schedules that may be on the front of a graph, and judged plans of them.

A candidate is a schedule with the bytes that live at its fullest moment; none is placed yet. Schedules are
looked for in the order of the document and in that of its best plan; in orders next to these, moving an
operator at a time (one with the least live bytes as a whole may keep apart what would share its rows); and
with operators that run again, or tensors that wait in another pool, and stripes in these.

`GraphPlans` places them with the least peak in the pool that counts. Where all that may be elsewhere fits
there, what must be in the pool is a problem of one pool, which is searched in this process; the rest only
has to fit.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from random import Random
from typing import Final

from memstow.planner.front.front_request import FrontCallbacks, FrontRequest
from memstow.planner.front.two_terms import PlansFor
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.operators import operator_costs
from memstow.planner.graph.order_front import order_front
from memstow.planner.graph.recompute import KINDS, Choice, Kind, Patience, recompute_points
from memstow.planner.graph.schedules import scheduled_problem, with_runs
from memstow.planner.graph.stripe_front import Candidate, OrderFront, is_countable
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import Plan, Schedule, Stripe
from memstow.planner.model.problem import Buffer, Problem, allowed_pools
from memstow.planner.solve import engine
from memstow.planner.solve.graphs import plan_graph
from memstow.planner.solve.portfolio import Allowance, cancelling
from memstow.planner.solve.schedules import judged, plan_schedule
from memstow.planner.verify.graph_verdict import against_cost


def ends_first(count: int) -> list[int]:
    """The numbers below a count: the last, the first, and then halves, so that few are already a front."""
    if count <= 2:
        return list(reversed(range(count)))
    order, parts = [count - 1, 0], [(0, count - 1)]
    for low, high in parts:
        middle = (low + high) // 2
        if low < middle < high:
            order.append(middle)
            parts += [(low, middle), (middle, high)]
    return order


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders by index of the operators, and the work it took to find them."""

    orders: tuple[Sequence[int], ...]
    work: int = 0


def orders_of(graph: Graph, options: Options, callbacks: Callbacks) -> Orders:
    """The order of the document; of a graph with another, also the one of its best plan."""
    listed = listed_order(graph)
    if graph.order == GIVEN:
        return Orders((listed,))
    plan = plan_graph(replace(graph, alternatives=(), limits=None), options, callbacks)
    if plan.schedule is None:
        return Orders((listed,), plan.work)
    index = links_of(graph).operator_index
    best = [index[name] for name in plan.schedule.order]
    return Orders((best,) if best == listed else (best, listed), plan.work)


# Costs, as multiples of the least, at which orders are compared.
_COMPARED: Final = (1.0, 1.1, 1.25, 1.5, 2.0)
_MOST_MOVES: Final = 5_000


def moved_orders(
    graph: Graph,
    start: Sequence[int],
    first: OrderFront,
    allowance: Allowance,
    share: float,
    callbacks: FrontCallbacks,
) -> Iterator[OrderFront]:
    """The fronts of orders that are better at one of the costs than all before, within this share."""
    if not first.points:
        return
    least = first.points[-1].cost
    after = [set(them) for them in links_of(graph).successors()]
    order, value = list(start), _values(first, least)
    best = list(value)
    random = Random(0)  # noqa: S311
    limit = allowance.mark(share)
    for _ in range(_MOST_MOVES):
        if callbacks.cancelled or allowance.is_past(limit):
            return
        tried = _moved(order, after, random)
        if tried is None:
            continue
        budget = allowance.budget(share)
        with cancelling(budget, callbacks.cancel):
            front = order_front(graph, tried, budget)
        allowance.spend(budget.work + len(order))
        if not front.points:
            continue
        values = _values(front, least)
        if any(new < old for new, old in zip(values, best, strict=True)):
            best = [min(pair) for pair in zip(values, best, strict=True)]
            yield front
        if sum(values) <= sum(value):
            order, value = tried, values


def _values(front: OrderFront, least: int) -> list[float]:
    """The least bytes at each of the costs, compared as ratios."""
    values = []
    for times in _COMPARED:
        fits = [point.bytes for point in front.points if point.cost <= times * least]
        values.append(log(1 + min(fits, default=front.points[-1].bytes)))
    return values


def _moved(order: Sequence[int], after: Sequence[set[int]], random: Random) -> list[int] | None:
    """The order with one operator elsewhere; None where it cannot move."""
    at = random.randrange(len(order))
    operator = order[at]
    first = at
    while first > 0 and operator not in after[order[first - 1]]:
        first -= 1
    last = at
    while last + 1 < len(order) and order[last + 1] not in after[operator]:
        last += 1
    if first == last:
        return None
    to = random.choice([number for number in range(first, last + 1) if number != at])
    rest = [entry for entry in order if entry != operator]
    return [*rest[:to], operator, *rest[to:]]


# Schedules in which stripes are looked for as well, the best at each cost.
_MOST_STRIPED: Final = 24


@dataclass(frozen=True, slots=True)
class Reruns:
    """Candidates, and what no other way of their kinds does without."""

    candidates: list[Candidate]
    bounds: list[tuple[int, int]]
    """(cost, bytes): what costs no more than this needs at least so much."""


def kinds_of(request: FrontRequest) -> frozenset[Kind]:
    """What may be done that runs operators again or moves tensors."""
    return frozenset(entry for entry in KINDS if entry in request.generators)


def reruns(
    graph: Graph,
    order: Sequence[int],
    request: FrontRequest,
    pool: str | None,
    allowance: Allowance,
    share: float,
    callbacks: FrontCallbacks,
) -> Reruns:
    """Those of one order of first runs, within a share of what is left."""
    choice = Choice(
        kinds=kinds_of(request),
        pool=pool,
        unit=request.cost_unit,
        is_priced=True,
        within=request.within,
        free=graph.order != GIVEN,
    )
    base = sum(operator_costs(graph))
    budget = allowance.share(share)
    patience = Patience(
        seconds=None if budget.deterministic else budget.time_limit,
        work=budget.work_limit,
        cancel=callbacks.cancel,
    )
    candidates: list[Candidate] = []
    points = recompute_points(graph, order, choice, patience)
    while True:
        try:
            point = next(points)
        except StopIteration as end:
            return Reruns(candidates, [(base + cost, size) for cost, size in end.value])
        candidates.append(Candidate(point.bytes, base + point.cost, point.schedule))


def striped(
    graph: Graph,
    candidates: Sequence[Candidate],
    pool: str | None,
    allowance: Allowance,
    share: float,
    callbacks: FrontCallbacks,
) -> Iterator[Candidate]:
    """The same with stripes in them, of those that are best; of several pools, what is in this one counts."""
    best = candidates[:: max(1, -(-len(candidates) // _MOST_STRIPED))]
    for number, entry in enumerate(best):
        if callbacks.cancelled:
            return
        plain, _ = with_runs(graph, entry.schedule)
        plain = plain if pool is None else _without_others(plain, pool)
        if not is_countable(plain, stripes=True):
            continue
        budget = allowance.budget(share / (len(best) - number))
        with cancelling(budget, callbacks.cancel):
            front = order_front(plain, range(len(plain.operators)), budget)
        allowance.spend(budget.work)
        place = _places(entry.schedule)
        for point in front.points:
            stripes = [_moved_back(stripe, place) for stripe in point.schedule.stripes]
            if all(stripe and _runs_none_twice(entry.schedule, stripe) for stripe in stripes):
                schedule = replace(entry.schedule, stripes=tuple(stripe for stripe in stripes if stripe))
                yield replace(point, schedule=schedule)


def _without_others(graph: Graph, pool: str) -> Graph:
    """The graph in which what cannot be in this pool lies elsewhere, where it needs nothing."""
    tensors = (
        replace(tensor, kind="external") if tensor.pools and pool not in tensor.pools else tensor
        for tensor in graph.tensors
    )
    return replace(graph, tensors=tuple(tensors))


def _places(schedule: Schedule) -> dict[int, int]:
    """The place in the schedule of what runs, by its place among all that runs, copies included."""
    copies = Counter(at for spill in schedule.spills for at in (spill.out + 1, spill.back))
    place: dict[int, int] = {}
    at = 0
    for number in range(len(schedule.order)):
        at += copies[number]
        place[at] = number
        at += 1
    return place


def _runs_none_twice(schedule: Schedule, stripe: Stripe) -> bool:
    """As the bounds of paths have it."""
    names = schedule.order[stripe.begin : stripe.end]
    return len(set(names)) == len(names)


def _moved_back(stripe: Stripe, place: dict[int, int]) -> Stripe | None:
    """The stripe by places in the schedule; None where a copy lies in it."""
    if stripe.begin not in place or stripe.end - 1 not in place:
        return None
    begin, last = place[stripe.begin], place[stripe.end - 1]
    if last - begin != stripe.end - 1 - stripe.begin:
        return None
    return replace(stripe, begin=begin, end=last + 1)


# Steps for each buffer: what is in no pool that counts only has to fit.
_STEPS: Final = 1_000

Solve = Callable[[Problem, Options], Plan]


def least_peak_plan(problem: Problem, pool: str, options: Options, solve: Solve) -> Plan:
    """The plan with the least peak of the pool, as far as it is found."""
    aimed = replace(problem, objective=(f"peak:{pool}",))
    # What each of the two searches may take.
    work = None if options.work_limit is None else options.work_limit // 2
    half = replace(options, time_limit=options.time_limit / 2, work_limit=work)
    least = _pool_after_pool(problem, pool, half, solve)
    if least is None:
        # Greedy takes the first pool that has room.
        least = solve(_part(aimed, problem.buffers, [*_others(problem, pool), pool]), half)
    if least.status not in PLANNED:
        return least
    # Buffers that leave the peak as it is may still be in the pool that they prefer.
    plan = solve(aimed, replace(_quick(problem, options), hint=least))
    if plan.status not in PLANNED or plan.objective[0].value > next(
        entry.peak for entry in least.pools if entry.pool == pool
    ):
        return least
    return replace(plan, work=least.work + plan.work)


def _pool_after_pool(problem: Problem, pool: str, options: Options, solve: Solve) -> Plan | None:
    """The plan in which only what must be is in the pool; None where it is not found like this."""
    if problem.relative:
        return None
    must = [buffer for buffer in problem.buffers if set(allowed_pools(problem, buffer)) == {pool}]
    first = solve(_part(problem, must, [pool]), options)
    if first.status is not Status.OPTIMAL:
        return None
    names = {entry.id for entry in must}
    others = [buffer for buffer in problem.buffers if buffer.id not in names]
    rest = solve(_part(problem, others, _others(problem, pool)), _quick(problem, options))
    if rest.status not in PLANNED:
        return None
    uses = {place.pool: place for place in (*first.pools, *rest.pools)}
    return replace(
        first,
        placements=(*first.placements, *rest.placements),
        pools=tuple(uses[place.id] for place in problem.pools),
        work=first.work + rest.work,
    )


def _quick(problem: Problem, options: Options) -> Options:
    return replace(options, solver="greedy", work_limit=_STEPS * (1 + len(problem.buffers)))


def _others(problem: Problem, pool: str) -> list[str]:
    return [entry.id for entry in problem.pools if entry.id != pool]


def _part(problem: Problem, buffers: Sequence[Buffer], pools: Sequence[str]) -> Problem:
    """The problem of these buffers in these pools, which they prefer in this order."""
    names = {buffer.id for buffer in buffers}
    return replace(
        problem,
        pools=tuple(pool for pool in problem.pools if pool.id in pools),
        buffers=tuple(
            replace(buffer, pools=tuple(name for name in pools if name in allowed_pools(problem, buffer)))
            for buffer in buffers
        ),
        in_place=tuple(entry for entry in problem.in_place if names >= {entry.input, entry.output}),
        objective=problem.objective if len(pools) == len(problem.pools) else ("peak",),
    )


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

    def at_once(self, candidate: Candidate, options: Options) -> Plan:
        """The same without time, whoever wants it to stop: what can be found at a glance."""
        plans = GraphPlans(self._graph, self._pool, Callbacks(self._callbacks.on_event))
        return plans.plan(candidate, replace(options, time_limit=0.0))

    def plan(self, candidate: Candidate, options: Options) -> Plan:
        """The plan of a schedule, judged as of the graph; the judge counts its cost again."""
        options = replace(options, hint=None)
        plan = (
            self._in_pool(candidate, options, self._pool)
            if self._pool is not None
            else plan_schedule(self._graph, candidate.schedule, options, self._callbacks)
        )
        wrong = against_cost(self._graph, candidate.schedule, candidate.cost)
        if wrong is not None:
            raise RefusedPlanError(f"{wrong}; please report it")
        return plan

    def _in_pool(self, candidate: Candidate, options: Options, pool: str) -> Plan:
        """With the least peak of this pool; then it is a plan of the problem with its own objective."""
        problem = scheduled_problem(self._graph, candidate.schedule)
        plan = least_peak_plan(problem, pool, options, self._solve)
        if plan.status not in PLANNED:
            return plan
        return judged(self._graph, PlansFor(problem, None).plan(plan), candidate.schedule)

    def _solve(self, problem: Problem, options: Options) -> Plan:
        return engine.plan(problem, options, self._callbacks.on_event, self._callbacks.cancel)
