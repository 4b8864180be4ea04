"""Authentication: the caller of a request, by API key or without one, and how often they may call."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from math import ceil
from typing import Final

from starlette.requests import Request

from memstow.api.http.errors import ApiError
from memstow.api.http.settings import EVERYONE, Settings
from memstow.api.store.keys import Key, Keys, Scope

# How long a key is cached before the store is asked again: a revoked one works no longer than this.
_CACHE_SECONDS: Final = 2.0
_MOST_CACHED: Final = 10_000
_MOST_BUCKETS: Final = 10_000
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request, and what their key allows."""

    key_id: str | None
    scopes: frozenset[Scope]

    @property
    def admin(self) -> bool:
        """Whether they may see the jobs of everyone."""
        return Scope.ADMIN in self.scopes

    def may_see(self, key_id: str | None) -> bool:
        """Whether they may see a job of this key."""
        return self.admin or self.key_id == key_id


_ANYONE: Final = Caller(None, frozenset(Scope))


class Authenticator:
    """Finds the callers of requests."""

    def __init__(self, settings: Settings, keys: Keys) -> None:
        self._settings = settings
        self._keys = keys
        self._cached: dict[str, tuple[Key | None, float]] = {}
        self._any_keys: tuple[bool, float] = (False, float("-inf"))

    def known_caller(self, request: Request) -> Caller | None:
        """The caller, if that is known without asking the store."""
        now = time.monotonic()
        text = _key_text(request)
        if text is None:
            there_are_keys, at = self._any_keys
            return self._without_key(request, there_are_keys) if now - at < _CACHE_SECONDS else None
        key, at = self._cached.get(text, (None, float("-inf")))
        return _caller(key) if now - at < _CACHE_SECONDS else None

    def look_up(self, request: Request) -> Caller:
        """The caller, by the store; waits for it."""
        now = time.monotonic()
        text = _key_text(request)
        if text is None:
            self._any_keys = (self._keys.any(), now)
            return self._without_key(request, self._any_keys[0])
        key = self._keys.find(text)
        if len(self._cached) >= _MOST_CACHED:
            self._cached.clear()
        if key is not None:
            self._cached[text] = (key, now)
        else:
            self._cached.pop(text, None)
        return _caller(key)

    def _without_key(self, request: Request, there_are_keys: bool) -> Caller:
        anonymous = self._settings.anonymous
        if there_are_keys or anonymous == "never":
            raise _unauthorized("send a key: Authorization: Bearer msk_...")
        if anonymous == EVERYONE:
            return _ANYONE
        if not is_loopback(self._settings.host):
            raise _unauthorized("there are no keys yet: the operator makes one with `memstow keys create`")
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


def require(caller: Caller, scope: Scope) -> None:
    """Refuse a caller whose key does not have the scope."""
    if scope not in caller.scopes and not caller.admin:
        raise ApiError(403, "missing_scope", f"this needs a key with the scope `{scope.value}`")


def _caller(key: Key | None) -> Caller:
    if key is None:
        raise _unauthorized("this key is not known here, or it was revoked")
    return Caller(key.id, key.scopes)


def _unauthorized(detail: str) -> ApiError:
    return ApiError(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="memstow"'})


def _key_text(request: Request) -> str | None:
    given = request.headers.get("authorization")
    if given is None:
        return request.headers.get("x-api-key")
    kind, _, text = given.partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""


class RateLimit:
    """A bucket of tokens for each key, in the memory of this server."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str | None, tuple[float, float]] = OrderedDict()

    def count(self, key: str | None) -> None:
        """Count one request; ApiError when there were too many."""
        now = self._clock()
        tokens, at = self._buckets.pop(key, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        self._buckets[key] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        if tokens < 1:
            raise ApiError(
                429,
                "rate_limited",
                f"more than the {self._rate:g} requests a second that the setting `key_rate` allows",
                headers={"Retry-After": str(max(1, ceil((1 - tokens) / self._rate)))},
            )
