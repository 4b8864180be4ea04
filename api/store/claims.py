"""Claims on jobs: who takes a job, who still has it, and who may write its result.

A job is claimed by raising its `attempt`. Everything written about a run carries the number of its attempt,
and is dropped when another attempt has begun since: a result is written once, even by a server that was
wrongly taken for dead.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, and_, delete, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from memstow.api.store.control import paused_since
from memstow.api.store.database import Database, now
from memstow.api.store.documents import read_documents, save_document
from memstow.api.store.job import JOB_COLUMNS, OVER, Job, JobEvent, Progress, State, Stop, job_from_row
from memstow.api.store.job_events import append_events, done_event
from memstow.api.store.tables import jobs


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

    def claim(self, owner: str, most_per_key: int, passed_over: Collection[str] = ()) -> ClaimedJob | None:
        """The next job by priority and age, now running for `owner`.

        Passed over are these jobs, jobs of a key that has its share running, and jobs equal to one that is
        running: when that is done, they have its answer.
        """
        with self._database.write() as connection:
            if paused_since(connection) is not None:
                return None
            row = _next_row(connection, most_per_key, passed_over)
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
            documents = read_documents(connection, job.id)
        return ClaimedJob(job, documents["problem"], documents.get("hint"), documents.get("plan"))

    def heartbeat(self, running: Iterable[tuple[str, int]]) -> dict[str, Stop | None]:
        """Show that these jobs (id, attempt) are alive; what their owners ask for, None for a lost claim."""
        stops: dict[str, Stop | None] = {}
        with self._database.write() as connection:
            for job, attempt in running:
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

    def requeue(self, job: str, attempt: int, keep_seconds: float, *, lost: bool = False) -> bool:
        """Put a job back into the queue, unless the claim is lost.

        A job whose owner asked for its end is cancelled instead, and kept for `keep_seconds` with its best
        plan. `lost` counts the attempt among those whose process was lost.
        """
        with self._database.write() as connection:
            return _requeue(connection, job, attempt, keep_seconds, lost=lost)

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
            values = _figures(progress)
            if progress.plan is not None or progress.value is not None:
                values["improved"] = now()
            if values:
                connection.execute(update(jobs).where(jobs.c.id == job).values(values))
            if progress.plan is not None:
                save_document(connection, job, "plan", progress.plan)
            append_events(connection, job, events)
            return True

    def finish(
        self,
        job: str,
        attempt: int,
        state: State,
        progress: Progress,
        events: Sequence[JobEvent],
        keep_seconds: float,
        error: str | None = None,
    ) -> bool:
        """Write the end of a job; False, and nothing is written, when the claim is lost."""
        with self._database.write() as connection:
            if not _holds(connection, job, attempt):
                return False
            finish_job(connection, job, state, progress, events, keep_seconds, error)
            return True


def _next_row(connection: Connection, most_per_key: int, passed_over: Collection[str]) -> RowMapping | None:
    running = connection.execute(
        select(jobs.c.key_id, jobs.c.cache_key, jobs.c.fresh).where(jobs.c.state == State.RUNNING)
    ).all()
    shares = Counter(row.key_id for row in running if row.key_id is not None)
    full = [key for key, count in shares.items() if count >= most_per_key]
    equal = list({row.cache_key for row in running})
    wanted = select(*JOB_COLUMNS).where(jobs.c.state == State.QUEUED)
    if passed_over:
        wanted = wanted.where(jobs.c.id.not_in(passed_over))
    if full:
        wanted = wanted.where(or_(jobs.c.key_id.is_(None), jobs.c.key_id.not_in(full)))
    if equal:
        wanted = wanted.where(or_(jobs.c.fresh == 1, jobs.c.cache_key.not_in(equal)))
    wanted = wanted.order_by(jobs.c.priority.desc(), jobs.c.created, jobs.c.id).limit(1)
    return connection.execute(wanted.with_for_update(skip_locked=True)).mappings().first()


def _held(job: str, attempt: int) -> ColumnElement[bool]:
    return and_(jobs.c.id == job, jobs.c.attempt == attempt, jobs.c.state == State.RUNNING)


def _holds(connection: Connection, job: str, attempt: int) -> bool:
    """Whether this attempt is the current one; it stays so until the transaction ends."""
    held = select(jobs.c.id).where(_held(job, attempt))
    return connection.execute(held.with_for_update()).first() is not None


def _requeue(
    connection: Connection, job: str, attempt: int, keep_seconds: float, *, lost: bool = False
) -> bool:
    held = _held(job, attempt)
    stop = connection.execute(select(jobs.c.stop).where(held).with_for_update()).scalar()
    if stop is None:
        return False
    if Stop(stop) is not Stop.NO:
        stop_job(connection, job, State.QUEUED, Stop(stop) is Stop.DISCARD, keep_seconds)
        return False
    values = {"state": State.QUEUED, "owner": None, "losses": jobs.c.losses + int(lost)}
    connection.execute(update(jobs).where(held).values(values))
    return True


def _saved_figures(connection: Connection, job: str) -> Progress:
    """The figures of the best plan in the store."""
    row = connection.execute(select(jobs.c.status, jobs.c.value, jobs.c.bound).where(jobs.c.id == job)).one()
    return Progress(status=row.status, value=row.value, bound=row.bound)


def _figures(progress: Progress) -> dict[str, int | float | str]:
    names = ("value", "bound", "peak", "solver", "status")
    return {name: it for name in names if (it := getattr(progress, name)) is not None}


def finish_job(
    connection: Connection,
    job: str,
    state: State,
    progress: Progress,
    events: Sequence[JobEvent],
    keep_seconds: float,
    error: str | None,
) -> None:
    """Write the end of a job."""
    at = now()
    connection.execute(
        update(jobs)
        .where(jobs.c.id == job)
        .values(
            **_figures(progress),
            state=state,
            finished=at,
            expires=at + keep_seconds,
            owner=None,
            error=error,
        )
    )
    if progress.plan is not None:
        save_document(connection, job, "plan", progress.plan)
    append_events(connection, job, events, last=True)


def stop_job(connection: Connection, job: str, state: State, discard: bool, keep_seconds: float) -> None:
    """End a job that no server runs; ask the server that runs it to."""
    if state in OVER or state is State.QUEUED:
        if discard:
            connection.execute(delete(jobs).where(jobs.c.id == job))
        elif state is State.QUEUED:
            done = done_event(State.CANCELLED, _saved_figures(connection, job))
            finish_job(connection, job, State.CANCELLED, Progress(), [done], keep_seconds, None)
        return
    stop = Stop.DISCARD if discard else Stop.KEEP
    connection.execute(update(jobs).where(jobs.c.id == job).values(stop=stop))
