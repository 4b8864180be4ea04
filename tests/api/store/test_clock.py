"""What is old is decided by time that has passed, whatever the clocks of the servers show."""

import time

import pytest

from memstow.api.store import administration
from memstow.api.store.database import Database, StoreClock, read_time
from memstow.api.store.job_records import Ending, IdempotencyKey
from memstow.api.store.queue import Claims, Queue
from memstow.api.store.tables import Progress, State
from tests.api.store.drafts import draft

YEAR = 366 * 86_400.0


class Steady:
    """A steady clock of a server."""

    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


def shown(database: Database) -> float:
    with database.read() as connection:
        return read_time(connection)


def finished(jobs: Queue, claims: Claims, keep_seconds: float) -> str:
    job, _ = jobs.submit(draft())
    claims.claim("me", 9)
    ending = Ending(state=State.DONE, progress=Progress(), events=[], keep_seconds=keep_seconds)
    claims.finish(job, 1, ending)
    return job


@pytest.mark.parametrize("jump", [YEAR, -YEAR], ids=["forward", "back"])
def test_a_clock_that_jumps_removes_nothing_early_and_keeps_nothing_longer(
    database: Database, jobs: Queue, claims: Claims, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    steady = Steady(1000.0)
    clock = StoreClock(database, steady)
    clock.advance()
    key = IdempotencyKey("", "once", "print")
    replayed, _ = jobs.submit(draft(), key)
    jobs.stop(replayed, discard=True, keep_seconds=0)
    before = finished(jobs, claims, 3600.0)
    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + jump)
    after = finished(jobs, claims, 3600.0)
    for passed, kept in ((3500.0, True), (200.0, False)):
        steady.at += passed
        clock.advance()
        administration.remove_expired(database, 9)
        assert [jobs.get(job) is not None for job in (before, after)] == [kept, kept]
    assert jobs.find_submitted(key) == replayed
    steady.at += 86_400.0
    clock.advance()
    administration.remove_expired(database, 9)
    assert jobs.find_submitted(key) is None


def test_a_clock_that_jumped_while_no_server_ran_removes_nothing(
    database: Database, jobs: Queue, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    StoreClock(database, Steady(1000.0)).advance()
    job = finished(jobs, claims, 60.0)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    StoreClock(database, Steady(5.0)).advance()
    administration.remove_expired(database, 9)
    assert jobs.get(job) is not None


def test_time_goes_as_fast_with_several_servers_as_with_one(database: Database) -> None:
    steady = [Steady(7.0), Steady(5e6)]
    clocks = [StoreClock(database, entry) for entry in steady]
    begin = shown(database)
    for _ in range(10):
        for one, clock in zip(steady, clocks, strict=True):
            one.at += 30.0
            clock.advance()
    assert begin + 270.0 <= shown(database) <= begin + 300.0
    late = Steady(0.0)
    StoreClock(database, late).advance()
    assert shown(database) <= begin + 300.0, "the start of a server is no step"
