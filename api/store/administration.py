"""What operators and housekeeping do in a store.

Jobs of keys that are revoked or have expired end, and are kept like any other that was ended. Finished jobs
are removed after their time, by the clock of the store, as are the cached plans that were not used for
longest. Operators see the queue, what runs and what keys use; they pause, resume and kick.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, exists, func, insert, select

from memstow.api.store.database import Database, now, store_time
from memstow.api.store.job_records import announce, remove_jobs, stop_job
from memstow.api.store.keys import ANONYMOUS, is_invalid, leave_change, read_totals
from memstow.api.store.queue import PAUSED, Claims, paused_since
from memstow.api.store.tables import (
    OVER,
    State,
    Stop,
    accounts,
    batches,
    best,
    control,
    idempotency,
    jobs,
    keys,
    plans,
    timestamp,
)

_AT_ONCE: Final = 500


def end_jobs_of_invalid_keys(database: Database, keep_seconds: float) -> list[str]:
    """End the jobs of invalid keys, a part at a time; the ids of those that were not over.

    Servers that run some of them learn of it with their next heartbeat.
    """
    with database.read() as connection:
        unfinished = accounts.c.queued + accounts.c.running > 0
        with_account = select(keys.c.id).join(accounts, accounts.c.id == keys.c.id)
        invalid = list(connection.execute(with_account.where(unfinished, is_invalid(now()))).scalars())
    ended: list[str] = []
    for start in range(0, len(invalid), _AT_ONCE):
        part = invalid[start : start + _AT_ONCE]
        while some := _end_some(database, part, keep_seconds):
            ended += some
    return ended


def _end_some(database: Database, invalid: list[str], keep_seconds: float) -> list[str]:
    unfinished = (
        select(jobs.c.id, jobs.c.state)
        .where(
            jobs.c.key_id.in_(invalid),
            jobs.c.state.in_((State.QUEUED, State.RUNNING)),
            jobs.c.stop == Stop.NO,
        )
        .order_by(jobs.c.account, jobs.c.id)
        .limit(_AT_ONCE)
    )
    with database.read() as connection:
        if connection.execute(unfinished.limit(1)).first() is None:
            return []
    with database.write() as connection:
        rows = connection.execute(unfinished.with_for_update(skip_locked=True)).all()
        for row in rows:
            stop_job(connection, row.id, State(row.state), False, keep_seconds)
        return [row.id for row in rows]


_PAGES_AT_ONCE: Final = 1_000


def remove_expired(database: Database, most_plans: int) -> int:
    """Remove what has expired, a part at a time; returns the number of removed jobs."""
    removed = 0
    while True:
        with database.write() as connection:
            old = list(
                connection.execute(
                    select(jobs.c.id)
                    .where(jobs.c.state.in_(OVER), jobs.c.kept_until < store_time())
                    .limit(_AT_ONCE)
                ).scalars()
            )
            remove_jobs(connection, old)
        removed += len(old)
        if len(old) < _AT_ONCE:
            break
    with database.write() as connection:
        connection.execute(delete(idempotency).where(idempotency.c.kept_until < store_time()))
        connection.execute(
            delete(batches).where(~exists(select(jobs.c.id).where(jobs.c.batch_id == batches.c.id)))
        )
        for table, name in ((plans, plans.c.cache_key), (best, best.c.digest)):
            surplus = connection.execute(select(func.count()).select_from(table)).scalar_one() - most_plans
            if surplus > 0:
                oldest = select(name).order_by(table.c.used).limit(surplus)
                connection.execute(delete(table).where(name.in_(oldest.scalar_subquery())))
        if database.sqlite:
            # Give free pages back to the disk. One by one: the driver takes one step of a PRAGMA without
            # rows.
            free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
            for _ in range(min(free, _PAGES_AT_ONCE)):
                connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
    return removed


_MOST_ROWS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyQueue:
    """The unfinished jobs of one key."""

    key: str | None
    name: str | None
    queued: int
    running: int
    oldest: str | None
    """When the oldest of the queued jobs was submitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """The unfinished jobs of all keys."""

    paused: str | None
    """Since when no job is claimed."""
    queued: int
    running: int
    keys: tuple[KeyQueue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """A job that runs, and where."""

    id: str
    key: str | None
    server: str | None
    attempt: int
    buffers: int
    started: str | None
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUsage:
    """What the jobs of one key use."""

    key: str | None
    name: str | None
    jobs: int
    """In the store, finished ones too."""
    seconds: float
    """For which its jobs have run, removed ones too."""
    bytes: int
    """Of its jobs in the store."""
    last_use: str | None


class Administration:
    """The operations of administrators on one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def queue(self) -> QueueReport:
        """The unfinished jobs, by key; the keys with most of them first."""
        unfinished = accounts.c.queued + accounts.c.running
        oldest = (
            select(func.min(jobs.c.created))
            .where(jobs.c.state == State.QUEUED, jobs.c.account == accounts.c.id)
            .correlate(accounts)
            .scalar_subquery()
        )
        with self._database.read() as connection:
            totals = read_totals(connection)
            since = paused_since(connection)
            rows = connection.execute(
                select(accounts, keys.c.name, oldest.label("oldest"))
                .outerjoin(keys, keys.c.id == accounts.c.id)
                .where(unfinished > 0)
                .order_by(unfinished.desc(), accounts.c.id)
                .limit(_MOST_ROWS)
            ).all()
        return QueueReport(
            paused=timestamp(since),
            queued=totals.queued,
            running=totals.running,
            keys=tuple(
                KeyQueue(
                    key=row.id or None,
                    name=row.name,
                    queued=row.queued,
                    running=row.running,
                    oldest=timestamp(row.oldest),
                )
                for row in rows
            ),
        )

    def running(self) -> tuple[RunningJob, ...]:
        """The jobs that run, the longest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(jobs).where(jobs.c.state == State.RUNNING).order_by(jobs.c.started).limit(_MOST_ROWS)
            )
            return tuple(
                RunningJob(
                    id=row.id,
                    key=row.key_id,
                    server=row.owner,
                    attempt=row.attempt,
                    buffers=row.buffers,
                    started=timestamp(row.started),
                    name=row.name,
                )
                for row in rows
            )

    def usage(self) -> tuple[KeyUsage, ...]:
        """What the jobs of each key use and have used, the most first."""
        with self._database.read() as connection:
            counted = connection.execute(select(jobs.c.key_id, func.count()).group_by(jobs.c.key_id))
            kept = {key or ANONYMOUS: count for key, count in counted}
            rows = connection.execute(
                select(accounts, keys.c.name, keys.c.used)
                .outerjoin(keys, keys.c.id == accounts.c.id)
                .order_by(accounts.c.seconds.desc(), accounts.c.id)
                .limit(_MOST_ROWS)
            )
            return tuple(
                KeyUsage(
                    key=row.id or None,
                    name=row.name,
                    jobs=kept.get(row.id, 0),
                    seconds=round(row.seconds, 3),
                    bytes=row.bytes,
                    last_use=timestamp(row.used),
                )
                for row in rows
            )

    def pause(self) -> str | None:
        """Let no server claim a job until `resume`; jobs are still accepted, and those that run go on.

        Since when that is so.
        """
        with self._database.write() as connection:
            since = paused_since(connection)
            if since is None:
                since = now()
                connection.execute(insert(control).values(name=PAUSED, created=since))
            return timestamp(since)

    def resume(self) -> None:
        """Let servers claim jobs again."""
        with self._database.write() as connection:
            connection.execute(delete(control).where(control.c.name == PAUSED))
            announce(connection)

    def kick(self, job: str, keep_seconds: float) -> bool:
        """Take a job from the server that runs it, and put it back into the queue with its best plan.

        False when it does not run. The server learns of it with its next heartbeat, and ends the run.
        """
        with self._database.read() as connection:
            row = connection.execute(select(jobs.c.state, jobs.c.attempt).where(jobs.c.id == job)).first()
        if row is None or row.state != State.RUNNING:
            return False
        return Claims(self._database).requeue(job, row.attempt, keep_seconds)

    def leave_change(self, operation: str, **affected: str) -> None:
        """Leave a change made without a server to the audit log of the servers."""
        leave_change(self._database, operation, **affected)
