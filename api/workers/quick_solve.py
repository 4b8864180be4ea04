"""What a small request asks for, by the names under which its answer is kept."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Final

from memstow.api import tracing
from memstow.api.metrics import Metrics
from memstow.api.operations import plan_forms
from memstow.api.operations.body import ParsedRequest, PlainBody, parse_request, plain_body
from memstow.api.operations.encoding import (
    buffer_ids,
    bytes_in_order,
    cache_key_of_owner,
    plan_from_bytes,
    plan_to_bytes,
)
from memstow.api.operations.envelope import LONGEST_NAME
from memstow.api.operations.request_types import BodyForm, Limits, ValidatedRequest
from memstow.api.operations.solve import (
    better_answer,
    result_of,
    solve_briefly,
    solve_plain_at_once,
    solve_plain_briefly,
    stands_alone,
)
from memstow.api.process_memory import LruCache
from memstow.api.store.plan_cache import CachedPlan, CacheWriter, PlanCache, owned
from memstow.planner.graph.documents import problem_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import choice_count
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import PlainPlan, is_in_order, plan_as_json


class QuickRequest:
    """What a request asks for. A plain problem stays columns for as long as nothing needs its objects."""

    def __init__(
        self, read: ParsedRequest | PlainBody, owner: str | None, read_whole: Callable[[], ParsedRequest]
    ) -> None:
        self.options: Options = read.options
        self.digest = owned(read.digest, owner)
        self.cache_key = cache_key_of_owner(read.cache_key, owner)
        self.owner = owner
        self.columns: Columns | None = read.columns if isinstance(read, PlainBody) else None
        self._request = None if isinstance(read, PlainBody) else read
        self._read_whole = read_whole

    @property
    def request(self) -> ParsedRequest:
        """The request with its document."""
        if self._request is None:
            self._request = self._read_whole()
        return self._request

    def ordered(self, plan: bytes) -> bytes:
        """The plan with its placements in the order of the request."""
        if self.columns is None:
            return bytes_in_order(buffer_ids(self.request.problem), plan)
        if is_in_order(self.columns, plan):
            return plan
        return bytes_in_order([self.columns.name(buffer) for buffer in range(len(self.columns))], plan)


def read_whole(body: bytes, form: BodyForm, limits: Limits) -> ParsedRequest:
    """The request of a body that was found to be a plain problem."""
    request = parse_request(body, form, limits)
    if not isinstance(request, ParsedRequest):
        raise AssertionError("a plain problem has no symbols")
    return request


# A plan that is found within this time is not stored: solving again is faster than a query.
_FIRST_SECONDS: Final = 0.01
# Larger bodies are read in a thread.
_BYTES_AT_ONCE: Final = 1 << 14
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

    def at_once(
        self, body: bytes, form: BodyForm, limits: Limits, to: str, fresh: bool, owner: str | None
    ) -> Answer | None:
        """The answer to a small plain problem that is known in memory or soon solved; None: `attempt` it.

        It waits for nothing and takes a fraction of a millisecond, so it may be asked for in the event loop.
        What is traced is left to `attempt`, which has its phases.
        """
        if len(body) > _BYTES_AT_ONCE or tracing.is_recording():
            return None
        read = self._read_plain(body, form, limits, to, fresh)
        if read is None:
            return None
        request = QuickRequest(read, owner, lambda: read_whole(body, form, limits))
        if request.cache_key in self._in_progress:
            return None
        known = self._cache.proven_answer(request.cache_key)
        if known is not None:
            if not is_in_order(read.columns, known):
                return None
            self._metrics.cache.labels("hit").inc()
            return Answer(known, to, cached=True, repeatable=True)
        quick_plan = solve_plain_at_once(read.columns, read.digest, read.options)
        if quick_plan is None:
            return None
        plan = plan_as_json(read.columns, quick_plan)
        self._keep(request, quick_plan.frame, plan)
        self._metrics.cache.labels("miss").inc()
        return Answer(plan, to, cached=False, repeatable=True)

    def attempt(
        self, body: bytes, form: BodyForm, limits: Limits, to: str, fresh: bool, owner: str | None
    ) -> Answer | ValidatedRequest:
        """The answer, if it can be had at once; else the request as a job."""

        with tracing.span("read"):
            read = self._read_plain(body, form, limits, to, fresh) or parse_request(body, form, limits)
        if not isinstance(read, PlainBody | ParsedRequest):
            # A problem with symbols takes longer.
            return read.validated()
        if isinstance(read, ParsedRequest):
            problem = problem_of(read.problem)
            plan_forms.refuse_other_documents(read.problem, to)
            if choice_count(problem) > self._most_choices or plan_forms.takes_long(problem, to):
                # Preparing and judging it takes longer than the attempt, whatever its time limit.
                return read.validated()
        request = QuickRequest(read, owner, lambda: read_whole(body, form, limits))
        attempt = self._solve(request) if fresh else self._solve_once(request)
        self._metrics.cache.labels("hit" if attempt.cached else "miss").inc()
        if attempt.plan is None or not attempt.final:
            return replace(request.request.validated(), plan=attempt.plan)
        # In JSON a plan is sent as it is kept.
        name, plan = (to, attempt.plan) if to == "json" else _rewritten(request.request, attempt.plan, to)
        return Answer(plan, name, attempt.cached, attempt.proven or read.options.deterministic)

    def _read_plain(
        self, body: bytes, form: BodyForm, limits: Limits, to: str, fresh: bool
    ) -> PlainBody | None:
        """The plain problem of a request that may be answered without its objects."""
        if fresh or to != "json":
            return None
        read = plain_body(body, form, limits)
        return read if read is not None and len(read.columns) <= self._most_choices else None

    def _solve_once(self, request: QuickRequest) -> _Attempt:
        """Of equal requests at one time the first is solved, and the others share its result."""
        with self._lock:
            future = self._in_progress.get(request.cache_key)
            first = future is None
            if future is None:
                future = self._in_progress[request.cache_key] = Future()
        if not first:
            attempt = future.result()
            # The first may list the buffers in another order.
            return attempt if attempt.plan is None else replace(attempt, plan=request.ordered(attempt.plan))
        try:
            attempt = self._from_cache_or_solved(request)
            future.set_result(attempt)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._in_progress[request.cache_key]
        return attempt

    def _from_cache_or_solved(self, request: QuickRequest) -> _Attempt:
        """Most small problems are solved in less time than a query of the store takes."""
        remembered = self._cache.proven_answer(request.cache_key)
        if remembered is not None:
            return _Attempt(request.ordered(remembered), final=True, cached=True, proven=True)
        if self._slow.get(request.cache_key) is None:
            attempt = self._first_attempt(request)
            if attempt is not None:
                return attempt
            self._slow.put(request.cache_key, True)
        cached = self._cache.answer(request.cache_key, request.digest, stands_alone(request.options))
        if cached is None:
            return self._solve(request)
        plan = request.ordered(cached.plan)
        return _Attempt(plan, final=True, cached=True, proven=cached.status in _PROVEN)

    def _first_attempt(self, request: QuickRequest) -> _Attempt | None:
        """A proven plan, if one is found almost at once."""
        seconds = min(_FIRST_SECONDS, self._seconds)
        if request.columns is not None:
            with tracing.solve() as listener:
                answer = solve_plain_briefly(request.columns, request.options, seconds, listener)
            if isinstance(answer, PlainPlan):
                if answer.frame.status is not Status.OPTIMAL:
                    return None
                return self._proven(request, answer.frame, plan_as_json(request.columns, answer))
            plan: Plan | None = answer
        else:
            plan, final = _solve_briefly(request, seconds)
            plan = plan if final else None
        if plan is None or plan.status not in _PROVEN:
            return None
        return self._proven(request, plan, result_of(request.request.problem, plan).plan)

    def _proven(self, request: QuickRequest, plan: Plan, body: bytes) -> _Attempt:
        """The attempt with this proven plan, which is kept."""
        self._keep(request, plan, body)
        return _Attempt(body, final=True, proven=True)

    def _keep(self, request: QuickRequest, plan: Plan, body: bytes) -> None:
        """Count and keep a proven plan, in memory only."""
        self._count(plan)
        is_plan = plan.status is Status.OPTIMAL
        self._cache.remember_proven(request.cache_key, request.digest, body, is_plan, request.owner)

    def _solve(self, request: QuickRequest) -> _Attempt:
        problem, options = request.request.problem, request.options
        plan, final = _solve_briefly(request, self._seconds)
        best = True
        if plan is not None and plan.status not in _PROVEN:
            better_one, best = self._not_worse(request, plan)
            plan = plan if stands_alone(options) else better_one
        if plan is None or plan.status is Status.UNKNOWN:
            return _Attempt(None if plan is None else plan_to_bytes(plan), final)
        result = result_of(problem, plan)
        if final:
            self._count(plan)
        key = request.cache_key if final else None
        self._writer.write(CachedPlan(request.digest, result, key, best, request.owner))
        return _Attempt(result.plan, final, proven=plan.status in _PROVEN)

    def _not_worse(self, request: QuickRequest, plan: Plan) -> tuple[Plan, bool]:
        """The best plan known for the problem, and whether it is this one."""
        stored = self._cache.best_of(request.digest)
        if stored is None:
            return plan, True
        known = plan_from_bytes(stored)
        chosen = better_answer(request.request.problem, plan, known)
        return chosen, chosen is not known

    def _count(self, plan: Plan) -> None:
        gap = plan.objective[0].gap if plan.objective else None
        solver = None if plan.solver is None else printable(plan.solver, LONGEST_NAME)
        self._metrics.solve_ended(solver, plan.status.value, plan.seconds, gap)


def _solve_briefly(request: QuickRequest, seconds: float) -> tuple[Plan | None, bool]:
    with tracing.solve() as listener:
        return solve_briefly(request.request.problem, request.options, seconds, listener)


def _rewritten(request: ParsedRequest, body: bytes, to: str) -> tuple[str, bytes]:
    """A native plan in the requested format; a result without placements stays JSON."""
    if to == "json":
        return to, body
    plan = plan_from_bytes(body)
    if plan.status not in PLANNED and to != plan_forms.PAGE:
        return "json", body
    return to, plan_forms.write(request.problem, plan, to)
