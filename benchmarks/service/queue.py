"""Claims from a long queue: `python -m benchmarks.service.queue [URL]` prints two tables.

The first is of claims by the number of jobs that wait, of one key and of 50, and of what else is asked about
the queue. The second counts the statements of a server on PostgreSQL that has nothing to do. Without the URL
of an empty database on PostgreSQL, only SQLite is measured.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sqlalchemy import text

from benchmarks.page import stamp, table
from benchmarks.process import MEMSTOW
from benchmarks.service.servers import free_port, running
from memstow.api.store import maintenance
from memstow.api.store.database import Database, url_of
from memstow.api.store.keys import Quotas
from memstow.api.store.queue import Claims, Queue
from memstow.api.store.tables import Draft, metadata

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


def main(words: Sequence[str]) -> int:
    """Measure, and print."""
    rows = []
    for keys in KEYS:
        with tempfile.TemporaryDirectory() as folder:
            rows += measured(url_of(Path(folder)), "SQLite", keys)
        for url in words:
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
    for url in words:
        print(table(("transactions a second of an idle server with 8 slots",), [idle_statements(url)]))
    print(stamp())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
