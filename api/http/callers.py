"""The callers of one server: who asks, whether they may, how often, and until when a stream is theirs."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import structlog
from starlette.requests import Request

from memstow.api.http.audit import record_of, write_changes
from memstow.api.http.auth import (
    Authenticator,
    Caller,
    RefusedKeyError,
    key_text,
    require,
    unauthorized,
)
from memstow.api.http.bodies import reservation_of
from memstow.api.http.errors import ApiError
from memstow.api.http.rates import FailedKeys, RateLimit
from memstow.api.http.settings import Settings
from memstow.api.store.credentials import credential_of
from memstow.api.store.database import StoreError
from memstow.api.store.keys import Keys, Role
from memstow.api.workers.event_hub import EventHub, InThread

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
        credentials = {it.caller.credential for it in self._watches if it.caller.credential is not None}
        if not credentials:
            return
        valid = await self._in_thread(self._keys.still_valid, credentials)
        ended = [
            it
            for it in self._watches
            if it.caller.credential in credentials and it.caller.credential not in valid
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
