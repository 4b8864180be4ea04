"""Callbacks of jobs: where to, whether they were delivered, and who tries next.

A server takes a delivery for one attempt by setting when the next one is due. If it dies meanwhile, another
takes it then: a message is delivered at least once.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, func, select, update

from memstow.api.store.clock import StoreClock, read_time, store_time
from memstow.api.store.database import Database, now
from memstow.api.store.job import JOB_COLUMNS, Callback, Job, job_from_row
from memstow.api.store.tables import callbacks, jobs

# Longer than an attempt may take, with all that the system does to resolve a name.
_TAKEN_SECONDS: Final = 120.0


class Delivery(StrEnum):
    """How far a callback is."""

    WAITING = "waiting"
    """For the end of its job."""
    PENDING = "pending"
    """It is tried, and again after each failure."""
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TakenCallback:
    """A callback that is due, taken for one attempt."""

    job: Job
    url: str
    origin: str
    attempt: int
    seconds: float  # since the end of its job


def callbacks_of(connection: Connection, names: Iterable[str]) -> dict[str, Callback]:
    """The callbacks of those of these jobs that have one."""
    told = (
        callbacks.c.origin,
        callbacks.c.state,
        callbacks.c.attempts,
        callbacks.c.error,
        callbacks.c.delivered,
    )
    rows = connection.execute(select(callbacks.c.job_id, *told).where(callbacks.c.job_id.in_(list(names))))
    return {row[0]: Callback(*row[1:]) for row in rows}


def begin_callback(connection: Connection, job: str) -> None:
    """The job has ended: its callback is due, if it has one."""
    values = {"state": Delivery.PENDING, "ended": store_time(), "due": store_time()}
    connection.execute(update(callbacks).where(callbacks.c.job_id == job).values(values))


class Callbacks:
    """The callbacks in one store."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._database = database
        self._clock = clock

    def take(self, busy: Collection[str]) -> TakenCallback | None:
        """The callback that is due for longest, for one attempt; those to busy origins are passed over."""
        due = callbacks.c.origin.not_in(list(busy)) if busy else callbacks.c.due.is_not(None)
        with self._database.read() as connection:
            first = connection.execute(select(func.min(callbacks.c.due)).where(due)).scalar()
        if first is None or first > self._clock.time():
            return None
        with self._database.write() as connection:
            at = max(self._clock.time(), read_time(connection))
            row = connection.execute(
                select(callbacks)
                .where(due, callbacks.c.due <= at)
                .order_by(callbacks.c.due, callbacks.c.job_id)
                .limit(1)
                .with_for_update(skip_locked=True)
            ).first()
            if row is None:
                return None
            attempt = row.attempts + 1
            values = {"attempts": attempt, "due": at + _TAKEN_SECONDS}
            connection.execute(update(callbacks).where(callbacks.c.job_id == row.job_id).values(values))
            job = connection.execute(select(*JOB_COLUMNS).where(jobs.c.id == row.job_id)).mappings().one()
            return TakenCallback(job_from_row(job), row.url, row.origin, attempt, at - row.ended)

    def record(
        self, taken: TakenCallback, state: Delivery, error: str | None = None, pause: float = 0.0
    ) -> None:
        """Write how the attempt ended; a pending callback is due again after the pause."""
        values = {
            "state": state,
            "error": error,
            "delivered": now() if state is Delivery.DELIVERED else None,
            "due": self._clock.time() + pause if state is Delivery.PENDING else None,
        }
        mine = (callbacks.c.job_id == taken.job.id, callbacks.c.attempts == taken.attempt)
        with self._database.write() as connection:
            connection.execute(update(callbacks).where(*mine).values(values))
