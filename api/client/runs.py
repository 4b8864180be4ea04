"""Runs of a server as if they were here: events are reported as they come, and a stop keeps what is found."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from memstow.api.client import Client
from memstow.api.client.exchange import JobEvent, JsonObject, ServerError, job_error
from memstow.planner.model import Status
from memstow.planner.model.options import Event, Options
from memstow.planner.model.plan import Plan

if TYPE_CHECKING:
    from memstow.planner.model.front import Front, FrontOptions
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.problem import Problem, Target
    from memstow.planner.model.symbolic import Shapes, SymbolicDocument, SymbolicPlan

T = TypeVar("T")
# What a server says of a job that was cancelled before it had one; earlier ones said that it has none yet.
_NO_PLAN: Final = ("job_cancelled", "no_plan_yet", "no_front_yet")
_NO_PROOF: Final = ("job_cancelled", "no_proof", "no_proof_yet")


def solve(
    client: Client,
    problem: "Problem | Graph",
    options: Options,
    on_event: Callable[[Event], None] | None,
    stopped: Callable[[], bool],
    name: str | None = None,
    on_proof: Callable[[bytes | None], None] | None = None,
) -> Plan:
    """As `planner.solve.engine.plan`, by a server: events are reported, and a stop keeps the best plan.

    `on_proof`, if there is one, gets the proof of the plan, or None where the server could make none.
    """
    job = client.submit(problem, options, name=name, proof=on_proof is not None)

    def hear(job_event: JobEvent) -> None:
        event = job_event.event()
        if event is not None and on_event is not None:
            on_event(event)

    state = _followed(client, job, stopped, hear)
    plan = _result(state, lambda: client.result(job, problem))
    if on_proof is not None:
        on_proof(_proof(client, job))
    return Plan(status=Status.UNKNOWN) if plan is None else plan


def _proof(client: Client, job: str) -> bytes | None:
    try:
        return client.proof(job)
    except ServerError as error:
        if error.code not in _NO_PROOF:
            raise
        return None


def find_front(
    client: Client,
    problem: "Problem | Graph",
    front_options: "FrontOptions",
    options: Options,
    on_point: Callable[[JsonObject], None],
    stopped: Callable[[], bool],
    targets: "Sequence[Target]" = (),
    name: str | None = None,
) -> "Front | None":
    """As `find_front` of `planner.front`, by a server; None where it was stopped before the first point."""
    job = client.submit_front(problem, front_options, options, targets=targets, name=name)

    def hear(job_event: JobEvent) -> None:
        if job_event.kind == "point":
            on_point(dict(job_event.data))

    return _result(_followed(client, job, stopped, hear), lambda: client.front_result(job))


def solve_symbolic(
    client: Client,
    problem: "SymbolicDocument",
    options: Options,
    shapes: "Shapes",
    pieces: int | None,
    stopped: Callable[[], bool],
    name: str | None = None,
) -> "SymbolicPlan":
    """As `planner.shapes.plan_symbolic.plan_symbolic`, by a server: a stop keeps the best plan."""
    job = client.submit_symbolic(problem, options, shapes=shapes, pieces=pieces, name=name)
    state = _followed(client, job, stopped, lambda _event: None)
    plan = _result(state, lambda: client.symbolic_result(job))
    if plan is not None:
        return plan
    from memstow.planner.model.symbolic import SymbolicPlan

    return SymbolicPlan(status=Status.UNKNOWN, shapes=shapes)


def _result(state: str, read: Callable[[], T]) -> T | None:
    """What the job has come to; None where it was cancelled before it had anything."""
    try:
        return read()
    except ServerError as error:
        if state == "cancelled" and error.code in _NO_PLAN:
            return None
        raise


def _followed(client: Client, job: str, stopped: Callable[[], bool], hear: Callable[[JobEvent], None]) -> str:
    """The state in which the job ends; until then its events are passed on, and a stop as well, once."""
    stop_sent = False
    state = ""
    for job_event in _events_until_stopped(client, job, stopped):
        if job_event is None:
            if not stop_sent:
                stop_sent = True
                client.stop(job)
            continue
        hear(job_event)
        state = str(job_event.data.get("state", ""))
    if state == "failed":
        raise job_error(client.job(job))
    return state


def _events_until_stopped(client: Client, job: str, stopped: Callable[[], bool]) -> Iterator[JobEvent | None]:
    """The events of a job; None while it should stop. Read by a thread, so that a stop is noticed at once."""
    received: queue.SimpleQueue[JobEvent | BaseException | None] = queue.SimpleQueue()

    def read() -> None:
        try:
            for event in client.events(job):
                received.put(event)
            received.put(None)
        except BaseException as error:
            received.put(error)

    threading.Thread(target=read, name="memstow events", daemon=True).start()
    while True:
        try:
            item = received.get(timeout=0.05)
        except queue.Empty:
            if stopped():
                yield None
            continue
        if item is None:
            return
        if isinstance(item, BaseException):
            raise item
        yield item
