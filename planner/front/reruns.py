"""Candidates in which operators run again or tensors wait in another pool, and with stripes in these."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.front.candidates import Candidate
from memstow.planner.front.request import FrontCallbacks, FrontRequest
from memstow.planner.graph.costs import operator_costs
from memstow.planner.graph.recompute.points import Choice, Patience, recompute_points
from memstow.planner.graph.recompute.programs import Kind
from memstow.planner.graph.runs import with_runs
from memstow.planner.graph.stripes.front import order_front
from memstow.planner.graph.stripes.limits import is_countable
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Schedule, Stripe
from memstow.planner.solve.portfolio import Allowance, cancelling

_KINDS: Final[tuple[Kind, ...]] = ("recompute", "spill")
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
    return frozenset(it for it in _KINDS if it in request.generators)


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
    found: Sequence[Candidate],
    allowance: Allowance,
    share: float,
    callbacks: FrontCallbacks,
) -> Iterator[Candidate]:
    """The same with stripes in them, of those that are best."""
    best = found[:: max(1, -(-len(found) // _MOST_STRIPED))]
    for number, it in enumerate(best):
        if callbacks.cancelled:
            return
        plain, _ = with_runs(graph, it.schedule)
        if not is_countable(plain, stripes=True):
            continue
        budget = allowance.budget(share / (len(best) - number))
        with cancelling(budget, callbacks.cancel):
            front = order_front(plain, range(len(plain.operators)), budget)
        allowance.spend(budget.work)
        place = _places(it.schedule)
        for point in front.points:
            stripes = [_moved_back(stripe, place) for stripe in point.schedule.stripes]
            if None not in stripes:
                schedule = replace(it.schedule, stripes=tuple(stripe for stripe in stripes if stripe))
                yield Candidate(point.bytes, point.cost, schedule)


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


def _moved_back(stripe: Stripe, place: dict[int, int]) -> Stripe | None:
    """The stripe by places in the schedule; None where a copy lies in it."""
    if stripe.begin not in place or stripe.end - 1 not in place:
        return None
    begin, last = place[stripe.begin], place[stripe.end - 1]
    if last - begin != stripe.end - 1 - stripe.begin:
        return None
    return replace(stripe, begin=begin, end=last + 1)
