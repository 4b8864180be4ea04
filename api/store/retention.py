"""Removes finished jobs after their time, and the cached plans that were not used for longest.

What has had its time is decided by the clock of the store.
"""

from typing import Final

from sqlalchemy import Connection, delete, exists, func, select

from memstow.api.store.clock import store_time
from memstow.api.store.database import Database
from memstow.api.store.endings import remove_jobs
from memstow.api.store.job import OVER
from memstow.api.store.tables import batches, best, idempotency, jobs, plans

_AT_ONCE: Final = 500
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
            _shrink(connection)
    return removed


def _shrink(connection: Connection) -> None:
    """Give free pages back to the disk. One by one: the driver takes one step of a PRAGMA without rows."""
    free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
    for _ in range(min(free, _PAGES_AT_ONCE)):
        connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
