"""Runs the app with uvicorn: sockets, the lock on the data folder, checks before the start, the shutdown."""

import asyncio
import errno
import fcntl
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from functools import partial
from math import ceil
from types import FrameType
from typing import Final, cast

import structlog
import uvicorn
from fastapi import FastAPI

from memstow.api import tracing
from memstow.api.cli.terminal import Exit
from memstow.api.http import logs
from memstow.api.http.app import create_app
from memstow.api.http.callers import is_loopback
from memstow.api.http.connections import Connections, limits_of
from memstow.api.http.protocol import LimitedProtocol
from memstow.api.http.service import DrainSignal
from memstow.api.http.settings import EVERYONE, Settings, require_callback_secret, require_certificate
from memstow.api.process_memory import return_large_blocks
from memstow.api.store.database import PRIVATE, Database, StoreError
from memstow.api.store.keys import Keys
from memstow.api.store.maintenance import upgrade
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable

# Bytes that the system takes of a response before its client has read what came earlier.
_MOST_UNSENT: Final = 128 << 10

_REASONS: Final = {
    errno.EADDRINUSE: "another program listens there; choose another `port`, or 0 for any free one",
    errno.EACCES: "the permissions do not let it be used; choose a `port` of 1024 or more",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose 127.0.0.1 as `host`, or 0.0.0.0 for all",
}


def listening_on(host: str, port: int, backlog: int) -> list[socket.socket]:
    """A socket for each address of the host; an InputError when one cannot be had."""
    sockets: list[socket.socket] = []
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(addresses):
            one = socket.socket(family, kind, protocol)
            sockets.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MOST_UNSENT)
            if family == socket.AF_INET6:
                # Where the host has both, each kind of address has a socket of its own.
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
            one.listen(backlog)
    except (OSError, UnicodeError) as error:
        for one in sockets:
            one.close()
        raise InputError.single("cannot_listen", f"{printable(host)}:{port}", _reason(error)) from None
    return sockets


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return "there is no host of this name; choose 127.0.0.1 as `host`, or 0.0.0.0 for all"
    number = error.errno if isinstance(error, OSError) and error.errno is not None else 0
    return _REASONS.get(number) or printable(str(error), 200)


_BACKLOG = 2048
_DATABASE_RETRY_SECONDS = 1.0
# Threads that compute hand over to the event loop this often.
_SWITCH_SECONDS = 0.0002

log = structlog.get_logger("memstow.service")


class _Server(uvicorn.Server):
    """Drains the service when the signal to end comes, before the connections are waited for."""

    def __init__(self, config: uvicorn.Config, drain: DrainSignal) -> None:
        super().__init__(config)
        self._drain = drain

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM or SIGINT: this thread may hold the lock of the log, so nothing is logged here."""
        # A new context: the signal may interrupt a request, and later lines of the log are not about that.
        asyncio.get_running_loop().call_soon_threadsafe(self._drain.set, context=Context())
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and log the addresses."""
        await super().startup(sockets)
        # What is there now stays: no collection needs to look at it again.
        gc.collect()
        gc.freeze()
        for listener in sockets or ():
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            scheme = "https" if self.config.is_ssl else "http"
            log.info("listening", url=f"{scheme}://{shown}:{port}", pid=os.getpid())


def _nothing_more(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the server has ended already."""


def serve(settings: Settings) -> int:
    """Serve until a signal to end; returns the exit code."""
    if not (_is_safe_to_reach(settings) or settings.store_exists):
        raise _no_keys(settings)
    require_certificate(settings)
    require_callback_secret(settings)
    # The address first: where it cannot be had, no folder is made.
    with _listening(settings) as sockets, _sole_owner(settings):
        logs.set_up(settings.log_level, settings.log_format)
        _require_usable(settings)
        # The command line runs without; a server that runs for weeks must not.
        gc.enable()
        sys.setswitchinterval(_SWITCH_SECONDS)
        return_large_blocks()
        app = create_app(settings)
        config = server_config(app, settings, Connections(limits_of(settings), app.state.metrics))
        server = _Server(config, app.state.drain)
        for number in (signal.SIGTERM, signal.SIGINT):
            # uvicorn raises the signal again at its end, which would make the exit code that of a failure.
            signal.signal(number, _nothing_more)
        with _traces(settings):
            try:
                server.run(sockets)
            except SystemExit:
                # The log says why it could not start; uvicorn's code would mean something else of memstow.
                return Exit.DEFECT
    return Exit.DONE


def server_config(app: FastAPI, settings: Settings, connections: Connections) -> uvicorn.Config:
    """How uvicorn serves the app."""
    # uvicorn calls it as it would call a class of its own.
    protocol = cast(type[asyncio.Protocol], partial(LimitedProtocol, connections=connections))
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        backlog=_BACKLOG,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        timeout_keep_alive=ceil(settings.idle_seconds),
        # Requests that still wait when the time of grace is over are told so; then this cuts them off.
        timeout_graceful_shutdown=ceil(settings.grace_seconds) + 1,
    )


@contextmanager
def _traces(settings: Settings) -> Iterator[None]:
    """Traces from here to the end of the server, if they are wanted."""
    if settings.trace_url is not None:
        tracing.start(settings.trace_url, settings.trace_share)
    try:
        yield
    finally:
        tracing.stop()


@contextmanager
def _listening(settings: Settings) -> Iterator[list[socket.socket]]:
    """The sockets to serve on; closed whatever comes."""
    sockets = listening_on(settings.host, settings.port, _BACKLOG)
    try:
        yield sockets
    finally:
        for one in sockets:
            one.close()


@contextmanager
def _sole_owner(settings: Settings) -> Iterator[None]:
    """One server for each data folder: jobs that are marked as running at its start are nobody's."""
    if settings.database is not None:
        yield
        return
    settings.data.mkdir(parents=True, exist_ok=True)
    # Without O_TRUNC, and private from the first moment.
    handle = os.open(settings.data / "lock", os.O_RDWR | os.O_CREAT, PRIVATE)
    with os.fdopen(handle, "w") as file:
        os.fchmod(handle, PRIVATE)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError.single(
                "data_in_use",
                str(settings.data),
                "another server works in this folder; choose another folder as `data`",
            ) from None
        yield


def _require_usable(settings: Settings) -> None:
    """Check before the start that the store works, and that strangers need a key."""
    database = Database(settings.store_url, connections=1)
    try:
        _wait_for_database(database, settings.database_seconds)
        upgrade(database)
        if not (_is_safe_to_reach(settings) or Keys(database).any()):
            raise _no_keys(settings)
    finally:
        database.close()


def _wait_for_database(database: Database, seconds: float) -> None:
    """Wait until the database answers; StoreError with what to look at when it does not in time."""
    end = time.monotonic() + seconds
    while not database.sqlite:
        try:
            with database.read():
                return
        except StoreError as error:
            left = end - time.monotonic()
            if left <= 0:
                message = (
                    f"the database did not answer for {seconds:g} s (setting `database_seconds`): {error}"
                )
                raise StoreError(message) from error
            log.warning("waiting_for_database", seconds_left=round(left, 1), error=str(error))
            time.sleep(min(_DATABASE_RETRY_SECONDS, left))


def _is_safe_to_reach(settings: Settings) -> bool:
    """Whether nobody from elsewhere is let in without a key, or all are on purpose."""
    return is_loopback(settings.host) or settings.anonymous in (EVERYONE, "never")


def _no_keys(settings: Settings) -> InputError:
    return InputError.single(
        "no_keys",
        f"host {settings.host}",
        "this address can be reached from elsewhere, and there are no keys: make one with "
        "`memstow keys create`, or say that everyone may use the server: MEMSTOW_ANONYMOUS=everyone",
    )
