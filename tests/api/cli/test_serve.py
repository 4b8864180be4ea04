"""What keeps a server from starting is told in a line; keys can be made where it has its store."""

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from memstow.api.store.database import Database, url_of
from memstow.api.store.keys import take_changes
from tests.api.cli.conftest import Cli


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("MEMSTOW_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MEMSTOW_DATABASE_SECONDS", "0")
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    yield
    # A server that starts sets up the log of its process, here on a standard error that is closed soon.
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


def refused(cli: Cli, *arguments: str | Path) -> str:
    """The one line that a server says which does not start."""
    ran = cli("serve", "--port", "0", *arguments)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    return line


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("mysql://host/name", "[bad_database]"),
        ("no url", "[bad_database]"),
        ("postgresql://user:secret@127.0.0.1:1/name", "OperationalError"),
    ],
)
def test_a_store_that_cannot_be_had_is_told(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, url: str, text: str
) -> None:
    monkeypatch.setenv("MEMSTOW_DATABASE", url)
    line = refused(cli)
    assert text in line
    assert "secret" not in line


def test_a_file_that_is_no_store_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memstow.sqlite").write_bytes(b"something else" * 100)
    assert "not a database" in refused(cli)


def test_an_address_that_others_reach_needs_a_key_or_a_word(cli: Cli, tmp_path: Path) -> None:
    line = refused(cli, "--host", "0.0.0.0")
    assert "[no_keys]" in line
    assert "MEMSTOW_ANONYMOUS=everyone" in line
    assert list(tmp_path.iterdir()) == []
    cli("db", "upgrade")
    assert "[no_keys]" in refused(cli, "--host", "0.0.0.0"), "a store without a key is no better than none"


def test_a_key_is_shown_once_listed_and_revoked(cli: Cli) -> None:
    text = cli("keys", "create", "--name", "ci").out.strip()
    _, identity, secret = text.split("_", 2)
    listed = cli("keys", "list").out
    assert identity in listed
    assert secret not in listed
    assert cli("keys", "revoke", identity).code == 0
    again = cli("keys", "revoke", identity)
    assert (again.code, "[no_such_key]" in again.err) == (2, True)


def test_keys_are_reset_once_each_is_revoked(cli: Cli) -> None:
    assert cli("keys", "reset").code == 0, "there is no store yet"
    identity = cli("keys", "create", "--name", "ci").out.split("_", 2)[1]
    refusal = cli("keys", "reset")
    assert (refusal.code, "[keys_in_use]" in refusal.err) == (2, True)
    cli("keys", "revoke", identity)
    assert identity in cli("keys", "list").out
    assert cli("keys", "reset").code == 0
    assert identity not in cli("keys", "list").out


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_key_has_a_name_that_every_store_takes(cli: Cli, name: str) -> None:
    ran = cli("keys", "create", "--name", name)
    assert (ran.code, ran.out) == (2, "")
    assert "1 to 200 characters" in ran.err


def test_looking_makes_nothing(cli: Cli, tmp_path: Path) -> None:
    for folder in (tmp_path / "data", tmp_path / "there"):
        if folder.name == "there":
            folder.mkdir()
        assert (
            cli("keys", "list", "--data", folder).out
            == "id  name  role  state  created  last use  expires  limits\n"
        )
        assert cli("db", "status", "--data", folder).out.startswith("schema version none, newest ")
        assert "[no_such_key]" in cli("keys", "revoke", "3f2a9c41d07b", "--data", folder).err
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_store_without_tables_has_no_keys_and_gets_none_by_looking(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memstow.sqlite").touch()
    assert cli("keys", "list").out == "id  name  role  state  created  last use  expires  limits\n"
    assert cli("db", "status").out.startswith("schema version none")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_in_use_is_told_in_a_line_and_nothing_is_made(cli: Cli, tmp_path: Path, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused(cli, "--host", host, "--port", str(port))
    assert f"{host}:{port}: another program listens there; choose another `port`" in line
    assert list(tmp_path.iterdir()) == []


def test_an_address_that_cannot_be_had_is_told_in_a_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSTOW_ANONYMOUS", "everyone")
    assert "this machine has no such address" in refused(cli, "--host", "192.0.2.1")
    assert "there is no host of this name" in refused(cli, "--host", "no such host")


def test_a_file_where_a_folder_should_be_and_settings_that_there_are_not_are_told(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    said = cli("db", "upgrade", "--data", tmp_path / "file").err
    assert said == f"memstow: {tmp_path}/file: a file with this name exists; a folder is needed\n"
    monkeypatch.setenv("MEMSTOW_PROT", "3")
    assert 'no setting "prot"; did you mean port?' in refused(cli)
    monkeypatch.delenv("MEMSTOW_PROT")
    monkeypatch.setenv("MEMSTOW_SLOTS", "many")
    assert 'MEMSTOW_SLOTS: expected an integer, given "many" [bad_setting]' in refused(cli)
    monkeypatch.delenv("MEMSTOW_SLOTS")
    assert "none.toml: there is no such file" in refused(cli, "--config", tmp_path / "none.toml")


def test_changes_on_the_command_line_are_left_to_the_audit_log(cli: Cli, tmp_path: Path) -> None:
    identity = cli("keys", "create", "--name", "ci").out.split("_", 2)[1]
    for command in (
        f"keys set {identity} --max-queued 3 --expires 2d",
        f"keys rotate {identity} --overlap 1d",
        "admin pause",
        "admin resume",
        f"keys revoke {identity}",
        "keys reset",
    ):
        assert cli(*command.split()).code == 0, command
    database = Database(url_of(tmp_path / "data"))
    key = {"affected_key": identity}
    assert take_changes(database) == [
        {"operation": "create_key", **key},
        {"operation": "set_key", **key},
        {"operation": "rotate_key", **key},
        {"operation": "pause_claims"},
        {"operation": "resume_claims"},
        {"operation": "revoke_key", **key},
        {"operation": "reset_keys"},
    ]
    assert take_changes(database) == []
    database.close()


def test_a_key_that_sees_nothing_is_told(cli: Cli) -> None:
    ran = cli("keys", "create", "--name", "ci")
    assert ran.err == ""
    identity = ran.out.split("_", 2)[1]
    reader = ("keys", "create", "--name", "dashboard", "--role", "read")
    assert cli(*reader, "--reads", identity).err == ""
    ran = cli(*reader)
    assert (ran.code, ran.out.startswith("msk_"), "--reads" in ran.err) == (0, True, True)


def test_what_is_wrong_with_a_key_is_told(cli: Cli) -> None:
    identity = cli("keys", "create", "--name", "ci").out.split("_", 2)[1]
    for command, said in (
        ("keys create --name x --expires soon", "[bad_moment]"),
        ("keys create --name x --expires 2001-01-01", "[past_moment]"),
        (f"keys create --name x --reads {identity}", "[not_a_reader]"),
        ("keys create --name x --role read --reads nobody", "[no_such_key]"),
        (f"keys rotate {identity} --overlap long", "[bad_span]"),
        ("keys set nobody --max-queued 1", "[no_such_key]"),
        ("keys rotate nobody", "[no_such_key]"),
        ("admin drain", "[no_server]"),
        ("admin queue --data elsewhere", "[no_store]"),
        ("admin kick nobody", "[not_running]"),
    ):
        ran = cli(*command.split())
        assert (ran.code, said in ran.err) == (2, True), (command, ran.err)
