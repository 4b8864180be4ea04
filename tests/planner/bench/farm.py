"""A cluster of Dask for tests: real processes on the loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]
# What makes a Python, and those that it starts, look like one with other things installed.
_OTHER_PYTHON = """
import sys

class Others:
    def __init__(self, finder):
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._finder, name)

    def find_spec(self, name, path=None, target=None):
        if name == {without!r}:
            return None
        return self._finder.find_spec(name, path, target)

sys.meta_path[:] = [Others(finder) for finder in sys.meta_path]
if {version!r}:
    import memstow
    memstow.__version__ = {version!r}
"""


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

    def add_worker(self, without: str = "", version: str = "") -> "subprocess.Popen[bytes]":
        """Another worker, of one thread; perhaps without a library, or of another version of memstow."""
        place = self._folder / f"worker{len(self.workers)}"
        place.mkdir()
        (place / "sitecustomize.py").write_text(_OTHER_PYTHON.format(without=without, version=version))
        more = {"PYTHONPATH": str(place)} if without or version else {}
        limits = ("--nthreads", "1", "--no-nanny", "--local-directory", place)
        self.workers.append(self._start("worker", self.address, *limits, temporary=place, more=more))
        return self.workers[-1]

    def queues(self) -> list[str]:
        """The names of the queues on the scheduler."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            result: list[str] = client.run_on_scheduler(
                lambda dask_scheduler: list(dask_scheduler.extensions["queues"].queues)
            )
        return result

    def _start(
        self,
        what: str,
        *arguments: object,
        temporary: Path | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "dask", what, "--host", "127.0.0.1", "--no-dashboard"]
        process = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary or self._folder), **more},
            start_new_session=True,
        )
        self._stack.callback(_end, process)
        return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
