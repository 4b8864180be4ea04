"""The jobs of keys that are revoked or have expired: they end, and are kept like any other that was ended."""

from typing import Final

from sqlalchemy import select

from memstow.api.store.database import Database, now
from memstow.api.store.endings import stop_job
from memstow.api.store.job import State, Stop
from memstow.api.store.keys import is_invalid
from memstow.api.store.tables import accounts, jobs, keys

_AT_ONCE: Final = 500


def end_jobs_of_invalid_keys(database: Database, keep_seconds: float) -> list[str]:
    """End the jobs of invalid keys, a part at a time; the ids of those that were not over.

    Servers that run some of them learn of it with their next heartbeat.
    """
    with database.read() as connection:
        unfinished = accounts.c.queued + accounts.c.running > 0
        found = select(keys.c.id).join(accounts, accounts.c.id == keys.c.id)
        invalid = list(connection.execute(found.where(unfinished, is_invalid(now()))).scalars())
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
