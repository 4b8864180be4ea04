"""Servers on PostgreSQL hear of jobs from each other, and say when they cannot."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from memstow.api.store import maintenance
from memstow.api.store.administration import Administration
from memstow.api.store.database import Database
from memstow.api.store.job_records import Ending, Notices
from memstow.api.store.keys import Quotas
from memstow.api.store.queue import Claims, Queue
from memstow.api.store.tables import Progress, State
from tests.api.postgres import Postgres
from tests.api.store.drafts import draft
from tests.waiting import wait_for


class Heard:
    """How many notices there were."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@contextmanager
def listening(database: Database, heard: Heard) -> Iterator[Notices]:
    notices, stopped = Notices(database, heard), threading.Event()
    thread = threading.Thread(target=notices.serve, args=(stopped,))
    thread.start()
    try:
        wait_for(lambda: notices.reliable, "the connection for notices")
        yield notices
    finally:
        stopped.set()
        thread.join()


@pytest.fixture
def url(pg: Postgres) -> str:
    url = pg.database()
    database = Database(url)
    maintenance.upgrade(database)
    database.close()
    return url


def test_another_server_hears_of_jobs_that_come_and_of_room_that_others_leave(url: str) -> None:
    here, there = Database(url), Database(url)
    jobs, claims, heard = Queue(there, Quotas(max_queued=9)), Claims(there), Heard()
    ending = Ending(state=State.DONE, progress=Progress(), events=[], keep_seconds=60)
    with listening(here, heard):
        wait_for(lambda: heard.count, "the first look")
        job, _ = jobs.submit(draft())
        wait_for(lambda: heard.count == 2, "a notice of the new job")
        claims.claim("me", 9)
        assert claims.requeue(job, 1, 60)
        wait_for(lambda: heard.count == 3, "a notice of the job that was put back")
        claims.claim("me", 9)
        assert claims.finish(job, 2, ending)
        wait_for(lambda: heard.count == 4, "a notice of the end")
        Administration(there).resume()
        wait_for(lambda: heard.count == 5, "a notice that jobs are claimed again")
    here.close()
    there.close()


def test_a_lost_connection_is_noticed_and_made_again(url: str) -> None:
    database, heard = Database(url), Heard()
    with listening(database, heard) as notices:
        before = wait_for(lambda: heard.count, "the first look")
        with database.write() as connection:
            ended = connection.execute(
                text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
            ).scalars()
            assert list(ended) == [True]
        wait_for(lambda: heard.count > before, "another connection, and a look at what came in the meantime")
        wait_for(lambda: notices.reliable, "notices to be relied on again")
    assert not notices.reliable
    database.close()
