"""Whether the counts of a store are those of what is in it."""

from collections import Counter

from sqlalchemy import func, select

from memstow.api.store.database import Database
from memstow.api.store.tables import accounts, bodies, documents, events, jobs


def recount(database: Database) -> None:
    """Count everything again, and compare. No document is there without a job, and none is missing."""
    with database.read() as connection:
        rows = connection.execute(select(jobs)).all()
        uses = Counter(
            (row.account, digest) for row in rows for digest in (row.problem, row.hint) if digest is not None
        )
        stored = connection.execute(select(bodies)).all()
        assert {(entry.account, entry.digest): entry.uses for entry in stored} == dict(uses)
        assert all(buffer.size == len(buffer.body) for buffer in stored)
        for row in rows:
            if row.state not in ("queued", "running"):
                assert row.bytes == sum(
                    connection.execute(
                        select(func.coalesce(func.sum(func.length(column)), 0)).where(
                            column.table.c.job_id == row.id
                        )
                    ).scalar_one()
                    for column in (documents.c.body, events.c.data)
                )
        for account in connection.execute(select(accounts)):
            mine = [row for row in rows if row.account == account.id]
            states = Counter(row.state for row in mine)
            size = sum(row.bytes for row in mine) + sum(
                buffer.size for buffer in stored if buffer.account == account.id
            )
            counted = (account.queued, account.running, account.bytes)
            assert counted == (states["queued"], states["running"], size), account.id
        assert {row.account for row in rows} <= set(connection.execute(select(accounts.c.id)).scalars())
