"""A PostgreSQL of the tests' own: made in a temporary folder, reached by a Unix socket, gone afterwards."""

import getpass
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import PATIENCE

WHY_NOT = "PostgreSQL is not here (Debian: apt-get install postgresql)"


def program(name: str) -> str | None:
    """A program of PostgreSQL, where the package puts it beside the path."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return str(places[0]) if places else shutil.which(name)


class Postgres:
    """One cluster."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._user = _unprivileged()
        if self._user is not None:
            folder.chmod(0o755)
            shutil.chown(folder, self._user)
        self._run(
            "initdb", "-D", "data", "-A", "trust", "-U", "memstow", "--no-sync", "-E", "UTF8", "--locale=C"
        )

    def start(self) -> None:
        """Let it run."""
        options = f"-c listen_addresses='' -c unix_socket_directories='{self._folder}' -c fsync=off"
        self._run("pg_ctl", "-D", "data", "-l", "log", "-w", "-o", options, "start")

    def stop(self) -> None:
        """End it at once."""
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"t{uuid.uuid4().hex}"
        self._run(
            "psql",
            "-h",
            str(self._folder),
            "-U",
            "memstow",
            "-d",
            "postgres",
            "-qc",
            f"CREATE DATABASE {name}",
        )
        return f"postgresql://memstow@/{name}?host={self._folder}"

    def _run(self, name: str, *arguments: str) -> None:
        sample = program(name)
        assert sample is not None, WHY_NOT
        subprocess.run(
            [sample, *arguments],
            cwd=self._folder,
            user=self._user,
            env={"PATH": os.environ["PATH"], "HOME": str(self._folder), "LC_ALL": "C"},
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
        )


@contextmanager
def running() -> Iterator[Postgres]:
    """A cluster that runs."""
    # The path of a Unix socket is short: pytest's folders are too deep for it.
    folder = Path(tempfile.mkdtemp(prefix="memstow-pg-"))
    try:
        postgres = Postgres(folder)
        postgres.start()
        try:
            yield postgres
        finally:
            postgres.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> str | None:
    """PostgreSQL does not run as root."""
    if getpass.getuser() != "root" and os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None
