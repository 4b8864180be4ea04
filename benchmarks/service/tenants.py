"""Two tenants at one server, one of them flooding it: `python -m benchmarks.service.tenants [MINUTES]`.

In rounds, so that other work of the machine falls on both phases: the quiet tenant is alone for a quarter of
the time, then the other sends all it can of everything that is expensive. The figures of the quiet tenant in
the two phases stand beside each other.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from statistics import quantiles

from benchmarks.models import three_pools
from benchmarks.page import put, table
from benchmarks.process import MEMSTOW
from benchmarks.service.flood import Request, flooding
from benchmarks.service.servers import Connection, bodies, free_port, resident, running
from memstow.api.store.keys import credential_of
from memstow.planner import formats
from memstow.planner.generate.planted import planted

MINUTES = 30.0
ROUND_MINUTES = 7.5
CALM_SECONDS = 35.0
"""From the end of a flood to the next round: a search that it asked for may go on for 30 s."""
QUIET = 0.25
"""The share of a round in which the flooding tenant is silent."""
FILL_SECONDS = 5.0
"""A flood needs a moment to fill every queue."""
SMALL_EVERY = 0.1
SHORT_EVERY = 3.0
JOB_EVERY = 10.0
PATIENCE = 60.0
"""Seconds after which the quiet tenant gives up; that counts as status 0."""


@dataclass(slots=True)
class Seen:
    """What the quiet tenant has seen in its phases of one kind."""

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
    """A run: the quiet tenant in both kinds of phases, the flooding one, and the memory of the server."""

    quiet: Seen = field(default_factory=Seen)
    flooded: Seen = field(default_factory=Seen)
    flood: Counter[str] = field(default_factory=Counter)
    memory: list[int] = field(default_factory=list)

    def errors(self) -> int:
        """Answers to the quiet tenant that are no plan."""
        return sum(
            count
            for seen in (self.quiet, self.flooded)
            for name, count in seen.statuses.items()
            if name.split()[-1] not in ("200", "202")
        )


@dataclass(frozen=True, slots=True)
class Server:
    """A service with the default limits; keys are made and revoked as an operator does."""

    port: int
    pid: int
    data: str

    def create_key(self, name: str) -> str:
        """The text of a new key."""
        command = [MEMSTOW, "keys", "create", "--name", name, "--data", self.data]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return next(word for word in printed.split() if word.startswith("msk_"))

    def revoke(self, key: str) -> None:
        """End a key, with its jobs."""
        credential = credential_of(key)
        assert credential is not None
        command = [MEMSTOW, "keys", "revoke", credential.id, "--data", self.data]
        subprocess.run(command, check=True, capture_output=True)


@contextmanager
def server() -> Iterator[Server]:
    """A server of its own."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data"
        with running([MEMSTOW, "serve", "--port", str(port), "--data", data], port) as pid:
            yield Server(port, pid, data)


def run(minutes: float) -> Load:
    """Load a server in rounds."""
    load = Load()
    rounds = max(1, int(minutes / ROUND_MINUTES))
    seconds = minutes * 60 / rounds - (CALM_SECONDS if rounds > 1 else 0.0)
    with server() as it:
        asyncio.run(_rounds(it, rounds, seconds, load))
    return load


async def _rounds(server: Server, rounds: int, seconds: float, load: Load) -> None:
    quiet = server.create_key("quiet")
    watch = asyncio.create_task(_watch(server.pid, load.memory))
    for number in range(rounds):
        if number:
            await asyncio.sleep(CALM_SECONDS)
        await _phase(server.port, quiet, seconds * QUIET, load.quiet)
        flood = server.create_key(f"flood {number}")
        flooded = seconds * (1 - QUIET)
        with flooding(server.port, flood, flooded) as statuses:
            filled = min(FILL_SECONDS, flooded / 4)
            await asyncio.sleep(filled)
            await _phase(server.port, quiet, flooded - filled, load.flooded)
        load.flood.update(statuses)
        server.revoke(flood)
    watch.cancel()


async def _watch(pid: int, memory: list[int]) -> None:
    while True:
        memory.append(resident(pid))
        await asyncio.sleep(1.0)


async def _phase(port: int, key: str, seconds: float, seen: Seen) -> None:
    authorization = f"Authorization: Bearer {key}\r\n"
    small = bodies(1000)
    rng = Random(1)
    short = [formats.write_problem(three_pools(rng, 20)).decode() for _ in range(50)]
    large = [formats.write_problem(planted(300, seed, slack=0.01)).decode() for seed in range(20)]
    sent = Random(time.time_ns()).randrange(1 << 30)
    end = time.perf_counter() + seconds

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
        status, answer = await connection.request(*request, headers=authorization)
        seen.add(kind, status, time.perf_counter() - asked)
        return answer

    async def followed(connection: Connection) -> None:
        asked = time.perf_counter()
        name = json.loads(await ask(connection, "job accepted", job())).get("id")
        state = "failed" if name is None else "queued"
        while state in ("queued", "running") and time.perf_counter() < asked + PATIENCE:
            await asyncio.sleep(0.1)
            _, answer = await connection.request("GET", f"/v1/jobs/{name}", headers=authorization)
            state = json.loads(answer)["state"]
        status, _ = await connection.request("GET", f"/v1/jobs/{name}/plan", headers=authorization)
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
            f"{load.flood[name]:,}",
        )
        for name in sorted({*load.quiet.statuses, *load.flooded.statuses, *load.flood})
    ]
    return (
        f"{minutes:g} minutes; {load.errors()} answers to the quiet tenant are no plan.\n"
        f"Memory of the server, in MiB: {', '.join(shown)}.\n\n"
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
    if minutes >= MINUTES:
        put("service-tenants", text)
    return int(load.errors() > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
