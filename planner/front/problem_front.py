"""The points of the front of a problem, by solving with a limit on one term and improving the other.

The ends come first, then the middle of what is least known (`Known`). Each solve proves a statement about
all plans within its limit (`Facts`), from which the bounds of every point follow. Capacities and limits
matter in multiples of the step in which peaks change (`step_of`).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from memstow.planner.check import find_issues, require_hint, require_valid
from memstow.planner.front.front_request import (
    ANY,
    Ending,
    FrontCallbacks,
    FrontRequest,
    Known,
    Points,
    ValuedPlan,
)
from memstow.planner.front.two_terms import PlansFor, TwoTerms, cut, two_terms
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.front import FrontPoint
from memstow.planner.model.options import Event, Listener, Options, Phase
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.model.problem import Kind, Pool, Problem
from memstow.planner.reduce import reduce
from memstow.planner.solve import engine
from memstow.planner.solve.portfolio import Allowance


def step_of(two: TwoTerms) -> int:
    """The step; 1 where any offset may matter."""
    if any(term.kind is Kind.MOVES for term in two.terms):
        return 1
    reduction = reduce(two.problem)
    return 1 if isinstance(reduction, Explanation) else reduction.unit


def on_grid(two: TwoTerms, step: int) -> TwoTerms:
    """The same with capacities that are multiples of the step."""
    if step == 1:
        return two
    problem = replace(two.problem, pools=tuple(_on_grid(pool, step) for pool in two.problem.pools))
    return two if find_issues(problem) else replace(two, problem=problem)


def below(limit: int, step: int) -> int:
    """The largest multiple of the step that is no more."""
    return limit if limit >= ANY else limit - limit % step


def _on_grid(pool: Pool, step: int) -> Pool:
    return pool if pool.capacity is None else cut(pool, below(pool.capacity, step))


_FIRST_SHARE: Final = 1 / 3
_SECOND_SHARE: Final = 1 / 2
_MOST_OPEN: Final = 6
_MOST_TRIES: Final = 3


def problem_points(problem: Problem, request: FrontRequest, callbacks: FrontCallbacks) -> Points:
    """The points of this front, as they are found."""
    require_valid(problem)
    require_hint(problem, request.options.hint)
    return _Run(problem, request, callbacks).points()


class _Run:
    """One front. `x` is the limited term, `y` the other."""

    def __init__(self, problem: Problem, request: FrontRequest, callbacks: FrontCallbacks) -> None:
        self._request = request
        self._callbacks = callbacks
        self._allowance = Allowance(request.options)
        two = two_terms(problem, request.terms)
        self._step = step_of(two)
        self._two: TwoTerms = on_grid(two, self._step)
        self._freed = two.problem
        self._problem = problem
        self._plans = PlansFor(problem, request.options.hint)
        self._overrun = self._allowance.seconds
        """Seconds that the last solve took beyond its limit; before one, those to describe the problem."""
        self._making = self._overrun
        """The seconds that the last plan took to become a point: it is judged again."""
        self._hears = _give_ups(callbacks.on_event)
        self._known = Known(request.most, limited_first=self._two.limited == 0)
        self._plan_at: dict[tuple[int, int], Plan] = {}
        self._yielded: dict[tuple[int, int], FrontPoint] = {}
        self._tries: Counter[int] = Counter()
        self._looks: Counter[int] = Counter()
        self._explanation: Explanation | None = None

    def points(self) -> Points:
        """Yields the points; see `Points`."""
        self._start()
        yield from self._news()
        self._solve_least_limited()
        yield from self._news()
        if not self._known.infeasible and (not self._known.listed() or self._affords_solve()):
            self._solve_within(self._known.most_limited(), _SECOND_SHARE)
            yield from self._news()
        while not self._callbacks.cancelled and self._affords_solve():
            limit = self._next_limit()
            if limit is None:
                break
            share = 2 ** self._tries[limit] / (2 + min(len(self._known.gaps()), _MOST_OPEN))
            self._solve_within(limit, min(share, 1.0))
            yield from self._news()
        return Ending(
            complete=self._known.complete,
            explanation=self._explanation,
            infeasible=self._known.infeasible,
            work=self._allowance.work,
        )

    def _start(self) -> None:
        """Take over the points of an earlier run, with what they say is proven."""
        x, y = self._two.limited, self._two.improved
        names = self._two.names
        for point in self._request.start:
            limited, improved = point.values[names[x]], point.values[names[y]]
            self._plan_at[limited, improved] = point.plan
            self._known.add(ValuedPlan(limited, improved, point.plan))
            self._known.facts.learn(limited, point.bounds.get(names[y], 0))
            self._known.facts.learn(point.bounds.get(names[x], 0) - 1, improved + 1)

    def _solve_least_limited(self) -> None:
        """The end with the least value of the limited term."""
        plan = self._solved(self._two.limited_first(), self._allowance.share(_FIRST_SHARE), None)
        if plan is None:
            return
        x, y = plan.objective
        self._known.facts.learn(x.bound - 1, ANY)
        if x.value == x.bound:
            self._known.facts.learn(x.value, y.bound)
        self._known.add(ValuedPlan(x.value, y.value, plan))

    def _solve_within(self, limit: int, share: float) -> None:
        """The least value of the other term within a limit; ANY: without one."""
        self._tries[limit] += 1
        problem = self._two.within(None if limit >= ANY else below(limit, self._step))
        limit = limit if limit >= ANY else below(limit, self._step) + self._step - 1
        if problem is None:
            self._known.facts.learn(limit, ANY)
            return
        plan = self._solved(problem, self._allowance.share(share), limit)
        if plan is None:
            return
        y, x = plan.objective
        self._known.facts.learn(limit, y.bound)
        if y.value == y.bound:
            # Within the limit nothing has less of the other term, and with as much of it no less of this.
            self._known.facts.learn(x.bound - 1, y.value + 1)
        self._known.add(ValuedPlan(x.value, y.value, plan))

    def _solved(self, problem: Problem, options: Options, limit: int | None) -> Plan | None:
        """The plan, if there is one; None with a fact where nothing fits."""
        hint = self._known.best_within(limit)
        if hint is not None and all(term.kind is not Kind.MOVES for term in self._two.terms):
            options = replace(options, hint=hint)
        cancel = self._callbacks.cancel
        if self._callbacks.cancelled and not self._known.listed():
            # A run that was stopped early has a point to show for it, if one can be found at a glance.
            cancel, options = None, replace(options, time_limit=0.0)
        limit_of_solve = max(options.time_limit - self._overrun - self._making, 0.0)
        began = self._allowance.seconds
        plan = engine.plan(problem, replace(options, time_limit=limit_of_solve), self._hears, cancel)
        self._overrun = max(self._allowance.seconds - began - limit_of_solve, 0.0)
        self._allowance.spend(plan.work)
        if plan.status is Status.INFEASIBLE:
            if limit in (None, ANY):
                self._explanation = plan.explanation
            self._known.facts.learn(ANY if limit is None else limit, ANY)
        return plan if plan.status in PLANNED else None

    def _affords_solve(self) -> bool:
        """Whether there is time for another solve, were its search over at once."""
        return not self._allowance.over and self._allowance.affords(self._overrun + self._making)

    def _next_limit(self) -> int | None:
        """The limit of the next solve; None where no other promises anything."""
        if len(self._known.listed()) >= self._request.points:
            return self._unproven_limit()
        tries, looks = self._tries, self._looks
        for gap in sorted(self._known.gaps(), key=lambda gap: gap.area / 4 ** looks[gap.high], reverse=True):
            # The middle spreads the points; what is just below the neighbour closes an empty gap at once.
            middle = gap.high if gap.high >= ANY else (gap.low + gap.high) // 2
            limits = (middle, gap.high) if looks[gap.high] % 2 == 0 else (gap.high, middle)
            for limit in (*limits, gap.low):
                if tries[limit] < _MOST_TRIES:
                    looks[gap.high] += 1
                    return limit
        return None

    def _unproven_limit(self) -> int | None:
        """Where a point that is known may be improved or proven."""
        for plan in self._known.listed():
            if not self._known.proven(plan) and self._tries[plan.limited] < _MOST_TRIES:
                return plan.limited
        return None

    def _news(self) -> Iterator[FrontPoint]:
        """The points that are new, or of which more is proven than when they were told."""
        for plan in self._known.listed()[: self._request.points]:
            point = self._point(plan)
            key = plan.values
            if self._yielded.get(key) != point:
                self._yielded[key] = point
                yield point

    def _point(self, known: ValuedPlan) -> FrontPoint:
        x, y = self._two.limited, self._two.improved
        names, bounds = self._two.names, self._known.bounds(known)
        values = {x: known.limited, y: known.improved}
        least = {x: bounds[0], y: bounds[1]}
        return FrontPoint(
            values={names[i]: values[i] for i in (0, 1)},
            bounds={names[i]: least[i] for i in (0, 1)},
            proven=self._known.proven(known),
            plan=self._plan_of(known),
        )

    def _plan_of(self, known: ValuedPlan) -> Plan:
        """The judged plan for the problem of the user, where capacities are terms with these."""
        key = known.values
        plan = self._plan_at.get(key)
        if plan is None:
            began = self._allowance.seconds
            plans = self._plans
            if self._two.capacities:
                fitted = with_capacities(self._freed, self._two.capacities, known.plan)
                plans = PlansFor(fitted, self._request.options.hint)
            plan = self._plan_at[key] = plans.plan(known.plan)
            self._making = self._allowance.seconds - began
        return plan


def with_capacities(problem: Problem, names: frozenset[str], plan: Plan) -> Problem:
    """The problem with no more space in these pools than the plan needs."""
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    ends = dict.fromkeys(names, 0)
    for place in plan.placements:
        if place.pool in names:
            ends[place.pool] = max(ends[place.pool], place.offset + size_of.get(place.buffer, 0))
    return replace(
        problem,
        pools=tuple(cut(pool, ends[pool.id]) if pool.id in names else pool for pool in problem.pools),
    )


def _give_ups(listener: Listener | None) -> Listener | None:
    """Tells of each solver that is missing or gave up, once; values of single solves are no news."""
    if listener is None:
        return None
    names: set[str] = set()

    def hear(event: Event) -> None:
        if isinstance(event, Phase) and event.is_note and event.name not in names:
            names.add(event.name)
            listener(event)

    return hear
