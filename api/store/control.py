"""What an operator has said for all servers of a store: whether jobs may be claimed."""

from typing import Final

from sqlalchemy import Connection, delete, insert, select

from memstow.api.store.database import now
from memstow.api.store.notices import announce
from memstow.api.store.tables import control

_PAUSED: Final = "paused"


def paused_since(connection: Connection) -> float | None:
    """Since when no job is claimed; None while jobs are."""
    since = connection.execute(select(control.c.created).where(control.c.name == _PAUSED)).scalar()
    return None if since is None else float(since)


def pause(connection: Connection) -> float:
    """Let no server claim a job until `resume`; jobs are still accepted. Since when that is so."""
    since = paused_since(connection)
    if since is None:
        since = now()
        connection.execute(insert(control).values(name=_PAUSED, created=since))
    return since


def resume(connection: Connection) -> None:
    """Let servers claim jobs again."""
    connection.execute(delete(control).where(control.c.name == _PAUSED))
    announce(connection)
