"""The queue of jobs in the database: clients submit, look at and stop jobs; servers claim them (`claims`)."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, String, and_, case, cast, delete, func, insert, or_, select
from sqlalchemy.exc import IntegrityError

from memstow.api.store.accounts import ANONYMOUS, Quotas, Totals, count_submitted, read_totals, require_room
from memstow.api.store.bodies import read_body, store_bodies
from memstow.api.store.callbacks import Delivery, callbacks_of
from memstow.api.store.database import Database, StoreError, now
from memstow.api.store.documents import PLAN, compress, read_plan
from memstow.api.store.endings import remove_jobs, stop_job
from memstow.api.store.idempotency import IdempotencyKey, find_target, save_target
from memstow.api.store.job import JOB_COLUMNS, Batch, Draft, Job, State, Stop, job_from_row
from memstow.api.store.notices import announce
from memstow.api.store.tables import LONGEST_NAME, batches, callbacks, documents, jobs
from memstow.api.webhooks import place_of

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Select


# How much of its id is shown of a job.
_SHORT_ID: Final = 8


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs to list; None: any."""

    key_id: str | None = None
    state: State | None = None
    batch_id: str | None = None
    digest: str | None = None
    search: str | None = None  # a part of their names, whatever the case
    nameless: bool = (
        False  # the search also finds them by their id, and those without a name by their buffers
    )
    ids: tuple[str, ...] | None = None
    before: tuple[float, str] | None = None  # created and id of the last job of the page before


class Queue:
    """The jobs of one store."""

    def __init__(self, database: Database, quotas: Quotas, short_seconds: float = 0.0) -> None:
        self._database = database
        self._quotas = quotas
        self._short_seconds = short_seconds

    # Submit

    def submit(self, draft: Draft, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        """The id of the job, and whether it is new; QueueFullError when there is no room."""

        def add(connection: Connection) -> str:
            return self._add_jobs(connection, [draft])[0]

        return self._once(key, add)

    def submit_batch(
        self, key_id: str | None, name: str | None, drafts: Sequence[Draft], key: IdempotencyKey | None = None
    ) -> tuple[str, bool]:
        """The id of the batch, and whether it is new: all of its jobs are in the queue, or none."""

        def add(connection: Connection) -> str:
            batch = uuid.uuid4().hex
            connection.execute(insert(batches).values(id=batch, key_id=key_id, name=name, created=now()))
            self._add_jobs(connection, drafts, batch)
            return batch

        return self._once(key, add)

    def require_room(self, key_id: str | None, jobs: int) -> None:
        """Refuse as `submit` would, before the work of making so many jobs."""
        with self._database.read() as connection:
            require_room(connection, key_id or ANONYMOUS, self._quotas, jobs)

    def find_submitted(self, key: IdempotencyKey) -> str | None:
        """The job or batch of the same request sent before; KeyReusedError if it was another request."""
        with self._database.read() as connection:
            return find_target(connection, key)

    def _once(self, key: IdempotencyKey | None, add: Callable[[Connection], str]) -> tuple[str, bool]:
        """The id that `add` returns, or that of an earlier request with the same key."""
        try:
            with self._database.write() as connection:
                target = find_target(connection, key)
                if target is not None:
                    return target, False
                target = add(connection)
                save_target(connection, key, target)
                return target, True
        except StoreError as error:
            # The same request at the same moment, at another replica: the first of the two counts.
            collided = key is not None and isinstance(error.__cause__, IntegrityError)
            target = self.find_submitted(key) if key is not None and collided else None
            if target is None:
                raise
            return target, False

    def _add_jobs(
        self, connection: Connection, drafts: Sequence[Draft], batch: str | None = None
    ) -> list[str]:
        """Add jobs of one key, unless that goes beyond a quota."""
        account = drafts[0].key_id or ANONYMOUS
        # Before the documents are compressed, and again with their bytes.
        require_room(connection, account, self._quotas, len(drafts))
        given = [it for draft in drafts for it in (draft.problem, draft.hint, draft.model) if it is not None]
        stored = store_bodies(connection, account, given)
        # Ids in the order of the drafts: of jobs with the same priority and age, the smaller id is first.
        stem = uuid.uuid4().hex
        names = [stem] if len(drafts) == 1 else [f"{stem[:24]}{i:08x}" for i in range(len(drafts))]
        plans = [None if draft.plan is None else compress(draft.plan) for draft in drafts]
        created = now()
        rows = [
            {
                **_columns(draft),
                "id": name,
                "account": account,
                "batch_id": batch,
                "short": int(draft.time_limit is not None and draft.time_limit <= self._short_seconds),
                "problem": stored.digests[draft.problem],
                "hint": None if draft.hint is None else stored.digests[draft.hint],
                "model": None if draft.model is None else stored.digests[draft.model],
                "bytes": 0 if plan is None else len(plan),
                "created": created,
            }
            for name, draft, plan in zip(names, drafts, plans, strict=True)
        ]
        connection.execute(insert(jobs), rows)
        told = [_callback_row(name, draft.callback) for name, draft in zip(names, drafts, strict=True)]
        if any(told):
            connection.execute(insert(callbacks), list(filter(None, told)))
        bodies = [
            {"job_id": name, "kind": PLAN, "body": plan}
            for name, plan in zip(names, plans, strict=True)
            if plan is not None
        ]
        if bodies:
            connection.execute(insert(documents), bodies)
        size = stored.size + sum(0 if plan is None else len(plan) for plan in plans)
        count_submitted(connection, account, len(drafts), size)
        require_room(connection, account, self._quotas)
        announce(connection)
        return names

    # Look

    def get(self, job: str) -> Job | None:
        """The job with this id."""
        with self._database.read() as connection:
            row = connection.execute(select(*JOB_COLUMNS).where(jobs.c.id == job)).mappings().first()
            return None if row is None else _with_callbacks(connection, [job_from_row(row)])[0]

    def document(self, job: str, kind: str) -> bytes | None:
        """The problem, the hint, the model or the plan of a job."""
        with self._database.read() as connection:
            if kind == PLAN:
                return read_plan(connection, job)
            row = connection.execute(select(jobs.c.account, jobs.c[kind]).where(jobs.c.id == job)).first()
            return None if row is None else read_body(connection, row[0], row[1])

    def page(self, wanted: Filter, limit: int) -> list[Job]:
        """Jobs, newest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                _filtered(select(*JOB_COLUMNS), wanted)
                .order_by(jobs.c.created.desc(), jobs.c.id.desc())
                .limit(limit)
            )
            return _with_callbacks(connection, [job_from_row(row) for row in rows.mappings()])

    def totals(self) -> Totals:
        """The number of queued and of running jobs, and the bytes of all."""
        with self._database.read() as connection:
            return read_totals(connection)

    def has_room(self) -> bool:
        """Whether one more job would be accepted."""
        return self.totals().queued < self._quotas.max_queued

    def batch(self, batch: str) -> Batch | None:
        """The batch with this id."""
        with self._database.read() as connection:
            row = connection.execute(select(batches).where(batches.c.id == batch)).first()
            return None if row is None else Batch(row.id, row.key_id, row.name, row.created)

    def batch_jobs(self, batch: str) -> list[Job]:
        """The jobs of a batch, in the order they were given."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(*JOB_COLUMNS).where(jobs.c.batch_id == batch).order_by(jobs.c.created, jobs.c.id)
            )
            return [job_from_row(row) for row in rows.mappings()]

    # Stop

    def stop(self, job: str, discard: bool, keep_seconds: float) -> bool:
        """Stop a job; one that runs is ended by its server. False when there is none."""
        with self._database.write() as connection:
            row = connection.execute(
                select(jobs.c.state, jobs.c.id).where(jobs.c.id == job).with_for_update()
            ).first()
            if row is None:
                return False
            stop_job(connection, job, State(row.state), discard, keep_seconds)
            return True

    def stop_all(self, wanted: Filter, discard: bool, keep_seconds: float, most: int) -> list[str]:
        """Stop the newest of these jobs, so many at the most; those that have ended are only to discard.

        Those that were stopped before are none of them, though they may still run: calls that are repeated
        until there are no more come to an end.
        """
        stop = Stop.DISCARD if discard else Stop.KEEP
        query = _filtered(select(jobs.c.id), wanted).where(jobs.c.stop < stop)
        if not discard:
            query = query.where(jobs.c.state.in_((State.QUEUED, State.RUNNING)))
        newest = query.order_by(jobs.c.created.desc(), jobs.c.id.desc()).limit(most)
        with self._database.write() as connection:
            names = connection.execute(newest).scalars().all()
            # In the same order everywhere, so that two who stop jobs never wait for each other.
            rows = connection.execute(
                select(jobs.c.id, jobs.c.state)
                .where(jobs.c.id.in_(names))
                .order_by(jobs.c.account, jobs.c.id)
                .with_for_update()
            ).all()
            ended = [row.id for row in rows if row.state != State.RUNNING]
            if discard:
                remove_jobs(connection, ended)
            for row in rows:
                if not discard or row.state == State.RUNNING:
                    stop_job(connection, row.id, State(row.state), discard, keep_seconds)
            return [row.id for row in rows]

    def stop_batch(self, batch: str, discard: bool, keep_seconds: float) -> None:
        """Stop every job of a batch."""
        with self._database.write() as connection:
            rows = connection.execute(
                select(jobs.c.id, jobs.c.state)
                .where(jobs.c.batch_id == batch)
                .order_by(jobs.c.id)
                .with_for_update()
            ).all()
            for row in rows:
                stop_job(connection, row.id, State(row.state), discard, keep_seconds)
            if discard and all(State(row.state) is not State.RUNNING for row in rows):
                connection.execute(delete(batches).where(batches.c.id == batch))


def _columns(draft: Draft) -> dict[str, str | int | None]:
    """What the row of a job takes from its draft as it is, and what is the same for every new job."""
    return {
        "state": State.QUEUED,
        "priority": draft.priority,
        "key_id": draft.key_id,
        # What cannot be printed is longer in the store than it was given.
        "name": None if draft.name is None else draft.name[:LONGEST_NAME],
        "setting": draft.setting,
        "digest": draft.digest,
        "cache_key": draft.cache_key,
        "buffers": draft.buffers,
        "options": draft.options,
        "fresh": int(draft.fresh),
        "term": draft.term,
        "attempt": 0,
        "beat": 0,
        "stop": Stop.NO,
        "trace": draft.trace,
    }


def _callback_row(job: str, url: str | None) -> dict[str, str | int] | None:
    if url is None:
        return None
    origin = place_of(url).origin
    return {"job_id": job, "url": url, "origin": origin, "state": Delivery.WAITING, "attempts": 0}


def _with_callbacks(connection: Connection, found: list[Job]) -> list[Job]:
    told = callbacks_of(connection, [job.id for job in found])
    return [replace(job, callback=told[job.id]) if job.id in told else job for job in found]


def _called(text: str, *, nameless: bool) -> "ColumnElement[bool]":
    """Those with this text in their name, or in what a job without one is called for people."""
    named = jobs.c.name.icontains(text, autoescape=True)
    plain = text.replace(",", "").strip()
    if not nameless or not plain:
        return named
    noun = case((jobs.c.buffers == 1, " buffer job "), else_=" buffers job ")
    called = cast(jobs.c.buffers, String) + noun + func.substr(jobs.c.id, 1, _SHORT_ID, type_=String)
    without = and_(func.coalesce(jobs.c.name, "") == "", called.icontains(plain, autoescape=True))
    if len(plain) < _SHORT_ID:
        return or_(named, without)
    return or_(named, without, jobs.c.id.startswith(plain.lower(), autoescape=True))


def _filtered(query: "Select[Any]", wanted: Filter) -> "Select[Any]":
    if wanted.key_id is not None:
        query = query.where(jobs.c.key_id == wanted.key_id)
    if wanted.state is not None:
        query = query.where(jobs.c.state == wanted.state)
    if wanted.batch_id is not None:
        query = query.where(jobs.c.batch_id == wanted.batch_id)
    if wanted.digest is not None:
        query = query.where(jobs.c.digest == wanted.digest)
    if wanted.ids is not None:
        query = query.where(jobs.c.id.in_(wanted.ids))
    if wanted.search is not None:
        query = query.where(_called(wanted.search, nameless=wanted.nameless))
    if wanted.before is not None:
        created, name = wanted.before
        query = query.where(or_(jobs.c.created < created, and_(jobs.c.created == created, jobs.c.id < name)))
    return query
