"""API keys, and the accounts of their jobs.

The store holds only hashes of the secrets of keys: a copy of it opens nothing. A secret has 256 random bits:
a plain SHA-256 of it cannot be reversed, and a slow hash would only slow down every request. An account
counts how many jobs and bytes a key has in the store, and how long its jobs have run.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypedDict

from sqlalchemy import ColumnElement, Connection, and_, case, delete, func, insert, or_, select, update

from memstow.api.store.database import Database, insert_or_update, now
from memstow.api.store.tables import accounts, changes, keys
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import shown

_PREFIX: Final = "msk"


class Credential(NamedTuple):
    """The id of a key, and the hash of the secret that came with it."""

    id: str
    hash: str


def credential_of(text: str) -> Credential | None:
    """The parts of a text that looks like a key."""
    prefix, _, rest = text.partition("_")
    identity, _, secret = rest.partition("_")
    if prefix != _PREFIX or not (identity.isalnum() and identity.isascii()) or len(identity) > 32:
        return None
    return Credential(identity, hash_of(secret))


def text_of(identity: str, secret: str) -> str:
    """The text of a key."""
    return f"{_PREFIX}_{identity}_{secret}"


def hash_of(secret: str) -> str:
    """The hash of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


_CHANGES_AT_ONCE: Final = 100


def leave_change(database: Database, operation: str, **affected: str) -> None:
    """Leave a change to the next server that looks."""
    with database.write() as connection:
        connection.execute(
            insert(changes).values(operation=operation, affected=json.dumps(affected), created=now())
        )


def take_changes(database: Database) -> list[dict[str, str]]:
    """The changes that no server has taken yet: the operation, and what it affected."""
    oldest = select(changes).order_by(changes.c.id).limit(_CHANGES_AT_ONCE)
    with database.read() as connection:
        if connection.execute(oldest.limit(1)).first() is None:
            return []
    with database.write() as connection:
        rows = connection.execute(oldest.with_for_update(skip_locked=True)).all()
        connection.execute(delete(changes).where(changes.c.id.in_([row.id for row in rows])))
    return [{"operation": row.operation, **json.loads(row.affected)} for row in rows]


_KEYS_AT_ONCE: Final = 500


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
            for start in range(0, len(wanted), _KEYS_AT_ONCE):
                part = wanted[start : start + _KEYS_AT_ONCE]
                rows = connection.execute(select(keys).where(keys.c.id.in_({entry.id for entry in part})))
                by_id = {row.id: row for row in rows}
                valid |= {
                    entry
                    for entry in part
                    if entry.id in by_id and _refusal(by_id[entry.id], entry, at) is None
                }
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
