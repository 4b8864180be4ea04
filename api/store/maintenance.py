"""Migrates the database to the schema of this version, and copies a store while its server runs.

Which version a store has is read without Alembic, which takes a tenth of a server's start to import: a store
that is at the newest one does without.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text

from memstow.api.store.database import Database
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable

# Any number will do, as long as nothing else in the database takes the same advisory lock.
_LOCK = 7_266_353_041


def upgrade(database: Database) -> tuple[str | None, str | None]:
    """Run the missing migrations; returns the revision before and after.

    On SQLite the write transaction is the lock, on PostgreSQL an advisory lock: of two servers that start at
    once the second finds nothing left to do.
    """
    with database.write() as connection:
        if not database.sqlite:
            # Another server's migrations may take longer than the usual timeouts.
            connection.execute(text("SET LOCAL lock_timeout = 0"))
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        before = _revision(connection)
        require_known(before)
        if before != newest():
            migrate(connection)
        return before, _revision(connection)


def current(database: Database) -> str | None:
    """The revision of the database; None for an empty one."""
    with database.read() as connection:
        return _revision(connection)


def newest() -> str | None:
    """The revision this version needs."""
    return max(_revisions(), default=None)


def require_newest(revision: str | None) -> None:
    """Refuse a store that this version cannot work on as it is, and say whose turn it is."""
    require_known(revision)
    if revision not in (None, newest()):
        raise InputError.single(
            "old_schema",
            f"schema version {printable(revision, 40)}",
            f"this version of memstow needs {newest()}: run `memstow db upgrade` first",
        )


def require_known(revision: str | None) -> None:
    """Refuse a store that a newer version has migrated: there is no way back but its backup."""
    if revision is not None and revision not in _revisions():
        raise InputError.single(
            "newer_schema",
            f"schema version {printable(revision, 40)}",
            f"a newer version of memstow has migrated this store; this one knows versions up to {newest()}: "
            "install the newer one, or restore the backup from before its start",
        )


_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_TABLE: Final = "alembic_version"


def _revisions() -> set[str]:
    """The revisions that this version knows: each file is called by its own, as `v0001_start.py`."""
    return {file.name[1:].partition("_")[0] for file in (_MIGRATIONS / "versions").glob("v*.py")}


def _revision(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, _TABLE):
        return None
    revision: str | None = connection.execute(text(f"SELECT version_num FROM {_TABLE}")).scalar_one_or_none()  # noqa: S608
    return revision


def migrate(connection: Connection, revision: str = "head") -> None:
    """Run the migrations up to this one, in the transaction of the connection."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


# Pages copied under one lock: writers wait no longer than for these.
_PAGES: Final = 1024
_PAUSE_SECONDS: Final = 0.005


def back_up(store: Path, target: Path) -> int:
    """Copy a consistent state of the store to a new file, readable by its owner alone; its bytes.

    The file is complete once it has its name: a copy that is interrupted leaves a file with `.partial`.
    """
    if target.exists():
        raise InputError.single("exists", str(target), "this file exists; a backup replaces nothing")
    partial = target.with_name(f"{target.name}.partial")
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as source:
            partial.unlink(missing_ok=True)
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(partial)) as copy:
                source.backup(copy, pages=_PAGES, sleep=_PAUSE_SECONDS)
                # A copy of a file in write-ahead mode stays in it: alone, it is read without further files.
                copy.execute("PRAGMA journal_mode=DELETE")
                answer = copy.execute("PRAGMA quick_check").fetchone()
                if answer != ("ok",):
                    raise InputError.single("damaged_store", str(target), printable(str(answer[0]), 200))
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.rename(target)
        return target.stat().st_size
    except (OSError, sqlite3.Error) as error:
        raise InputError.single("no_backup", str(target), printable(str(error), 200)) from None
