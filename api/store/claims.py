"""Claims on jobs: who takes a job, who still has it, and who may write its result.

A job is claimed by raising its `attempt`. Everything written about a run carries the number of its attempt,
and is dropped when another attempt has begun since: a result is written once, even by a server that was
wrongly taken for dead.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, and_, exists, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from memstow.api.store.accounts import ANONYMOUS, count, count_started
from memstow.api.store.bodies import read_body
from memstow.api.store.control import paused_since
from memstow.api.store.database import Database, now
from memstow.api.store.documents import read_plan, save_plan
from memstow.api.store.endings import Ending, cancel_job, figures_of, finish_job, remove_jobs
from memstow.api.store.job import JOB_COLUMNS, Job, JobEvent, Progress, State, Stop, job_from_row
from memstow.api.store.job_events import append_events
from memstow.api.store.notices import announce
from memstow.api.store.tables import accounts, jobs, keys


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
            plan = read_plan(connection, job.id)
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
                save_plan(connection, job, progress.plan)
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
    found = []
    for row in connection.execute(rows):
        own = most_per_key if row.max_running is None else row.max_running
        most = None if row.id == ANONYMOUS else own
        if row.top is not None and (most is None or row.running < most):
            found.append(_Candidate(row.id, row.top, row.running, row.turn, most))
    return sorted(found, key=lambda it: (-it.priority, it.running, it.turn, it.account))


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
