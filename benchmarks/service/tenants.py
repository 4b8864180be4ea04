"""Two tenants at one server, one of them flooding it: `python -m benchmarks.service.tenants [MINUTES]`.

First the quiet tenant is alone, for a quarter of the time; then the other sends all it can of everything that
is expensive. The figures of the quiet tenant in the two phases stand beside each other.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import quantiles

from benchmarks.models import three_pools
from benchmarks.page import put, table
from benchmarks.service.connection import Connection
from benchmarks.service.servers import bodies, free_port, resident, running
from memstow.planner import formats
from memstow.planner.generate.network import network
from memstow.planner.generate.planted import planted

MINUTES = 30.0
QUIET = 0.25
"""The share of the time in which the flooding tenant is silent."""
SMALL_EVERY = 0.1
SHORT_EVERY = 3.0
JOB_EVERY = 10.0
FLOOD_LIMIT = 30
REFUSED_PAUSE = 0.05
"""Seconds a flooding connection waits after a refusal; a polite client would wait as Retry-After says."""
PATIENCE = 60.0
"""Seconds after which the quiet tenant gives up; that counts as status 0."""

Request = tuple[str, str, bytes]


@dataclass(slots=True)
class Seen:
    """What one tenant has seen in one phase."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.seconds.setdefault(kind, []).append(seconds)
        self.statuses[f"{kind} {status}"] += 1

    def percentile(self, kind: str, percent: int) -> float:
        """Seconds that this share of the answers took at most."""
        took = self.seconds.get(kind, [])
        return quantiles(took, n=100)[percent - 1] if len(took) > 1 else 0.0


@dataclass(slots=True)
class Load:
    """A run: the quiet tenant in both phases, the flooding one, and the memory of the server."""

    quiet: Seen = field(default_factory=Seen)
    flooded: Seen = field(default_factory=Seen)
    flood: Seen = field(default_factory=Seen)
    memory: list[int] = field(default_factory=list)

    def errors(self) -> int:
        """Answers to the quiet tenant that are no plan."""
        return sum(
            count
            for seen in (self.quiet, self.flooded)
            for name, count in seen.statuses.items()
            if name.split()[-1] not in ("200", "202")
        )


@contextmanager
def server_with_keys(*names: str) -> Iterator[tuple[int, int, list[str]]]:
    """A service with the default limits, and a key for each name."""
    port = free_port()
    memstow = [sys.executable, "-m", "memstow.api.cli.main"]
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data"
        keys = [_key([*memstow, "keys", "create", "--name", name, "--data", data]) for name in names]
        with running([*memstow, "serve", "--port", str(port), "--data", data], port) as pid:
            yield port, pid, keys


def _key(command: list[str]) -> str:
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return next(word for word in printed.split() if word.startswith("msk_"))


def run(minutes: float) -> Load:
    """Load a server of its own."""
    load = Load()
    with server_with_keys("quiet", "flood") as (port, pid, keys):
        asyncio.run(_both_phases(port, pid, keys, minutes * 60, load))
    return load


async def _both_phases(port: int, pid: int, keys: list[str], seconds: float, load: Load) -> None:
    quiet, flood = (f"Authorization: Bearer {key}\r\n" for key in keys)
    begin = time.perf_counter()
    silent_until, end = begin + seconds * QUIET, begin + seconds
    await _phase(port, quiet, silent_until, load.quiet)
    watch = asyncio.create_task(_watch(pid, end, load.memory))
    flooding = [asyncio.create_task(_flood(port, flood, end, load.flood, kind)) for kind in _flood_kinds()]
    # The flood needs a moment to fill every queue.
    await asyncio.sleep(min(5.0, seconds * QUIET / 4))
    await _phase(port, quiet, end, load.flooded)
    await asyncio.gather(watch, *flooding)


async def _watch(pid: int, end: float, memory: list[int]) -> None:
    while time.perf_counter() < end:
        memory.append(resident(pid))
        await asyncio.sleep(1.0)


# The quiet tenant


async def _phase(port: int, key: str, end: float, seen: Seen) -> None:
    small = bodies(1000)
    rng = Random(1)
    short = [formats.write_problem(three_pools(rng, 20)).decode() for _ in range(50)]
    large = [formats.write_problem(planted(300, seed, slack=0.01)).decode() for seed in range(20)]
    sent = Random(time.time_ns()).randrange(1 << 30)

    def next_seed() -> int:
        nonlocal sent
        sent += 1
        return sent

    def small_plan() -> Request:
        body = small[sent % len(small)][:-1] + f', "options": {{"seed": {next_seed()}}}}}'.encode()
        return "POST", "/v1/plan", body

    def short_plan() -> Request:
        options = {"time_limit": 1, "seed": next_seed()}
        body = f'{{"problem": {short[sent % len(short)]}, "options": {json.dumps(options)}}}'
        return "POST", "/v1/plan", body.encode()

    def job() -> Request:
        options = {"time_limit": 3, "seed": next_seed()}
        body = f'{{"problem": {large[sent % len(large)]}, "options": {json.dumps(options)}}}'
        return "POST", "/v1/jobs", body.encode()

    async def ask(connection: Connection, kind: str, request: Request) -> bytes:
        asked = time.perf_counter()
        status, answer = await connection.request(*request, headers=key)
        seen.add(kind, status, time.perf_counter() - asked)
        return answer

    async def followed(connection: Connection) -> None:
        asked = time.perf_counter()
        name = json.loads(await ask(connection, "job accepted", job()))["id"]
        state = "queued"
        while state in ("queued", "running") and time.perf_counter() < asked + PATIENCE:
            await asyncio.sleep(0.1)
            _, answer = await connection.request("GET", f"/v1/jobs/{name}", headers=key)
            state = json.loads(answer)["state"]
        status, _ = await connection.request("GET", f"/v1/jobs/{name}/plan", headers=key)
        seen.add("job done", status if state == "done" else 0, time.perf_counter() - asked)

    async def again(every: float, turn: Callable[[Connection], Awaitable[object]]) -> None:
        connection = Connection(port)
        while time.perf_counter() < end:
            await turn(connection)
            await asyncio.sleep(every)
        connection.close()

    await asyncio.gather(
        *(again(SMALL_EVERY, lambda it: ask(it, "small plan", small_plan())) for _ in range(2)),
        again(SHORT_EVERY, lambda it: ask(it, "plan of 1 s", short_plan())),
        again(JOB_EVERY, followed),
        again(1.0, lambda it: ask(it, "list of jobs", ("GET", "/v1/jobs?limit=50", b""))),
    )


# The flooding tenant


def _flood_kinds() -> Iterator[Callable[[int], Request]]:
    small = bodies(200)
    needy = b'{"problem": ' + formats.write_problem(network(700, 1)) + b"}"
    hard = [formats.write_problem(planted(300, seed, slack=0.01)).decode() for seed in range(20)]
    settings = [{"name": f"s{i}", "options": {"time_limit": FLOOD_LIMIT, "seed": i}} for i in range(1000)]
    batch = json.dumps({"problems": [{"name": "p", "problem": json.loads(hard[0])}], "settings": settings})

    def plan(number: int) -> Request:
        body = small[number % len(small)][:-1] + f', "options": {{"seed": {number}}}}}'.encode()
        return "POST", "/v1/plan", body

    def job(number: int) -> Request:
        options = f'{{"time_limit": {FLOOD_LIMIT}, "seed": {number}}}'
        return "POST", "/v1/jobs", f'{{"problem": {hard[number % 20]}, "options": {options}}}'.encode()

    def waiting(number: int) -> Request:
        return "POST", "/v1/plan", job(number)[2]

    def needs(_: int) -> Request:
        return "POST", "/v1/inspect?needs=true&time_limit=30", needy

    def batches(_: int) -> Request:
        return "POST", "/v1/batches", batch.encode()

    def documents(_: int) -> Request:
        return "GET", "/v1/jobs?limit=200", b""

    for kind, connections in ((plan, 8), (job, 4), (waiting, 8), (needs, 6), (batches, 2), (documents, 2)):
        yield from [kind] * connections


async def _flood(port: int, key: str, end: float, seen: Seen, kind: Callable[[int], Request]) -> None:
    number = Random(id(kind) + time.time_ns()).randrange(1 << 30)
    connection = Connection(port)
    while (left := end - time.perf_counter()) > 0:
        number += 1
        asked = time.perf_counter()
        status = 0
        with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            status, _ = await asyncio.wait_for(connection.request(*kind(number), headers=key), left + 1)
        seen.add(kind.__name__, status, time.perf_counter() - asked)
        if status == 0:
            connection.close()
            connection = Connection(port)
        if status not in (200, 202):
            await asyncio.sleep(REFUSED_PAUSE)
    connection.close()


# The page


def summary(minutes: float, load: Load) -> str:
    """The text of this part of the page."""
    rows = []
    for kind in sorted(load.quiet.seconds):
        alone, beside = load.quiet.percentile(kind, 99), load.flooded.percentile(kind, 99)
        figures = [f"{1e3 * it:,.0f}" for it in (load.quiet.percentile(kind, 50), alone)]
        figures += [f"{1e3 * it:,.0f}" for it in (load.flooded.percentile(kind, 50), beside)]
        rows.append(
            (kind, len(load.flooded.seconds.get(kind, [])), *figures, f"{beside / max(alone, 1e-9):.2f}")
        )
    shown = [f"{load.memory[i * (len(load.memory) - 1) // 8] / 2**20:.0f}" for i in range(9)]
    answers = [
        (
            name,
            f"{load.quiet.statuses[name]:,}",
            f"{load.flooded.statuses[name]:,}",
            f"{load.flood.statuses[name]:,}",
        )
        for name in sorted({*load.quiet.statuses, *load.flooded.statuses, *load.flood.statuses})
    ]
    return (
        f"{minutes:g} minutes, the last {1 - QUIET:.0%} with the flood; {load.errors()} answers to the quiet "
        f"tenant are no plan.\nMemory of the server during the flood, in MiB: {', '.join(shown)}.\n\n"
        + table(
            ("ms", "requests", "p50 alone", "p99 alone", "p50 beside", "p99 beside", "ratio of p99"), rows
        )
        + "\n\n"
        + table(("request and answer", "alone", "beside the flood", "flood"), answers)
    )


def main(words: list[str]) -> int:
    """Load, print, and put the figures on the page."""
    minutes = float(words[0]) if words else MINUTES
    load = run(minutes)
    text = summary(minutes, load)
    print(text)
    if minutes >= MINUTES and Path(".git").exists():
        put("service-tenants", text)
    return int(load.errors() > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
