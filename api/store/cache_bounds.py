"""Keeps the cached plans of each key within a number of bytes: the least recently used go first."""

from typing import Final

from sqlalchemy import Connection, Table, delete, func, select

from memstow.api.store.database import Database
from memstow.api.store.tables import best, plans

_AT_ONCE: Final = 200


def bound_cache_of_keys(database: Database, most_bytes: int) -> int:
    """Remove what the plans of a key take beyond this; the number of removed plans."""
    removed = 0
    for table in (plans, best):
        size = func.sum(func.length(table.c.body))
        with database.read() as connection:
            surplus = {
                str(row.key_id): int(row.size) - most_bytes
                for row in connection.execute(
                    select(table.c.key_id, size.label("size"))
                    .where(table.c.key_id.is_not(None))
                    .group_by(table.c.key_id)
                    .having(size > most_bytes)
                )
            }
        for key, left in surplus.items():
            while left > 0:
                with database.write() as connection:
                    count, freed = _remove_oldest(connection, table, key, left)
                if not count:
                    break
                removed += count
                left -= freed
    return removed


def _remove_oldest(connection: Connection, table: Table, key: str, wanted: int) -> tuple[int, int]:
    """Remove the least recently used plans of a key, up to a number of bytes or of plans."""
    name = table.c.cache_key if table is plans else table.c.digest
    rows = connection.execute(
        select(name, func.length(table.c.body))
        .where(table.c.key_id == key)
        .order_by(table.c.used, name)
        .limit(_AT_ONCE)
    ).all()
    chosen: list[str] = []
    freed = 0
    for found, size in rows:
        if freed >= wanted:
            break
        chosen.append(found)
        freed += size
    connection.execute(delete(table).where(name.in_(chosen)))
    return len(chosen), freed
