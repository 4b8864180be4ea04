"""Jobs of the service: `python -m benchmarks.jobs KIND`.

`kills [SECONDS] [URL]` prints what became of every job of a server that is killed at random moments while
jobs come, singly and in batches, are stopped, and end. At the end each job that was accepted must have ended
once, with its plan, and the counts of the store must be right.

`queue [URL]` prints two tables. The first is of claims by the number of jobs that wait, of one key and of 50,
and of what else is asked about the queue. The second counts the statements of a server on PostgreSQL that has
nothing to do.

`sizing` prints what the service needs by size. Memory is resident, of the server and of the processes in
which it solves; disk is the file of the store.

`cluster` prints two tables of a server with a scheduler and workers of Dask on this machine. The first is of
jobs of bounded work, by the number of workers. The second shows what server, scheduler and workers spend on
solves that go on for long: their events, their best plans, their signs of life.

The URL is that of an empty database on PostgreSQL. Without it, the store is SQLite in a folder.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.error import HTTPError, URLError

from sqlalchemy import text

from benchmarks.measuring import MEMSTOW
from benchmarks.page import stamp, table
from benchmarks.servers import (
    ask,
    bodies,
    farm,
    free_port,
    running,
    service,
    service_with_data,
    text_at,
    worked,
    worked_by_children,
)
from memstow.api.store import maintenance
from memstow.api.store.database import Database, url_of
from memstow.api.store.keys import Quotas
from memstow.api.store.queue import Claims, Queue
from memstow.api.store.tables import Draft, metadata
from memstow.planner import formats
from memstow.planner.generate.network import network
from memstow.planner.generate.planted import planted
from memstow.planner.processes.process import children, resident

KILL_SECONDS = 120.0
SUBMITTERS = 3
PAUSE = 0.5
KILL_BATCH = 5


class Campaign:
    """A server that is killed and started again, and its clients."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self.port = free_port()
        self.kills = 0
        self.accepted: set[str] = set()
        self.discarded: set[str] = set()
        self.refused: Counter[str] = Counter()
        self._log = folder / "log"
        self._command = [MEMSTOW, "serve", "--port", str(self.port)]
        settings = {"slots": 2, "lease_seconds": 1, "log_format": "json", "max_attempts": 100}
        if url is None:
            settings["data"] = str(folder / "data")
        else:
            settings["database"] = url
        named = {f"MEMSTOW_{name.upper()}": str(value) for name, value in settings.items()}
        self._environment = {**os.environ, **named}
        self._over = threading.Event()

    @contextmanager
    def server(self) -> Iterator[subprocess.Popen[bytes]]:
        """A server until the block ends, however it ends."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(self._command, env=self._environment, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """An answer of the server; OSError when it is away."""
        return ask(self.port, method, path, body)

    def submit(self, seed: int) -> None:
        """A client: submits jobs and batches, and stops or removes some of them, until the end."""
        random = Random(seed)
        while not self._over.wait(PAUSE * random.random()):
            try:
                self._act(random)
            except HTTPError as error:
                self.refused[f"{error.code}"] += 1
            except (URLError, OSError, json.JSONDecodeError):
                # Killed meanwhile: what was not acknowledged may be there or not.
                self.refused["away"] += 1

    def _act(self, random: Random) -> None:
        problem = json.loads(
            formats.write_problem(planted(random.choice([20, 60, 300]), random.getrandbits(20), slack=0.01))
        )
        limit = random.choice([0.05, 0.3, 2.0])
        if random.random() < 0.2:
            settings = [
                {"name": f"{i}", "options": {"seed": i, "time_limit": limit}} for i in range(KILL_BATCH)
            ]
            batch = self.ask(
                "POST", "/v1/batches", {"problems": [{"problem": problem}], "settings": settings}
            )
            self.accepted |= {run["job"] for row in batch["table"].values() for run in row.values()}
            return
        job = self.ask("POST", "/v1/jobs", {"problem": problem, "options": {"time_limit": limit}})["id"]
        self.accepted.add(job)
        if random.random() < 0.1:
            discard = random.random() < 0.5
            if discard:
                self.discarded.add(job)
            self.ask("DELETE", f"/v1/jobs/{job}?discard={str(discard).lower()}")

    def run(self, seconds: float) -> None:
        """Kill the server at random until the time is over; then let it finish what waits."""
        random = Random(1)
        clients = [threading.Thread(target=self.submit, args=(seed,)) for seed in range(SUBMITTERS)]
        for client in clients:
            client.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self.server() as process:
                self._wait_for_answer()
                time.sleep(random.uniform(0.5, 5.0))
                process.send_signal(signal.SIGKILL)
                self.kills += 1
        self._over.set()
        for client in clients:
            client.join()
        with self.server():
            while self._waiting():
                time.sleep(0.5)
            self.report()

    def _wait_for_answer(self) -> None:
        while True:
            with suppress(URLError, OSError):
                self.ask("GET", "/version")
                return
            time.sleep(0.05)

    def _waiting(self) -> bool:
        with suppress(URLError, OSError):
            return any(
                self.ask("GET", f"/v1/jobs?state={state}&limit=1")["jobs"] for state in ("queued", "running")
            )
        return True

    def report(self) -> None:
        """Print what became of the jobs."""
        ends: Counter[str] = Counter()
        for job in self.accepted:
            try:
                state = self.ask("GET", f"/v1/jobs/{job}")["state"]
                events = text_at(self.port, f"/v1/jobs/{job}/events").splitlines()
                done = sum("event: done" in line for line in events)
                plan = state != "done" or "status" in self.ask("GET", f"/v1/jobs/{job}/plan")
                ends[state if (done, plan) == (1, True) else f"{state}, {done} ends, plan {plan}"] += 1
            except HTTPError as error:
                ends["discarded" if error.code == 404 and job in self.discarded else f"{error.code}"] += 1
        written = Counter(
            re.findall(r'"job": "(\w+)"', line)[0]
            for line in self._log.read_text().splitlines()
            if '"job_finished"' in line and '"written": true' in line
        )
        print(f"{self.kills} kills, {len(self.accepted)} accepted jobs: {dict(ends)}")
        print(f"ended twice: {sum(count > 1 for count in written.values())}; refused: {dict(self.refused)}")
        time.sleep(2.0)
        counts = re.compile("memstow_(jobs_queued|jobs_running|store_errors_total) ")
        print(*filter(counts.match, text_at(self.port, "/metrics").splitlines()), sep="; ")


QUEUED = (1_000, 10_000, 100_000)
KEYS = (1, 50)
CALLS = 40
BATCH = 1_000
IDLE_SECONDS = 30.0
SHORT_SECONDS = 2.0
UNLIMITED = 1 << 30


def draft(key: str, number: int) -> Draft:
    """A job of which no two are equal; every tenth is short."""
    return Draft(
        problem=b'{"version": 1, "buffers": []}',
        digest="d",
        cache_key=f"{key} {number}",
        buffers=0,
        options="{}",
        key_id=key,
        priority=number % 3,
        time_limit=1.0 if number % 10 == 0 else 60.0,
    )


def fill(jobs: Queue, keys: int, begin: int, end: int) -> None:
    """Let this many jobs wait, in batches."""
    size = min(BATCH, end // keys)
    for number in range(begin // size, end // size):
        key = f"k{number % keys}"
        jobs.submit_batch(key, None, [draft(key, number * size + i) for i in range(size)])


def milliseconds(call: Callable[[], object]) -> str:
    """The fastest of several calls: whatever else the machine does makes the others slower."""
    taken = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return f"{1e3 * min(taken):.2f}"


def empty(url: str) -> Database:
    """A store without jobs."""
    database = Database(url)
    if not database.sqlite:
        with database.write() as connection:
            metadata.drop_all(connection)
            connection.execute(text("DROP TABLE IF EXISTS alembic_version"))
    maintenance.upgrade(database)
    return database


def measured(url: str, name: str, keys: int) -> list[list[str]]:
    """Rows: one store, with more and more jobs."""
    database = empty(url)
    jobs, claims = Queue(database, Quotas(max_queued=UNLIMITED), SHORT_SECONDS), Claims(database)
    rows, begin = [], 0
    for end in QUEUED:
        fill(jobs, keys, begin, end)
        begin = end
        calls: tuple[Callable[[], object], ...] = (
            lambda: claims.claim("me", UNLIMITED),
            lambda: claims.claim("me", UNLIMITED, short_only=True),
            lambda: jobs.submit(draft("k0", time.monotonic_ns())),
            jobs.totals,
        )
        rows.append([name, f"{keys}", f"{end:,}", *map(milliseconds, calls)])
        # What runs is looked at by every claim: only the queue is to grow.
        claims.requeue_all(60)
    database.close()
    return rows


def idle_statements(url: str) -> list[str]:
    """Statements a second that a server with 8 slots sends while there is nothing to do."""
    port = free_port()
    command = [MEMSTOW, "serve", "--port", str(port)]
    database = empty(url)
    environment = {"MEMSTOW_DATABASE": url, "MEMSTOW_SLOTS": "8"}
    with running(command, port, environment):
        time.sleep(5)
        before = _transactions(database)
        time.sleep(IDLE_SECONDS)
        count = _transactions(database) - before
    database.close()
    return [f"{count / IDLE_SECONDS:.2f}"]


def _transactions(database: Database) -> int:
    with database.read() as connection:
        counted = text(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        )
        return int(connection.execute(counted).scalar_one())


def print_queue(urls: Sequence[str]) -> None:
    """Print both tables: of SQLite, and of each database."""
    rows = []
    for keys in KEYS:
        with tempfile.TemporaryDirectory() as folder:
            rows += measured(url_of(Path(folder)), "SQLite", keys)
        for url in urls:
            rows += measured(url, "PostgreSQL", keys)
    heads = (
        "store",
        "keys",
        "jobs that wait",
        "claim, ms",
        "claim of a short job, ms",
        "submit, ms",
        "counts, ms",
    )
    print(table(heads, rows, left=1))
    for url in urls:
        print(table(("transactions a second of an idle server with 8 slots",), [idle_statements(url)]))
    print(stamp())


CONNECTIONS = 900
JOBS = 2000
BUFFERS = (100, 1_000, 10_000, 50_000)
_SETTLE_SECONDS = 2.0


@contextmanager
def _settled(**settings: object) -> Iterator[tuple[int, int, Path]]:
    """As `service_with_data`, once the server has started what it keeps ready."""
    with service_with_data(**settings) as served:
        time.sleep(_SETTLE_SECONDS)
        yield served


def _of_children(pid: int) -> int:
    return max((resident(child) for child in children(pid)), default=0)


def idle() -> list[tuple[str, str]]:
    """A server that does nothing, and the process that it keeps ready."""
    with _settled(slots=1) as (_, pid, _folder):
        return [
            ("server, idle", _mebibytes(resident(pid))),
            ("process kept ready for the next job", _mebibytes(_of_children(pid))),
        ]


def connections() -> tuple[str, str]:
    """Each connection that is open and idle."""
    with ExitStack() as stack:
        port, pid, _ = stack.enter_context(
            _settled(slots=0, max_connections_per_address=CONNECTIONS + 1, idle_seconds=60)
        )
        before = resident(pid)
        for _ in range(CONNECTIONS):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            one.recv(4096)
        return ("each idle connection", _kibibytes((resident(pid) - before) / CONNECTIONS))


def queued() -> list[tuple[str, str]]:
    """Each job that waits: in the store, and in memory."""
    with _settled(slots=0, sync_seconds=0) as (port, pid, folder):
        before, disk = resident(pid), _size(folder)
        sent = bodies(JOBS)
        for body in sent:
            ask(port, "POST", "/v1/jobs", body)
        return [
            (
                f"each queued job of 30 buffers ({len(sent[0]) / 1024:.1f} KiB as JSON), on disk",
                _kibibytes((_size(folder) - disk) / JOBS),
            ),
            ("the same, in memory", _kibibytes(max(0.0, (resident(pid) - before) / JOBS))),
        ]


def solving() -> list[tuple[str, str]]:
    """The process of a job while it solves, at its largest."""
    rows = []
    for buffers in BUFFERS:
        with _settled(slots=1, fast_body=1) as (port, pid, _):
            problem = formats.write_problem(network(buffers, 1))
            options = b', "options": {"time_limit": 10.0}}'
            ask(port, "POST", "/v1/jobs", b'{"problem": ' + problem + options)
            most = 0
            end = time.monotonic() + 10
            while time.monotonic() < end:
                most = max(most, _of_children(pid))
                time.sleep(0.02)
        rows.append((f"process that solves {buffers:,} buffers", _mebibytes(most)))
    return rows


def _size(folder: Path) -> int:
    return sum(os.path.getsize(path) for path in folder.glob("memstow.sqlite*"))


def _mebibytes(size: float) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def _kibibytes(size: float) -> str:
    return f"{size / 1024:.1f} KiB"


CLUSTER_JOBS = 24
CLUSTER_BUFFERS = 300
CLUSTER_WORK = 50_000_000
CLUSTER_SLOTS = 8
LONG_SECONDS = 20.0
STILL_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor seconds, of one job or of one second of a solve."""

    server: float
    scheduler: float
    workers: float
    children: float


@dataclass(frozen=True, slots=True)
class Place:
    """A server, its scheduler and the workers."""

    port: int
    server: int
    scheduler: int
    workers: tuple[int, ...]

    def spent(self) -> Spent:
        """So far."""
        workers = sum(map(worked, self.workers))
        return Spent(
            worked(self.server), worked(self.scheduler), workers, sum(map(worked_by_children, self.workers))
        )

    def run(self, problems: list[Any], options: dict[str, object]) -> float:
        """Solve them all; seconds."""
        begin = time.monotonic()
        batch = {
            "problems": [{"problem": problem} for problem in problems],
            "settings": [{"name": "one", "options": options}],
        }
        name = ask(self.port, "POST", "/v1/batches", batch)["id"]
        while True:
            counts: dict[str, int] = ask(self.port, "GET", f"/v1/batches/{name}")["states"]
            if counts.get("done", 0) == len(problems):
                return time.monotonic() - begin
            if counts.get("failed", 0):
                raise RuntimeError(f"jobs failed: {counts}")
            time.sleep(0.5)


@contextmanager
def cluster(count: int) -> Iterator[Place]:
    """A server, a scheduler, and workers of one thread each."""
    with farm(count) as dask:
        settings = {
            "executor": "dask",
            "scheduler": dask.address,
            "slots": CLUSTER_SLOTS,
            "fast_seconds": 0.0,
        }
        with service(**settings, fast_seconds=0.0) as (served, server):
            place = Place(served, server, dask.scheduler, dask.workers)
            # What is imported and connected once is no part of a job.
            place.run(problems(2 * count, 1000), {"deterministic": True, "work_limit": 1000})
            yield place


def problems(count: int, first: int) -> list[Any]:
    """Problems that stay open."""
    generated = (planted(CLUSTER_BUFFERS, first + i, slack=0.01) for i in range(count))
    return [json.loads(formats.write_problem(problem)) for problem in generated]


def throughput(count: int) -> list[str]:
    """A row: jobs of bounded work."""
    with cluster(count) as place:
        idle = _still(place)
        before = place.spent()
        seconds = place.run(problems(CLUSTER_JOBS, 1), {"deterministic": True, "work_limit": CLUSTER_WORK})
        each = _each(before, place.spent(), idle, seconds, CLUSTER_JOBS)
    return [f"{count}", f"{CLUSTER_JOBS / seconds:.2f}", *_in_ms(each)]


def lasting() -> tuple[list[str], list[str]]:
    """Two rows: solves that go on, by the seconds of solves; and a second in which nothing happens."""
    with cluster(2) as place:
        idle = _still(place)
        before = place.spent()
        seconds = place.run(problems(2, 1), {"time_limit": LONG_SECONDS, "workers": 1})
        each = _each(before, place.spent(), idle, seconds, 2 * LONG_SECONDS)
    return _in_ms(each), _in_ms(idle)


def _still(place: Place) -> Spent:
    before = place.spent()
    time.sleep(STILL_SECONDS)
    return _each(before, place.spent(), Spent(0, 0, 0, 0), 0, STILL_SECONDS)


def _each(before: Spent, after: Spent, idle: Spent, seconds: float, count: float) -> Spent:
    """The usage for each of `count` problems, less that of idling for as long."""
    return Spent(
        (after.server - before.server - idle.server * seconds) / count,
        (after.scheduler - before.scheduler - idle.scheduler * seconds) / count,
        (after.workers - before.workers - idle.workers * seconds) / count,
        (after.children - before.children - idle.children * seconds) / count,
    )


def _in_ms(each: Spent) -> list[str]:
    return [f"{1000 * seconds:.1f}" for seconds in (each.server, each.scheduler, each.workers, each.children)]


def print_cluster() -> None:
    """Print both tables of a cluster."""
    spent = ("server, ms", "scheduler, ms", "workers, ms", "children, ms")
    print(table(("workers", "jobs a second", *spent), [throughput(count) for count in (1, 2, 4)]))
    print()
    busy, still = lasting()
    print(table(("a second", *spent), [["of a solve", *busy], ["with nothing to do", *still]]))
    print()
    print(stamp())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["kills", *words]:
            with tempfile.TemporaryDirectory() as folder:
                campaign = Campaign(Path(folder), words[1] if len(words) > 1 else None)
                campaign.run(float(words[0]) if words else KILL_SECONDS)
        case ["queue", *urls]:
            print_queue(urls)
        case ["cluster"]:
            print_cluster()
        case ["sizing"]:
            print(table(("what", "needs"), [*idle(), connections(), *queued(), *solving()]))
            print(f"\n{stamp()}")
        case _:
            sys.exit(__doc__)
