"""What the tests of the service share: a PostgreSQL where there is one, and servers of their own."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api import postgres
from tests.api.serving import Server

NAME_ON_CERTIFICATE = "planner.example.com"


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


@pytest.fixture(scope="session")
def session_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The one server of a session: use `shared_server`."""
    server = Server(tmp_path_factory.mktemp("session") / "data").start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def shared_server(session_server: Server) -> Iterator[Server]:
    """A server with nothing set and without jobs at first, for tests that only ask; it may know plans."""
    yield session_server
    with session_server.client() as client:
        while jobs := client.get("/v1/jobs").raise_for_status().json()["jobs"]:
            for job in jobs:
                client.delete(f"/v1/jobs/{job['id']}", params={"discard": True})


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate of the name in the examples, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here")
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out chain.pem"
    )
    names = f"subjectAltName=DNS:{NAME_ON_CERTIFICATE},DNS:localhost,IP:127.0.0.1"
    subprocess.run(
        ["openssl", *command.split(), "-subj", f"/CN={NAME_ON_CERTIFICATE}", "-addext", names],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder
