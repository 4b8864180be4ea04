"""What the store has of each job: documents, events, callbacks, idempotency keys; and how jobs end.

Problems, hints and models are stored once for all jobs of an account, and go with the last: not once for all
accounts, since who has a quota must not find out by it what others have in the store. Notices tell other
servers that a job may be waiting, by LISTEN and NOTIFY of PostgreSQL. Without a connection for them servers
ask the store from time to time, so a notice that is lost costs only time. A folder of SQLite has one server,
which needs none.
"""

import hashlib
import json
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog
from sqlalchemy import Connection, and_, delete, func, insert, select, text, update

from memstow.api.operations.encoding import PROOF
from memstow.api.store import keys
from memstow.api.store.database import Database, StoreClock, insert_or_update, now, read_time, store_time
from memstow.api.store.tables import (
    JOB_COLUMNS,
    Callback,
    Job,
    JobEvent,
    Progress,
    State,
    Stop,
    StoredEvent,
    bodies,
    callbacks,
    documents,
    events,
    idempotency,
    job_from_row,
    jobs,
)

PLAN: Final = "plan"
# The fastest level: JSON shrinks to a fifth already, and problems come by the hundred a second.
_LEVEL: Final = 1


def compress(document: bytes) -> bytes:
    """A document as the store keeps it."""
    return zlib.compress(document, _LEVEL)


def decompress(body: bytes | memoryview) -> bytes:
    """A document from the store."""
    return zlib.decompress(body)


def read_document(connection: Connection, job: str, kind: str) -> bytes | None:
    """The plan or the proof of a job."""
    wanted = select(documents.c.body).where(documents.c.job_id == job, documents.c.kind == kind)
    body = connection.execute(wanted).scalar()
    return None if body is None else decompress(body)


def save_document(connection: Connection, job: str, kind: str, document: bytes) -> None:
    """Write the plan or the proof of a job, in place of the one before."""
    where = and_(documents.c.job_id == job, documents.c.kind == kind)
    body = compress(document)
    if not connection.execute(update(documents).where(where).values(body=body)).rowcount:
        connection.execute(insert(documents).values(job_id=job, kind=kind, body=body))


@dataclass(frozen=True, slots=True)
class StoredBodies:
    """The digest of each document, and the bytes that the store has grown by."""

    digests: dict[bytes, str]
    size: int


def store_bodies(connection: Connection, account: str, documents: Sequence[bytes]) -> StoredBodies:
    """Store documents, one use of each for every time it is given."""
    uses = Counter(documents)
    digests = {document: hashlib.sha256(document).hexdigest() for document in uses}
    grown = 0
    # In the same order everywhere, so that no two servers wait for each other.
    for document, digest in sorted(digests.items(), key=lambda entry: entry[1]):
        where = (bodies.c.account == account, bodies.c.digest == digest)
        used_again = update(bodies).where(*where).values(uses=bodies.c.uses + uses[document])
        if connection.execute(used_again).rowcount:
            continue
        body = compress(document)
        row = {"account": account, "digest": digest, "body": body, "size": len(body), "uses": uses[document]}
        # Another server may have stored it in the meantime.
        insert_or_update(connection, bodies, row, {"uses": bodies.c.uses + uses[document]})
        if connection.execute(select(bodies.c.uses).where(*where)).scalar_one() == uses[document]:
            grown += len(body)
    return StoredBodies(digests, grown)


def read_body(connection: Connection, account: str, digest: str | None) -> bytes | None:
    """A document by its digest."""
    if digest is None:
        return None
    where = (bodies.c.account == account, bodies.c.digest == digest)
    body = connection.execute(select(bodies.c.body).where(*where)).scalar()
    return None if body is None else decompress(body)


def release_bodies(connection: Connection, account: str, digests: Iterable[str | None]) -> int:
    """Take back one use of each of these; returns the bytes of those that were removed."""
    freed = 0
    uses = Counter(digest for digest in digests if digest is not None)
    for digest, count in sorted(uses.items()):
        where = (bodies.c.account == account, bodies.c.digest == digest)
        connection.execute(update(bodies).where(*where).values(uses=bodies.c.uses - count))
        size = connection.execute(select(bodies.c.size).where(*where, bodies.c.uses <= 0)).scalar()
        if size is not None:
            connection.execute(delete(bodies).where(*where))
            freed += size
    return freed


_CHANNEL: Final = "memstow_jobs"
_WAIT_SECONDS: Final = 1.0
# A connection that was cut without a word is found by a question.
_CHECK_WAITS: Final = 15
_RETRY_SECONDS: Final = 1.0

log = structlog.get_logger("memstow.jobs")


def announce(connection: Connection) -> None:
    """Tell all servers, when this transaction is committed, that a job may be waiting."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"NOTIFY {_CHANNEL}"))


class Notices:
    """Listens for notices; `serve` runs in a thread of its own."""

    def __init__(self, database: Database, on_notice: Callable[[], None]) -> None:
        self._database = database
        self._on_notice = on_notice
        self._listening = threading.Event()

    @property
    def reliable(self) -> bool:
        """Whether every new job is heard of without asking the store."""
        return self._database.sqlite or self._listening.is_set()

    def serve(self, stopped: threading.Event) -> None:
        """Listen until the server stops, on a new connection when one is lost."""
        while not self._database.sqlite and not stopped.is_set():
            try:
                # A connection of the driver, which is not one of the pool.
                engine = self._database.engine
                arguments, named = engine.dialect.create_connect_args(self._database.url)
                options = {**named, **self._database.driver_options}
                connection = engine.dialect.loaded_dbapi.connect(*arguments, autocommit=True, **options)
                try:
                    connection.execute(f"LISTEN {_CHANNEL}")
                    self._listening.set()
                    # There may have been jobs in the meantime.
                    self._on_notice()
                    waits = 0
                    while not stopped.is_set():
                        heard = sum(1 for _ in connection.notifies(timeout=_WAIT_SECONDS, stop_after=1))
                        waits = 0 if heard else waits + 1
                        if heard:
                            self._on_notice()
                        elif waits % _CHECK_WAITS == 0:
                            connection.execute("SELECT 1")
                finally:
                    connection.close()
            except Exception as error:
                # Whatever it was, asking the store goes on meanwhile.
                log.warning("no_notices", error=type(error).__name__)
            finally:
                self._listening.clear()
            stopped.wait(_RETRY_SECONDS)


# Events that are kept of one job; the last one is always written.
MOST_EVENTS: Final = 2_000
_JOBS_AT_ONCE: Final = 500


def append_events(connection: Connection, job: str, added: Sequence[JobEvent], *, last: bool = False) -> None:
    """Add events to a job, unless it has too many."""
    if not added:
        return
    newest = connection.execute(select(func.max(events.c.number)).where(events.c.job_id == job)).scalar()
    number = (newest or 0) + 1
    if number > MOST_EVENTS and not last:
        return
    rows = [
        {"job_id": job, "number": number + i, "kind": event.kind, "data": event.data}
        for i, event in enumerate(added)
    ]
    connection.execute(insert(events), rows)


def done_event(state: State, progress: Progress | None = None) -> JobEvent:
    """The last event of a job."""
    data: dict[str, str | int | None] = {"state": state.value}
    if progress is not None:
        data |= {"status": progress.status, "value": progress.value, "bound": progress.bound}
    return JobEvent("done", json.dumps(data))


class JobEvents:
    """Reads the events of jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def after(self, job: str, number: int, limit: int = 500) -> list[StoredEvent]:
        """The events after `number`."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(events.c.number, events.c.kind, events.c.data)
                .where(events.c.job_id == job, events.c.number > number)
                .order_by(events.c.number)
                .limit(limit)
            )
            return [StoredEvent(row.number, row.kind, row.data) for row in rows]

    def last_numbers(self, names: Sequence[str]) -> dict[str, int]:
        """The number of the last event of each job, 0 where there is none; without removed jobs."""
        last: dict[str, int] = {}
        with self._database.read() as connection:
            for start in range(0, len(names), _JOBS_AT_ONCE):
                rows = connection.execute(
                    select(jobs.c.id, func.max(events.c.number).label("last"))
                    .outerjoin(events, events.c.job_id == jobs.c.id)
                    .where(jobs.c.id.in_(names[start : start + _JOBS_AT_ONCE]))
                    .group_by(jobs.c.id)
                )
                last.update((row.id, row.last or 0) for row in rows)
        return last


_KEPT_SECONDS: Final = 86_400.0


class KeyReusedError(Exception):
    """An idempotency key came again with another request."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A key of a client, and a hash of the request that it came with."""

    owner: str
    name: str
    fingerprint: str


def find_target(connection: Connection, key: IdempotencyKey | None) -> str | None:
    """The job or batch of an earlier request with this key; KeyReusedError if that was another request."""
    if key is None:
        return None
    row = connection.execute(
        select(idempotency.c.fingerprint, idempotency.c.target).where(
            idempotency.c.owner == key.owner, idempotency.c.name == key.name
        )
    ).first()
    if row is None:
        return None
    if row.fingerprint != key.fingerprint:
        raise KeyReusedError
    return str(row.target)


def save_target(connection: Connection, key: IdempotencyKey | None, target: str) -> None:
    """Note the job or batch that a request with this key has made."""
    if key is not None:
        connection.execute(
            insert(idempotency).values(
                owner=key.owner,
                name=key.name,
                fingerprint=key.fingerprint,
                target=target,
                kept_until=read_time(connection) + _KEPT_SECONDS,
            )
        )


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
    columns = (
        callbacks.c.origin,
        callbacks.c.state,
        callbacks.c.attempts,
        callbacks.c.error,
        callbacks.c.delivered,
    )
    rows = connection.execute(select(callbacks.c.job_id, *columns).where(callbacks.c.job_id.in_(list(names))))
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
    proof: bytes | None = None
    """Of the plan in the progress."""


def figures_of(progress: Progress) -> dict[str, int | float | str | None]:
    """The columns of a job with what is new in its progress."""
    names = ("value", "bound", "peak", "solver", "status")
    figures = {name: figure for name in names if (figure := getattr(progress, name)) is not None}
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
        save_document(connection, job, PLAN, ending.progress.plan)
    if ending.proof is not None:
        save_document(connection, job, PROOF, ending.proof)
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
        keys.count(
            connection,
            account,
            queued=-states.count(State.QUEUED),
            running=-states.count(State.RUNNING),
            size=-freed - sum(row.bytes for row in removed),
            seconds=ran_seconds,
        )
    return len(rows)


def _settle(connection: Connection, job: str, before: State, ran_seconds: float) -> None:
    """Count that a job has ended, and the bytes of its documents and its events."""
    plans, callback_bytes = (
        connection.execute(
            select(func.coalesce(func.sum(func.length(column)), 0)).where(column.table.c.job_id == job)
        ).scalar_one()
        for column in (documents.c.body, events.c.data)
    )
    row = connection.execute(select(jobs.c.account, jobs.c.bytes).where(jobs.c.id == job)).one()
    size = int(plans) + int(callback_bytes)
    connection.execute(update(jobs).where(jobs.c.id == job).values(bytes=size))
    keys.count(
        connection,
        row.account,
        queued=-int(before is State.QUEUED),
        running=-int(before is State.RUNNING),
        size=size - row.bytes,
        seconds=ran_seconds,
    )
