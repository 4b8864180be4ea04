"""The queue of jobs: clients submit, look at and stop jobs; servers claim them.

A claim is who takes a job, who still has it, and who may write its result. Operators may pause all claims.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    Connection,
    RowMapping,
    String,
    and_,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.elements import ColumnElement

from memstow.api.operations.encoding import PROOF
from memstow.api.store.database import Database, StoreError, now
from memstow.api.store.job_records import (
    PLAN,
    Delivery,
    Ending,
    IdempotencyKey,
    announce,
    append_events,
    callbacks_of,
    cancel_job,
    compress,
    figures_of,
    find_target,
    finish_job,
    read_body,
    read_document,
    remove_jobs,
    save_document,
    save_target,
    stop_job,
    store_bodies,
)
from memstow.api.store.keys import (
    ANONYMOUS,
    Quotas,
    Totals,
    count,
    count_started,
    count_submitted,
    read_totals,
    require_room,
)
from memstow.api.store.tables import (
    JOB_COLUMNS,
    LONGEST_NAME,
    Batch,
    Draft,
    Job,
    JobEvent,
    Progress,
    State,
    Stop,
    accounts,
    batches,
    callbacks,
    control,
    documents,
    job_from_row,
    jobs,
    keys,
)
from memstow.api.webhooks import place_of

PAUSED: Final = "paused"
"""The row of the table `control` that is there while no job is claimed."""


def paused_since(connection: Connection) -> float | None:
    """Since when no job is claimed; None while jobs are."""
    since = connection.execute(select(control.c.created).where(control.c.name == PAUSED)).scalar()
    return None if since is None else float(since)


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
        texts = [
            entry
            for draft in drafts
            for entry in (draft.problem, draft.hint, draft.model)
            if entry is not None
        ]
        stored = store_bodies(connection, account, texts)
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
        callback_rows = [
            _callback_row(name, draft.callback) for name, draft in zip(names, drafts, strict=True)
        ]
        if any(callback_rows):
            connection.execute(insert(callbacks), list(filter(None, callback_rows)))
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
        """The problem, the hint, the model, the plan or the proof of a job."""
        with self._database.read() as connection:
            if kind in (PLAN, PROOF):
                return read_document(connection, job, kind)
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


def _with_callbacks(connection: Connection, jobs_listed: list[Job]) -> list[Job]:
    callback_of = callbacks_of(connection, [job.id for job in jobs_listed])
    return [
        replace(job, callback=callback_of[job.id]) if job.id in callback_of else job for job in jobs_listed
    ]


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


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job to run, with its documents."""

    job: Job
    problem: bytes
    hint: bytes | None
    plan: bytes | None


class Claims:
    """The claims of servers on the jobs of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(
        self,
        owner: str,
        most_per_key: int,
        passed_over: Collection[str] = (),
        *,
        short_only: bool = False,
        first_only: bool = False,
    ) -> ClaimedJob | None:
        """The next job by priority, turn of its key, and age, now running for `owner`.

        Passed over are these jobs, jobs of a key that has its share running (with `first_only`, one that has
        any running but short ones), and jobs equal to one that is running: when that is done, they have its
        answer.
        """
        with self._database.write() as connection:
            if paused_since(connection) is not None:
                return None
            claimable = _claimable(connection, passed_over, short_only)
            row = _next_row(connection, claimable, most_per_key, first_only)
            if row is None:
                return None
            values = {
                "state": State.RUNNING,
                "owner": owner,
                "attempt": row["attempt"] + 1,
                "beat": 0,
                "started": row["started"] or now(),
            }
            connection.execute(update(jobs).where(jobs.c.id == row["id"]).values(values))
            job = job_from_row({**row, **values})
            problem, hint = (read_body(connection, row["account"], row[name]) for name in ("problem", "hint"))
            plan = read_document(connection, job.id, PLAN)
        return ClaimedJob(job, problem or b"", hint, plan)

    def heartbeat(self, running: Iterable[tuple[str, int]]) -> dict[str, Stop | None]:
        """Show that these jobs (id, attempt) are alive; what their owners ask for, None for a lost claim."""
        stops: dict[str, Stop | None] = {}
        with self._database.write() as connection:
            for job, attempt in sorted(running):
                mine = _held(job, attempt)
                connection.execute(update(jobs).where(mine).values(beat=jobs.c.beat + 1))
                stop = connection.execute(select(jobs.c.stop).where(mine)).scalar()
                stops[job] = None if stop is None else Stop(stop)
        return stops

    def heartbeats(self) -> dict[str, tuple[int, int]]:
        """(attempt, heartbeats) of every running job."""
        with self._database.read() as connection:
            rows = connection.execute(
                select(jobs.c.id, jobs.c.attempt, jobs.c.beat).where(jobs.c.state == State.RUNNING)
            )
            return {row.id: (row.attempt, row.beat) for row in rows}

    def requeue(
        self,
        job: str,
        attempt: int,
        keep_seconds: float,
        *,
        lost: bool = False,
        ran_seconds: float = 0.0,
    ) -> bool:
        """Put a job back into the queue, unless the claim is lost.

        A job whose owner asked for its end is cancelled instead, and kept for `keep_seconds` with its best
        plan. `lost` counts the attempt among those whose process was lost.
        """
        with self._database.write() as connection:
            return _requeue(connection, job, attempt, keep_seconds, lost, ran_seconds)

    def requeue_all(self, keep_seconds: float) -> int:
        """Put every running job back, as `requeue` does: for a store that no other server works on."""
        with self._database.write() as connection:
            rows = connection.execute(
                select(jobs.c.id, jobs.c.attempt).where(jobs.c.state == State.RUNNING)
            ).all()
            return sum(_requeue(connection, row.id, row.attempt, keep_seconds) for row in rows)

    def record(self, job: str, attempt: int, progress: Progress, events: Sequence[JobEvent]) -> bool:
        """Write the progress and the events of a run; False when its claim is lost."""
        with self._database.write() as connection:
            if not _holds(connection, job, attempt):
                return False
            values = figures_of(progress)
            if progress.plan is not None or progress.value is not None:
                values["improved"] = now()
            if values:
                connection.execute(update(jobs).where(jobs.c.id == job).values(values))
            if progress.plan is not None:
                save_document(connection, job, PLAN, progress.plan)
            append_events(connection, job, events)
            return True

    def finish(self, job: str, attempt: int, ending: Ending) -> bool:
        """Write the end of a job; False, and nothing is written, when the claim is lost."""
        with self._database.write() as connection:
            if not _holds(connection, job, attempt):
                return False
            finish_job(connection, job, State.RUNNING, ending)
            return True


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An account with a job that may be claimed, and the highest priority of such jobs."""

    account: str
    priority: int
    running: int
    turn: float
    most_running: int | None


def _candidates(
    connection: Connection, claimable: ColumnElement[bool], most_per_key: int, first_only: bool
) -> list[_Candidate]:
    """The accounts by turn: of equal priority, who has fewest running, then who has used least."""
    priority = (
        select(jobs.c.priority)
        .where(jobs.c.account == accounts.c.id, claimable)
        .order_by(jobs.c.priority.desc())
        .limit(1)
        .correlate(accounts)
        .scalar_subquery()
    )
    rows = (
        select(accounts.c.id, accounts.c.running, accounts.c.turn, keys.c.max_running, priority.label("top"))
        .outerjoin(keys, keys.c.id == accounts.c.id)
        .where(accounts.c.queued > 0)
    )
    if first_only:
        running_long = (jobs.c.account == accounts.c.id, jobs.c.state == State.RUNNING, jobs.c.short == 0)
        rows = rows.where(~exists().where(*running_long).correlate(accounts))
    candidates = []
    for row in connection.execute(rows):
        own = most_per_key if row.max_running is None else row.max_running
        most = None if row.id == ANONYMOUS else own
        if row.top is not None and (most is None or row.running < most):
            candidates.append(_Candidate(row.id, row.top, row.running, row.turn, most))
    return sorted(candidates, key=lambda entry: (-entry.priority, entry.running, entry.turn, entry.account))


def _claimable(connection: Connection, passed_over: Collection[str], short_only: bool) -> ColumnElement[bool]:
    """The condition on jobs that may be claimed now."""
    equal = connection.execute(select(jobs.c.cache_key).where(jobs.c.state == State.RUNNING)).scalars().all()
    condition = jobs.c.state == State.QUEUED
    if short_only:
        condition = and_(condition, jobs.c.short == 1)
    if passed_over:
        condition = and_(condition, jobs.c.id.not_in(passed_over))
    if equal:
        condition = and_(condition, or_(jobs.c.fresh == 1, jobs.c.cache_key.not_in(set(equal))))
    return condition


def _next_row(
    connection: Connection, claimable: ColumnElement[bool], most_per_key: int, first_only: bool
) -> RowMapping | None:
    for candidate in _candidates(connection, claimable, most_per_key, first_only):
        wanted = (
            select(*JOB_COLUMNS, jobs.c.account, jobs.c.problem, jobs.c.hint)
            .where(jobs.c.account == candidate.account, jobs.c.priority == candidate.priority, claimable)
            .order_by(jobs.c.created, jobs.c.id)
            .limit(1)
        )
        row = connection.execute(wanted.with_for_update(skip_locked=True)).mappings().first()
        # Another server may have taken it, or the last place of the account, in the meantime.
        if row is not None and count_started(connection, candidate.account, candidate.most_running):
            return row
    return None


def _held(job: str, attempt: int) -> ColumnElement[bool]:
    return and_(jobs.c.id == job, jobs.c.attempt == attempt, jobs.c.state == State.RUNNING)


def _holds(connection: Connection, job: str, attempt: int) -> bool:
    """Whether this attempt is the current one; it stays so until the transaction ends."""
    held = select(jobs.c.id).where(_held(job, attempt))
    return connection.execute(held.with_for_update()).first() is not None


def _requeue(
    connection: Connection,
    job: str,
    attempt: int,
    keep_seconds: float,
    lost: bool = False,
    ran_seconds: float = 0.0,
) -> bool:
    held = _held(job, attempt)
    row = connection.execute(select(jobs.c.stop, jobs.c.account).where(held).with_for_update()).first()
    if row is None:
        return False
    match Stop(row.stop):
        case Stop.KEEP:
            cancel_job(connection, job, State.RUNNING, keep_seconds, ran_seconds)
            return False
        case Stop.DISCARD:
            remove_jobs(connection, [job], ran_seconds)
            return False
    values = {"state": State.QUEUED, "owner": None, "losses": jobs.c.losses + int(lost)}
    connection.execute(update(jobs).where(held).values(values))
    count(connection, row.account, queued=1, running=-1, seconds=ran_seconds)
    announce(connection)
    return True
