"""Authentication: the caller of a request, by API key or without one."""

import time
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Final

from starlette.requests import Request

from memstow.api.http.errors import ApiError
from memstow.api.http.settings import EVERYONE, Settings
from memstow.api.store.credentials import Credential, credential_of
from memstow.api.store.keys import Key, Keys, Quota, RefusedKey, Role

# How long a key is cached before the store is asked again: a revoked one works no longer than this.
_CACHE_SECONDS: Final = 2.0
_MOST_CACHED: Final = 10_000
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


_NO_QUOTA: Final = Quota()


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request, and what their key allows."""

    key: Key | None
    credential: Credential | None
    role: Role
    shares_cache: bool = False

    @property
    def cache_owner(self) -> str | None:
        """Whose cached plans they may have; None: those of everyone."""
        return None if self.shares_cache else self.key_id

    @property
    def key_id(self) -> str | None:
        """The key whose jobs are theirs."""
        return None if self.key is None else self.key.owner

    @property
    def quota(self) -> Quota:
        """What their jobs may take."""
        return _NO_QUOTA if self.key is None else self.key.quota

    @property
    def admin(self) -> bool:
        """Whether they may see the jobs of everyone."""
        return self.role is Role.ADMIN

    def may_see(self, key_id: str | None) -> bool:
        """Whether they may see a job of this key."""
        return self.admin or self.key_id == key_id


_ANYONE: Final = Caller(None, None, Role.ADMIN)


class RefusedKeyError(Exception):
    """The key of a request opens nothing."""

    def __init__(self, refused: RefusedKey) -> None:
        super().__init__(refused.why)
        self.refused = refused


class Authenticator:
    """Finds the callers of requests."""

    def __init__(self, settings: Settings, keys: Keys) -> None:
        self._settings = settings
        self._keys = keys
        self._cached: dict[str, tuple[Caller, float]] = {}
        self._any_keys: tuple[bool, float] = (False, float("-inf"))

    def known_caller(self, request: Request) -> Caller | None:
        """The caller, if that is known without asking the store."""
        now = time.monotonic()
        text = key_text(request)
        if text is None:
            there_are_keys, at = self._any_keys
            return self._without_key(request, there_are_keys) if now - at < _CACHE_SECONDS else None
        cached = self._cached.get(text)
        return cached[0] if cached is not None and now - cached[1] < _CACHE_SECONDS else None

    def look_up(self, request: Request) -> Caller:
        """The caller, by the store; waits for it. RefusedKeyError when the key opens nothing."""
        now = time.monotonic()
        text = key_text(request)
        if text is None:
            self._any_keys = (self._keys.any(), now)
            return self._without_key(request, self._any_keys[0])
        key = self._keys.find(text)
        if isinstance(key, RefusedKey):
            self._cached.pop(text, None)
            raise RefusedKeyError(key)
        if len(self._cached) >= _MOST_CACHED:
            self._cached.clear()
        caller = Caller(key, credential_of(text), key.role, self._settings.share_cache)
        self._cached[text] = (caller, now)
        return caller

    def _without_key(self, request: Request, there_are_keys: bool) -> Caller:
        anonymous = self._settings.anonymous
        if there_are_keys or anonymous == "never":
            raise unauthorized("send a key: Authorization: Bearer msk_...")
        if anonymous == EVERYONE:
            return _ANYONE
        if not is_loopback(self._settings.host):
            raise unauthorized("there are no keys yet: the operator makes one with `memstow keys create`")
        # Against DNS rebinding: no page from elsewhere gets here by a name that leads to this machine.
        host = request.headers.get("host", "").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name not in _LOCAL_NAMES and name != self._settings.host.lower():
            raise ApiError(
                403, "not_loopback", "without keys this server answers at localhost and 127.0.0.1 only"
            )
        return _ANYONE


@cache
def is_loopback(host: str) -> bool:
    """Whether the address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def require(caller: Caller, role: Role) -> None:
    """Refuse a caller whose key does not have the role."""
    if not caller.role.includes(role):
        raise ApiError(
            403,
            "missing_role",
            f"this needs a key with the role `{role.value}`; this one has `{caller.role.value}`",
        )


def unauthorized(detail: str) -> ApiError:
    """The error for a request without a key that opens anything."""
    return ApiError(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="memstow"'})


def key_text(request: Request) -> str | None:
    """The text of the key in a request; None where there is none."""
    given = request.headers.get("authorization")
    if given is None:
        return request.headers.get("x-api-key")
    kind, _, text = given.partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""
