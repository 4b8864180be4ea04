"""How a server starts: it waits for its database, and its files are for its owner only."""

import stat
import threading
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.asking import over, submit
from tests.api.postgres import Postgres
from tests.api.serving import Server
from tests.waiting import wait_for

WAITING = "waiting_for_database"


def test_a_server_waits_for_postgresql(pg: Postgres, server: Server) -> None:
    database = pg.database()
    pg.stop()
    starting = threading.Thread(target=server.start, kwargs={"database": database, "database_seconds": 300})
    try:
        starting.start()
        wait_for(lambda: WAITING in server.log(), "the server to wait")
        assert server.alive()
    finally:
        pg.start()
        starting.join()
    with server.client() as client:
        assert over(client, submit(client))["state"] == "done"


def test_a_server_whose_database_does_not_come_ends_and_says_why(tmp_path: Path) -> None:
    server = Server(
        tmp_path / "data", database="postgresql://nobody@/none?host=/nowhere", database_seconds=0.2
    )
    server.launch()
    assert server.wait() == Exit.USAGE
    assert "did not answer for 0.2 s (setting `database_seconds`)" in server.log()
    assert WAITING in server.log()


def test_what_a_killed_server_leaves_is_in_the_folder_of_its_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    server = Server(tmp_path / "data").start()
    server.kill()
    assert server.log()
    assert list(elsewhere.iterdir()) == []


def test_others_can_read_no_file_of_a_server(server: Server) -> None:
    with server.start().client() as client:
        assert over(client, submit(client))["state"] == "done"
        files = [file for file in server.data.rglob("*") if file.is_file()]
        assert {file.name for file in files} >= {"lock", "memstow.sqlite", "memstow.sqlite-wal"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
