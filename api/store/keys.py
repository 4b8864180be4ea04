"""API keys. The store holds only their hashes: a copy of it opens nothing.

A key is `msk_ID_SECRET`. The secret has 256 random bits: a plain SHA-256 of it cannot be reversed, and a
slow hash would only slow down every request.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, insert, select, update

from memstow.api.store.database import Database, now
from memstow.api.store.tables import keys

_PREFIX = "msk"


class Scope(StrEnum):
    """What the holder of a key may do."""

    PLAN = "plan"
    """Plan, and see one's own jobs."""
    ADMIN = "admin"
    """See and end the jobs of everyone, and read the metrics."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key, without its secret."""

    id: str
    name: str
    scopes: frozenset[Scope]
    created: float
    revoked: float | None


class Keys:
    """The keys of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, scopes: frozenset[Scope]) -> tuple[Key, str]:
        """A new key, and its text, which is not stored."""
        identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        with self._database.write() as connection:
            created = now()
            connection.execute(
                insert(keys).values(
                    id=identity,
                    name=name,
                    hash=_hash(secret),
                    scopes=" ".join(sorted(scopes)),
                    created=created,
                )
            )
        return Key(identity, name, scopes, created, None), f"{_PREFIX}_{identity}_{secret}"

    def list(self) -> "list[Key]":
        """All keys, revoked ones too, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(select(keys).order_by(keys.c.created, keys.c.id))
            return [_key(row) for row in rows]

    def revoke(self, identity: str) -> bool:
        """Revoke a key; False when there is no valid key of this id."""
        with self._database.write() as connection:
            revoked = connection.execute(
                update(keys).where(keys.c.id == identity, keys.c.revoked.is_(None)).values(revoked=now())
            )
            return bool(revoked.rowcount)

    def any(self) -> bool:
        """Whether there is a key, revoked ones too: revoking the last one must not open the service."""
        with self._database.read() as connection:
            return connection.execute(select(keys.c.id).limit(1)).first() is not None

    def reset(self) -> bool:
        """Remove all keys, so that the service is as before the first; False while one is not revoked."""
        with self._database.write() as connection:
            valid = select(keys.c.id).where(keys.c.revoked.is_(None)).limit(1)
            if connection.execute(valid).first() is not None:
                return False
            connection.execute(delete(keys))
            return True

    def find(self, text: str) -> Key | None:
        """The key with this text, unless it is revoked."""
        prefix, _, rest = text.partition("_")
        identity, _, secret = rest.partition("_")
        if not (identity.isalnum() and identity.isascii()):
            identity = ""
        with self._database.read() as connection:
            row = connection.execute(select(keys).where(keys.c.id == identity)).first()
        # Compared even where there is no such key: the time must not reveal whether there is one.
        known = row.hash if row is not None else _hash("")
        same = hmac.compare_digest(known, _hash(secret))
        if row is None or not same or prefix != _PREFIX or row.revoked is not None:
            return None
        return _key(row)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(row: Any) -> Key:
    scopes = frozenset(Scope(scope) for scope in row.scopes.split())
    return Key(row.id, row.name, scopes, row.created, row.revoked)
