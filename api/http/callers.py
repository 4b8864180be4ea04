"""The callers of one server: who asks, whether they may, how often, and until when a stream is theirs."""

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from math import ceil
from typing import Final

import structlog
from starlette.requests import Request

from memstow.api.http.bodies import reservation_of
from memstow.api.http.connections import network_of
from memstow.api.http.errors import ApiError
from memstow.api.http.logs import record_of, write_changes
from memstow.api.http.settings import EVERYONE, Settings
from memstow.api.store.database import StoreError
from memstow.api.store.keys import Credential, Key, Keys, Quota, RefusedKey, Role, credential_of
from memstow.api.workers.event_hub import EventHub, InThread

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
    header = request.headers.get("authorization")
    if header is None:
        return request.headers.get("x-api-key")
    kind, _, text = header.partition(" ")
    return text.strip() if kind.lower() == "bearer" else ""


_MOST_BUCKETS: Final = 10_000
_MOST_ADDRESSES: Final = 10_000
_WINDOW_SECONDS: Final = 60.0
# A good key is known on every server after so long.
_SECONDS_UNTIL_KNOWN: Final = 2


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


@dataclass(slots=True)
class _Failures:
    """The keys from one address that opened nothing, since a moment."""

    since: float
    count: int = 0


class FailedKeys:
    """Keys that opened nothing, by address, in the memory of this server."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def note(self, address: str | None) -> bool:
        """Count a failure; whether the address reaches its limit with it."""
        network = network_of(address)
        failures = self._current(network)
        if failures is None:
            failures = self._failures[network] = _Failures(self._clock())
        self._failures.move_to_end(network)
        if len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)
        failures.count += 1
        return failures.count == self._most

    def refuses(self, address: str | None) -> bool:
        """Whether too many keys from this address opened nothing within the last minute."""
        failures = self._current(network_of(address))
        return failures is not None and failures.count >= self._most

    def error(self) -> ApiError:
        """The refusal; a good key that nobody knows here yet passes when it comes again."""
        return ApiError(
            429,
            "too_many_failed_keys",
            f"more than the {self._most} keys a minute from this address that the setting `failed_keys` "
            "allows open nothing",
            headers={"Retry-After": str(_SECONDS_UNTIL_KNOWN)},
        )

    def _current(self, network: str) -> _Failures | None:
        failures = self._failures.get(network)
        if failures is not None and self._clock() - failures.since >= _WINDOW_SECONDS:
            del self._failures[network]
            return None
        return failures


# How long after the end of a key its streams go on.
_CHECK_SECONDS: Final = 2.0
# The last use of a key is written at most this often.
_USE_SECONDS: Final = 60.0

log = structlog.get_logger("memstow.service")


@dataclass(slots=True, eq=False)
class StreamWatch:
    """Whether the key of an open stream still opens it."""

    caller: Caller
    ended: bool = False


class Callers:
    """Finds and limits callers. Lives in the event loop."""

    def __init__(self, settings: Settings, keys: Keys, in_thread: InThread, hub: EventHub) -> None:
        self._keys = keys
        self._in_thread = in_thread
        self._hub = hub
        self._authenticator = Authenticator(settings, keys)
        self._rate = RateLimit(settings.key_rate, settings.key_burst)
        self._failed = FailedKeys(settings.failed_keys)
        self._ids: tuple[frozenset[str], float] = (frozenset(), float("-inf"))
        self._keys_changed = float("-inf")
        self._ids_lock = asyncio.Lock()
        self._used: dict[str, float] = {}
        self._watches: set[StreamWatch] = set()
        self._task = asyncio.create_task(self._serve())

    async def of(self, request: Request, role: Role) -> Caller:
        """The caller of a request; ApiError when the request is not allowed, or one too many."""
        caller = self._authenticator.known_caller(request)
        if caller is None:
            caller = await self._look_up(request)
        record = record_of(request.scope)
        identity = None if caller.key is None else caller.key.id
        record.key = identity
        try:
            require(caller, role)
        except ApiError as error:
            record.refused = error.code
            raise
        if identity is not None:
            self._used[identity] = time.time()
            reservation_of(request.scope).charge_to(identity)
        self._rate.count(identity)
        return caller

    async def _look_up(self, request: Request) -> Caller:
        address = None if request.client is None else request.client.host
        text = key_text(request)
        limited = text is not None and self._failed.refuses(address)
        if text is not None and limited and not await self._has_known_id(text):
            raise self._failed.error()
        try:
            return await self._in_thread(self._authenticator.look_up, request)
        except RefusedKeyError as error:
            if self._failed.note(address):
                log.warning("failed_keys", address=address)
            refused = error.refused
            if refused.id is not None or not limited:
                # Guesses beyond the limit would fill the log.
                record = record_of(request.scope)
                record.refused, record.key = refused.why.value, refused.id
            if limited:
                raise self._failed.error() from None
            raise unauthorized("this key is not known here, or it was revoked or has expired") from None

    async def _has_known_id(self, text: str) -> bool:
        """Whether there is a valid key of this id: others behind a refused address may have one."""
        credential = credential_of(text)
        if credential is None:
            return False
        async with self._ids_lock:
            now = time.monotonic()
            if now - self._ids[1] >= _CHECK_SECONDS or self._ids[1] <= self._keys_changed:
                # Of the moment before it is read: a key that is made meanwhile may be missing.
                self._ids = (await self._in_thread(self._keys.valid_ids), now)
        return credential.id in self._ids[0]

    def note_new_key(self) -> None:
        """A key that this server has made or changed opens something at once, from any address."""
        self._keys_changed = time.monotonic()

    # Streams

    @contextmanager
    def watch(self, caller: Caller) -> Iterator[StreamWatch]:
        """Watch the key of a stream while it is open."""
        watch = StreamWatch(caller)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)

    @property
    def open_streams(self) -> int:
        """How many streams are watched."""
        return len(self._watches)

    async def check_streams(self) -> None:
        """End the streams whose keys open nothing any more."""
        credentials = {
            watch.caller.credential for watch in self._watches if watch.caller.credential is not None
        }
        if not credentials:
            return
        valid = await self._in_thread(self._keys.still_valid, credentials)
        ended = [
            watch
            for watch in self._watches
            if watch.caller.credential in credentials and watch.caller.credential not in valid
        ]
        for watch in ended:
            watch.ended = True
        if ended:
            self._hub.wake_readers()

    # In the background

    async def write_last_use(self) -> None:
        """Write when the keys were last used."""
        used, self._used = self._used, {}
        if used:
            await self._in_thread(self._keys.note_use, used)

    async def log_changes(self) -> None:
        """Write what the command line has changed in the store to the audit log."""
        write_changes(await self._in_thread(self._keys.take_changes))

    async def stop(self) -> None:
        """Write what is not written yet, and end."""
        self._task.cancel()
        with contextlib.suppress(StoreError):
            await self.write_last_use()

    async def _serve(self) -> None:
        written = time.monotonic()
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            try:
                await self.check_streams()
                await self.log_changes()
                if time.monotonic() - written >= _USE_SECONDS:
                    written = time.monotonic()
                    await self.write_last_use()
            except StoreError as error:
                log.warning("store_error", during="keys", error=str(error))
            except Exception:
                log.exception("defect")
