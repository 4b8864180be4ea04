"""A server in a process of its own, for tests that do to it what happens to servers."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2

from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]


class Server:
    """`memstow serve` with a folder of its own."""

    def __init__(self, data: Path, **settings: object) -> None:
        self.data = data
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        # Beside its folder, and with what is left of a server that is killed: it goes where the files of the
        # test go.
        self._temporary = data.parent / "temporary"
        self._temporary.mkdir(exist_ok=True)
        self._log = Path(tempfile.mkstemp(prefix="log-", dir=self._temporary)[1])
        self.url = ""

    def start(self, **settings: object) -> "Server":
        """Start, and wait until it listens."""
        self._settings |= settings
        self.launch()
        wait_for(lambda: self._listening() or not self.alive(), "the server to listen")
        assert self.url, self.log()
        return self

    def launch(self) -> None:
        """Start its process."""
        given = {"port": 0, "data": self.data, "lease_seconds": 2, "slots": 1, **self._settings}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSTOW_")}
        environment |= {f"MEMSTOW_{name.upper()}": str(value) for name, value in given.items()}
        environment["TMPDIR"] = str(self._temporary)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "memstow.api.cli.main", "serve"],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def _listening(self) -> bool:
        match = re.search(r"https?://[^\"]+", self.log())
        self.url = match.group() if match else ""
        return bool(match)

    def log(self) -> str:
        """What it has said."""
        return self._log.read_text(errors="replace")

    def events(self) -> list[dict[str, Any]]:
        """Its log, read."""
        return [json.loads(line) for line in self.log().splitlines() if line.startswith("{")]

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL, and wait."""
        if self._process is not None and self.alive():
            self.signal(signal.SIGKILL)
            self._process.wait(PATIENCE)

    def wait(self) -> int:
        """Its exit code."""
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def client(self, **options: Any) -> httpx2.Client:
        """A client of it."""
        return httpx2.Client(base_url=self.url, timeout=PATIENCE, **options)
