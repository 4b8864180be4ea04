"""A Dask scheduler and workers of one thread on this machine."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchmarks.service.servers import free_port, running


@dataclass(frozen=True, slots=True)
class Farm:
    """Its address, and its processes."""

    address: str
    scheduler: int
    workers: tuple[int, ...]


@contextmanager
def farm(count: int) -> Iterator[Farm]:
    """So many workers until the block ends."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        port = free_port()
        dask = [sys.executable, "-m", "dask"]
        quiet = ["--host", "127.0.0.1", "--no-dashboard"]
        scheduler = stack.enter_context(running([*dask, "scheduler", *quiet, "--port", str(port)], port))
        address = f"tcp://127.0.0.1:{port}"
        alone = ["--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--local-directory", folder]
        workers = []
        for _ in range(count):
            worker = subprocess.Popen(
                [*dask, "worker", address, *quiet, *alone],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(worker.wait)
            stack.callback(worker.terminate)
            workers.append(worker.pid)
        yield Farm(address, scheduler, tuple(workers))
