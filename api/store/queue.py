"""The job table as a queue: who may put in, who takes out, and who may write what came of it.

A job is taken by raising its `attempt`; whatever is written about a run carries the number of its attempt and
is dropped when another has begun since. So a result is written once, whoever was thought dead in between.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from memstow.api.store.compression import packed, unpacked
from memstow.api.store.database import Database, StoreError, now
from memstow.api.store.job import OVER, Draft, Job, State, Stop, job_of
from memstow.api.store.tables import batches, documents, events, idempotency, jobs

_COLUMNS: Final = [column for column in jobs.columns if column.name in Job.__dataclass_fields__]
# Of one job, the events that are kept; the last one is always written.
MOST_EVENTS: Final = 2_000


class FullError(Exception):
    """The queue has no room."""


class ReusedError(Exception):
    """An idempotency key came again with another request."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A client's promise that this request is one it may have sent before."""

    owner: str
    name: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Taken:
    """A job to work on, and what is needed for it."""

    job: Job
    problem: bytes
    hint: bytes | None
    plan: bytes | None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a job's result so far."""

    value: int | None = None
    bound: int | None = None
    peak: int | None = None
    solver: str | None = None
    status: str | None = None
    plan: bytes | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs to list."""

    key_id: str | None = None  # None: of anyone
    state: State | None = None
    batch_id: str | None = None
    digest: str | None = None
    before: tuple[float, str] | None = None


class Queue:
    """The jobs of one store."""

    def __init__(self, database: Database, most_queued: int) -> None:
        self._database = database
        self._most_queued = most_queued

    # Putting in

    def submit(self, draft: Draft, promise: Idempotency | None = None) -> tuple[str, bool]:
        """The id of the job, and whether it is new; FullError when there is no room."""

        def put(connection: Connection) -> str:
            self._require_room(connection, 1)
            return _put(connection, [draft])[0]

        return self._once(promise, put)

    def submit_batch(
        self,
        key_id: str | None,
        name: str | None,
        drafts: Sequence[Draft],
        promise: Idempotency | None = None,
    ) -> tuple[str, bool]:
        """The id of the batch, and whether it is new: all of its jobs are in the queue, or none."""

        def put(connection: Connection) -> str:
            self._require_room(connection, len(drafts))
            batch = uuid.uuid4().hex
            connection.execute(insert(batches).values(id=batch, key_id=key_id, name=name, created=now()))
            _put(connection, drafts, batch)
            return batch

        return self._once(promise, put)

    def promised(self, promise: Idempotency) -> str | None:
        """What an earlier request with this idempotency key made; ReusedError if it was another request."""
        with self._database.read() as connection:
            return _kept_promise(connection, promise)

    def _once(self, promise: Idempotency | None, put: Callable[[Connection], str]) -> tuple[str, bool]:
        """What `put` makes, or what an earlier request with the same promise made."""
        try:
            with self._database.write() as connection:
                known = _kept_promise(connection, promise)
                if known is not None:
                    return known, False
                target = put(connection)
                _promise(connection, promise, target)
                return target, True
        except StoreError as error:
            # The same request at the same moment, at another replica: the first of the two counts.
            known = (
                self.promised(promise) if promise and isinstance(error.__cause__, IntegrityError) else None
            )
            if known is None:
                raise
            return known, False

    def _require_room(self, connection: Connection, wanted: int) -> None:
        waiting = _count(connection, State.QUEUED)
        if waiting + wanted > self._most_queued:
            raise FullError

    # Taking out

    def take(self, owner: str, most_per_key: int) -> Taken | None:
        """The next job by priority and age, now running for `owner`.

        Passed over are jobs of a key that has its share running, and jobs equal to one that is running: when
        that is done, they have its answer.
        """
        with self._database.write() as connection:
            running = connection.execute(
                select(jobs.c.key_id, jobs.c.cache_key, jobs.c.fresh).where(jobs.c.state == State.RUNNING)
            ).all()
            shares: dict[str, int] = {}
            for row in running:
                if row.key_id is not None:
                    shares[row.key_id] = shares.get(row.key_id, 0) + 1
            served = [key for key, count in shares.items() if count >= most_per_key]
            equal = list({row.cache_key for row in running})
            wanted = select(*_COLUMNS).where(jobs.c.state == State.QUEUED)
            if served:
                wanted = wanted.where(or_(jobs.c.key_id.is_(None), jobs.c.key_id.not_in(served)))
            if equal:
                wanted = wanted.where(or_(jobs.c.fresh == 1, jobs.c.cache_key.not_in(equal)))
            wanted = wanted.order_by(jobs.c.priority.desc(), jobs.c.created, jobs.c.id).limit(1)
            row_found = connection.execute(wanted.with_for_update(skip_locked=True)).mappings().first()
            if row_found is None:
                return None
            values = {
                "state": State.RUNNING,
                "owner": owner,
                "attempt": row_found["attempt"] + 1,
                "beat": 0,
                "started": row_found["started"] or now(),
            }
            connection.execute(update(jobs).where(jobs.c.id == row_found["id"]).values(values))
            job = job_of({**row_found, **values})
            bodies = _documents(connection, job.id)
        return Taken(job, bodies["problem"], bodies.get("hint"), bodies.get("plan"))

    def beat(self, running: Iterable[tuple[str, int]]) -> dict[str, Stop | None]:
        """Show that these jobs (id, attempt) are alive: what each was told, or None for one that is lost."""
        told: dict[str, Stop | None] = {}
        with self._database.write() as connection:
            for job, attempt in running:
                mine = and_(jobs.c.id == job, jobs.c.attempt == attempt, jobs.c.state == State.RUNNING)
                connection.execute(update(jobs).where(mine).values(beat=jobs.c.beat + 1))
                stop = connection.execute(select(jobs.c.stop).where(mine)).scalar()
                told[job] = None if stop is None else Stop(stop)
        return told

    def beats(self) -> dict[str, tuple[int, int]]:
        """(attempt, beat) of every running job."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(jobs.c.id, jobs.c.attempt, jobs.c.beat).where(jobs.c.state == State.RUNNING)
            )
            return {row.id: (row.attempt, row.beat) for row in rows}

    def requeue(self, job: str, attempt: int) -> bool:
        """Back into the queue, unless someone else has it by now or its owner wanted it to end."""
        with self._database.write() as connection:
            return _requeue(connection, job, attempt)

    def requeue_running(self) -> int:
        """Take back every running job: for a store that nobody else works on."""
        with self._database.write() as connection:
            rows = connection.execute(
                select(jobs.c.id, jobs.c.attempt).where(jobs.c.state == State.RUNNING)
            ).all()
            return sum(_requeue(connection, row.id, row.attempt) for row in rows)

    # Writing about a run

    def learn(
        self, job: str, attempt: int, known: Known, said: Sequence[tuple[str, Mapping[str, Any]]]
    ) -> bool:
        """Keep what a run has found so far and said; False when the run is not the current one."""
        with self._database.write() as connection:
            if not _mine(connection, job, attempt):
                return False
            values = {
                name: getattr(known, name)
                for name in ("value", "bound", "peak", "solver", "status")
                if getattr(known, name) is not None
            }
            if known.plan is not None or known.value is not None:
                values["improved"] = now()
            if values:
                connection.execute(update(jobs).where(jobs.c.id == job).values(values))
            if known.plan is not None:
                _keep(connection, job, "plan", known.plan)
            _say(connection, job, said)
            return True

    def finish(
        self,
        job: str,
        attempt: int,
        state: State,
        known: Known,
        said: Sequence[tuple[str, Mapping[str, Any]]],
        keep_seconds: float,
        error: str | None = None,
    ) -> bool:
        """The end of a job; False when this run is not the current one, and then nothing is written."""
        with self._database.write() as connection:
            if not _mine(connection, job, attempt):
                return False
            _finish(connection, job, state, known, said, keep_seconds, error)
            return True

    # Looking

    def get(self, job: str) -> Job | None:
        """The job of this id."""
        with self._database.read() as connection:
            row = connection.execute(select(*_COLUMNS).where(jobs.c.id == job)).mappings().first()
            return None if row is None else job_of(row)

    def document(self, job: str, kind: str) -> bytes | None:
        """The problem, the hint or the plan of a job."""
        with self._database.read() as connection:
            return _documents(connection, job, kind).get(kind)

    def page(self, wanted: Filter, limit: int) -> list[Job]:
        """Jobs, newest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                _filtered(select(*_COLUMNS), wanted)
                .order_by(jobs.c.created.desc(), jobs.c.id.desc())
                .limit(limit)
            )
            return [job_of(row) for row in rows.mappings()]

    def counts(self) -> dict[State, int]:
        """How many wait and how many run."""
        with self._database.read() as connection:
            return {state: _count(connection, state) for state in (State.QUEUED, State.RUNNING)}

    def has_room(self) -> bool:
        """Whether one more job would be taken."""
        return self.counts()[State.QUEUED] < self._most_queued

    # Ending

    def stop(self, job: str, discard: bool, keep_seconds: float) -> bool:
        """Tell a job to end; one that nobody works on ends here. False when there is none."""
        with self._database.write() as connection:
            row = connection.execute(
                select(jobs.c.state, jobs.c.id).where(jobs.c.id == job).with_for_update()
            ).first()
            if row is None:
                return False
            _stop(connection, job, State(row.state), discard, keep_seconds)
            return True

    def stop_batch(self, batch: str, discard: bool, keep_seconds: float) -> None:
        """Tell every job of a batch to end."""
        with self._database.write() as connection:
            rows = connection.execute(
                select(jobs.c.id, jobs.c.state).where(jobs.c.batch_id == batch).with_for_update()
            ).all()
            for row in rows:
                _stop(connection, row.id, State(row.state), discard, keep_seconds)
            if discard and all(State(row.state) is not State.RUNNING for row in rows):
                connection.execute(delete(batches).where(batches.c.id == batch))

    def batch(self, batch: str) -> Mapping[str, Any] | None:
        """The row of a batch."""
        with self._database.read() as connection:
            row = connection.execute(select(batches).where(batches.c.id == batch)).mappings().first()
            return None if row is None else dict(row)

    def batch_jobs(self, batch: str) -> list[Job]:
        """Its jobs, in the order they were given."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(*_COLUMNS).where(jobs.c.batch_id == batch).order_by(jobs.c.created, jobs.c.id)
            )
            return [job_of(row) for row in rows.mappings()]

    # Events

    def events_after(self, job: str, number: int, limit: int = 500) -> list[tuple[int, str, str]]:
        """(number, kind, data) of the events behind `number`."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(events.c.number, events.c.kind, events.c.data)
                .where(events.c.job_id == job, events.c.number > number)
                .order_by(events.c.number)
                .limit(limit)
            )
            return [(row.number, row.kind, row.data) for row in rows]

    def last_events(self, watched: Sequence[str]) -> dict[str, int]:
        """The number of the last event of each job, 0 where there is none; without jobs that are gone."""
        last: dict[str, int] = {}
        with self._database.read() as connection:
            for start in range(0, len(watched), 500):
                rows = connection.execute(
                    select(jobs.c.id, func.max(events.c.number).label("last"))
                    .outerjoin(events, events.c.job_id == jobs.c.id)
                    .where(jobs.c.id.in_(watched[start : start + 500]))
                    .group_by(jobs.c.id)
                )
                last.update((row.id, row.last or 0) for row in rows)
        return last


def _put(connection: Connection, drafts: Sequence[Draft], batch: str | None = None) -> list[str]:
    # Ids that sort as the drafts do: age decides between jobs of one priority, and then the id.
    stem = uuid.uuid4().hex
    names = [stem] if len(drafts) == 1 else [f"{stem[:24]}{i:08x}" for i in range(len(drafts))]
    at = now()
    rows = [
        {
            "id": name,
            "state": State.QUEUED,
            "priority": draft.priority,
            "key_id": draft.key_id,
            "batch_id": batch,
            "name": draft.name,
            "setting": draft.setting,
            "digest": draft.digest,
            "cache_key": draft.cache_key,
            "buffers": draft.buffers,
            "options": draft.options,
            "fresh": int(draft.fresh),
            "term": draft.term,
            "created": at,
            "attempt": 0,
            "beat": 0,
            "stop": Stop.NO,
        }
        for name, draft in zip(names, drafts, strict=True)
    ]
    connection.execute(insert(jobs), rows)
    bodies = [
        {"job_id": name, "kind": kind, "body": packed(body)}
        for name, draft in zip(names, drafts, strict=True)
        for kind, body in (("problem", draft.problem), ("hint", draft.hint), ("plan", draft.plan))
        if body is not None
    ]
    connection.execute(insert(documents), bodies)
    return names


def _kept_promise(connection: Connection, promise: Idempotency | None) -> str | None:
    if promise is None:
        return None
    row = connection.execute(
        select(idempotency.c.fingerprint, idempotency.c.target).where(
            idempotency.c.owner == promise.owner, idempotency.c.name == promise.name
        )
    ).first()
    if row is None:
        return None
    if row.fingerprint != promise.fingerprint:
        raise ReusedError
    return str(row.target)


def _promise(connection: Connection, promise: Idempotency | None, target: str) -> None:
    if promise is not None:
        connection.execute(
            insert(idempotency).values(
                owner=promise.owner,
                name=promise.name,
                fingerprint=promise.fingerprint,
                target=target,
                created=now(),
            )
        )


def _count(connection: Connection, state: State) -> int:
    return connection.execute(select(func.count()).where(jobs.c.state == state)).scalar_one()


def _documents(connection: Connection, job: str, *kinds: str) -> dict[str, bytes]:
    wanted = select(documents.c.kind, documents.c.body).where(documents.c.job_id == job)
    if kinds:
        wanted = wanted.where(documents.c.kind.in_(kinds))
    return {row.kind: unpacked(row.body) for row in connection.execute(wanted)}


def _mine(connection: Connection, job: str, attempt: int) -> bool:
    mine = select(jobs.c.id).where(jobs.c.id == job, jobs.c.attempt == attempt, jobs.c.state == State.RUNNING)
    return connection.execute(mine.with_for_update()).first() is not None


def _keep(connection: Connection, job: str, kind: str, body: bytes) -> None:
    where = and_(documents.c.job_id == job, documents.c.kind == kind)
    if not connection.execute(update(documents).where(where).values(body=packed(body))).rowcount:
        connection.execute(insert(documents).values(job_id=job, kind=kind, body=packed(body)))


def _say(
    connection: Connection, job: str, said: Sequence[tuple[str, Mapping[str, Any]]], last: bool = False
) -> None:
    if not said:
        return
    newest = connection.execute(select(func.max(events.c.number)).where(events.c.job_id == job)).scalar()
    number = (newest or 0) + 1
    if number > MOST_EVENTS and not last:
        return
    rows = [
        {"job_id": job, "number": number + i, "kind": kind, "data": json.dumps(data)}
        for i, (kind, data) in enumerate(said)
    ]
    connection.execute(insert(events), rows)


def _requeue(connection: Connection, job: str, attempt: int) -> bool:
    mine = and_(jobs.c.id == job, jobs.c.attempt == attempt, jobs.c.state == State.RUNNING)
    stop = connection.execute(select(jobs.c.stop).where(mine).with_for_update()).scalar()
    if stop is None:
        return False
    if Stop(stop) is not Stop.NO:
        _stop(connection, job, State.QUEUED, Stop(stop) is Stop.DISCARD, 0.0)
        return False
    connection.execute(update(jobs).where(mine).values(state=State.QUEUED, owner=None))
    return True


def _finish(
    connection: Connection,
    job: str,
    state: State,
    known: Known,
    said: Sequence[tuple[str, Mapping[str, Any]]],
    keep_seconds: float,
    error: str | None,
) -> None:
    at = now()
    values = {
        name: getattr(known, name)
        for name in ("value", "bound", "peak", "solver", "status")
        if getattr(known, name) is not None
    }
    connection.execute(
        update(jobs)
        .where(jobs.c.id == job)
        .values(**values, state=state, finished=at, expires=at + keep_seconds, owner=None, error=error)
    )
    if known.plan is not None:
        _keep(connection, job, "plan", known.plan)
    _say(connection, job, said, last=True)


def _stop(connection: Connection, job: str, state: State, discard: bool, keep_seconds: float) -> None:
    if state in OVER or state is State.QUEUED:
        if discard:
            connection.execute(delete(jobs).where(jobs.c.id == job))
        elif state is State.QUEUED:
            done = {"state": State.CANCELLED.value}
            _finish(connection, job, State.CANCELLED, Known(), [("done", done)], keep_seconds, None)
        return
    wish = Stop.DISCARD if discard else Stop.KEEP
    connection.execute(update(jobs).where(jobs.c.id == job).values(stop=wish))


def _filtered(query: "Select[Any]", wanted: Filter) -> "Select[Any]":
    if wanted.key_id is not None:
        query = query.where(jobs.c.key_id == wanted.key_id)
    if wanted.state is not None:
        query = query.where(jobs.c.state == wanted.state)
    if wanted.batch_id is not None:
        query = query.where(jobs.c.batch_id == wanted.batch_id)
    if wanted.digest is not None:
        query = query.where(jobs.c.digest == wanted.digest)
    if wanted.before is not None:
        created, name = wanted.before
        query = query.where(or_(jobs.c.created < created, and_(jobs.c.created == created, jobs.c.id < name)))
    return query
