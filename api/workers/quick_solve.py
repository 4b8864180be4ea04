"""The fast path: a small problem is read, tried briefly and answered in the thread of the request."""

import threading
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final

from memstow.api import tracing
from memstow.api.lru import LruCache
from memstow.api.metrics import Metrics
from memstow.api.operations import plan_forms
from memstow.api.operations.body import ParsedRequest, parse_request
from memstow.api.operations.documents import buffer_ids, problem_of
from memstow.api.operations.encoding import (
    bytes_in_order,
    cache_key_of_owner,
    plan_from_bytes,
    plan_to_bytes,
)
from memstow.api.operations.requests import BodyForm, Limits
from memstow.api.operations.results import SolveResult, ValidatedRequest
from memstow.api.operations.solve import better_answer, result_of, solve_briefly
from memstow.api.store.cache_writer import CacheWriter
from memstow.api.store.plan_cache import CachedPlan, PlanCache, owned
from memstow.planner.model.plan import PLANNED, Plan, Status
from memstow.planner.model.problem import choice_count

# A plan that is found within this time is not stored: solving again is faster than a query.
_FIRST_SECONDS: Final = 0.01
# Bytes of the keys of slower problems, for which the store is asked first.
_SLOW_BYTES: Final = 1 << 20
_PROVEN: Final = frozenset({Status.OPTIMAL, Status.INFEASIBLE})


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan to send."""

    plan: bytes
    format: str  # as requested; JSON where there is no plan
    cached: bool
    repeatable: bool  # whether the same request always has the same answer


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The result of a short attempt."""

    plan: bytes | None  # native
    final: bool
    cached: bool = False
    proven: bool = False


class FastPath:
    """Answers small requests in this process."""

    def __init__(
        self, cache: PlanCache, writer: CacheWriter, seconds: float, most_choices: int, metrics: Metrics
    ) -> None:
        self._cache = cache
        self._writer = writer
        self._seconds = seconds
        self._most_choices = most_choices
        self._metrics = metrics
        self._lock = threading.Lock()
        self._in_progress: dict[str, Future[_Attempt]] = {}
        self._slow: LruCache[str, bool] = LruCache(_SLOW_BYTES, lambda key, _true: len(key))

    def attempt(
        self, body: bytes, form: BodyForm, limits: Limits, to: str, fresh: bool, owner: str | None
    ) -> Answer | ValidatedRequest:
        """The answer, if it can be had at once; else the request as a job."""
        with tracing.span("read"):
            request = parse_request(body, form, limits)
        if not isinstance(request, ParsedRequest):
            # A problem with symbols takes longer.
            return request.validated()
        problem = problem_of(request.problem)
        plan_forms.refuse_other_documents(request.problem, to)
        if choice_count(problem) > self._most_choices or plan_forms.takes_long(problem, to):
            # Preparing and judging it takes longer than the attempt, whatever its time limit.
            return request.validated()
        mine = replace(
            request,
            cache_key=cache_key_of_owner(request.cache_key, owner),
            digest=owned(request.digest, owner),
        )
        attempt = self._solve(mine, owner) if fresh else self._solve_once(mine, owner)
        self._metrics.cache.labels("hit" if attempt.cached else "miss").inc()
        if attempt.plan is None or not attempt.final:
            return replace(request.validated(), plan=attempt.plan)
        name, plan = _rewritten(request, attempt.plan, to)
        return Answer(plan, name, attempt.cached, attempt.proven or request.options.deterministic)

    def _solve_once(self, request: ParsedRequest, owner: str | None) -> _Attempt:
        """Of equal requests at one time the first is solved, and the others share its result."""
        with self._lock:
            future = self._in_progress.get(request.cache_key)
            first = future is None
            if future is None:
                future = self._in_progress[request.cache_key] = Future()
        if not first:
            attempt = future.result()
            # The first may list the buffers in another order.
            return attempt if attempt.plan is None else replace(attempt, plan=_ordered(request, attempt.plan))
        try:
            attempt = self._from_cache_or_solved(request, owner)
            future.set_result(attempt)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._in_progress[request.cache_key]
        return attempt

    def _from_cache_or_solved(self, request: ParsedRequest, owner: str | None) -> _Attempt:
        """Most small problems are solved in less time than a query of the store takes."""
        remembered = self._cache.proven_answer(request.cache_key)
        if remembered is not None:
            return _Attempt(_ordered(request, remembered), final=True, cached=True, proven=True)
        if self._slow.get(request.cache_key) is None:
            attempt = self._first_attempt(request, owner)
            if attempt is not None:
                return attempt
            self._slow.put(request.cache_key, True)
        cached = self._cache.answer(request.cache_key, request.digest, request.options.deterministic)
        if cached is None:
            return self._solve(request, owner)
        plan = _ordered(request, cached.plan)
        return _Attempt(plan, final=True, cached=True, proven=cached.status in _PROVEN)

    def _first_attempt(self, request: ParsedRequest, owner: str | None) -> _Attempt | None:
        """A proven plan, if one is found almost at once."""
        seconds = min(_FIRST_SECONDS, self._seconds)
        plan, final = _solve_briefly(request, seconds)
        if plan is None or not final or plan.status not in _PROVEN:
            return None
        result = result_of(request.problem, plan)
        self._count(plan, result)
        found = plan.status is Status.OPTIMAL
        self._cache.remember_proven(request.cache_key, request.digest, result.plan, found, owner)
        return _Attempt(result.plan, final=True, proven=True)

    def _solve(self, request: ParsedRequest, owner: str | None) -> _Attempt:
        problem, options = request.problem, request.options
        plan, final = _solve_briefly(request, self._seconds)
        if plan is None or plan.status is Status.UNKNOWN:
            return _Attempt(None if plan is None else plan_to_bytes(plan), final)
        best = True
        if plan.status is Status.FEASIBLE and not options.deterministic:
            plan, best = self._not_worse(request, plan)
        result = result_of(problem, plan)
        if final:
            self._count(plan, result)
        key = request.cache_key if final else None
        self._writer.write(CachedPlan(request.digest, result, key, best, owner))
        return _Attempt(result.plan, final, proven=plan.status in _PROVEN)

    def _not_worse(self, request: ParsedRequest, plan: Plan) -> tuple[Plan, bool]:
        """The best plan known for the problem, and whether it is this one."""
        stored = self._cache.best_of(request.digest)
        if stored is None:
            return plan, True
        known = plan_from_bytes(stored)
        chosen = better_answer(request.problem, plan, known)
        return chosen, chosen is not known

    def _count(self, plan: Plan, result: SolveResult) -> None:
        gap = plan.objective[0].gap if plan.objective else None
        self._metrics.solve_ended(result.solver, result.status, plan.seconds, gap)


def _solve_briefly(request: ParsedRequest, seconds: float) -> tuple[Plan | None, bool]:
    with tracing.solve() as listener:
        return solve_briefly(request.problem, request.options, seconds, listener)


def _ordered(request: ParsedRequest, plan: bytes) -> bytes:
    return bytes_in_order(buffer_ids(request.problem), plan)


def _rewritten(request: ParsedRequest, body: bytes, to: str) -> tuple[str, bytes]:
    """A native plan in the requested format; a result without placements stays JSON."""
    if to == "json":
        return to, body
    plan = plan_from_bytes(body)
    if plan.status not in PLANNED:
        return "json", body
    return to, plan_forms.write(request.problem, plan, to)
