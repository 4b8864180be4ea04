"""How jobs end: with a result, stopped by their owner, or removed with all that belongs to them."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, func, select, update

from memstow.api.store import accounts
from memstow.api.store.bodies import release_bodies
from memstow.api.store.callbacks import begin_callback
from memstow.api.store.clock import read_time
from memstow.api.store.database import now
from memstow.api.store.documents import save_plan
from memstow.api.store.job import JobEvent, Progress, State, Stop
from memstow.api.store.job_events import append_events, done_event
from memstow.api.store.notices import announce
from memstow.api.store.tables import documents, events, jobs

_BODIES: Final = (jobs.c.problem, jobs.c.hint, jobs.c.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a job, and for how many seconds it is kept from then on."""

    state: State
    progress: Progress
    events: Sequence[JobEvent]
    keep_seconds: float
    error: str | None = None
    ran_seconds: float = 0.0


def figures_of(progress: Progress) -> dict[str, int | float | str | None]:
    """The columns of a job with what is new in its progress."""
    names = ("value", "bound", "peak", "solver", "status")
    figures = {name: it for name in names if (it := getattr(progress, name)) is not None}
    if progress.plan is not None and progress.value is not None:
        # The bound belongs to this value: that of another point of a front may be above it.
        figures["bound"] = progress.bound
    return figures


def finish_job(connection: Connection, job: str, before: State, ending: Ending) -> None:
    """Write the end of a job that was in the state `before`."""
    at = now()
    values = {
        **figures_of(ending.progress),
        "state": ending.state,
        "finished": at,
        "expires": at + ending.keep_seconds,
        "kept_until": read_time(connection) + ending.keep_seconds,
        "owner": None,
        "error": ending.error,
    }
    connection.execute(update(jobs).where(jobs.c.id == job).values(values))
    if ending.progress.plan is not None:
        save_plan(connection, job, ending.progress.plan)
    append_events(connection, job, ending.events, last=True)
    begin_callback(connection, job)
    _settle(connection, job, before, ending.ran_seconds)
    if before is State.RUNNING:
        # Jobs of the same key, and equal ones, may have waited for it.
        announce(connection)


def stop_job(connection: Connection, job: str, state: State, discard: bool, keep_seconds: float) -> None:
    """End a job that no server runs; ask the server that runs it to."""
    if state is State.RUNNING:
        stop = Stop.DISCARD if discard else Stop.KEEP
        connection.execute(update(jobs).where(jobs.c.id == job).values(stop=stop))
    elif discard:
        remove_jobs(connection, [job])
    elif state is State.QUEUED:
        cancel_job(connection, job, state, keep_seconds)


def cancel_job(
    connection: Connection, job: str, before: State, keep_seconds: float, ran_seconds: float = 0.0
) -> None:
    """End a job with the best plan in the store."""
    row = connection.execute(select(jobs.c.status, jobs.c.value, jobs.c.bound).where(jobs.c.id == job)).one()
    saved = Progress(status=row.status, value=row.value, bound=row.bound)
    ending = Ending(
        state=State.CANCELLED,
        progress=Progress(),
        events=[done_event(State.CANCELLED, saved)],
        keep_seconds=keep_seconds,
        ran_seconds=ran_seconds,
    )
    finish_job(connection, job, before, ending)


def remove_jobs(connection: Connection, names: Collection[str], ran_seconds: float = 0.0) -> int:
    """Remove jobs with all that belongs to them; returns how many there were."""
    rows = connection.execute(
        select(jobs.c.id, jobs.c.account, jobs.c.state, *_BODIES, jobs.c.bytes)
        .where(jobs.c.id.in_(names))
        .order_by(jobs.c.id)
        .with_for_update()
    ).all()
    if not rows:
        return 0
    by_account = defaultdict(list)
    for row in rows:
        by_account[row.account].append(row)
    connection.execute(delete(jobs).where(jobs.c.id.in_([row.id for row in rows])))
    for account, removed in sorted(by_account.items()):
        held = [row._mapping[column] for row in removed for column in _BODIES]
        freed = release_bodies(connection, account, held)
        states = [row.state for row in removed]
        accounts.count(
            connection,
            account,
            queued=-states.count(State.QUEUED),
            running=-states.count(State.RUNNING),
            size=-freed - sum(row.bytes for row in removed),
            seconds=ran_seconds,
        )
    return len(rows)


def _settle(connection: Connection, job: str, before: State, ran_seconds: float) -> None:
    """Count that a job has ended, and the bytes of its plan and its events."""
    plans, told = (
        connection.execute(
            select(func.coalesce(func.sum(func.length(column)), 0)).where(column.table.c.job_id == job)
        ).scalar_one()
        for column in (documents.c.body, events.c.data)
    )
    row = connection.execute(select(jobs.c.account, jobs.c.bytes).where(jobs.c.id == job)).one()
    size = int(plans) + int(told)
    connection.execute(update(jobs).where(jobs.c.id == job).values(bytes=size))
    accounts.count(
        connection,
        row.account,
        queued=-int(before is State.QUEUED),
        running=-int(before is State.RUNNING),
        size=size - row.bytes,
        seconds=ran_seconds,
    )
