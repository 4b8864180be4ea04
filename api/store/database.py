"""The database of the store: SQLite in a folder, or PostgreSQL by URL; and its clock.

All failures of a database are StoreError. The clock shows about the seconds since 1970, and goes on only
while a server runs, by the steady clock of that server: neither a wrong system clock nor one that jumps makes
anything old. Time in which no server runs does not count.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from sqlite3 import (
    SQLITE_BUSY,
    SQLITE_FULL,
    SQLITE_IOERR_SHMSIZE,
    SQLITE_IOERR_WRITE,
    SQLITE_LOCKED,
    OperationalError,
)
from sqlite3 import Error as SQLiteError
from typing import Any, Final

from sqlalchemy import Connection, Engine, ScalarSelect, Table, create_engine, event, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from memstow.api import tracing
from memstow.api.store.tables import clock
from memstow.planner.model.errors import InputError, MemstowError

FILE: Final = "memstow.sqlite"
# The mode of files of the store.
PRIVATE: Final = 0o600
# How long a transaction waits for another that writes.
_LOCK_SECONDS: Final = 20.0
_WRITES: Final = "memstow_writes"
_TRY_SECONDS: Final = 0.005
# SQLite puts details of an error code above these bits.
_PRIMARY_CODE: Final = 0xFF
# The first is for a disk that is full; the others also for a quota or a limit on the size of files.
_SQLITE_DISK_FULL: Final = frozenset({SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE})
_POSTGRES_DISK_FULL: Final = "53100"


class StoreError(MemstowError):
    """The store cannot be reached, is locked, or has no room."""


class DiskFullError(StoreError):
    """The disk of the store has no room for what was to be written."""


class Database:
    """Transactions on one store, from any thread."""

    def __init__(self, url: str, *, connections: int = 8, lock_seconds: float = _LOCK_SECONDS) -> None:
        self.url = _parsed(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.on_error: Callable[[str], None] = lambda _kind: None
        self.disk_full = False
        """Whether the last write found no room."""
        self.driver_options = _driver_options(self.sqlite, lock_seconds)
        self.engine = _engine(self.url, connections, lock_seconds, self.driver_options)
        self._lock_seconds = lock_seconds
        # SQLite has one writer at a time. Threads that wait for it at its file look again from time to time,
        # and some of them never in the right moment; here they are woken.
        self._writer = threading.Lock()

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
            turn = self._turn_to_write() if writes and self.sqlite else nullcontext()
            with tracing.span("store"), turn, self.engine.connect() as connection:
                connection.execution_options(**{_WRITES: writes})
                with connection.begin():
                    yield connection
            if writes:
                self.disk_full = False
        except (DBAPIError, PoolTimeoutError, SQLiteError) as error:
            self.on_error(type(error).__name__)
            if _is_disk_full(error):
                self.disk_full = True
                raise DiskFullError(_first_line(error)) from error
            if _is_busy(_original(error)):
                why = f"another process writes to the store since {self._lock_seconds:g} s; try again"
                raise StoreError(f"{_first_line(error)}: {why}") from error
            # Further lines may hold values of the statement, which are not for logs.
            raise StoreError(_first_line(error)) from error

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        if not self._writer.acquire(timeout=self._lock_seconds):
            self.on_error("Busy")
            raise StoreError(f"another transaction writes since {self._lock_seconds:g} s")
        try:
            yield
        finally:
            self._writer.release()

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


def _driver_options(sqlite: bool, lock_seconds: float) -> dict[str, bool | float | str]:
    """What the driver of the database is told about every connection."""
    if sqlite:
        return {"check_same_thread": False, "timeout": lock_seconds}
    timeouts = f"-c lock_timeout={int(lock_seconds * 1000)} -c statement_timeout=30000"
    return {"connect_timeout": 5, "options": timeouts}


def _engine(
    url: URL, connections: int, lock_seconds: float, driver_options: dict[str, bool | float | str]
) -> Engine:
    sqlite = url.get_backend_name() == "sqlite"
    try:
        engine = create_engine(
            url,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=lock_seconds,
            pool_pre_ping=not sqlite,
            connect_args=driver_options,
        )
    except (NoSuchModuleError, ModuleNotFoundError):
        raise InputError.single(
            "missing_extra", "database", "PostgreSQL needs psycopg: pip install 'memstow[postgres]'"
        ) from None
    if sqlite:
        _set_up_sqlite(engine, Path(url.database or ""), lock_seconds)
    return engine


def _set_up_sqlite(engine: Engine, file: Path, lock_seconds: float) -> None:
    @event.listens_for(engine, "do_connect")
    def before_connect(*_: object) -> None:
        make_private(file)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _entry: ConnectionPoolEntry) -> None:
        # Transactions are begun below: the driver would begin them late, after a first read.
        connection.isolation_level = None
        cursor = connection.cursor()
        set_file_up(cursor, lock_seconds)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if not connection.get_execution_options().get(_WRITES, True):
            connection.exec_driver_sql("BEGIN")
            return
        cursor: Any = connection.connection.cursor()
        # SQLite itself looks every 100 ms after a while. A server whose threads take turns to write leaves
        # its file for a millisecond between two of them, and another process could miss all those moments.
        cursor.execute("PRAGMA busy_timeout=0")
        try:
            _while_busy(lambda: cursor.execute("BEGIN IMMEDIATE"), lock_seconds)
        finally:
            cursor.execute(f"PRAGMA busy_timeout={int(lock_seconds * 1000)}")
            cursor.close()


def make_private(file: Path) -> None:
    """Create a file that only its owner may read, or take the right from others if it is there.

    SQLite gives new files beside its own, of the log and of the shared memory, the same mode. The file itself
    is not opened: to close it would end the locks that SQLite has on it in this process.
    """
    # What cannot be created or changed is told when SQLite opens it.
    with suppress(OSError):
        if not file.exists():
            handle, path = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
            os.close(handle)
            try:
                # Of several threads the first creates it.
                with suppress(FileExistsError):
                    os.link(path, file)
            finally:
                os.unlink(path)
        for one in (file, *(file.with_name(f"{file.name}-{kind}") for kind in ("wal", "shm"))):
            with suppress(FileNotFoundError):
                if one.stat().st_mode & 0o077:
                    one.chmod(PRIVATE)


def set_file_up(cursor: Any, seconds: float) -> None:
    """Let the file shrink and have a write-ahead log, which both last.

    While another connection creates the file or switches it, SQLite refuses at once, whatever its timeout, to
    avoid a deadlock: this retries. On a file that is set up already nothing is written, or every connection
    would wait for whoever writes.
    """

    def set_up() -> None:
        if cursor.execute("PRAGMA page_count").fetchone() == (0,):
            cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
        if cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            cursor.execute("PRAGMA journal_mode=WAL")

    _while_busy(set_up, seconds)


def _while_busy(action: Callable[[], object], seconds: float) -> None:
    """Do this, and again while another connection keeps the file busy, for at most these seconds."""
    end = time.monotonic() + seconds
    while True:
        try:
            action()
        except SQLiteError as error:
            if not _is_busy(error) or time.monotonic() >= end:
                raise
            time.sleep(_TRY_SECONDS)
        else:
            return


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, OperationalError) and error.sqlite_errorcode & _PRIMARY_CODE in (
        SQLITE_BUSY,
        SQLITE_LOCKED,
    )


def _is_disk_full(error: Exception) -> bool:
    original = _original(error)
    if isinstance(original, OperationalError):
        return original.sqlite_errorcode in _SQLITE_DISK_FULL
    return getattr(original, "sqlstate", None) == _POSTGRES_DISK_FULL


def _original(error: Exception) -> BaseException:
    """The error of the driver."""
    return getattr(error, "orig", None) or error


def _first_line(error: Exception) -> str:
    original = _original(error)
    lines = str(original).splitlines()
    return f"{type(original).__name__}: {lines[0][:200] if lines else ''}"


def insert_or_update(
    connection: Connection,
    table: Table,
    row: Mapping[str, object],
    changes: Mapping[str, object],
) -> None:
    """Insert a row, or make these changes to the one with the same primary key, even if it just arrives."""
    keys, values = list(table.primary_key.columns), dict(row)
    if connection.dialect.name == "postgresql":
        # Servers with a file do not wait for this import.
        from sqlalchemy.dialects import postgresql

        inserted = postgresql.insert(table).values(values)
        connection.execute(inserted.on_conflict_do_update(index_elements=keys, set_=dict(changes)))
        return
    statement = sqlite.insert(table).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=dict(changes)))


def store_time() -> ScalarSelect[float]:
    """The time of the store, for a statement."""
    return select(clock.c.seconds).scalar_subquery()


def read_time(connection: Connection) -> float:
    """The time of the store."""
    return float(connection.execute(select(clock.c.seconds)).scalar_one())


class StoreClock:
    """Lets the clock of the store go on while this server runs.

    Each server adds the time since its own start to what the clock showed then, and never sets it back: it
    goes as fast with several servers as with one.
    """

    def __init__(self, database: Database, steady: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._steady = steady
        self._begin: tuple[float, float] | None = None

    def time(self) -> float:
        """What the clock should show by now; what it shows is behind that until someone advances it."""
        if self._begin is None:
            self.advance()
        return self._due(self._steady())

    def advance(self) -> None:
        """Set the clock to what it should show by now."""
        now = self._steady()
        with self._database.write() as connection:
            shown = read_time(connection)
            if self._begin is None:
                self._begin = (shown, now)
            due = self._due(now)
            if due > shown:
                connection.execute(update(clock).where(clock.c.seconds < due).values(seconds=due))

    def _due(self, now: float) -> float:
        time_of_start, start = self._begin or (0.0, now)
        return time_of_start + (now - start)
