"""What the command line changes in a store, until a server has written it to its audit log."""

import json
from typing import Final

from sqlalchemy import delete, insert, select

from memstow.api.store.database import Database, now
from memstow.api.store.tables import changes

_AT_ONCE: Final = 100


def leave_change(database: Database, operation: str, **affected: str) -> None:
    """Leave a change to the next server that looks."""
    with database.write() as connection:
        connection.execute(
            insert(changes).values(operation=operation, affected=json.dumps(affected), created=now())
        )


def take_changes(database: Database) -> list[dict[str, str]]:
    """The changes that no server has taken yet: the operation, and what it affected."""
    oldest = select(changes).order_by(changes.c.id).limit(_AT_ONCE)
    with database.read() as connection:
        if connection.execute(oldest.limit(1)).first() is None:
            return []
    with database.write() as connection:
        rows = connection.execute(oldest.with_for_update(skip_locked=True)).all()
        connection.execute(delete(changes).where(changes.c.id.in_([row.id for row in rows])))
    return [{"operation": row.operation, **json.loads(row.affected)} for row in rows]
