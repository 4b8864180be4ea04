"""A claim takes the same work however many jobs wait, and asks no question that reads them all."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from memstow.api.store import maintenance
from memstow.api.store.database import Database, url_of
from memstow.api.store.keys import Quotas
from memstow.api.store.queue import Claims, Queue
from tests.api.store.drafts import draft

STEPS = 10


class Counted:
    """A store of SQLite that counts the steps of its statements."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(url_of(folder), connections=1)
        self.steps = 0
        sa.event.listen(self.database.engine, "connect", self._watch)

    def _watch(self, connection: sqlite3.Connection, _entry: object) -> None:
        connection.set_progress_handler(self._count, STEPS)

    def _count(self) -> int:
        self.steps += STEPS
        return 0

    @contextmanager
    def counting(self) -> Iterator[list[int]]:
        before, counted = self.steps, [0]
        yield counted
        counted[0] = self.steps - before


@pytest.mark.parametrize("keys", [1, 50])
def test_the_work_of_a_claim_does_not_grow_with_the_queue(tmp_path: Path, keys: int) -> None:
    store = Counted(tmp_path)
    maintenance.upgrade(store.database)
    jobs, claims = Queue(store.database, Quotas(max_queued=10_000), 2.0), Claims(store.database)
    work: list[list[int]] = []
    for _ in range(2):
        for _ in range(4 if work else 1):
            for key in range(keys):
                drafts = [
                    draft(key_id=f"k{key}", time_limit=1.0 + i % 2 * 9, priority=i % 3)
                    for i in range(1000 // keys)
                ]
                jobs.submit_batch(f"k{key}", None, drafts)
        claims.claim("me", 9)
        each = []
        for call in (
            lambda: claims.claim("me", 99),
            lambda: claims.claim("me", 99, short_only=True),
            jobs.totals,
            jobs.has_room,
            lambda: jobs.submit(draft(key_id="k0")),
        ):
            with store.counting() as counted:
                assert call()
            each.append(counted[0])
        work.append(each)
    store.database.close()
    few, many = work
    assert all(more <= 1.5 * less + 300 for less, more in zip(few, many, strict=True)), work
