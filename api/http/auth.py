"""Who asks: an API key and what it may do, or, while there are no keys, whoever may ask without one."""

import time
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Final

from starlette.requests import Request

from memstow.api.http.errors import ProblemError
from memstow.api.http.settings import EVERYONE, Settings
from memstow.api.store.keys import Key, Keys, Scope

# How long a key is believed before the store is asked again: a revoked one works no longer than this.
_BELIEF_SECONDS: Final = 2.0
_MOST_BELIEVED: Final = 10_000
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what for."""

    key_id: str | None
    scopes: frozenset[Scope]

    @property
    def admin(self) -> bool:
        """Whether everyone's jobs are theirs."""
        return Scope.ADMIN in self.scopes

    def may_see(self, key_id: str | None) -> bool:
        """Whether a job of this key is theirs to see."""
        return self.admin or self.key_id == key_id


_ANYONE: Final = Caller(None, frozenset(Scope))


class Gate:
    """Knows callers by what they bring."""

    def __init__(self, settings: Settings, keys: Keys) -> None:
        self._settings = settings
        self._keys = keys
        self._believed: dict[str, tuple[Key | None, float]] = {}
        self._any: tuple[bool, float] = (False, float("-inf"))

    def remembered(self, request: Request) -> Caller | None:
        """The caller, where that is known without asking the store."""
        now = time.monotonic()
        text = _text(request)
        if text is None:
            there_are_keys, at = self._any
            return self._without_key(request, there_are_keys) if now - at < _BELIEF_SECONDS else None
        key, at = self._believed.get(text, (None, float("-inf")))
        return _caller(key) if now - at < _BELIEF_SECONDS else None

    def caller(self, request: Request) -> Caller:
        """The caller, by the store. May wait."""
        now = time.monotonic()
        text = _text(request)
        if text is None:
            self._any = (self._keys.any(), now)
            return self._without_key(request, self._any[0])
        key = self._keys.find(text)
        if len(self._believed) >= _MOST_BELIEVED:
            self._believed.clear()
        if key is not None:
            self._believed[text] = (key, now)
        else:
            self._believed.pop(text, None)
        return _caller(key)

    def _without_key(self, request: Request, there_are_keys: bool) -> Caller:
        anonymous = self._settings.anonymous
        if there_are_keys or anonymous == "never":
            raise _unknown("send a key: Authorization: Bearer msk_...")
        if anonymous == EVERYONE:
            return _ANYONE
        if not is_loopback(self._settings.host):
            raise _unknown("there are no keys yet: the operator makes one with `memstow keys create`")
        # A name that leads to this machine by someone else's DNS must not reach us from a browser.
        host = request.headers.get("host", "").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name not in _LOCAL_NAMES and name != self._settings.host.lower():
            raise ProblemError(
                403, "not_loopback", "without keys this server answers at localhost and 127.0.0.1 only"
            )
        return _ANYONE


@cache
def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def require(caller: Caller, scope: Scope) -> None:
    """Refuse a caller whose key does not have the scope."""
    if scope not in caller.scopes and not caller.admin:
        raise ProblemError(403, "missing_scope", f"this needs a key with the scope `{scope.value}`")


def _caller(key: Key | None) -> Caller:
    if key is None:
        raise _unknown("this key is not known here, or it was revoked")
    return Caller(key.id, key.scopes)


def _unknown(detail: str) -> ProblemError:
    return ProblemError(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="memstow"'})


def _text(request: Request) -> str | None:
    given = request.headers.get("authorization")
    if given is None:
        return request.headers.get("x-api-key")
    kind, _, text = given.partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""
