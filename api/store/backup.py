"""A copy of the store in a folder, made while its server runs."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import printable

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
                _require_sound(copy, target)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.rename(target)
        return target.stat().st_size
    except (OSError, sqlite3.Error) as error:
        raise InputError.single("no_backup", str(target), printable(str(error), 200)) from None


def _require_sound(copy: sqlite3.Connection, target: Path) -> None:
    # A copy of a file in write-ahead mode stays in it: alone, it is read without further files.
    copy.execute("PRAGMA journal_mode=DELETE")
    found = copy.execute("PRAGMA quick_check").fetchone()
    if found != ("ok",):
        raise InputError.single("damaged_store", str(target), printable(str(found[0]), 200))
