"""Callbacks in the store: due when their job ends, however it ends, and taken by one server at a time."""

from dataclasses import replace

import pytest

from memstow.api.store.database import Database, StoreClock
from memstow.api.store.job_records import Callbacks, Delivery, Ending, TakenCallback
from memstow.api.store.queue import Claims, Filter, Queue
from memstow.api.store.tables import Callback, Progress, State
from tests.api.store.drafts import draft

URL = "https://builds.example.com/memstow?token=1"


class Steady:
    """A clock that goes on when a test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def steady() -> Steady:
    return Steady()


@pytest.fixture
def callbacks(database: Database, steady: Steady) -> Callbacks:
    return Callbacks(database, StoreClock(database, steady))


def ended(jobs: Queue, url: str = URL) -> str:
    """A job that has ended, by being stopped while it waited."""
    job, _ = jobs.submit(draft(callback=url))
    assert jobs.stop(job, False, 60.0)
    return job


def told(jobs: Queue, job: str) -> Callback:
    result = jobs.get(job)
    assert result is not None
    assert result.callback is not None
    assert jobs.page(Filter(), 10)[0].callback == result.callback
    return result.callback


def taken(callbacks: Callbacks, *busy: str) -> TakenCallback:
    result = callbacks.take(busy)
    assert result is not None
    return result


def test_a_job_without_a_callback_has_none(jobs: Queue, callbacks: Callbacks) -> None:
    job, _ = jobs.submit(draft())
    jobs.stop(job, False, 60.0)
    result = jobs.get(job)
    assert result is not None
    assert result.callback is None
    assert callbacks.take(()) is None


def test_it_is_due_when_its_job_ends(jobs: Queue, claims: Claims, callbacks: Callbacks) -> None:
    job, _ = jobs.submit(draft(callback=URL))
    assert told(jobs, job) == Callback("https://builds.example.com", "waiting", 0, None, None)
    assert callbacks.take(()) is None
    claims.claim("server", 9)
    assert callbacks.take(()) is None
    ending = Ending(state=State.DONE, progress=Progress(), events=(), keep_seconds=60.0)
    assert claims.finish(job, 1, ending)
    assert told(jobs, job).state == "pending"
    result = taken(callbacks)
    assert (result.job.id, result.job.state, result.url, result.attempt) == (job, State.DONE, URL, 1)
    callbacks.record(result, Delivery.DELIVERED)
    after = told(jobs, job)
    assert (after.state, after.attempts, after.error) == ("delivered", 1, None)
    assert after.delivered is not None
    assert callbacks.take(()) is None


def test_a_failed_attempt_is_repeated_after_its_pause(
    jobs: Queue, callbacks: Callbacks, steady: Steady
) -> None:
    job = ended(jobs)
    callbacks.record(taken(callbacks), Delivery.PENDING, "http_503", 5.0)
    assert told(jobs, job) == Callback("https://builds.example.com", "pending", 1, "http_503", None)
    steady.seconds += 4.9
    assert callbacks.take(()) is None
    steady.seconds += 0.2
    second = taken(callbacks)
    assert second.attempt == 2
    assert second.seconds == pytest.approx(5.1)
    callbacks.record(second, Delivery.FAILED, "timeout")
    steady.seconds += 1e6
    assert callbacks.take(()) is None
    assert told(jobs, job).state == "failed"


def test_what_a_server_took_and_died_with_is_taken_again(
    jobs: Queue, callbacks: Callbacks, steady: Steady
) -> None:
    job = ended(jobs)
    first = taken(callbacks)
    assert callbacks.take(()) is None, "one server at a time"
    steady.seconds += 121
    second = taken(callbacks)
    callbacks.record(second, Delivery.DELIVERED)
    callbacks.record(first, Delivery.PENDING, "timeout", 0.0)
    assert told(jobs, job).state == "delivered", "the one that was taken for dead has no say"
    assert callbacks.take(()) is None
    assert replace(first, attempt=2, seconds=second.seconds) == second


def test_a_busy_receiver_leaves_the_turn_to_others(jobs: Queue, callbacks: Callbacks) -> None:
    first, second = ended(jobs), ended(jobs, "https://other.example/")
    assert taken(callbacks, "https://builds.example.com").job.id == second
    assert callbacks.take(["https://builds.example.com"]) is None
    assert taken(callbacks).job.id == first


def test_a_job_that_is_removed_tells_nobody(jobs: Queue, callbacks: Callbacks) -> None:
    job = ended(jobs)
    jobs.stop(job, True, 0.0)
    assert callbacks.take(()) is None
