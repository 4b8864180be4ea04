"""The service under load, client and server on the same processors.

Rates are of a closed loop of connections; latency is that of requests sent at a steady rate, counted from
when each should have been sent (`benchmarks/cases.py` measures both). Two kinds of load last long:

`python -m benchmarks.load mixed [MINUTES]`: while solves run, small problems that nobody asked before, jobs
that are followed to their end and whose plans are fetched, and people who look at lists, figures and health.

`python -m benchmarks.load tenants [MINUTES]`: two tenants at one server, one of them flooding it. In rounds,
so that other work of the machine falls on both phases: the quiet tenant is alone for a quarter of the time,
then the other sends all it can of everything that is expensive. The figures of the quiet tenant in the two
phases stand beside each other.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from statistics import quantiles
from subprocess import PIPE, Popen

from benchmarks.measuring import IN_PROCESS, MEMSTOW
from benchmarks.page import put, table
from benchmarks.problems import three_pools
from benchmarks.servers import (
    Connection,
    bodies,
    lag_p99,
    service,
    service_with_data,
)
from memstow.planner import formats
from memstow.planner.generate.network import network
from memstow.planner.generate.planted import planted
from memstow.planner.processes.process import resident

CONNECTIONS = 16

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


Request = tuple[str, str, bytes]
"""Method, path and body."""


class Requests:
    """What is sent; the number makes each request another, so that none has been answered before."""

    def __init__(self) -> None:
        self._small = bodies(1000)
        self._hard = [formats.write_problem(planted(300, seed, slack=0.01)).decode() for seed in range(20)]

    def plan(self, number: int) -> Request:
        """A problem that is solved at once."""
        body = self._small[number % len(self._small)][:-1] + f', "options": {{"seed": {number}}}}}'.encode()
        return "POST", "/v1/plan", body

    def job(self, number: int, seconds: float, path: str = "/v1/jobs") -> Request:
        """A problem that is not solved within this time."""
        options = f'{{"time_limit": {seconds}, "seed": {number}}}'
        problem = self._hard[number % len(self._hard)]
        return "POST", path, f'{{"problem": {problem}, "options": {options}}}'.encode()

    def batch(self, seconds: float) -> Request:
        """A thousand jobs."""
        settings = [{"name": f"s{i}", "options": {"time_limit": seconds, "seed": i}} for i in range(1000)]
        problem = {"name": "p", "problem": json.loads(self._hard[0])}
        return "POST", "/v1/batches", json.dumps({"problems": [problem], "settings": settings}).encode()


MIXED_MINUTES = 10.0
PLANNERS = 4
PLAN_EVERY = 0.05
MIXED_JOB_EVERY = 3.0
JOB_SECONDS = 3.0
LOOK_EVERY = 1.0
WARM_UP = 0.2
"""The share of the run after which memory should not grow."""
KEEP_SECONDS = 30.0

Turn = Callable[[Connection, int], Awaitable[None]]


@dataclass(slots=True)
class Mixed:
    """What a run has shown."""

    statuses: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    memory: list[int] = field(default_factory=list)
    lag: float = 0.0
    idle_lag: float = 0.0  # of an event loop beside it that has nothing to do

    def errors(self) -> int:
        """Answers that were none, and jobs that were not done."""
        failed = sum(count for name, count in self.statuses.items() if name.split()[-1] not in ("200", "202"))
        return failed + sum(count for end, count in self.ends.items() if end != "done")

    def after_warm_up(self) -> list[int]:
        """Memory from when it should be flat."""
        return self.memory[int(len(self.memory) * WARM_UP) :]


def mixed(minutes: float) -> Mixed:
    """Load a server of its own."""
    command = [sys.executable, "-P", str(IN_PROCESS), "idle", str(minutes * 60)]
    with service(keep_seconds=KEEP_SECONDS) as (port, pid):
        idle = subprocess.Popen(command, stdout=subprocess.PIPE)
        seen = asyncio.run(_mixed_load(port, pid, minutes * 60))
        seen.lag = lag_p99(port)
        printed, _ = idle.communicate(timeout=60)
    seen.idle_lag = float(printed)
    return seen


async def _mixed_load(port: int, pid: int, seconds: float) -> Mixed:
    seen, requests = Mixed(), Requests()
    end = time.perf_counter() + seconds

    async def ask(connection: Connection, method: str, path: str, body: bytes = b"") -> bytes:
        status, answer = await connection.request(method, path, body)
        seen.statuses[f"{method} {path.split('?')[0].replace('/v1', '')} {status}"] += 1
        return answer

    async def plan(connection: Connection, number: int) -> None:
        await ask(connection, *requests.plan(number))

    async def job(connection: Connection, number: int) -> None:
        name = json.loads(await ask(connection, *requests.job(number, JOB_SECONDS)))["id"]
        followers.add(asyncio.create_task(follow(name)))

    async def follow(name: str) -> None:
        connection = Connection(port)
        lines = await connection.lines(f"/v1/jobs/{name}/events")
        last = json.loads(next(line for line in reversed(lines) if line.startswith(b"data:"))[5:])
        seen.ends[last.get("state", "no end")] += 1
        status, _ = await connection.request("GET", f"/v1/jobs/{name}/plan")
        seen.statuses[f"GET /jobs/ID/plan {status}"] += 1
        connection.close()

    async def look(connection: Connection, _: int) -> None:
        for path in ("/v1/jobs?limit=50", "/readyz", "/metrics"):
            await ask(connection, "GET", path)
        seen.memory.append(resident(pid))

    async def again(turn: Turn, every: float, first: int = 0, step: int = 1) -> None:
        connection, number = Connection(port), first
        while time.perf_counter() < end:
            await turn(connection, number)
            number += step
            await asyncio.sleep(every)
        connection.close()

    followers: set[asyncio.Task[None]] = set()
    planners = (again(plan, PLAN_EVERY, first, PLANNERS) for first in range(PLANNERS))
    await asyncio.gather(*planners, again(job, MIXED_JOB_EVERY), again(look, LOOK_EVERY))
    await asyncio.gather(*followers)
    return seen


def mixed_summary(minutes: float, seen: Mixed) -> str:
    """The text of this part of the page."""
    memory = seen.after_warm_up()
    shown = [f"{memory[i * (len(memory) - 1) // 8] / 2**20:.1f}" for i in range(9)]
    rows = [(name, f"{count:,}") for name, count in sorted(seen.statuses.items())]
    return (
        f"{minutes:g} minutes; {seen.ends['done']:,} jobs of {JOB_SECONDS:g} s done, {seen.errors()} errors; "
        f"the event loop is at most {seen.lag * 1e3:g} ms late (p99), one beside it with nothing to do "
        f"{seen.idle_lag * 1e3:.0f} ms.\n"
        f"Memory of the server after the warm-up, in MiB: {', '.join(shown)}.\n\n"
        + table(("request and answer", "times"), rows)
    )


_LIMIT = 30
_REFUSED_PAUSE = 0.05
"""Seconds a connection waits after a refusal; a polite client would wait as Retry-After says."""
_NICER = 10
_LATE_SECONDS = 30.0

Statuses = Counter[str]


@contextmanager
def flooding(port: int, key: str, seconds: float) -> Iterator[Statuses]:
    """Flood for so long beside the block; the answers are counted when the block has ended.

    It is a process of its own, with a low priority: it stands for clients on other machines, which take no
    processor from the server.
    """
    statuses: Statuses = Counter()
    command = [sys.executable, "-m", "benchmarks.load", "flood", str(port), key, str(seconds)]
    process = Popen(command, stdout=PIPE, text=True)
    try:
        yield statuses
        printed, _ = process.communicate(timeout=seconds + _LATE_SECONDS)
        statuses.update(json.loads(printed))
    finally:
        process.kill()
        process.wait()


def _kinds() -> Iterator[Callable[[int], Request]]:
    """What each connection sends."""
    requests = Requests()
    plan, batch = requests.plan, requests.batch(_LIMIT)
    needy = b'{"problem": ' + formats.write_problem(network(700, 1)) + b"}"

    def job(number: int) -> Request:
        return requests.job(number, _LIMIT)

    def waiting(number: int) -> Request:
        return requests.job(number, _LIMIT, "/v1/plan")

    def needs(_: int) -> Request:
        return "POST", "/v1/inspect?needs=true&time_limit=30", needy

    def batches(_: int) -> Request:
        return batch

    def documents(_: int) -> Request:
        return "GET", "/v1/jobs?limit=200", b""

    for kind, connections in ((plan, 8), (job, 4), (waiting, 8), (needs, 6), (batches, 2), (documents, 2)):
        yield from [kind] * connections


async def _send(port: int, key: str, end: float, statuses: Statuses, kind: Callable[[int], Request]) -> None:
    number = Random(time.time_ns()).randrange(1 << 30)
    connection = Connection(port)
    while (left := end - time.perf_counter()) > 0:
        number += 1
        status = 0
        with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            answer = connection.request(*kind(number), headers=f"Authorization: Bearer {key}\r\n")
            status, _ = await asyncio.wait_for(answer, left + 1)
        statuses[f"{kind.__name__} {status}"] += 1
        if status == 0:
            connection.close()
            connection = Connection(port)
        if status not in (200, 202):
            await asyncio.sleep(_REFUSED_PAUSE)
    connection.close()


async def _flood(port: int, key: str, seconds: float) -> Statuses:
    statuses: Statuses = Counter()
    kinds = list(_kinds())
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_send(port, key, end, statuses, kind) for kind in kinds))
    return statuses


TENANT_MINUTES = 30.0
ROUND_MINUTES = 7.5
CALM_SECONDS = 35.0
"""From the end of a flood to the next round: a search that it asked for may go on for 30 s."""
QUIET = 0.25
"""The share of a round in which the flooding tenant is silent."""
FILL_SECONDS = 5.0
"""A flood needs a moment to fill every queue."""
SMALL_EVERY = 0.1
SHORT_EVERY = 3.0
TENANT_JOB_EVERY = 10.0
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
class Tenants:
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
class KeyServer:
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
        from memstow.api.store.keys import credential_of  # slow to import

        credential = credential_of(key)
        assert credential is not None
        command = [MEMSTOW, "keys", "revoke", credential.id, "--data", self.data]
        subprocess.run(command, check=True, capture_output=True)


def tenants(minutes: float) -> Tenants:
    """Load a server in rounds."""
    load = Tenants()
    rounds = max(1, int(minutes / ROUND_MINUTES))
    seconds = minutes * 60 / rounds - (CALM_SECONDS if rounds > 1 else 0.0)
    with service_with_data() as (port, pid, data):
        asyncio.run(_rounds(KeyServer(port, pid, str(data)), rounds, seconds, load))
    return load


async def _rounds(server: KeyServer, rounds: int, seconds: float, load: Tenants) -> None:
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
    requests, rng = Requests(), Random(1)
    short = [formats.write_problem(three_pools(rng, 20)).decode() for _ in range(50)]
    sent = Random(time.time_ns()).randrange(1 << 30)
    end = time.perf_counter() + seconds

    def next_seed() -> int:
        nonlocal sent
        sent += 1
        return sent

    def short_plan() -> Request:
        options = {"time_limit": 1, "seed": next_seed()}
        body = f'{{"problem": {short[sent % len(short)]}, "options": {json.dumps(options)}}}'
        return "POST", "/v1/plan", body.encode()

    async def ask(connection: Connection, kind: str, request: Request) -> bytes:
        sent_at = time.perf_counter()
        status, answer = await connection.request(*request, headers=authorization)
        seen.add(kind, status, time.perf_counter() - sent_at)
        return answer

    async def followed(connection: Connection) -> None:
        sent_at = time.perf_counter()
        name = json.loads(await ask(connection, "job accepted", requests.job(next_seed(), 3))).get("id")
        state = "failed" if name is None else "queued"
        while state in ("queued", "running") and time.perf_counter() < sent_at + PATIENCE:
            await asyncio.sleep(0.1)
            _, answer = await connection.request("GET", f"/v1/jobs/{name}", headers=authorization)
            state = json.loads(answer)["state"]
        status, _ = await connection.request("GET", f"/v1/jobs/{name}/plan", headers=authorization)
        seen.add("job done", status if state == "done" else 0, time.perf_counter() - sent_at)

    async def again(every: float, turn: Callable[[Connection], Awaitable[object]]) -> None:
        connection = Connection(port)
        while time.perf_counter() < end:
            await turn(connection)
            await asyncio.sleep(every)
        connection.close()

    await asyncio.gather(
        *(
            again(SMALL_EVERY, lambda link: ask(link, "small plan", requests.plan(next_seed())))
            for _ in range(2)
        ),
        again(SHORT_EVERY, lambda link: ask(link, "plan of 1 s", short_plan())),
        again(TENANT_JOB_EVERY, followed),
        again(1.0, lambda link: ask(link, "list of jobs", ("GET", "/v1/jobs?limit=50", b""))),
    )


def tenants_summary(minutes: float, load: Tenants) -> str:
    """The text of this part of the page."""
    rows = []
    for kind in sorted(load.quiet.seconds):
        alone, beside = load.quiet.percentile(kind, 99), load.flooded.percentile(kind, 99)
        figures = [f"{1e3 * seconds:,.0f}" for seconds in (load.quiet.percentile(kind, 50), alone)]
        figures += [f"{1e3 * seconds:,.0f}" for seconds in (load.flooded.percentile(kind, 50), beside)]
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


def main(words: Sequence[str]) -> int:
    """Load a server, print the figures, and put those of a full run on the page; 1 where errors were seen."""
    kind, numbers = words[0] if words else "", words[1:]
    if kind == "flood":
        os.nice(_NICER)
        port, key, seconds = numbers
        print(json.dumps(asyncio.run(_flood(int(port), key, float(seconds)))))
        return 0
    if kind not in ("mixed", "tenants"):
        print(__doc__, file=sys.stderr)
        return 2
    full = MIXED_MINUTES if kind == "mixed" else TENANT_MINUTES
    minutes = float(numbers[0]) if numbers else full
    if kind == "mixed":
        seen = mixed(minutes)
        text, errors = mixed_summary(minutes, seen), seen.errors()
    else:
        load = tenants(minutes)
        text, errors = tenants_summary(minutes, load), load.errors()
    print(text)
    if minutes >= full:
        put(f"service-{kind}", text)
    return int(errors > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
