"""The connection to the store: SQLite in a folder, or PostgreSQL by URL. All its failures are StoreError."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import SQLITE_BUSY, SQLITE_LOCKED
from sqlite3 import OperationalError as SQLiteError
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from memstow.api import tracing
from memstow.planner.model.errors import InputError, MemstowError

FILE: Final = "memstow.sqlite"
_LOCK_SECONDS: Final = 5.0
_WRITES: Final = "memstow_writes"
_TRY_SECONDS: Final = 0.005
# SQLite puts details of an error code above these bits.
_PRIMARY_CODE: Final = 0xFF


class StoreError(MemstowError):
    """The store cannot be reached, is locked, or has no room."""


class Database:
    """Transactions on one store, from any thread."""

    def __init__(self, url: str, *, connections: int = 8, lock_seconds: float = _LOCK_SECONDS) -> None:
        self.url = _parsed(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.on_error: Callable[[str], None] = lambda _kind: None
        self.engine = _engine(self.url, connections, lock_seconds)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self._transaction(writes=False) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is committed when the block ends, and rolled back when it fails."""
        with self._transaction(writes=True) as connection:
            yield connection

    @contextmanager
    def _transaction(self, writes: bool) -> Iterator[Connection]:
        try:
            with tracing.span("store"), self.engine.connect() as connection:
                connection.execution_options(**{_WRITES: writes})
                with connection.begin():
                    yield connection
        except (DBAPIError, PoolTimeoutError) as error:
            self.on_error(type(error).__name__)
            # Further lines may hold values of the statement, which are not for logs.
            raise StoreError(_first_line(error)) from error

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def url_of(folder: Path) -> str:
    """The URL of the store in a data folder."""
    return URL.create("sqlite", database=str(folder / FILE)).render_as_string(hide_password=False)


def now() -> float:
    """Seconds since 1970."""
    return round(time.time(), 3)


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise _bad_url("this is not a database URL") from None
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return parsed.set(drivername="sqlite+pysqlite")
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise _bad_url("only sqlite and postgresql are supported")


def _bad_url(reason: str) -> InputError:
    return InputError.single("bad_database", "database", f"{reason}; an example: postgresql://user@host/name")


def _engine(url: URL, connections: int, lock_seconds: float) -> Engine:
    sqlite = url.get_backend_name() == "sqlite"
    driver: dict[str, bool | float | str]
    if sqlite:
        driver = {"check_same_thread": False, "timeout": lock_seconds}
    else:
        timeouts = f"-c lock_timeout={int(lock_seconds * 1000)} -c statement_timeout=30000"
        driver = {"connect_timeout": 5, "options": timeouts}
    try:
        engine = create_engine(
            url,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=lock_seconds,
            pool_pre_ping=not sqlite,
            connect_args=driver,
        )
    except (NoSuchModuleError, ModuleNotFoundError):
        raise InputError.single(
            "missing_extra", "database", "PostgreSQL needs psycopg: pip install 'memstow[postgres]'"
        ) from None
    if sqlite:
        _set_up_sqlite(engine, lock_seconds)
    return engine


def _set_up_sqlite(engine: Engine, lock_seconds: float) -> None:
    @event.listens_for(engine, "connect")
    def connect(connection: Any, _entry: ConnectionPoolEntry) -> None:
        # Transactions are begun below: the driver would begin them late, after a first read.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
        write_ahead(cursor, lock_seconds)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def write_ahead(cursor: Any, seconds: float) -> None:
    """Switch the file to a write-ahead log, which lasts.

    While another connection creates the file or switches it, SQLite refuses at once, whatever its timeout, to
    avoid a deadlock: this retries.
    """
    end = time.monotonic() + seconds
    while True:
        try:
            if cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                cursor.execute("PRAGMA journal_mode=WAL")
        except SQLiteError as error:
            if error.sqlite_errorcode & _PRIMARY_CODE not in (SQLITE_BUSY, SQLITE_LOCKED):
                raise
            if time.monotonic() >= end:
                raise
            time.sleep(_TRY_SECONDS)
        else:
            return


def _first_line(error: Exception) -> str:
    original = getattr(error, "orig", None) or error
    lines = str(original).splitlines()
    return f"{type(original).__name__}: {lines[0][:200] if lines else ''}"
