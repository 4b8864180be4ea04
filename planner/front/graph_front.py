"""The points of the front of a graph: memory against the cost of its operators.

Schedules are found first, with the bytes that live at their fullest moment; then each is placed, the ends
of the front first. Of stripes and alternatives, all ways of the order of the document may be known, else
bounds of them. Of what runs again or waits elsewhere, there are bounds for what it costs at most.
`nothing_fits` says why there is none; `kept_order` what another order might save.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

from memstow.planner.front.detours import Along, eager, try_detours
from memstow.planner.front.free_front import free_front
from memstow.planner.front.front_request import (
    ANY,
    Ending,
    FrontCallbacks,
    FrontRequest,
    Known,
    Points,
    ValuedPlan,
)
from memstow.planner.front.graph_candidates import (
    GraphPlans,
    Reruns,
    ends_first,
    kinds_of,
    moved_orders,
    orders_of,
    reruns,
    striped,
)
from memstow.planner.graph.channel_parts import in_listed_order, with_sums_last
from memstow.planner.graph.check import require_valid
from memstow.planner.graph.links import has_other_orders, links_of, listed_order
from memstow.planner.graph.live_bytes import unit_of
from memstow.planner.graph.operators import (
    kinds,
    operator_costs,
    with_cost_unit,
)
from memstow.planner.graph.order_front import corners_in_any_order, order_front
from memstow.planner.graph.path_bounds import PathCorner, widest_path
from memstow.planner.graph.recompute import (
    KINDS,
    overfull_pools,
    peak_of,
    pool_of_spills,
    rooms_of,
    with_room,
)
from memstow.planner.graph.recompute_search import MOST_OPERATORS, Archive
from memstow.planner.graph.schedules import COPIES, can_spill, runs_once, with_chosen
from memstow.planner.graph.shares import least_cost_in_stripes, reruns_in_stripes
from memstow.planner.graph.small_recompute import MOST_OPERATORS as MOST_OF_EVERY_WAY
from memstow.planner.graph.small_recompute import every_way
from memstow.planner.graph.stripe_front import Candidate, Corner, OrderFront, require_countable
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import FrontPoint, KeptOrder
from memstow.planner.model.graph import GIVEN, Graph, is_planned, size_of
from memstow.planner.model.options import Callbacks
from memstow.planner.model.plan import Explanation, Plan, Schedule
from memstow.planner.model.problem import Kind
from memstow.planner.solve.free_orders import outlook
from memstow.planner.solve.portfolio import Allowance, cancelling
from memstow.solvers.core import Budget

PEAK: Final = "peak"
COST: Final = "cost"


def require_graph_front(graph: Graph, request: FrontRequest) -> None:
    """Raise InputError for a graph that has no such front, before any work is done.

    Paths that begin with `$` are of the graph, others of what is asked for.
    """
    require_valid(graph)
    if graph.alternatives and graph.limits is not None and graph.limits.cost is not None:
        message = "a front has a plan for every cost; leave `limits` out, and limit them by `within`"
        raise InputError.single("front_limits", "$.limits", message)
    pool = counted_pool(graph, request)
    if "spill" in request.generators and request.cost_unit != "bytes":
        message = "copies cost bytes: with spill, take the cost in bytes (`--cost bytes`)"
        raise InputError.single("spill_cost", "cost", message)
    if Kind.MOVES.value in (graph.objective or ()):
        message = "the front of a graph is about its peak and cost; leave `moves` out of the objective"
        raise InputError.single("front_moves", "$.objective", message)
    costed = with_cost_unit(graph, request.cost_unit)
    if pool is None or lies_in(graph, pool):
        require_countable(costed, "stripes" in request.generators)


def counted_pool(graph: Graph, request: FrontRequest) -> str | None:
    """The pool whose peak counts; None where there is only one. InputError for other terms."""
    first, second = request.terms
    pools = [pool.id for pool in graph.pools]
    name = first.partition(":")[2] if first.startswith(f"{PEAK}:") else None
    if second != COST or (name is None and first != PEAK):
        message = "the front of a graph is about a peak and the cost: peak,cost or peak:POOL,cost"
        raise InputError.single("front_terms", "terms", message)
    if name is not None and name not in pools:
        there = (
            f"its pools are {', '.join(map(repr, pools[:8]))}" if pools else "it names none: take peak,cost"
        )
        raise InputError.single("unknown_pool", "terms", f"the graph has no pool {name!r}; {there}")
    if len(pools) <= 1:
        if "spill" in request.generators:
            message = "to spill, the graph needs a second pool where tensors wait; give it one in `pools`"
            raise InputError.single("spill_without_pool", "$.pools", message)
        return None
    if name is None:
        message = f"the graph has several pools; name the one whose peak counts, such as peak:{pools[0]},cost"
        raise InputError.single("front_terms", "terms", message)
    if lies_in(graph, name):
        return name
    if "stripes" in request.generators:
        message = (
            "stripes are chosen for one pool; ask for recompute or spill in their place, give one pool, or "
            "let all tensors lie in the pool that counts (`pools`)"
        )
        raise InputError.single("several_pools", "$.pools", message)
    if "channels" in request.generators:
        message = (
            "parts of channels are chosen for one pool; leave channels out, give one pool, or let all "
            "tensors lie in the pool that counts (`pools`)"
        )
        raise InputError.single("several_pools", "$.pools", message)
    if graph.alternatives:
        message = (
            "alternatives are chosen for one pool; give the graph one, or let all tensors lie in the one "
            "that counts (`pools`)"
        )
        raise InputError.single("several_pools", "$.pools", message)
    return name


def lies_in(graph: Graph, pool: str) -> bool:
    """Whether all that is planned, also in alternatives, may be in this pool alone, but for what waits."""
    operators = (*graph.operators, *(entry for other in graph.alternatives for entry in other.operators))
    tensors = (*graph.tensors, *(entry for other in graph.alternatives for entry in other.tensors))
    pools = [tensor.pools for tensor in tensors if is_planned(tensor)]
    pools += [temporary.pools for operator in operators for temporary in operator.temporaries]
    return all(entry == (pool,) for entry in pools)


_SECONDS: Final = 0.5
_WORK: Final = 1_000_000


def kept_order(graph: Graph, request: FrontRequest, allowance: Allowance) -> KeptOrder | None:
    """None where the order is free, or there is no other.

    Other orders are looked for in the time that the front has left.
    """
    if graph.order != GIVEN or not has_other_orders(graph):
        return None
    # As the points were counted, so that nothing is counted twice.
    pool, plain = counted_pool(graph, request), with_chosen(with_cost_unit(graph, request.cost_unit), ())
    listed = Schedule(order=tuple(graph.operators[entry].id for entry in listed_order(graph)))
    size = peak_of(plain, listed, pool)
    seconds = -1.0 if request.options.deterministic else min(_SECONDS, allowance.seconds_left)
    if pool is not None or seconds == 0:
        return KeptOrder(bytes=size)
    outcome = outlook(plain, Budget(seconds, _WORK))
    return KeptOrder(bytes=size, free_bytes=outcome.needed if outcome and outcome.needed < size else None)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A candidate that has no room: by pool, the bytes that it needs there at least."""

    candidate: Candidate
    needs: Mapping[str, int]


@dataclass(slots=True)
class Tried:
    """What was tried, and what is known to stand in the way, where nothing fits."""

    misfits: list[Misfit] = field(default_factory=list)
    """Candidates of which more bytes live at once than there are."""
    failed: list[Plan] = field(default_factory=list)
    """Plans of candidates that may fit, and have no places."""
    least: dict[str, int] = field(default_factory=dict)
    """By pool, what no schedule of those that were asked for does without."""
    ended: bool = False
    """Whether there was no time for candidates that may fit."""


def nothing_fits(graph: Graph, request: FrontRequest, tried: Tried) -> Explanation | None:
    """The explanation where there is no point; None where nothing is known to stand in the way."""
    if tried.failed:
        return _no_places(graph, request, tried.failed)
    if tried.ended or not tried.misfits:
        return None
    capacities = {pool.id: pool.capacity for pool in graph.pools if pool.capacity is not None}
    reserved = {name: capacities[name] - room for name, room in rooms_of(graph).items()}

    def rank(misfit: Misfit) -> tuple[int, int]:
        excess = sum(size + reserved[name] - capacities[name] for name, size in misfit.needs.items())
        return excess, misfit.candidate.cost

    best = min(tried.misfits, key=rank)
    needs = {name: size + reserved[name] for name, size in best.needs.items()}
    name = next(iter(needs))
    least = tried.least.get(name, 0)
    least += reserved[name] if least else 0
    proven = f"; nothing that was asked for needs less than {least:,}" if least else ""
    has = " and ".join(f"pool {pool!r} has {capacities[pool]:,} bytes" for pool in needs)
    wanted = " and ".join(f"{size:,}" for size in needs.values())
    message = (
        f"{has}, and the least schedule that was found needs {wanted} at a cost of "
        f"{best.candidate.cost:,}{proven}: give {'it' if len(needs) == 1 else 'them'} {wanted} or more"
    )
    helps = list(_other_ways(graph, request))
    if helps:
        message += f", or ask for {' or '.join(helps)}"
    return Explanation(
        code="too_small", message=message, pool=name, needed=least or None, capacity=capacities[name]
    )


def _no_places(graph: Graph, request: FrontRequest, failed: Sequence[Plan]) -> Explanation | None:
    """That candidates have no places; None where there was no time to find out."""
    reasons = [
        entry.explanation for entry in failed if entry.status is Status.INFEASIBLE and entry.explanation
    ]
    if len(reasons) < len(failed):
        return None
    if _is_only_way(graph, request):
        return reasons[0]
    # What is said of one schedule holds for no other.
    number = "one schedule was" if len(failed) == 1 else f"{len(failed):,} schedules were"
    message = (
        f"{number} found in which no more bytes live at once than there are, and none has places for all "
        f"buffers; of the first: {reasons[0].message}"
    )
    helps = list(_other_ways(graph, request))
    if helps:
        message += f"; ask for {' or '.join(helps)}"
    return Explanation(code="no_places", message=message)


def _other_ways(graph: Graph, request: FrontRequest) -> Iterator[str]:
    """What was not asked for, and may need less memory."""
    one_pool = len(graph.pools) <= 1
    others = [word for word in ("stripes", "channels") if one_pool and word not in request.generators]
    others += [word for word in KINDS if word not in request.generators and (word != "spill" or not one_pool)]
    if others:
        copies = " --cost bytes" if "spill" in others and request.cost_unit != "bytes" else ""
        yield f"more ways to run it (--with {','.join([*sorted(request.generators), *others])}{copies})"
    if graph.order == GIVEN and has_other_orders(graph):
        yield "other orders (--order free)"


# Of all, for what candidates leave to plans of them.
_PLACING_SHARE: Final = 0.1
# Of what is left: to look for orders, in the order of the document, for what paths say of any order, and
# where the order is free, for choices in any order, for schedules in them, for other orders, for what runs
# again.
_ORDERS_SHARE: Final = 0.3
_LISTED_SHARE: Final = 0.15
_PATHS_SHARE: Final = 0.8
_FREE_SHARE: Final = 0.5
_WITHOUT_SHARE: Final = 0.3
_DETOURS_SHARE: Final = 0.15
# Of larger graphs each schedule takes longer than it helps.
_MOST_ALONG: Final = 300
_SCHEDULES_SHARE: Final = 0.4
_ONLY_SEARCH_SHARE: Final = 0.8
_MOVES_SHARE: Final = 0.3
_RERUNS_SHARE: Final = 0.5
# Choices of alternatives beside which operators run again.
_MOST_CHOICES: Final = 4
# Of a tiny graph: what a step from schedule to schedule counts as, and the most that a plan may take.
_WORK_OF_A_WAY: Final = 200
_WAYS_LEFT: Final = 4
_WORK_OF_A_PLAN: Final = 200_000
# What it takes to describe one order, for each operator.
_SECONDS_TO_DESCRIBE: Final = 50e-6


def graph_points(graph: Graph, request: FrontRequest, callbacks: FrontCallbacks) -> Points:
    """The points of this front, as they are found."""
    require_valid(graph)
    pool = counted_pool(graph, request)
    return (yield from _Run(with_cost_unit(graph, request.cost_unit), request, pool, callbacks).points())


class _Run:
    def __init__(
        self, graph: Graph, request: FrontRequest, pool: str | None, callbacks: FrontCallbacks
    ) -> None:
        self._graph = graph
        self._request = request
        self._pool = pool
        self._callbacks = callbacks
        self._allowance = Allowance(request.options)
        self._plans = GraphPlans(graph, pool, Callbacks(callbacks.on_event, callbacks.cancel))
        self._is_alone = pool is None or lies_in(graph, pool)
        self._rooms = {name: room for name, room in rooms_of(graph).items() if name == pool}
        counted = (entry for entry in graph.pools if pool in (None, entry.id))
        room = min((entry.capacity for entry in counted if entry.capacity is not None), default=ANY)
        self._known = Known(request.most, limited_first=False, room=room)
        again = bool(request.generators & {"recompute", "spill"})
        # With alternatives, a program may need less than all that was looked at.
        self._learns = again and "stripes" not in request.generators and not graph.alternatives
        if self._learns:
            self._known.facts.learn(sum(operator_costs(graph)) - 1, ANY)
        self._knows_all = graph.order == GIVEN and self._is_alone and not again
        self._states_bounds = self._learns
        """Whether points say their bounds; so do those of which all ways are known."""
        self._open: Sequence[Corner] = ()
        """What paths through the graph say of all orders, where nothing is known that is as good."""
        self._plain: list[Candidate] = []
        self._tried = Tried()
        self._listed: OrderFront | None = None
        """With stripes, the front of the order of the document, where that was looked at for all orders."""
        self._beside = 0.0
        """The seconds that the last plan took beside its search."""

    def points(self) -> Points:
        """Each point when it is placed."""
        whole = self._allowance
        # One pool is placed after the other.
        placing = self._seconds_to_describe() * (1 if self._pool is None else 2)
        self._allowance = Allowance(whole.share(1 - max(_PLACING_SHARE, whole.fraction(placing))))
        candidates = self._candidates()
        whole.spend(self._allowance.work)
        self._allowance = whole
        self._know(candidates)
        fitting = self._fitting(candidates)
        known = {entry.plan.schedule: entry for entry in self._request.start}
        points: list[FrontPoint] = []
        done: list[Candidate] = []
        wanted = self._wanted(fitting)
        while wanted and len(points) < self._request.points:
            # One is planned in any case: a run that was stopped early has something to show for it.
            is_tried = points or self._tried.failed
            if is_tried and (self._callbacks.cancelled or not self._affords_plan()):
                self._tried.ended = True
                break
            entry = wanted[0]
            done.append(entry)
            plan = self._placed(entry, known.get(entry.schedule), len(wanted))
            if plan is not None:
                points.append(self._point(plan, entry))
                yield points[-1]
                wanted = wanted[1:]
            else:
                # What was as good as this one in both terms may fit.
                fitting = [other for other in fitting if other.schedule != entry.schedule]
                wanted = [other for other in self._wanted(fitting) if other not in done]
        for point in self._beyond(points):
            points.append(point)
            yield point
        return Ending(
            complete=self._known.complete,
            explanation=None if points else self._why_none(),
            infeasible=self._known.infeasible,
            work=self._allowance.work,
        )

    def _wanted(self, fitting: Sequence[Candidate]) -> list[Candidate]:
        """Those to place, the ends of the front first."""
        near = self._near(fitting)
        archive = Archive(near)
        wanted = [archive.items[at] for at in ends_first(len(archive.items))]
        # Alignments may make a plan larger than its live bytes, and so another order of the candidates.
        wanted += [entry for entry in self._plain if entry in near and entry not in wanted]
        return wanted[: self._request.points]

    def _placed(self, entry: Candidate, before: FrontPoint | None, left: int) -> Plan | None:
        """The plan of a candidate; None where it has none."""
        plan = before.plan if before is not None else None
        if plan is None:
            # Of one pool, only those are here that have room.
            needs = self._overfull(entry)
            if needs and not _is_only_way(self._graph, self._request):
                self._tried.misfits.append(Misfit(entry, needs))
                return None
            plan = self._plan(entry, left)
        self._learn_of(plan, entry)
        if plan.status in PLANNED:
            return plan
        self._tried.failed.append(plan)
        return None

    def _overfull(self, entry: Candidate) -> Mapping[str, int]:
        """Of several pools, those that have too little room for a candidate, and what it needs there."""
        if self._pool is None:
            return {}
        if not (entry.schedule.stripes or entry.schedule.alternatives):
            return overfull_pools(self._graph, entry.schedule)
        # As it was counted: all that runs is in the pool that counts.
        return {name: entry.bytes for name, room in self._rooms.items() if room < entry.bytes}

    def _why_none(self) -> Explanation | None:
        """Why there is no point, as far as that is known."""
        pool = self._graph.pools[0].id if self._pool is None and self._graph.pools else self._pool
        least = self._known.facts.least(ANY)
        if pool is not None and 0 < least < ANY:
            self._tried.least[pool] = max(least, self._tried.least.get(pool, 0))
        return nothing_fits(self._graph, self._request, self._tried)

    def _know(self, ways: Iterable[Candidate]) -> None:
        """These are all ways, but for those that another is as good as in both terms, if so much is known."""
        if self._knows_all:
            self._know_corners(Archive(ways).items)

    def _beyond(self, points: Sequence[FrontPoint]) -> Iterator[FrontPoint]:
        """What a tiny graph has besides: other schedules, where a plan needs more than its live bytes.

        Whoever takes a point adds it to those that were told.
        """
        graph, kinds = self._graph, kinds_of(self._request)
        tiny = len(graph.operators) <= MOST_OF_EVERY_WAY and not graph.alternatives
        if not tiny or not kinds or "stripes" in self._request.generators:
            return
        tried = {entry.plan.schedule for entry in points}
        base, order = sum(operator_costs(graph)), listed_order(graph)
        ways = every_way(graph, order, kinds, self._pool, lambda cost: self._most_of_use(base + cost, ANY))
        for way in ways:
            if self._callbacks.cancelled or self._allowance.over or len(points) >= self._request.points:
                return
            self._allowance.spend(_WORK_OF_A_WAY)
            if way is None or way.schedule in tried:
                continue
            cost = base + way.cost
            most = self._most_of_use(cost, cost)
            if most is None:
                continue
            try:
                schedule, size = with_room(graph, way.schedule, self._pool, most, unit_of(graph))
            except InputError:
                continue  # The order is one that the search does not know to be wrong.
            if size > most or (self._pool is not None and overfull_pools(graph, schedule)):
                continue
            candidate = Candidate(size, cost, schedule)
            plan = self._plan(candidate, _WAYS_LEFT, steady=True)
            if plan.status in PLANNED and self._plans.peak(plan) <= most:
                yield self._point(plan, candidate)

    def _most_of_use(self, cost: int, dearest: int) -> int | None:
        """The most bytes with which what costs so much would be a new point.

        None: there is none up to the dearest.
        """
        most, least = self._known.worth(cost), self._known.facts.least(dearest)
        is_wanted = cost <= self._known.most_limited()
        return most if is_wanted and least <= most and least < ANY else None

    def _learn_of(self, plan: Plan, candidate: Candidate) -> None:
        """Where there is nothing to choose, what is proven of the plan is proven of all."""
        if not _is_only_way(self._graph, self._request):
            return
        if plan.status is Status.INFEASIBLE:
            self._know(())
        elif plan.status in PLANNED and self._pool is None:
            self._know([replace(candidate, bytes=max(candidate.bytes, plan.pools[0].bound))])

    def _candidates(self) -> list[Candidate]:
        orders = orders_of(
            self._graph,
            self._allowance.share(_ORDERS_SHARE),
            Callbacks(self._callbacks.on_event, self._callbacks.cancel),
        )
        self._allowance.spend(orders.work)
        candidates = list(self._in_any_order())
        for number, order in enumerate(orders.orders):
            share = 1 / (len(orders.orders) - number)
            self._plain.append(self._unchanged(order))
            candidates.append(self._plain[-1])
            if not self._affords_description():
                self._knows_all = False
                break
            if self._is_alone:
                candidates += self._in_order(order, share, first=number == 0)
            if kinds_of(self._request):
                in_alternatives = list(self._choices(candidates))
                again = self._run_again(self._graph, order, share / (1 + len(in_alternatives)))
                candidates += again
                candidates += self._in_small_pools(order, share, again)
                for at, schedule in enumerate(in_alternatives):
                    candidates += self._again_in(schedule, share / (len(in_alternatives) - at))
        return candidates

    def _in_any_order(self) -> Iterable[Candidate]:
        """Where the order is free: each choice of alternatives in an order of its own, and what is proven.

        Else what is proven of the order of the document where operators run again.
        """
        graph, request = self._graph, self._request
        stripes, again = "stripes" in request.generators, bool(kinds_of(request))
        given = graph.order == GIVEN
        if not self._is_alone or (not again and (given or self._pool is not None)):
            return
        if again and not graph.alternatives and not stripes:
            # The search for what runs again proves it of all orders.
            return
        if stripes and self._affords_description():
            # What is known in the order of the document is possible in this one as well.
            listed = in_listed_order(graph)
            self._listed = front = self._in_listed_order(listed)
            if given and again:
                self._know_where_none_runs_again(front)
            changed = None if given else with_sums_last(listed)
            later = () if changed is None else self._in_listed_order(changed).points
            points = Archive([*front.points, *later]).items
            yield from points
            if not self._affords_description():
                return
            without: Sequence[Corner] = ()
            if graph.alternatives:
                # With better plans, fewer of the choices have to be looked at.
                if again:
                    plain = with_chosen(graph, ())
                    without = self._corners_in_any_order(plain, points, _WITHOUT_SHARE) or ()
                better = self._beside_a_path(points, without)
                yield from better
                points = Archive([*points, *better]).items
            if self._knows_by_paths(points, without):
                return
            if not graph.alternatives:
                yield from self._beside_a_path(points, self._open)

        def run_again(chosen: Graph, order: Sequence[int], share: float) -> Reruns:
            return reruns(chosen, order, request, self._pool, self._allowance, share, self._callbacks)

        in_turn = [None] if not again or (stripes and not given) else []
        for ways in (*in_turn, *([run_again] if again else [])):
            if not self._affords_description():
                return
            known = free_front(
                graph,
                self._allowance,
                _LISTED_SHARE if given else _FREE_SHARE,
                request.most,
                lambda: self._callbacks.cancelled,
                stripes=stripes,
                again=ways,
            )
            yield from known.candidates
            if known.corners is not None and (ways is not None or not again):
                self._know_corners(known.corners)

    def _in_listed_order(self, graph: Graph) -> OrderFront:
        budget = self._allowance.budget(_LISTED_SHARE)
        with cancelling(budget, self._callbacks.cancel):
            front = order_front(graph, listed_order(graph), budget)
        self._allowance.spend(budget.work)
        return front

    def _knows_by_paths(self, known: Sequence[Candidate], without: Sequence[Corner]) -> bool:
        """Learn what paths through the graph say of all orders; whether none is better than what is known."""
        corners = self._corners_in_any_order(self._graph, known, _PATHS_SHARE, without)
        if corners is None:
            return False
        self._know_corners(corners)
        best = Archive(known)
        self._open = [corner for corner in corners if not best.beats(corner.bytes, corner.cost)]
        return not self._open

    def _corners_in_any_order(
        self, graph: Graph, known: Sequence[Candidate], share: float, without: Sequence[Corner] = ()
    ) -> Sequence[Corner] | None:
        budget = self._allowance.budget(share)
        with cancelling(budget, self._callbacks.cancel):
            corners = corners_in_any_order(graph, known, budget, kinds_of(self._request), without)
        self._allowance.spend(budget.work)
        return corners

    def _beside_a_path(self, known: Sequence[Candidate], corners: Sequence[Corner]) -> Sequence[Candidate]:
        """What is better than these, without alternatives: along a path, where bounds of it are better."""
        kinds, graph = kinds_of(self._request), with_chosen(self._graph, ())
        if not kinds or not corners or len(graph.operators) > _MOST_ALONG:
            return []
        best = Archive(known)
        is_open = (corner for corner in corners if not best.beats(corner.bytes, corner.cost))
        ways = [[*corner.ends] for corner in is_open if isinstance(corner, PathCorner)]
        path, listed = widest_path(graph), listed_order(graph)
        if graph.order == GIVEN:
            # What is made of what is beside the path may have its turn after the next one only.
            ways += [sorted({*ends, *(end + 1 for end in ends if end + 2 < len(path))}) for ends in ways]
        waits_in = None if self._pool is None else pool_of_spills(graph, self._pool)
        orders = [listed, eager(graph, path, listed)]
        end = self._allowance.mark(_DETOURS_SHARE)
        better: list[Candidate] = []

        def is_over() -> bool:
            return self._callbacks.cancelled or self._allowance.is_past(end)

        def is_better(schedule: Schedule) -> bool:
            plain = Candidate(0, 0, schedule)
            there = striped(graph, [plain], self._pool, self._allowance, _DETOURS_SHARE, self._callbacks)
            try:
                new = [entry for entry in there if best.offer(entry)]
            except InputError:
                return False  # Something of the graph is against other runs.
            better.extend(new)
            return bool(new)

        along = [Along(graph, path, order, waits_in) for order in orders]
        try_detours(along, ways, kinds, is_better, is_over)
        return better

    def _know_where_none_runs_again(self, front: OrderFront) -> None:
        """Learn from the front of an order in which each operator runs once, and nothing waits.

        Up to what one more run costs, or one copy.
        """
        corners, kinds = front.points if front.complete else front.corners, kinds_of(self._request)
        if corners and kinds and not self._graph.alternatives:
            self._know_corners(corners, _least_with_more(self._graph, kinds) - 1)

    def _know_corners(self, corners: Sequence[Corner | Candidate], dearest: int = ANY) -> None:
        """Each plan is as bad as one of these in both terms, which are a front, ascending in bytes.

        Unless it costs more than the dearest.
        """
        facts, least = self._known.facts, ANY
        for corner in reversed(corners):
            facts.learn(min(corner.cost - 1, dearest), least)
            least = corner.bytes
        facts.learn(dearest, least)
        self._states_bounds = facts.least(0) > 0

    def _unchanged(self, order: Sequence[int]) -> Candidate:
        """Each operator once, by itself."""
        operators = self._graph.operators
        schedule = Schedule(order=tuple(operators[entry].id for entry in order))
        plain = with_chosen(self._graph, ())
        size = peak_of(plain, schedule, self._pool, unit_of(plain))
        return Candidate(size, sum(operator_costs(self._graph)), schedule)

    def _in_order(self, order: Sequence[int], share: float, first: bool) -> Iterable[Candidate]:
        """Ways to run one order, and orders next to it."""
        wants_stripes = "stripes" in self._request.generators
        moves = first and wants_stripes and self._graph.order != GIVEN
        is_last = not moves and not kinds_of(self._request)
        front = self._known_of(order)
        if front is None:
            budget = self._allowance.budget((_ONLY_SEARCH_SHARE if is_last else _SCHEDULES_SHARE) * share)
            with cancelling(budget, self._callbacks.cancel):
                front = order_front(self._graph, order, budget, stripes=wants_stripes)
            self._allowance.spend(budget.work)
        if self._knows_all and not front.complete:
            self._knows_all = False
            if front.corners is not None:
                self._know_corners(front.corners)
        fronts = [front]
        if moves:
            fronts += moved_orders(self._graph, order, front, self._allowance, _MOVES_SHARE, self._callbacks)
        return [point for front in fronts for point in front.points]

    def _known_of(self, order: Sequence[int]) -> OrderFront | None:
        """The front of an order that is known as a whole; in other orders alternatives are not cut."""
        graph, listed = self._graph, self._listed
        is_same = graph.order == GIVEN or not graph.alternatives
        if listed is None or not listed.complete or not is_same or list(order) != listed_order(graph):
            return None
        return listed

    def _in_small_pools(
        self, order: Sequence[int], share: float, candidates: Sequence[Candidate]
    ) -> Iterator[Candidate]:
        """Where the order as it is needs more than a pool has, what needs less there.

        A tiny graph was searched with the limits of all pools, so it is searched again only if nothing fits.
        """
        graph = self._graph
        if self._pool is None:
            return
        tiny = len(graph.operators) <= MOST_OPERATORS
        if tiny and not all(overfull_pools(graph, entry.schedule) for entry in candidates):
            return
        rooms = rooms_of(graph)
        # Of the pool that counts, a large graph was searched whatever its limit.
        small = [
            name for name in overfull_pools(graph, self._plain[-1].schedule) if tiny or name != self._pool
        ]
        for number, name in enumerate(small):
            pools = (replace(pool, capacity=None) if pool.id == name else pool for pool in graph.pools)
            again = reruns(
                replace(graph, pools=tuple(pools)),
                order,
                self._request,
                name,
                self._allowance,
                _RERUNS_SHARE * share / (len(small) - number),
                self._callbacks,
            )
            for cost, size in again.bounds if self._learns else ():
                if size > rooms[name]:
                    self._known.facts.learn(cost, ANY)
                if cost >= ANY:
                    self._tried.least[name] = max(size, self._tried.least.get(name, 0))
            for entry in again.candidates:
                yield replace(entry, bytes=peak_of(graph, entry.schedule, self._pool))

    def _choices(self, candidates: Sequence[Candidate]) -> Iterator[Schedule]:
        """Schedules of the best choices of alternatives that run each operator once, the ends first."""
        once = [entry for entry in candidates if len(set(entry.schedule.order)) == len(entry.schedule.order)]
        best = Archive(self._near(once)).items
        known: set[tuple[str, ...]] = {()}
        for at in ends_first(len(best)):
            schedule = best[at].schedule
            if schedule.alternatives not in known and len(known) <= _MOST_CHOICES:
                known.add(schedule.alternatives)
                yield schedule

    def _again_in(self, schedule: Schedule, share: float) -> Iterator[Candidate]:
        """What runs again beside the alternatives of a schedule, in its order."""
        graph = with_chosen(self._graph, schedule.alternatives)
        index = links_of(graph).operator_index
        for entry in self._run_again(graph, [index[name] for name in schedule.order], share):
            yield replace(entry, schedule=replace(entry.schedule, alternatives=schedule.alternatives))

    def _run_again(self, graph: Graph, order: Sequence[int], share: float) -> list[Candidate]:
        again = reruns(
            graph,
            order,
            self._request,
            self._pool,
            self._allowance,
            _RERUNS_SHARE * share,
            self._callbacks,
        )
        candidates = again.candidates
        for cost, size in again.bounds if self._learns else ():
            self._known.facts.learn(cost, size)
        if "stripes" in self._request.generators:
            best = Archive(self._near(candidates)).items
            candidates += striped(
                graph, best, self._pool, self._allowance, _SCHEDULES_SHARE * share, self._callbacks
            )
        return candidates

    def _near(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Those that do not cost more than was asked for."""
        most = self._request.most(min((entry.cost for entry in candidates), default=0))
        return [entry for entry in candidates if most is None or entry.cost <= most]

    def _fitting(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Those whose live bytes are no more than there is."""
        capacity = self._plans.capacity
        if capacity is None:
            return list(candidates)
        pool = self._graph.pools[0].id
        self._tried.misfits += [
            Misfit(entry, {pool: entry.bytes}) for entry in candidates if entry.bytes > capacity
        ]
        return [entry for entry in candidates if entry.bytes <= capacity]

    def _plan(self, candidate: Candidate, left: int, *, steady: bool = False) -> Plan:
        """`steady`: with little work and without back ends, which take long to begin."""
        began, options = self._allowance.seconds, self._allowance.share(1 / left)
        if steady:
            work = min(options.work_limit or _WORK_OF_A_PLAN, _WORK_OF_A_PLAN)
            options = replace(options, deterministic=True, work_limit=work)
        if self._callbacks.cancelled:
            plan = self._plans.at_once(candidate, options)
        else:
            plan = self._plans.plan(candidate, options)
        self._allowance.spend(plan.work)
        self._beside = self._allowance.seconds - began - plan.seconds
        return plan

    def _affords_description(self) -> bool:
        """Whether there is time to describe another order to those who look for schedules in it."""
        return self._allowance.affords(self._seconds_to_describe())

    def _seconds_to_describe(self) -> float:
        alternatives = sum(len(entry.operators) for entry in self._graph.alternatives)
        return _SECONDS_TO_DESCRIBE * (len(self._graph.operators) + alternatives)

    def _affords_plan(self) -> bool:
        """Whether there is time for another plan, were its search over at once."""
        return not self._allowance.over and self._allowance.affords(self._beside)

    def _point(self, plan: Plan, candidate: Candidate) -> FrontPoint:
        plan_and_values = ValuedPlan(candidate.cost, self._plans.peak(plan), plan)
        self._known.add(plan_and_values)
        peak = self._request.terms[0]
        least_cost, least_peak = self._known.bounds(plan_and_values)
        bounds = {peak: least_peak, COST: least_cost} if self._states_bounds or self._knows_all else {}
        values = {peak: plan_and_values.improved, COST: plan_and_values.limited}
        return FrontPoint(values=values, bounds=bounds, proven=bounds == values, plan=plan)


def _least_with_more(graph: Graph, kinds: AbstractSet[str]) -> int:
    """What all operators cost at least, in any stripes, if one runs again, or one tensor waits elsewhere.

    If that is of some use: what makes nothing that is planned need not run again.
    """
    sized = [tensor for tensor in graph.tensors if is_planned(tensor) and size_of(tensor)]
    names = {tensor.id for tensor in sized}
    added: list[int] = []
    if "recompute" in kinds:
        each = zip(
            graph.operators, operator_costs(graph), runs_once(graph), reruns_in_stripes(graph), strict=True
        )
        added += (
            rerun.adds(cost)
            for operator, cost, once, rerun in each
            if not (once or names.isdisjoint(operator.outputs))
        )
    if "spill" in kinds:
        added += (COPIES * size_of(tensor) for tensor in sized if can_spill(graph, tensor))
    return min(ANY, least_cost_in_stripes(graph) + min(added, default=ANY))


def _is_only_way(graph: Graph, request: FrontRequest) -> bool:
    """Whether the graph runs in the order of the document, and there is nothing to choose."""
    if graph.order != GIVEN or graph.alternatives or kinds_of(request):
        return False
    return "stripes" not in request.generators or not any(kinds(graph))
