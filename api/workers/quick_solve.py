"""The fast path: a small problem is read, tried for a moment and answered in the thread that took it."""

import threading
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final

from memstow.api.lru import Recent
from memstow.api.metrics import Metrics
from memstow.api.operations.body import Asked, Form, Limits, plan_of, read_asked
from memstow.api.operations.buffer_order import written_in_order
from memstow.api.operations.operations import described, kept
from memstow.api.operations.results import Accepted, Solved
from memstow.api.operations.solve import briefly, preferred
from memstow.api.store.cache_writer import Keeping
from memstow.api.store.plan_cache import Found, PlanCache
from memstow.planner import formats
from memstow.planner.model.plan import PLANNED, Plan, Status

# What is solved in so short a time is not worth a place in the store.
_GLANCE_SECONDS: Final = 0.01
# What was not solved in it is not tried again for a while.
_LONGER_BYTES: Final = 1 << 20
_PROVEN: Final = frozenset({Status.OPTIMAL, Status.INFEASIBLE})


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a moment's work: the answer, or a job to put into the queue."""

    plan: bytes | None  # the answer, in the format asked for
    format: str
    cached: bool
    final: bool  # whether who asks the same again has the same answer
    draft: Accepted | None


@dataclass(frozen=True, slots=True)
class _Moment:
    plan: bytes | None  # native
    whole: bool
    cached: bool
    proven: bool = False


class FastPath:
    """Tries problems in this process."""

    def __init__(
        self, cache: PlanCache, keeping: Keeping, limits: Limits, seconds: float, metrics: Metrics
    ) -> None:
        self._cache = cache
        self._keeping = keeping
        self._limits = limits
        self._seconds = seconds
        self._metrics = metrics
        self._lock = threading.Lock()
        self._flights: dict[str, Future[_Moment]] = {}
        self._longer: Recent[str, bool] = Recent(_LONGER_BYTES, lambda key, _true: len(key))

    def attempt(self, body: bytes, form: Form, limits: Limits, to: str, fresh: bool) -> Tried:
        """The answer, if it can be had at once."""
        asked = read_asked(body, form, limits)
        moment = self._solved(asked) if fresh else self._in_one_flight(asked)
        self._metrics.cache.labels("hit" if moment.cached else "miss").inc()
        if moment.plan is not None and moment.whole:
            name, plan = rewritten(asked, moment.plan, to)
            return Tried(plan, name, moment.cached, moment.proven or asked.options.deterministic, None)
        return Tried(None, to, False, False, replace(kept(asked), plan=moment.plan))

    def _in_one_flight(self, asked: Asked) -> _Moment:
        """Of equal questions at one time the first is answered, and the others have its answer."""
        with self._lock:
            flight = self._flights.get(asked.cache_key)
            leads = flight is None
            if flight is None:
                flight = self._flights[asked.cache_key] = Future()
        if not leads:
            moment = flight.result()
            # Who asked first may name the buffers in another order.
            return moment if moment.plan is None else replace(moment, plan=_ordered(asked, moment.plan))
        try:
            moment = self._known_or_solved(asked)
            flight.set_result(moment)
        except BaseException as error:
            flight.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flights[asked.cache_key]
        return moment

    def _known_or_solved(self, asked: Asked) -> _Moment:
        """Most small problems are solved in less time than the store takes to be asked."""
        glimpsed = self._cache.glimpsed(asked.cache_key)
        if glimpsed is not None:
            return _Moment(_ordered(asked, glimpsed), True, True, proven=True)
        if self._longer.find(asked.cache_key) is None:
            glance = min(_GLANCE_SECONDS, self._seconds)
            plan, whole = briefly(asked.problem, asked.options, glance)
            if plan is not None and whole and plan.status in _PROVEN:
                solved = described(asked.problem, plan)
                self._count(plan, solved)
                found = plan.status is Status.OPTIMAL
                self._cache.glimpse(asked.cache_key, asked.digest, solved.plan, found)
                return _Moment(solved.plan, True, False, proven=True)
            self._longer.keep(asked.cache_key, True)
        known = self._cache.answer(asked.cache_key, asked.digest, asked.options.deterministic)
        if known is None:
            return self._solved(asked)
        return _Moment(_ordered(asked, known.plan), True, True, proven=known.status in _PROVEN)

    def _count(self, plan: Plan, solved: Solved) -> None:
        self._metrics.solve_ended(
            solved.solver, solved.status, plan.seconds, plan.objective[0].gap if plan.objective else None
        )

    def _solved(self, asked: Asked) -> _Moment:
        plan, whole = briefly(asked.problem, asked.options, self._seconds)
        if plan is None or plan.status is Status.UNKNOWN:
            body = None if plan is None else formats.write_plan(asked.problem, plan)
            return _Moment(body, whole, False)
        leads = True
        if plan.status is Status.FEASIBLE and not asked.options.deterministic:
            plan, leads = self._not_worse(asked, plan)
        solved = described(asked.problem, plan)
        if whole:
            self._count(plan, solved)
        self._keeping.keep(Found(asked.digest, solved, asked.cache_key if whole else None, leads))
        return _Moment(solved.plan, whole, False, proven=plan.status in _PROVEN)

    def _not_worse(self, asked: Asked, plan: Plan) -> tuple[Plan, bool]:
        """The best plan known for the problem, and whether it is this one."""
        before = self._cache.best_of(asked.digest)
        if before is None:
            return plan, True
        known = plan_of(before)
        found = preferred(asked.problem, plan, known)
        return found, found is not known


def _ordered(asked: Asked, plan: bytes) -> bytes:
    return written_in_order([buffer.id for buffer in asked.problem.buffers], plan)


def rewritten(asked: Asked, plan: bytes, to: str) -> tuple[str, bytes]:
    """A plan of ours in the format asked for; one that says that there is none stays as it is."""
    if to == "json":
        return to, plan
    made = plan_of(plan)
    if made.status not in PLANNED:
        return "json", plan
    return to, formats.write_plan(asked.problem, made, to)
