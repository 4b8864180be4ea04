"""What the tests of the service share: a PostgreSQL where there is one, and servers of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api import postgres
from tests.api.serving import Server


@pytest.fixture(scope="session")
def pg() -> Iterator[postgres.Postgres]:
    """A PostgreSQL of our own."""
    if postgres.program("initdb") is None or postgres.program("psql") is None:
        pytest.skip(postgres.WHY_NOT)
    with postgres.running() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.sqlite'}"
    running: postgres.Postgres = request.getfixturevalue("pg")
    return running.database()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server on its own folder, not started yet."""
    made = Server(tmp_path / "data")
    yield made
    made.kill()
