"""What operators see and do in a store: the queue, what runs, what keys use, pause, resume, kick."""

from dataclasses import dataclass

from sqlalchemy import Connection, case, func, select

from memstow.api.store import control
from memstow.api.store.claims import Claims
from memstow.api.store.database import Database
from memstow.api.store.job import State, timestamp
from memstow.api.store.tables import documents, jobs, keys

_MOST_ROWS = 1_000


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
    """What the jobs of one key that are still in the store have used."""

    key: str | None
    name: str | None
    jobs: int
    seconds: float
    bytes: int
    last_use: str | None


class Administration:
    """The operations of administrators on one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def queue(self) -> QueueReport:
        """The unfinished jobs, by key; the keys with most of them first."""
        waits = jobs.c.state == State.QUEUED
        queued, running = (
            func.sum(case((jobs.c.state == state, 1), else_=0)) for state in (State.QUEUED, State.RUNNING)
        )
        oldest = func.min(case((waits, jobs.c.created)))
        with self._database.read() as connection:
            rows = connection.execute(
                select(
                    jobs.c.key_id, queued.label("queued"), running.label("running"), oldest.label("oldest")
                )
                .where(jobs.c.state.in_((State.QUEUED, State.RUNNING)))
                .group_by(jobs.c.key_id)
                .order_by(func.count().desc(), jobs.c.key_id)
            ).all()
            named = _names(connection)
            since = control.paused_since(connection)
        found = tuple(
            KeyQueue(
                key=row.key_id,
                name=named.get(row.key_id),
                queued=row.queued,
                running=row.running,
                oldest=timestamp(row.oldest),
            )
            for row in rows
        )
        return QueueReport(
            paused=timestamp(since),
            queued=sum(it.queued for it in found),
            running=sum(it.running for it in found),
            keys=found[:_MOST_ROWS],
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
        """What each key has used, by the jobs that are still in the store; the most first."""
        ran = func.coalesce(func.sum(jobs.c.finished - jobs.c.started), 0.0)
        with self._database.read() as connection:
            rows = connection.execute(
                select(jobs.c.key_id, func.count().label("jobs"), ran.label("seconds")).group_by(
                    jobs.c.key_id
                )
            ).all()
            sizes = _bytes_by_key(connection)
            named, used = _names(connection), _last_uses(connection)
        found = [
            KeyUsage(
                key=row.key_id,
                name=named.get(row.key_id),
                jobs=row.jobs,
                seconds=round(float(row.seconds), 3),
                bytes=sizes.get(row.key_id, 0),
                last_use=timestamp(used.get(row.key_id)),
            )
            for row in rows
        ]
        return tuple(sorted(found, key=lambda it: (-it.seconds, it.key or ""))[:_MOST_ROWS])

    def pause(self) -> None:
        """Let no server claim a job until `resume`; jobs are still accepted, and those that run go on."""
        with self._database.write() as connection:
            control.pause(connection)

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


def _names(connection: Connection) -> dict[str | None, str]:
    return {row.id: row.name for row in connection.execute(select(keys.c.id, keys.c.name))}


def _last_uses(connection: Connection) -> dict[str | None, float]:
    used = select(keys.c.id, keys.c.used).where(keys.c.used.is_not(None))
    return {row.id: row.used for row in connection.execute(used)}


def _bytes_by_key(connection: Connection) -> dict[str | None, int]:
    size = func.sum(func.length(documents.c.body))
    rows = connection.execute(
        select(jobs.c.key_id, size.label("size"))
        .join(documents, documents.c.job_id == jobs.c.id)
        .group_by(jobs.c.key_id)
    )
    return {row.key_id: int(row.size) for row in rows}
