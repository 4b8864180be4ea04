"""Requests a second: uncached, cached, and of a bare route of the framework, in one run.

Rates are of a closed loop of connections; latency is that of requests sent at a steady rate, counted from
when each should have been sent.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import quantiles

from benchmarks.page import table
from benchmarks.service.servers import Connection, bodies, free_port, lag_p99, running, service, worked

CONNECTIONS = 16
STEADY_RATE = 125.0
SECONDS = 10.0
CACHED = 50

Body = Callable[[int], bytes]


async def closed_loop(port: int, path: str, body_of: Body, seconds: float) -> tuple[float, Counter[int]]:
    """Requests a second, and the statuses."""
    statuses: Counter[int] = Counter()
    number = 0
    end = time.perf_counter() + seconds

    async def work() -> None:
        nonlocal number
        connection = Connection(port)
        while time.perf_counter() < end:
            number += 1
            statuses[await connection.post(path, body_of(number))] += 1
        connection.close()

    begin = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return statuses.total() / (time.perf_counter() - begin), statuses


async def steady(port: int, path: str, body_of: Body, seconds: float, rate: float) -> list[float]:
    """Seconds each request took, from when it should have been sent."""
    took: list[float] = []
    idle: list[Connection] = []
    tasks = []

    async def one(due: float, body: bytes) -> None:
        connection = idle.pop() if idle else Connection(port)
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


def measure(seconds: float = SECONDS) -> str:
    """The text of this part of the page."""
    made = bodies(int(2500 * seconds))
    rows: list[Sequence[object]] = []

    def each(number: int) -> bytes:
        return made[number % len(made)]

    def load(name: str, port: int, pid: int, path: str, body_of: Body) -> float:
        asyncio.run(closed_loop(port, path, lambda i: made[-i % len(made)], 0.5))
        begin = worked(pid)
        rate, statuses = asyncio.run(closed_loop(port, path, body_of, seconds))
        if statuses.keys() != {200}:
            raise RuntimeError(f"{name}: {dict(statuses)}")
        spent = (worked(pid) - begin) / statuses.total()
        rows.append((name, f"{rate:,.0f}", f"{rate / (bare or rate):.2f}", f"{spent * 1e3:.2f}"))
        return rate

    bare = 0.0
    port = free_port()
    with running([sys.executable, "-m", "benchmarks.service.bare", str(port)], port) as pid:
        bare = load("a bare route that validates and echoes", port, pid, "/echo", each)
    with service() as (port, pid):
        load("nothing cached", port, pid, "/v1/plan", each)
        load("cached", port, pid, "/v1/plan", lambda i: made[i % CACHED])
    with service() as (port, _):
        asyncio.run(closed_loop(port, "/v1/plan", lambda i: made[-i % len(made)], 0.5))
        cuts = quantiles(asyncio.run(steady(port, "/v1/plan", each, seconds, STEADY_RATE)), n=100)
        lag = lag_p99(port)
    return (
        table(("30 buffers", "requests/s", "of bare", "of a processor, ms each"), rows)
        + f"\n\nAt {STEADY_RATE:.0f} requests/s, nothing cached: p50 {cuts[49] * 1e3:.1f} ms, p99 "
        f"{cuts[98] * 1e3:.1f} ms; the event loop is at most {lag * 1e3:g} ms late (p99)."
    )
