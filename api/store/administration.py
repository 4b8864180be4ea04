"""What operators see and do in a store: the queue, what runs, what keys use, pause, resume, kick."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select

from memstow.api.store import control
from memstow.api.store.accounts import ANONYMOUS, read_totals
from memstow.api.store.claims import Claims
from memstow.api.store.command_line_changes import leave_change
from memstow.api.store.database import Database
from memstow.api.store.job import State, timestamp
from memstow.api.store.tables import accounts, jobs, keys

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
            since = control.paused_since(connection)
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
            return timestamp(control.pause(connection))

    def resume(self) -> None:
        """Let servers claim jobs again."""
        with self._database.write() as connection:
            control.resume(connection)

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
