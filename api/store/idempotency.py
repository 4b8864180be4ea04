"""Idempotency keys: a request that is sent again makes no second job."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, insert, select

from memstow.api.store.clock import read_time
from memstow.api.store.tables import idempotency

_KEPT_SECONDS: Final = 86_400.0


class KeyReusedError(Exception):
    """An idempotency key came again with another request."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A key of a client, and a hash of the request that it came with."""

    owner: str
    name: str
    fingerprint: str


def find_target(connection: Connection, key: IdempotencyKey | None) -> str | None:
    """The job or batch of an earlier request with this key; KeyReusedError if that was another request."""
    if key is None:
        return None
    row = connection.execute(
        select(idempotency.c.fingerprint, idempotency.c.target).where(
            idempotency.c.owner == key.owner, idempotency.c.name == key.name
        )
    ).first()
    if row is None:
        return None
    if row.fingerprint != key.fingerprint:
        raise KeyReusedError
    return str(row.target)


def save_target(connection: Connection, key: IdempotencyKey | None, target: str) -> None:
    """Note the job or batch that a request with this key has made."""
    if key is not None:
        connection.execute(
            insert(idempotency).values(
                owner=key.owner,
                name=key.name,
                fingerprint=key.fingerprint,
                target=target,
                kept_until=read_time(connection) + _KEPT_SECONDS,
            )
        )
