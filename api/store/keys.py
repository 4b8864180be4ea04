"""API keys. The store holds only hashes of their secrets: a copy of it opens nothing.

While a key is rotated it has two secrets, of one id: its jobs
stay its own.
"""

import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypedDict

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, or_, select, update

from memstow.api.store.command_line_changes import take_changes
from memstow.api.store.credentials import Credential, credential_of, hash_of, text_of
from memstow.api.store.database import Database, now
from memstow.api.store.tables import keys
from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import shown

_AT_ONCE: Final = 500


class Role(StrEnum):
    """What the holder of a key may do. Each role includes those before it."""

    READ = "read"
    """See jobs and their plans, and start nothing."""
    SOLVE = "solve"
    """Plan, and end one's own jobs."""
    ADMIN = "admin"
    """See and end the jobs of everyone, read the metrics, manage keys and servers."""

    def includes(self, other: "Role") -> bool:
        """Whether this role may do what the other may."""
        return _RANKS[self] >= _RANKS[other]


_RANKS: Final = {role: rank for rank, role in enumerate(Role)}
# Earlier versions wrote lists of scopes.
_ROLES: Final = {
    **{role.value: role for role in Role},
    "plan": Role.SOLVE,
    "admin plan": Role.ADMIN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What the jobs of one key may take; None: what the settings say of every key."""

    max_queued: int | None = None
    max_running: int | None = None
    max_stored_bytes: int | None = None
    max_priority: int | None = None


class KeyChanges(TypedDict, total=False):
    """What can be set of a key; a limit that is None is that of the settings."""

    name: str
    role: Role
    expires: float | None
    max_queued: int | None
    max_running: int | None
    max_stored_bytes: int | None
    max_priority: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key, without its secret."""

    id: str
    name: str
    role: Role
    reads: str | None
    created: float
    used: float | None
    expires: float | None
    revoked: float | None
    previous_until: float | None
    quota: Quota

    @property
    def owner(self) -> str:
        """The id of the key whose jobs it sees: its own, or that of the key it reads."""
        return self.reads or self.id

    def valid_at(self, at: float) -> bool:
        """Whether it opens anything at this time."""
        return self.revoked is None and (self.expires is None or at < self.expires)


class WhyRefused(StrEnum):
    """Why a text opens nothing."""

    UNKNOWN = "unknown_key"
    """There is no key of this id, or its secret is another."""
    REVOKED = "revoked_key"
    EXPIRED = "expired_key"
    ROTATED = "rotated_key"
    """The secret is that before a rotation, and its overlap is over."""


@dataclass(frozen=True, slots=True)
class RefusedKey:
    """A text that opens nothing. The id is told of the right secret only: anybody can write an id."""

    why: WhyRefused
    id: str | None = None


_UNKNOWN: Final = RefusedKey(WhyRefused.UNKNOWN)


class Keys:
    """The keys of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Change

    def create(
        self, name: str, role: Role = Role.SOLVE, reads: str | None = None, more: KeyChanges | None = None
    ) -> tuple[Key, str]:
        """A new key, and its text, which is not stored; one with the role `read` may read another's jobs."""
        identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        if reads is not None and role is not Role.READ:
            raise InputError.single(
                "not_a_reader", "reads", "only a key with the role `read` reads another's"
            )
        values: dict[str, object] = {
            **_columns(more or {}),
            "name": name,
            "scopes": role,
            "id": identity,
            "hash": hash_of(secret),
            "created": now(),
        }
        with self._database.write() as connection:
            connection.execute(insert(keys).values(**values, reads=_owner(connection, reads)))
            row = connection.execute(select(keys).where(keys.c.id == identity)).one()
        return _key(row), text_of(identity, secret)

    def change(self, identity: str, changes: KeyChanges) -> bool:
        """Change a key; False when there is no key of this id that is not revoked."""
        active = and_(keys.c.id == identity, keys.c.revoked.is_(None))
        with self._database.write() as connection:
            row = connection.execute(select(keys.c.reads).where(active)).first()
            if row is None:
                return False
            if row.reads is not None and changes.get("role", Role.READ) is not Role.READ:
                raise InputError.single("not_a_reader", "role", "this key reads the jobs of another")
            connection.execute(update(keys).where(active).values(**_columns(changes), id=identity))
            return True

    def rotate(self, identity: str, overlap: float) -> str | None:
        """The text of the key with a new secret; None when there is no valid key of this id.

        The secret before works for this many seconds more; one before that ends at once.
        """
        secret = secrets.token_urlsafe(32)
        at = now()
        with self._database.write() as connection:
            rotated = connection.execute(
                update(keys)
                .where(keys.c.id == identity, _is_valid(at))
                .values(hash=hash_of(secret), previous_hash=keys.c.hash, previous_until=at + overlap)
            )
        return text_of(identity, secret) if rotated.rowcount else None

    def revoke(self, identity: str) -> bool:
        """Revoke a key; False when there is none of this id that is not revoked."""
        with self._database.write() as connection:
            revoked = connection.execute(
                update(keys).where(keys.c.id == identity, keys.c.revoked.is_(None)).values(revoked=now())
            )
            return bool(revoked.rowcount)

    def reset(self) -> bool:
        """Remove all keys, so that the service is as before the first; False while one is valid."""
        with self._database.write() as connection:
            if connection.execute(select(keys.c.id).where(_is_valid(now())).limit(1)).first() is not None:
                return False
            connection.execute(delete(keys))
            return True

    def note_use(self, used: dict[str, float]) -> None:
        """Write when these keys were last used."""
        with self._database.write() as connection:
            # The same order everywhere, so that two servers never wait for each other.
            for identity, at in sorted(used.items()):
                later = or_(keys.c.used.is_(None), keys.c.used < at)
                connection.execute(update(keys).where(keys.c.id == identity, later).values(used=at))

    def take_changes(self) -> "list[dict[str, str]]":
        """What the command line has changed since a server last asked."""
        return take_changes(self._database)

    # Look

    def list(self) -> "list[Key]":
        """All keys, revoked ones too, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(select(keys).order_by(keys.c.created, keys.c.id))
            return [_key(row) for row in rows]

    def get(self, identity: str) -> Key | None:
        """The key of this id, even if it is revoked."""
        with self._database.read() as connection:
            row = connection.execute(select(keys).where(keys.c.id == identity)).first()
        return None if row is None else _key(row)

    def any(self) -> bool:
        """Whether there is a key, revoked ones too: revoking the last one must not open the service."""
        with self._database.read() as connection:
            return connection.execute(select(keys.c.id).limit(1)).first() is not None

    def valid_ids(self) -> frozenset[str]:
        """The ids of the keys that open something now."""
        with self._database.read() as connection:
            return frozenset(connection.execute(select(keys.c.id).where(_is_valid(now()))).scalars())

    def find(self, text: str) -> Key | RefusedKey:
        """The key with this text, if it is valid."""
        credential = credential_of(text) or Credential("", hash_of(text))
        with self._database.read() as connection:
            row = connection.execute(select(keys).where(keys.c.id == credential.id)).first()
        # Compared even where there is no such key: the time must not reveal whether there is one.
        if row is None:
            hmac.compare_digest(hash_of(""), credential.hash)
            return _UNKNOWN
        refused = _refusal(row, credential, now())
        return _key(row) if refused is None else refused

    def still_valid(self, credentials: Collection[Credential]) -> set[Credential]:
        """Those of these credentials that open something now."""
        wanted = list(credentials)
        at = now()
        valid: set[Credential] = set()
        with self._database.read() as connection:
            for start in range(0, len(wanted), _AT_ONCE):
                part = wanted[start : start + _AT_ONCE]
                rows = connection.execute(select(keys).where(keys.c.id.in_({it.id for it in part})))
                by_id = {row.id: row for row in rows}
                valid |= {it for it in part if it.id in by_id and _refusal(by_id[it.id], it, at) is None}
        return valid


def _owner(connection: Connection, reads: str | None) -> str | None:
    """The key whose jobs a reader of this key sees."""
    if reads is None:
        return None
    row = connection.execute(select(keys.c.id, keys.c.reads).where(keys.c.id == reads)).first()
    if row is None:
        raise InputError.single("no_such_key", "reads", f"there is no key {shown(reads)}")
    return str(row.reads or row.id)


def is_invalid(at: float) -> ColumnElement[bool]:
    """The condition on a row: the key opens nothing at this time."""
    return or_(keys.c.revoked.is_not(None), keys.c.expires <= at)


def _is_valid(at: float) -> ColumnElement[bool]:
    return and_(keys.c.revoked.is_(None), or_(keys.c.expires.is_(None), keys.c.expires > at))


def _refusal(row: Any, credential: Credential, at: float) -> RefusedKey | None:
    """Why the secret does not open this key; None when it does."""
    same = hmac.compare_digest(row.hash, credential.hash)
    previous = row.previous_hash is not None and hmac.compare_digest(row.previous_hash, credential.hash)
    if not (same or previous) or row.scopes not in _ROLES:
        return _UNKNOWN
    key = _key(row)
    if key.revoked is not None:
        return RefusedKey(WhyRefused.REVOKED, key.id)
    if not key.valid_at(at):
        return RefusedKey(WhyRefused.EXPIRED, key.id)
    if not same and at >= row.previous_until:
        return RefusedKey(WhyRefused.ROTATED, key.id)
    return None


def _columns(changes: KeyChanges) -> dict[str, object]:
    values: dict[str, object] = dict(changes)
    if "role" in values:
        values["scopes"] = values.pop("role")
    return values


def _key(row: Any) -> Key:
    return Key(
        id=row.id,
        name=row.name,
        role=_ROLES.get(row.scopes, Role.READ),
        reads=row.reads,
        created=row.created,
        used=row.used,
        expires=row.expires,
        revoked=row.revoked,
        previous_until=row.previous_until,
        quota=Quota(
            max_queued=row.max_queued,
            max_running=row.max_running,
            max_stored_bytes=row.max_stored_bytes,
            max_priority=row.max_priority,
        ),
    )
