"""Notices between servers that a job may be waiting: LISTEN and NOTIFY of PostgreSQL.

Without a connection for them servers ask the store from time to time, so a notice that is lost costs only
time. A folder of SQLite has one server, which needs none.
"""

import threading
from collections.abc import Callable
from typing import Any, Final

import structlog
from sqlalchemy import Connection, text

from memstow.api.store.database import Database

_CHANNEL: Final = "memstow_jobs"
_WAIT_SECONDS: Final = 1.0
# A connection that was cut without a word is found by a question.
_CHECK_WAITS: Final = 15
_RETRY_SECONDS: Final = 1.0

log = structlog.get_logger("memstow.jobs")


def announce(connection: Connection) -> None:
    """Tell all servers, when this transaction is committed, that a job may be waiting."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"NOTIFY {_CHANNEL}"))


class Notices:
    """Listens for notices; `serve` runs in a thread of its own."""

    def __init__(self, database: Database, on_notice: Callable[[], None]) -> None:
        self._database = database
        self._on_notice = on_notice
        self._listening = threading.Event()

    @property
    def reliable(self) -> bool:
        """Whether every new job is heard of without asking the store."""
        return self._database.sqlite or self._listening.is_set()

    def serve(self, stopped: threading.Event) -> None:
        """Listen until the server stops, on a new connection when one is lost."""
        while not self._database.sqlite and not stopped.is_set():
            try:
                self._listen(stopped)
            except Exception as error:
                # Whatever it was, asking the store goes on meanwhile.
                log.warning("no_notices", error=type(error).__name__)
            finally:
                self._listening.clear()
            stopped.wait(_RETRY_SECONDS)

    def _listen(self, stopped: threading.Event) -> None:
        connection = self._connect()
        try:
            connection.execute(f"LISTEN {_CHANNEL}")
            self._listening.set()
            # There may have been jobs in the meantime.
            self._on_notice()
            waits = 0
            while not stopped.is_set():
                heard = sum(1 for _ in connection.notifies(timeout=_WAIT_SECONDS, stop_after=1))
                waits = 0 if heard else waits + 1
                if heard:
                    self._on_notice()
                elif waits % _CHECK_WAITS == 0:
                    connection.execute("SELECT 1")
        finally:
            connection.close()

    def _connect(self) -> Any:
        """A connection of the driver, which is not one of the pool."""
        engine = self._database.engine
        arguments, named = engine.dialect.create_connect_args(self._database.url)
        options = {**named, **self._database.driver_options}
        return engine.dialect.loaded_dbapi.connect(*arguments, autocommit=True, **options)
