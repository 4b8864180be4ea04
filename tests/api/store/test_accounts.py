"""Keys share the store: turns, limits and quotas, and the counts they rest on."""

import os
from collections import Counter
from random import Random

import pytest
from sqlalchemy import update

from memstow.api.store import administration
from memstow.api.store.database import Database
from memstow.api.store.job_records import Ending
from memstow.api.store.keys import KeyQuotaError, Keys, QueueFullError, Quotas, StoreFullError
from memstow.api.store.queue import ClaimedJob, Claims, Filter, Queue
from memstow.api.store.tables import Draft, JobEvent, Progress, State, keys
from tests.api.store.drafts import draft
from tests.api.store.recount import recount
from tests.campaign import gate_first


def run(claims: Claims, claimed: ClaimedJob | None, seconds: float = 1.0) -> str:
    """Let a claimed job run for so long; its key."""
    assert claimed is not None
    ending = Ending(
        state=State.DONE,
        progress=Progress(plan=b"plan"),
        events=[JobEvent("done", "{}")],
        keep_seconds=60,
        ran_seconds=seconds,
    )
    assert claims.finish(claimed.job.id, claimed.job.attempt, ending)
    return claimed.job.key_id or ""


def submit(jobs: Queue, count: int, key: str | None, **given: int) -> None:
    jobs.submit_batch(key, None, [draft(key_id=key, **given) for _ in range(count)])


def test_keys_take_turns_however_many_jobs_each_has(jobs: Queue, claims: Claims) -> None:
    submit(jobs, 20, "flood")
    submit(jobs, 3, "other")
    submit(jobs, 3, None)
    ran = [run(claims, claims.claim("me", 9)) for _ in range(9)]
    assert Counter(ran) == {"flood": 3, "other": 3, "": 3}
    assert [run(claims, claims.claim("me", 9)) for _ in range(3)] == ["flood"] * 3


def test_turns_are_of_seconds_not_of_jobs(jobs: Queue, claims: Claims) -> None:
    submit(jobs, 30, "long")
    submit(jobs, 30, "short")
    used: Counter[str] = Counter()
    for _ in range(24):
        claimed = claims.claim("me", 9)
        assert claimed is not None
        seconds = 5.0 if claimed.job.key_id == "long" else 1.0
        used[run(claims, claimed, seconds)] += int(seconds)
    assert abs(used["long"] - used["short"]) <= 5


def test_of_several_slots_each_key_gets_its_part_before_any_job_has_ended(
    jobs: Queue, claims: Claims
) -> None:
    submit(jobs, 20, "flood")
    submit(jobs, 20, "other")
    taken = [claims.claim("me", 9) for _ in range(6)]
    assert Counter(claimed_job.job.key_id for claimed_job in taken if claimed_job) == {"flood": 3, "other": 3}


def test_a_key_that_was_away_waits_for_nobody_and_keeps_nobody_waiting(jobs: Queue, claims: Claims) -> None:
    submit(jobs, 90, "always")
    for _ in range(50):
        run(claims, claims.claim("me", 9), 100.0)
    submit(jobs, 30, "new")
    assert run(claims, claims.claim("me", 9), 20.0) == "new", "it is its turn at once"
    ran = [run(claims, claims.claim("me", 9), 20.0) for _ in range(12)]
    assert ran.count("always") >= 4, "it has no claim on all that it did not use before"
    assert ran.count("new") >= 4


def test_priority_comes_before_turns(jobs: Queue, claims: Claims) -> None:
    submit(jobs, 3, "urgent", priority=5)
    submit(jobs, 3, "other")
    assert [run(claims, claims.claim("me", 9)) for _ in range(4)] == ["urgent"] * 3 + ["other"]


def test_a_limit_of_a_key_of_its_own_is_the_one_that_counts(
    database: Database, jobs: Queue, claims: Claims
) -> None:
    limited, _ = Keys(database).create("limited")
    free, _ = Keys(database).create("free")
    with database.write() as connection:
        for key, most in ((limited, 1), (free, 4)):
            connection.execute(update(keys).where(keys.c.id == key.id).values(max_running=most))
    submit(jobs, 9, limited.id)
    submit(jobs, 9, free.id)
    taken = [claims.claim("me", 2) for _ in range(7)]
    assert Counter(claimed_job.job.key_id for claimed_job in taken if claimed_job) == {
        limited.id: 1,
        free.id: 4,
    }


def test_only_short_jobs_are_claimed_for_slots_of_short_jobs(database: Database, claims: Claims) -> None:
    jobs = Queue(database, Quotas(max_queued=100), short_seconds=2.0)
    for limit in (None, 60.0, 2.1):
        jobs.submit(draft(time_limit=limit, priority=9))
    short, _ = jobs.submit(draft(time_limit=2.0))
    claimed = claims.claim("me", 9, short_only=True)
    assert claimed is not None
    assert claimed.job.id == short
    assert claims.claim("me", 9, short_only=True) is None
    assert sum(claims.claim("me", 9) is not None for _ in range(4)) == 3


def test_slots_for_first_jobs_are_for_keys_with_none_running_but_short_ones(
    database: Database, claims: Claims
) -> None:
    jobs = Queue(database, Quotas(max_queued=100), short_seconds=2.0)
    for key in ("busy", "new"):
        for limit in (60.0, 60.0, 1.0):
            jobs.submit(draft(time_limit=limit, key_id=key, priority=-int(limit < 2)))
    assert claims.claim("me", 9) is not None
    first = claims.claim("me", 9, first_only=True)
    assert first is not None
    assert first.job.key_id == "new"
    assert claims.claim("me", 9, first_only=True) is None
    run(claims, first)
    for _ in range(2):
        assert claims.claim("me", 9, short_only=True) is not None
    again = claims.claim("me", 9, first_only=True)
    assert again is not None
    assert again.job.key_id == "new", "its short job that runs does not count"


def test_a_key_has_no_more_jobs_waiting_than_it_may(database: Database, claims: Claims) -> None:
    own, _ = Keys(database).create("own")
    with database.write() as connection:
        connection.execute(update(keys).where(keys.c.id == own.id).values(max_queued=1))
    jobs = Queue(database, Quotas(max_queued=6, key_queued=2))
    for key, most, limit in (("other", 2, 2), (own.id, 1, 1)):
        submit(jobs, most, key)
        with pytest.raises(KeyQuotaError) as refused:
            submit(jobs, 1, key)
        assert (refused.value.setting, refused.value.limit) == ("key_queued", limit)
    submit(jobs, 3, None)
    with pytest.raises(QueueFullError):
        submit(jobs, 1, None)
    assert len(jobs.page(Filter(), 99)) == 6
    while claims.claim("me", 9) is not None:
        pass
    submit(jobs, 2, "other")
    recount(database)


def incompressible(size: int) -> bytes:
    return os.urandom(size)


def test_a_key_stores_no_more_than_it_may_until_it_removes_something(database: Database) -> None:
    own, _ = Keys(database).create("own")
    with database.write() as connection:
        connection.execute(update(keys).where(keys.c.id == own.id).values(max_stored_bytes=30_000))
    jobs = Queue(database, Quotas(max_queued=99, key_stored_bytes=20_000, max_stored_bytes=60_000))

    def add(key: str | None, size: int = 9_000) -> str:
        return jobs.submit(draft(key_id=key, problem=incompressible(size)))[0]

    for key, most in (("other", 2), (own.id, 3)):
        names = [add(key) for _ in range(most)]
        with pytest.raises(KeyQuotaError) as refused:
            add(key)
        assert (refused.value.setting, refused.value.own) == ("key_stored_bytes", "max_stored_bytes")
        jobs.stop(names[0], discard=True, keep_seconds=0)
        add(key)
    add(None)
    with pytest.raises(StoreFullError):
        add(None)
    recount(database)


def test_what_is_stored_of_results_counts_too(database: Database, jobs: Queue, claims: Claims) -> None:
    jobs.submit(draft(key_id="k"))
    before = jobs.totals().bytes
    claimed = claims.claim("me", 9)
    assert claimed is not None
    plan = incompressible(5_000)
    ending = Ending(
        state=State.DONE, progress=Progress(plan=plan), events=[JobEvent("done", "{}")], keep_seconds=-1
    )
    claims.finish(claimed.job.id, 1, ending)
    assert jobs.totals().bytes - before >= 5_000
    recount(database)
    administration.remove_expired(database, 9)
    assert (jobs.totals().queued, jobs.totals().running, jobs.totals().bytes) == (0, 0, 0)


PROBLEMS = [b"one", b"two", b"three"]


def random_draft(random: Random) -> Draft:
    return draft(
        problem=random.choice(PROBLEMS),
        hint=random.choice([None, *PROBLEMS]),
        plan=random.choice([None, b"plan"]),
        key_id=random.choice([None, "a", "b"]),
        priority=random.choice([0, 1]),
    )


class Users:
    """Users and servers who do whatever can be done, at random."""

    def __init__(self, jobs: Queue, claims: Claims, random: Random) -> None:
        self.jobs = jobs
        self.claims = claims
        self.random = random
        self.running: list[tuple[str, int]] = []

    def act(self) -> None:
        actions = [self.submit, self.batch, self.claim, self.claim, self.requeue, self.finish, self.stop]
        self.random.choice([*actions, self.stop, self.restart])()

    def restart(self) -> None:
        self.claims.requeue_all(60)

    def submit(self) -> None:
        self.jobs.submit(random_draft(self.random))

    def batch(self) -> None:
        one = random_draft(self.random)
        batch, _ = self.jobs.submit_batch(one.key_id, None, [one, one])
        if self.random.random() < 0.5:
            self.jobs.stop_batch(batch, discard=self.random.random() < 0.5, keep_seconds=60)

    def claim(self) -> None:
        claimed = self.claims.claim("me", 9)
        if claimed is not None:
            assert claimed.problem in PROBLEMS
            self.running.append((claimed.job.id, claimed.job.attempt))

    def requeue(self) -> None:
        if self.running:
            self.claims.requeue(*self.running.pop(), 60, lost=self.random.random() < 0.5, ran_seconds=1.0)

    def finish(self) -> None:
        if self.running:
            ending = Ending(
                state=self.random.choice([State.DONE, State.FAILED]),
                progress=Progress(value=1, plan=b"p" * self.random.randrange(99)),
                events=[JobEvent("done", "{}")],
                keep_seconds=self.random.choice([-1, 60]),
            )
            self.claims.finish(*self.running.pop(), ending)

    def stop(self) -> None:
        names = [job.id for job in self.jobs.page(Filter(), 99)]
        if names:
            job = self.random.choice(names)
            self.jobs.stop(job, discard=self.random.random() < 0.5, keep_seconds=60)


@pytest.mark.parametrize("seed", gate_first(range(3), 1))
def test_whatever_happens_to_jobs_the_counts_stay_right(
    database: Database, jobs: Queue, claims: Claims, seed: int
) -> None:
    users = Users(jobs, claims, Random(seed))
    for step in range(150):
        users.act()
        if step % 30 == 0:
            administration.remove_expired(database, 9)
            recount(database)
    recount(database)
    for job in jobs.page(Filter(), 300):
        assert jobs.document(job.id, "problem") in PROBLEMS
        jobs.stop(job.id, discard=True, keep_seconds=0)
    claims.requeue_all(60)
    recount(database)
    assert jobs.page(Filter(), 9) == []
    assert jobs.totals().bytes == 0
