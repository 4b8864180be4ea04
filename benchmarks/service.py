"""Load on the service: `python -m benchmarks.service`, client and server on the same processors.

Each round starts a server of its own. Rates are of a closed loop of connections; latency is that of requests
sent at a steady rate, counted from when each should have been sent. `--minutes` adds mixed load with solves.
"""

import argparse
import asyncio
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import quantiles
from urllib.request import urlopen

from planner import formats
from planner.generate.network import network
from planner.generate.planted import planted

CONNECTIONS = 16
STEADY_RATE = 125.0


class Connection:
    """One kept-alive connection, as little of HTTP as it takes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes, headers: str = "") -> int:
        """The status of the answer, whose body is read and dropped."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        if length is not None:
            await reader.readexactly(int(length[1]))
        return int(answer[9:12])

    def close(self) -> None:
        """Close it."""
        if self._streams is not None:
            self._streams[1].close()


async def closed_loop(
    port: int, path: str, body_of: Callable[[int], bytes], seconds: float, headers: str = ""
) -> tuple[float, Counter[int]]:
    """Requests a second, and the statuses."""
    statuses: Counter[int] = Counter()
    number = 0
    end = time.perf_counter() + seconds

    async def work() -> None:
        nonlocal number
        connection = Connection(port)
        while time.perf_counter() < end:
            number += 1
            statuses[await connection.post(path, body_of(number), headers)] += 1
        connection.close()

    begin = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return statuses.total() / (time.perf_counter() - begin), statuses


async def steady(
    port: int, path: str, body_of: Callable[[int], bytes], seconds: float, rate: float
) -> list[float]:
    """Seconds each request took, from when it should have been sent."""
    took: list[float] = []
    idle = [Connection(port) for _ in range(100)]
    tasks = []

    async def one(due: float, body: bytes) -> None:
        connection = idle.pop()
        await connection.post(path, body)
        took.append(time.perf_counter() - due)
        idle.append(connection)

    begin = time.perf_counter()
    for number in range(int(seconds * rate)):
        due = begin + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(one(due, body_of(number))))
    await asyncio.gather(*tasks)
    for connection in idle:
        connection.close()
    return took


@contextmanager
def running(command: list[str], port: int) -> Iterator[int]:
    """A server until the block ends; its process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def service(**settings: object) -> Iterator[tuple[int, int]]:
    """The service on a folder of its own: its port and its process."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "memstow.toml"
        lines = [
            f"{name} = {json.dumps(value)}"
            for name, value in {"key_rate": 1e6, "key_burst": 10**6, **settings}.items()
        ]
        config.write_text("\n".join(lines))
        command = [sys.executable, "-m", "api.cli.main", "serve", "--port", str(port)]
        with running([*command, "--data", f"{folder}/data", "--config", str(config)], port) as pid:
            yield port, pid


def bodies(count: int) -> list[bytes]:
    """Problems of 30 buffers, each another."""
    return [b'{"problem": ' + formats.write_problem(network(30, seed)) + b"}" for seed in range(count)]


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def figure(port: int, name: str) -> float:
    """One figure of the server."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        found = re.search(rf"^{re.escape(name)} (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def lag_p99(port: int) -> str:
    """The event loop's lag at the 99th percentile, as a bucket of the histogram."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    counts = re.findall(r'memstow_loop_lag_seconds_bucket\{le="([^"]+)"\} (\S+)', text)
    total = float(counts[-1][1]) or 1.0
    return next(
        (f"at most {float(le) * 1000:g} ms" for le, count in counts if float(count) >= 0.99 * total), "?"
    )


def rates(seconds: float) -> None:
    """Uncached, cached and bare, in one run."""
    made = bodies(int(1500 * seconds))
    port = free_port()
    with running([sys.executable, "-m", "benchmarks.bare", str(port)], port):
        bare, _ = asyncio.run(closed_loop(port, "/echo", lambda i: made[i % len(made)], seconds))
    print(f"bare route         {bare:8.0f} requests/s")
    with service() as (port, _):
        asyncio.run(closed_loop(port, "/v1/plan", lambda i: made[-i % len(made)], 0.5))
    with service() as (port, _):
        fresh, statuses = asyncio.run(closed_loop(port, "/v1/plan", lambda i: made[i % len(made)], seconds))
        print(f"nothing cached     {fresh:8.0f} requests/s, {fresh / bare:.2f} of bare, {dict(statuses)}")
        cached, statuses = asyncio.run(closed_loop(port, "/v1/plan", lambda i: made[i % 50 + 1], seconds))
        print(f"cached             {cached:8.0f} requests/s, {cached / bare:.2f} of bare, {dict(statuses)}")
    with service() as (port, _):
        took = asyncio.run(steady(port, "/v1/plan", lambda i: made[i % len(made)], seconds, STEADY_RATE))
        cuts = quantiles(took, n=100)
        print(f"at {STEADY_RATE:.0f} requests/s: p50 {cuts[49] * 1e3:.1f} ms, p99 {cuts[98] * 1e3:.1f} ms")
        print(f"lag of the loop    p99 {lag_p99(port)}")


def mixed(minutes: float) -> None:
    """Steady requests while solves run: memory, errors, lag."""
    made = bodies(20_000)
    large = [
        b'{"problem": ' + formats.write_problem(planted(300, seed)) + b', "options": {"time_limit": 3.0}}'
        for seed in range(20)
    ]

    async def load(port: int, pid: int) -> None:
        end = time.perf_counter() + minutes * 60
        statuses: Counter[int] = Counter()

        async def small(offset: int) -> None:
            connection, number = Connection(port), offset
            while time.perf_counter() < end:
                number += 7
                statuses[await connection.post("/v1/plan", made[number % len(made)])] += 1
                await asyncio.sleep(0.05)

        async def jobs() -> None:
            connection, number = Connection(port), 0
            while time.perf_counter() < end:
                number += 1
                statuses[
                    await connection.post("/v1/jobs", large[number % 20], "Cache-Control: no-cache\r\n")
                ] += 1
                await asyncio.sleep(3.0)

        async def watch() -> None:
            while time.perf_counter() < end:
                print(f"  {resident(pid) >> 20} MiB, {statuses.total()} requests", flush=True)
                await asyncio.sleep(min(15.0, minutes * 10))

        await asyncio.gather(*(small(i) for i in range(4)), jobs(), watch())
        print(f"mixed load         {dict(statuses)}, {resident(pid) >> 20} MiB at the end")

    with service(keep_seconds=60.0) as (port, pid):
        asyncio.run(load(port, pid))
        print(f"lag of the loop    p99 {lag_p99(port)}")


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each round of the rates")
    parser.add_argument("--minutes", type=float, default=0.0, help="of mixed load")
    args = parser.parse_args()
    if args.seconds:
        rates(args.seconds)
    if args.minutes:
        mixed(args.minutes)


if __name__ == "__main__":
    main()
