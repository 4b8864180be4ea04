"""Servers of their own for each round, a kept-alive connection to them, and a cluster of Dask."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.measuring import MEMSTOW
from memstow.planner import formats
from memstow.planner.bench.usage import clean_environment
from memstow.planner.generate.network import network


class Connection:
    """Requests one after another."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: str = ""
    ) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        content = b"" if length is None else await reader.readexactly(int(length[1]))
        return int(answer[9:12]), content

    async def post(self, path: str, body: bytes) -> int:
        """The status of the answer to this body."""
        return (await self.request("POST", path, body))[0]

    async def lines(self, path: str) -> list[bytes]:
        """The lines of a stream, up to its end. A connection of its own, which ends with it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        lines = (await reader.read()).splitlines()
        writer.close()
        return lines

    def close(self) -> None:
        """Close it."""
        if self._streams is not None:
            self._streams[1].close()


@contextmanager
def running(
    command: Sequence[str],
    port: int,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Iterator[int]:
    """A server until the block ends; its process. These variables are added to its environment.

    It runs in the folder, and Python looks there for modules first.
    """
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**clean_environment(), **(environment or {})},
        cwd=folder,
    )
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def service(
    memstow: Sequence[str] = (MEMSTOW,), folder: Path | None = None, /, **settings: object
) -> Iterator[tuple[int, int]]:
    """The service without limits of rates: its port and its process. `folder` is as for `running`."""
    settings = {"key_rate": 1e6, "key_burst": 10**6, **settings}
    with service_with_data(memstow, folder, **settings) as (port, pid, _):
        yield port, pid


@contextmanager
def service_with_data(
    memstow: Sequence[str] = (MEMSTOW,), folder: Path | None = None, /, **settings: object
) -> Iterator[tuple[int, int, Path]]:
    """The service on data of its own, with these settings: its port, its process, the folder of the data."""
    port = free_port()
    with tempfile.TemporaryDirectory() as own:
        config, data = Path(own) / "memstow.toml", Path(own) / "data"
        config.write_text("\n".join(f"{name} = {json.dumps(value)}" for name, value in settings.items()))
        command = [*memstow, "serve", "--port", str(port), "--data", str(data), "--config", str(config)]
        with running(command, port, folder=folder) as pid:
            yield port, pid, data


def ask(
    port: int, method: str, path: str, body: object = None, content_type: str = "application/json"
) -> Any:
    """The answer of a server as JSON; OSError when it is away, HTTPError when it refuses.

    A body of bytes is sent as it is.
    """
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": content_type}
    request = Request(f"http://127.0.0.1:{port}{path}", data, headers, method=method)
    with urlopen(request, timeout=120) as answer:
        return json.loads(answer.read() or b"null")


def text_at(port: int, path: str) -> str:
    """The answer of a server as text."""
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return str(answer.read().decode())


def free_port() -> int:
    """A free port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def bodies(count: int) -> list[bytes]:
    """Problems of 30 buffers, each another."""
    return [b'{"problem": ' + formats.write_problem(network(30, seed)) + b"}" for seed in range(count)]


def worked(pid: int) -> float:
    """Seconds of a processor that a process has used, with those of ended threads; to a hundredth."""
    return _processor_seconds(pid, 11)


def worked_by_children(pid: int) -> float:
    """Seconds of a processor that its children have used which have ended."""
    return _processor_seconds(pid, 13)


def _processor_seconds(pid: int, field: int) -> float:
    """Of the user and of the system, which stand in these two fields after the name."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[field]) + int(fields[field + 1])) / os.sysconf("SC_CLK_TCK")


def lag_p99(port: int) -> float:
    """Seconds that the event loop is late at the 99th percentile: the upper end of a bucket."""
    buckets = r'memstow_loop_lag_seconds_bucket\{le="([^"]+)"\} (\S+)'
    counts = re.findall(buckets, text_at(port, "/metrics"))
    total = float(counts[-1][1])
    return next(float(le) for le, count in counts if float(count) >= 0.99 * total)


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
