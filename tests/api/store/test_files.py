"""The files of a store are for its owner only."""

import os
import stat
from pathlib import Path

from memstow.api.store import maintenance
from memstow.api.store.database import FILE, Database, url_of


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def test_others_can_read_no_file_of_a_new_store(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        database = Database(url_of(tmp_path))
        maintenance.upgrade(database)
    finally:
        os.umask(before)
    with database.read() as connection:
        connection.exec_driver_sql("SELECT 1 FROM jobs").all()
        assert modes(tmp_path) == {FILE: 0o600, f"{FILE}-wal": 0o600, f"{FILE}-shm": 0o600}
    database.close()


def test_an_older_store_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    database = Database(url_of(tmp_path))
    maintenance.upgrade(database)
    with database.read() as connection:
        connection.exec_driver_sql("SELECT 1 FROM jobs").all()
        for file in tmp_path.iterdir():
            file.chmod(0o644)
        again = Database(url_of(tmp_path))
        assert maintenance.current(again) == maintenance.newest()
        assert set(modes(tmp_path).values()) == {0o600}
        again.close()
    database.close()
