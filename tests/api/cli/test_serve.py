"""What keeps a server from starting is told in a line; keys can be made where it has its store."""

from pathlib import Path

import pytest

from tests.api.cli.conftest import Cli


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMSTOW_DATA", str(tmp_path / "data"))


def refused(cli: Cli, *arguments: str | Path) -> str:
    """The one line that a server says which does not start."""
    ran = cli("serve", "--port", "0", *arguments)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    return line


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://host/name", "[bad_database]"),
        ("no url", "[bad_database]"),
        ("postgresql://user:secret@127.0.0.1:1/name", "OperationalError"),
    ],
)
def test_a_store_that_cannot_be_had_is_told(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, url: str, told: str
) -> None:
    monkeypatch.setenv("MEMSTOW_DATABASE", url)
    line = refused(cli)
    assert told in line
    assert "secret" not in line


def test_a_file_that_is_no_store_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memstow.sqlite").write_bytes(b"something else" * 100)
    assert "not a database" in refused(cli)


def test_an_address_that_others_reach_needs_a_key_or_a_word(cli: Cli) -> None:
    line = refused(cli, "--host", "0.0.0.0")
    assert "[no_keys]" in line
    assert "MEMSTOW_ANONYMOUS=everyone" in line


def test_a_key_is_shown_once_listed_and_revoked(cli: Cli) -> None:
    text = cli("keys", "create", "--name", "ci").out.strip()
    _, identity, secret = text.split("_", 2)
    listed = cli("keys", "list").out
    assert identity in listed
    assert secret not in listed
    assert cli("keys", "revoke", identity).code == 0
    again = cli("keys", "revoke", identity)
    assert (again.code, "[no_such_key]" in again.err) == (2, True)


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_key_has_a_name_that_every_store_takes(cli: Cli, name: str) -> None:
    ran = cli("keys", "create", "--name", name)
    assert (ran.code, ran.out) == (2, "")
    assert "1 to 200 characters" in ran.err
