"""Accounts: how many jobs and bytes each key has in the store, and how long its jobs have run.

Counted in the transactions that change them, so that nobody has to count the jobs. All requests without a key
share one account. A transaction changes accounts last, in the order of their ids: that keeps servers from
waiting for each other.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, case, func, or_, select, update

from memstow.api.store.database import insert_or_update
from memstow.api.store.tables import accounts, keys

ANONYMOUS: Final = ""
# Seconds of running by which a key that returns from an idle time may be behind the one that ran longest.
_HEAD_START_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """What the store takes, in all and from one key; a key may have limits of its own."""

    max_queued: int
    max_stored_bytes: int = 1 << 50
    key_queued: int = 1_000_000_000
    key_stored_bytes: int = 1 << 50


class QueueFullError(Exception):
    """The queue has no room."""


class StoreFullError(Exception):
    """The documents of all jobs take as many bytes as they may."""


class KeyQuotaError(Exception):
    """A key has as much in the store as it may."""

    def __init__(self, setting: str, own: str, limit: int) -> None:
        super().__init__(setting)
        self.setting = setting
        """The setting with the limit of keys that have none of their own."""
        self.own = own
        """The name of the limit among those of a key."""
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of all accounts."""

    queued: int
    running: int
    bytes: int


def read_totals(connection: Connection) -> Totals:
    """The sums of all accounts."""
    sums = (
        func.coalesce(func.sum(column), 0)
        for column in (accounts.c.queued, accounts.c.running, accounts.c.bytes)
    )
    queued, running, size = connection.execute(select(*sums)).one()
    return Totals(int(queued), int(running), int(size))


def require_room(connection: Connection, account: str, quotas: Quotas, jobs: int = 0) -> None:
    """Refuse what goes beyond a quota, with these jobs added to those that are counted."""
    row = connection.execute(
        select(accounts.c.queued, accounts.c.bytes, keys.c.max_queued, keys.c.max_stored_bytes)
        .outerjoin(keys, keys.c.id == accounts.c.id)
        .where(accounts.c.id == account)
    ).first()
    if row is not None and account != ANONYMOUS:
        most_queued = quotas.key_queued if row.max_queued is None else row.max_queued
        most_bytes = quotas.key_stored_bytes if row.max_stored_bytes is None else row.max_stored_bytes
        if row.queued + jobs > most_queued:
            raise KeyQuotaError("key_queued", "max_queued", most_queued)
        if row.bytes > most_bytes:
            raise KeyQuotaError("key_stored_bytes", "max_stored_bytes", most_bytes)
    totals = read_totals(connection)
    if totals.queued + jobs > quotas.max_queued:
        raise QueueFullError
    if totals.bytes > quotas.max_stored_bytes:
        raise StoreFullError


def count_submitted(connection: Connection, account: str, jobs: int, size: int) -> None:
    """Count new jobs and their bytes.

    An account that had none for a while starts a little behind the one that ran longest: what it did not use
    in the past gives it no right to all of the future.
    """
    floor = (connection.execute(select(func.max(accounts.c.turn))).scalar() or 0.0) - _HEAD_START_SECONDS
    row = {
        "id": account,
        "queued": jobs,
        "running": 0,
        "bytes": size,
        "seconds": 0.0,
        "turn": max(floor, 0.0),
    }
    busy = or_(accounts.c.queued > 0, accounts.c.running > 0, accounts.c.turn >= floor)
    insert_or_update(
        connection,
        accounts,
        row,
        {
            "queued": accounts.c.queued + jobs,
            "bytes": accounts.c.bytes + size,
            "turn": case((busy, accounts.c.turn), else_=floor),
        },
    )


def count_started(connection: Connection, account: str, most_running: int | None) -> bool:
    """Count a job that begins to run; False when the account has as many running as it may."""
    values = {"queued": accounts.c.queued - 1, "running": accounts.c.running + 1}
    started = update(accounts).where(accounts.c.id == account).values(values)
    if most_running is not None:
        started = started.where(accounts.c.running < most_running)
    return bool(connection.execute(started).rowcount)


def count(
    connection: Connection,
    account: str,
    *,
    queued: int = 0,
    running: int = 0,
    size: int = 0,
    seconds: float = 0.0,
) -> None:
    """Change the counts of an account by these numbers."""
    values = {
        "queued": accounts.c.queued + queued,
        "running": accounts.c.running + running,
        "bytes": accounts.c.bytes + size,
        "seconds": accounts.c.seconds + seconds,
        "turn": accounts.c.turn + seconds,
    }
    connection.execute(update(accounts).where(accounts.c.id == account).values(values))
