"""A problem is stored once, however many jobs are about it, and goes with the last of them."""

import os
import threading

from sqlalchemy import func, select

from memstow.api.store.database import Database
from memstow.api.store.queue import Filter, Queue
from memstow.api.store.tables import bodies
from tests.api.store.drafts import draft
from tests.api.store.recount import recount


def stored(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(bodies)).scalar_one()


def test_a_batch_stores_each_of_its_problems_once(database: Database, jobs: Queue) -> None:
    large, hint = os.urandom(100_000), os.urandom(50_000)
    drafts = [draft(problem=large, hint=hint) for _ in range(50)]
    batch, _ = jobs.submit_batch(None, None, drafts)
    assert stored(database) == 2
    assert jobs.totals().bytes < 160_000
    result = jobs.batch_jobs(batch)
    assert len(result) == 50
    assert all(jobs.document(job.id, "problem") == large for job in result)
    assert all(jobs.document(job.id, "hint") == hint for job in result)
    recount(database)


def test_a_problem_goes_with_the_last_job_about_it(database: Database, jobs: Queue) -> None:
    one, two = (jobs.submit(draft(problem=b"same", hint=b"same"))[0] for _ in range(2))
    assert stored(database) == 1
    jobs.stop(one, discard=True, keep_seconds=0)
    assert jobs.document(two, "problem") == b"same"
    jobs.stop(two, discard=True, keep_seconds=0)
    assert stored(database) == 0
    assert jobs.totals().bytes == 0


def test_keys_do_not_share_problems(database: Database, jobs: Queue) -> None:
    """What a key has stored must not tell it what others have."""
    sizes = []
    for key in ("a", "b"):
        before = jobs.totals().bytes
        jobs.submit(draft(key_id=key, problem=b"same"))
        sizes.append(jobs.totals().bytes - before)
    assert sizes[0] == sizes[1] > 0
    assert stored(database) == 2


def test_a_problem_that_goes_and_comes_at_the_same_time_is_there_for_the_job_that_needs_it(
    database: Database, jobs: Queue
) -> None:
    failures: list[BaseException] = []

    def submit_and_remove() -> None:
        try:
            for _ in range(25):
                job, _ = jobs.submit(draft(problem=b"same"))
                assert jobs.document(job, "problem") == b"same"
                jobs.stop(job, discard=True, keep_seconds=0)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=submit_and_remove) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert jobs.page(Filter(), 9) == []
    assert stored(database) == 0
    recount(database)
