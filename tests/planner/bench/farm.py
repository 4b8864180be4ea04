"""A cluster of Dask for tests: real processes on the loopback."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]


class Farm:
    """A scheduler and workers of Dask, as processes of their own on the loopback."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._port = 0
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Start it, where it was before if there was one."""
        place = ("--port", self._port, "--scheduler-file", self._folder / "it")
        self.scheduler = self._start("scheduler", *place)

    def lose_scheduler(self) -> None:
        """Kill it."""
        self._port = int(self.address.rpartition(":")[2])
        self.scheduler.kill()
        self.scheduler.wait()

    @property
    def address(self) -> str:
        """Where the scheduler is, once it says so."""
        return wait_for(self._output, "the scheduler")

    def _output(self) -> str:
        assert self.scheduler.poll() is None
        file = self._folder / "it"
        text = file.read_text() if file.exists() else ""
        return str(json.loads(text)["address"]) if text else ""

    def add_worker(self) -> None:
        """Another worker, of one thread."""
        place = self._folder / f"worker{len(self.workers)}"
        place.mkdir()
        limits = ("--nthreads", "1", "--no-nanny", "--local-directory", place)
        self.workers.append(self._start("worker", self.address, *limits, temporary=place))

    def _start(
        self, what: str, *arguments: object, temporary: Path | None = None
    ) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "dask", what, "--host", "127.0.0.1", "--no-dashboard"]
        process = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary or self._folder)},
            start_new_session=True,
        )
        self._stack.callback(_end, process)
        return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
