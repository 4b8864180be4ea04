"""Copies of the store while its server works on it, and stores of earlier versions."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import text

from memstow.api.cli.main import main
from memstow.api.cli.terminal import Exit
from memstow.api.http.samples import PROBLEM
from memstow.api.store import maintenance
from memstow.api.store.database import FILE, Database, url_of
from memstow.api.store.job_records import compress
from memstow.api.store.maintenance import back_up
from memstow.planner import formats
from memstow.planner.generate.network import network
from memstow.planner.model.errors import InputError
from tests.api.asking import over, submit
from tests.api.serving import Server


def test_a_backup_of_a_busy_store_is_whole_and_private(server: Server, tmp_path: Path) -> None:
    server.start(slots=1)
    with server.client() as client:
        before = [over(client, submit(client, time_limit=1.0))["id"] for _ in range(3)]
        waiting = [submit(client, time_limit=1.0) for _ in range(20)]
        copy = tmp_path / "copy.sqlite"
        assert back_up(server.data / FILE, copy) == copy.stat().st_size
        for job in waiting:
            over(client, job)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob("copy*")] == ["copy.sqlite"], "nothing is left beside it"
    with closing(sqlite3.connect(copy)) as connection:
        states = dict(connection.execute("SELECT id, state FROM jobs"))
    assert states.keys() == {*before, *waiting}
    assert {states[job] for job in before} == {"done"}


def test_a_server_goes_on_from_a_backup(server: Server, tmp_path: Path) -> None:
    server.start(slots=0)
    with server.client() as client:
        job = submit(client, time_limit=1.0)
    back_up(server.data / FILE, tmp_path / "copy.sqlite")
    server.kill()
    restored = tmp_path / "restored"
    restored.mkdir()
    (tmp_path / "copy.sqlite").rename(restored / FILE)
    again = Server(restored).start()
    try:
        with again.client() as client:
            assert over(client, job)["state"] == "done"
    finally:
        again.kill()


def test_a_backup_replaces_nothing_and_says_what_is_wrong(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_bytes(b"precious")
    with pytest.raises(InputError, match="replaces nothing"):
        back_up(tmp_path / FILE, there)
    assert there.read_bytes() == b"precious"
    with pytest.raises(InputError, match="unable to open"):
        back_up(tmp_path / FILE, tmp_path / "new")
    (tmp_path / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(InputError, match="not a database"):
        back_up(tmp_path / FILE, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def store_at(revision: str, url: str) -> None:
    """A store as the version of this revision left it, with a job that waits."""
    database = Database(url)
    with database.write() as connection:
        maintenance.migrate(connection, revision)
        row = {
            "id": "a" * 32,
            "state": "queued",
            "priority": 0,
            "digest": "d" * 64,
            "cache_key": "c" * 64,
            "buffers": 30,
            "options": '{"time_limit": 1.0, "deterministic": false}',
            "fresh": 1,
            "created": 1.0,
            "attempt": 0,
            "beat": 0,
            "stop": 0,
        }
        names = ", ".join(row)
        values = ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO jobs ({names}) VALUES ({values})"), row)
        problem = compress(formats.write_problem(network(30, 1)))
        connection.execute(
            text("INSERT INTO documents (job_id, kind, body) VALUES (:job, 'problem', :body)"),
            {"job": "a" * 32, "body": problem},
        )
    database.close()


EARLIER = [name for name in ("0001", "0002") if name != maintenance.newest()]


@pytest.mark.parametrize("revision", EARLIER)
def test_a_server_takes_over_the_store_of_an_earlier_version(
    revision: str, store_url: str, server: Server
) -> None:
    store_at(revision, store_url)
    if store_url.startswith("sqlite"):
        path = Path(store_url.removeprefix("sqlite:///"))
        server.data.mkdir()
        path.rename(server.data / FILE)
        server.start()
    else:
        server.start(database=store_url)
    with server.client() as client:
        assert over(client, "a" * 32)["state"] == "done"
        answer: httpx2.Response = client.post("/v1/plan", json=PROBLEM)
        assert answer.json()["status"] == "optimal"


def test_a_store_of_a_newer_version_is_refused_with_the_way_out(store_url: str) -> None:
    database = Database(store_url)
    maintenance.upgrade(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="a newer version of memstow has migrated this store"):
        maintenance.upgrade(database)
    assert maintenance.current(database) == "9999"
    database.close()


ON_THE_STORE = ("keys list", "keys create --name ci", "admin queue", "db status", "db upgrade")


@pytest.mark.parametrize("command_line", ON_THE_STORE)
def test_every_command_says_that_the_store_is_newer(
    command_line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marked(tmp_path, "9999")
    assert main([*command_line.split(), "--data", str(tmp_path)]) == Exit.USAGE
    said = capsys.readouterr().err
    assert "newer_schema" in said
    assert "db upgrade" not in said


@pytest.mark.parametrize("command_line", ["keys list", "admin queue"])
def test_a_command_on_an_older_store_says_what_to_run(
    command_line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marked(tmp_path, "0001")
    assert main([*command_line.split(), "--data", str(tmp_path)]) == Exit.USAGE
    said = capsys.readouterr().err
    assert "old_schema" in said
    assert "memstow db upgrade" in said


def marked(folder: Path, revision: str) -> None:
    """A store that says that it has this version of the schema."""
    database = Database(url_of(folder))
    maintenance.upgrade(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    database.close()
