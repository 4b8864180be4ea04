"""A solve as the service runs it: a short attempt first, then the whole time, told of as it goes on."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from memstow.api.operations.plan_publisher import OnPlan, Publisher
from memstow.planner.backends.registry import is_model
from memstow.planner.model.events import Event
from memstow.planner.model.objective import Kind, counts
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan, Status
from memstow.planner.model.problem import Problem
from memstow.planner.solve import engine
from memstow.planner.solve.better_plan import better
from memstow.planner.solve.portfolio import AUTO
from memstow.planner.verify import verify

# Only models heed it, and no model takes part in a moment's attempt.
_MOMENT_MEMORY: Final = 1 << 30

OnEvent = Callable[[Event], None]


def settled(plan: Plan, options: Options) -> bool:
    """Whether no more time would make a difference."""
    if plan.status in (Status.OPTIMAL, Status.INFEASIBLE):
        return True
    return plan.status is Status.FEASIBLE and all(term.gap <= options.gap for term in plan.objective)


def briefly(
    problem: Problem, options: Options, seconds: float, on_event: OnEvent | None = None
) -> tuple[Plan | None, bool]:
    """The best plan of a short attempt, and whether it is the answer to the question as it was asked.

    Only with solvers that run in this process: others take longer to start than the attempt may last.
    """
    if is_model(options.solver):
        return None, False
    if options.workers is None:
        # Asking the system how much there is takes a third of a small solve.
        options = replace(options, workers=1)
    if options.memory_limit is None:
        options = replace(options, memory_limit=_MOMENT_MEMORY)
    whole = options.time_limit <= seconds
    simple = len(problem.pools) == 1 and len(problem.terms()) <= 1
    if options.solver == AUTO and not simple:
        if options.deterministic:
            return None, False
        limit = min(options.time_limit, seconds)
        plan = engine.plan(problem, replace(options, time_limit=limit, solver="greedy"), on_event)
        return plan, whole or settled(plan, options)
    if options.deterministic:
        # Bounded in work: it is the answer when it ends in time, and nothing when it does not.
        cancel = threading.Event()
        timer = threading.Timer(seconds, cancel.set)
        timer.start()
        try:
            plan = engine.plan(problem, options, on_event, cancel)
        finally:
            timer.cancel()
        return (None, False) if cancel.is_set() else (plan, True)
    begin = time.monotonic()
    plan = engine.plan(problem, options if whole else replace(options, time_limit=seconds), on_event)
    return plan, whole or settled(plan, options) or _ran_dry(begin, seconds)


def preferred(problem: Problem, plan: Plan, known: Plan | None) -> Plan:
    """The better of two plans, where what one problem had as its answer once is an answer still."""
    if known is None or counts(problem, Kind.MOVES) or not better(known, plan) or verify(problem, known):
        return plan
    return known


def at_length(
    problem: Problem,
    options: Options,
    known: Plan | None,
    on_plan: OnPlan,
    on_event: OnEvent,
    cancel: threading.Event,
) -> Plan:
    """The plan of the whole run, never worse than a known one; better ones are told on the way."""
    begin = time.monotonic()
    # What is bounded in work depends on nothing else that is known; `moves` counts from the caller's hint.
    untouched = options.deterministic or counts(problem, Kind.MOVES)
    start = None if untouched or known is None or verify(problem, known) else known
    if start is not None and settled(start, options):
        return replace(start, seconds=round(time.monotonic() - begin, 6))
    # Whoever names a plan to start from means that one; what is known is a floor all the same.
    if start is not None and start.placements and options.hint is None:
        options = replace(options, hint=start)
    publisher = Publisher(on_plan, start)
    publisher.start()
    try:
        found = engine.plan(problem, options, on_event, cancel, publisher.offer)
    finally:
        publisher.close()
    if start is None or better(found, start):
        return found
    return replace(start, seconds=round(time.monotonic() - begin, 6))


def _ran_dry(begin: float, seconds: float) -> bool:
    """Whether a run ended long before its time: there was nothing left to try."""
    return time.monotonic() - begin < seconds / 2
