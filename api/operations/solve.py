"""A solve as the service runs it: first a short attempt, then the whole time with reports on the way."""

import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from memstow.api.operations.encoding import (
    buffer_ids,
    document_from,
    in_order,
    options_from_text,
    plan_from_bytes,
    plan_to_bytes,
    wants_proof,
)
from memstow.api.operations.envelope import LONGEST_NAME
from memstow.api.operations.request_types import SolveRequest, SolveResult, SolveUpdate
from memstow.planner.graph.documents import problem_of
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Callbacks, Event, Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import Kind, Problem, choice_count, counts
from memstow.planner.processes.machine import start_thread
from memstow.planner.solve import engine
from memstow.planner.solve.column_plans import plan_at_once, plan_columns
from memstow.planner.solve.one_run import better
from memstow.planner.solve.portfolio import AUTO
from memstow.planner.solve.problem_plans import with_bound_of
from memstow.planner.verify import verify
from memstow.records import replace
from memstow.solvers.registry import is_model, is_ours

_LEAST_PAUSE_SECONDS: Final = 0.25
# For each second of verifying, the seconds in which the solvers have the processor to themselves.
_PAUSE_SHARE: Final = 10.0

OnPlan = Callable[[Plan], None]


class Publisher:
    """Verifies and reports plans in a thread of its own, from `start` to `close`."""

    def __init__(self, on_plan: OnPlan, known: Plan | None) -> None:
        self._on_plan = on_plan
        self._best = known
        self._newest: Callable[[], Plan] | None = None
        self._offered = threading.Event()
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def offer(self, verified: Callable[[], Plan]) -> None:
        """There is a better plan, verified by this call; any thread may offer, and returns at once."""
        self._newest = verified
        self._offered.set()

    def start(self) -> None:
        """Start the thread."""
        start_thread(threading.Thread(target=self._serve, name="memstow publisher", daemon=True))

    def close(self) -> None:
        """Report nothing more. A plan that is being verified right now is not waited for."""
        with self._lock:
            self._closed.set()
        self._offered.set()

    def _serve(self) -> None:
        while True:
            self._offered.wait()
            if self._closed.is_set():
                return
            self._offered.clear()
            verified = self._newest
            begin = time.monotonic()
            plan = verified() if verified is not None else None
            if plan is not None and (self._best is None or better(plan, self._best)):
                self._best = plan
                self._report(plan)
            took = time.monotonic() - begin
            if self._closed.wait(max(_LEAST_PAUSE_SECONDS, _PAUSE_SHARE * took)):
                return

    def _report(self, plan: Plan) -> None:
        """Under the lock, so that nothing is reported after `close`."""
        with self._lock:
            if not self._closed.is_set():
                self._on_plan(plan)


if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph
    from memstow.planner.plain._columns import Columns
    from memstow.planner.plain.column_documents import PlainPlan
    from memstow.solvers.known import Known

# Only models heed a memory limit, and none takes part in a short attempt: any number will do.
_ATTEMPT_MEMORY: Final = 1 << 30
# What is solved at once takes a few hundred microseconds; on a busy machine it is given up after this.
_SECONDS_AT_ONCE: Final = 0.002

OnEvent = Callable[[Event], None]
OnUpdate = Callable[[SolveUpdate], None]


def solve(request: SolveRequest, on_update: OnUpdate, cancel: threading.Event) -> SolveResult:
    """Solve with the whole time limit; better plans and events are reported on the way."""
    problem = document_from(request.problem)
    options, proves = options_from_text(request.options, request.hint), wants_proof(request.options)
    shown = list["Known"]()
    if proves:
        from memstow.planner.proofs.prove import limits_before_proof

        options = limits_before_proof(problem, options)
    known = None if request.known_plan is None else plan_from_bytes(request.known_plan)
    plan = solve_fully(
        problem,
        options,
        known,
        lambda plan: on_update(result_of(problem, plan)),
        on_update,
        cancel,
        shown.append if proves else None,
    )
    result = result_of(problem, plan)
    if shown:
        from memstow.solvers.known import packed

        result = replace(result, known=packed(shown[-1]))
    return result


def try_briefly(
    request: SolveRequest, seconds: float, most_choices: int, on_event: OnEvent
) -> tuple[SolveResult | None, bool]:
    """The result of a short attempt in this process, and whether it is final; None for a larger problem."""
    problem = document_from(request.problem)
    if choice_count(problem_of(problem)) > most_choices:
        return None, False
    options = options_from_text(request.options, request.hint)
    plan, final = solve_briefly(problem, options, seconds, on_event)
    if plan is None or (plan.status is Status.UNKNOWN and not final):
        return None, False
    if plan.status is not Status.INFEASIBLE and not options.deterministic:
        known = None if request.known_plan is None else plan_from_bytes(request.known_plan)
        plan = better_answer(problem, plan, known)
    return result_of(problem, plan), final


def result_of(problem: "Problem | Graph", plan: Plan) -> SolveResult:
    """A plan as its bytes, with the figures that the job table has of it."""
    first = plan.objective[0] if plan.objective else None
    is_planned = plan.status in PLANNED
    return SolveResult(
        plan=plan_to_bytes(in_order(buffer_ids(problem), plan)),
        status=plan.status.value,
        value=first.value if first else None,
        bound=first.bound if first else None,
        peak=sum(use.peak for use in plan.pools) if is_planned else None,
        solver=None if plan.solver is None else printable(plan.solver, LONGEST_NAME),
    )


def is_final(plan: Plan, options: Options) -> bool:
    """Whether more time would make no difference."""
    if plan.status in (Status.OPTIMAL, Status.INFEASIBLE):
        return True
    return plan.status is Status.FEASIBLE and all(term.gap <= options.gap for term in plan.objective)


def stands_alone(options: Options) -> bool:
    """Whether no plan of another request may take part in the answer.

    A deterministic run has one answer for one input, and who names a solver asks what that one finds.
    """
    return options.deterministic or options.solver != AUTO


def solve_briefly(
    problem: "Problem | Graph", options: Options, seconds: float, on_event: OnEvent | None = None
) -> tuple[Plan | None, bool]:
    """The best plan of a short attempt, and whether it is the final answer to the request.

    Only solvers of this process take part: others take longer to start than the attempt may last.
    """
    if is_model(options.solver) or not is_ours(options.solver):
        return None, False
    options = _brief_options(options)
    whole = options.time_limit <= seconds
    has_banks = any(pool.banks for pool in problem.pools) or "bank_cost" in problem.terms()
    simple = len(problem.pools) <= 1 and len(problem.terms()) <= 1 and not has_banks
    if options.solver == AUTO and not simple:
        if options.deterministic:
            return None, False
        limit = min(options.time_limit, seconds)
        solver = "banks" if has_banks else "greedy"
        plan = engine.plan(problem, replace(options, time_limit=limit, solver=solver), on_event)
        return plan, whole or is_final(plan, options)
    if options.deterministic:
        return _deterministic_attempt(problem, options, seconds, on_event)
    begin = time.monotonic()
    plan = engine.plan(problem, options if whole else replace(options, time_limit=seconds), on_event)
    # A run that ends long before its time had nothing left to try.
    ended_early = time.monotonic() - begin < seconds / 2
    return plan, whole or is_final(plan, options) or ended_early


def solve_plain_briefly(
    columns: "Columns", options: Options, seconds: float, on_event: OnEvent | None = None
) -> "PlainPlan | Plan":
    """The same for a plain problem in columns, of a run that is not deterministic."""
    return plan_columns(columns, _briefest(options, seconds), on_event)


def solve_plain_at_once(columns: "Columns", digest: str, options: Options) -> "PlainPlan | None":
    """The best plan of a plain problem where that takes less time than a thread; None elsewhere."""
    return plan_at_once(columns, digest, options, _SECONDS_AT_ONCE)


# Most requests have the same options.
@lru_cache(64)
def _briefest(options: Options, seconds: float) -> Options:
    return replace(_brief_options(options), time_limit=min(options.time_limit, seconds))


def _brief_options(options: Options) -> Options:
    if options.workers is None:
        # Counting the processors takes a third of a small solve.
        options = replace(options, workers=1)
    return options if options.memory_limit is not None else replace(options, memory_limit=_ATTEMPT_MEMORY)


def _deterministic_attempt(
    problem: "Problem | Graph", options: Options, seconds: float, on_event: OnEvent | None
) -> tuple[Plan | None, bool]:
    """A run that is limited by work, not time: final when it ends in time, and nothing when it does not."""
    cancel = threading.Event()
    timer = threading.Timer(seconds, cancel.set)
    start_thread(timer)
    try:
        plan = engine.plan(problem, options, on_event, cancel)
    finally:
        timer.cancel()
    return (None, False) if cancel.is_set() else (plan, True)


def better_answer(problem: "Problem | Graph", plan: Plan, known: Plan | None) -> Plan:
    """The known plan where it is valid and better, else the plan."""
    # Moves count from the hint of each request: plans of two requests cannot be compared by them.
    if known is None or counts(problem, Kind.MOVES) or not better(known, plan) or verify(problem, known):
        return plan
    return known


def solve_fully(
    problem: "Problem | Graph",
    options: Options,
    known: Plan | None,
    on_plan: OnPlan,
    on_event: OnEvent,
    cancel: threading.Event,
    on_known: "Callable[[Known], None] | None" = None,
) -> Plan:
    """The plan of the whole run, never worse than a known one; better plans are reported on the way.

    Nor has it a lower bound than the known one, where there is one term. `on_known` gets what the run has
    proven.
    """
    begin, first_options = time.monotonic(), options
    # A deterministic run must not depend on earlier ones; `moves` counts from the caller's hint.
    ignore_known = options.deterministic or counts(problem, Kind.MOVES)
    start = None if ignore_known or known is None or verify(problem, known) else known
    if start is not None:
        judged = time.monotonic() - begin
        if is_final(start, options):
            return replace(start, seconds=round(judged, 6))
        # To judge a large plan takes its time, too.
        options = replace(options, time_limit=max(options.time_limit - judged, 0.0))
        # A hint of the caller stays the hint; the known plan is the least that is returned in any case.
        if start.placements and options.hint is None:
            options = replace(options, hint=start)
    publisher = Publisher(on_plan, start)
    publisher.start()
    try:
        callbacks = Callbacks(on_event, cancel, publisher.offer, on_known=on_known)
        plan = engine.run(problem, options, callbacks)
    finally:
        publisher.close()
    if start is None:
        return plan
    if better(plan, start):
        return with_bound_of(problem, first_options, plan, start) if isinstance(problem, Problem) else plan
    return replace(start, seconds=round(time.monotonic() - begin, 6))
