"""The store keeps its promises, on SQLite and on PostgreSQL alike."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from memstow.api.operations.request_types import SolveResult
from memstow.api.store import administration, job_records, maintenance, plan_cache
from memstow.api.store.database import Database, DiskFullError, StoreError, set_file_up, url_of
from memstow.api.store.job_records import Ending, IdempotencyKey, JobEvents, KeyReusedError
from memstow.api.store.keys import Keys, QueueFullError, Quotas, RefusedKey, Role, WhyRefused
from memstow.api.store.plan_cache import CachedPlan, CacheWriter, PlanCache
from memstow.api.store.queue import Claims, Filter, Queue
from memstow.api.store.tables import JobEvent, Progress, State, Stop, metadata
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable
from tests.api.store.drafts import draft
from tests.api.store.passing import let_pass
from tests.waiting import PATIENCE


def solved(plan: bytes, value: int | None = None) -> SolveResult:
    return SolveResult(plan=plan, status="feasible", value=value, bound=0, peak=value, solver="greedy")


def ending(
    progress: Progress, events: list[JobEvent], keep_seconds: float, state: State = State.DONE
) -> Ending:
    return Ending(state=state, progress=progress, events=events, keep_seconds=keep_seconds)


def test_the_steps_lead_to_the_tables(database: Database) -> None:
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    assert maintenance.current(database) == maintenance.newest()


def test_of_many_servers_that_start_at_once_one_runs_the_steps(store_url: str) -> None:
    def start(_: int) -> tuple[str | None, str | None]:
        database = Database(store_url)
        try:
            return maintenance.upgrade(database)
        finally:
            database.close()

    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(start, range(4)))
    newest = maintenance.newest()
    assert sorted(ran, key=str) == sorted([(None, newest), *[(newest, newest)] * 3], key=str)


def test_writers_that_come_at_once_all_have_their_turn(tmp_path: Path) -> None:
    """Each transaction is longer than a writer would wait at the file, so waiting there would not do."""
    database = Database(url_of(tmp_path), connections=20, lock_seconds=PATIENCE)
    maintenance.upgrade(database)
    jobs = Queue(database, Quotas(max_queued=1000))
    with database.write():
        pool = ThreadPoolExecutor(16)
        made = [pool.submit(jobs.submit, draft()) for _ in range(64)]
        reader = jobs.totals()
    assert reader.queued == 0, "who only reads does not wait"
    assert len({one.result()[0] for one in made}) == 64
    pool.shutdown()
    database.close()


def test_a_writer_that_does_not_end_is_told_in_time(tmp_path: Path) -> None:
    database = Database(url_of(tmp_path), lock_seconds=0.1)
    maintenance.upgrade(database)
    jobs = Queue(database, Quotas(max_queued=1000))
    with database.write(), ThreadPoolExecutor(1) as pool:
        refused = pool.submit(jobs.submit, draft()).exception()
    assert isinstance(refused, StoreError)
    assert "another transaction writes" in str(refused)
    assert jobs.submit(draft())[1]
    database.close()


def test_another_process_that_hardly_pauses_between_its_writes_does_not_keep_one_out(tmp_path: Path) -> None:
    database = Database(url_of(tmp_path), connections=1, lock_seconds=PATIENCE)
    maintenance.upgrade(database)
    jobs = Queue(database, Quotas(max_queued=1000))
    other = sqlite3.connect(tmp_path / "memstow.sqlite", isolation_level=None, check_same_thread=False)
    pauses, writes, over = 0, threading.Event(), threading.Event()

    def write() -> None:
        nonlocal pauses
        while not over.is_set():
            other.execute("BEGIN IMMEDIATE")
            writes.set()
            over.wait(0.385)
            writes.clear()
            other.execute("ROLLBACK")
            pauses += 1
            over.wait(0.015)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        for _ in range(6):
            writes.wait()
            jobs.submit(draft())
        over.set()
        writer.result()
    # SQLite alone looks every 100 ms after a while, and then never in a pause: these come every 400 ms.
    assert pauses <= 18
    other.close()
    database.close()


def test_a_writer_that_another_process_keeps_out_says_so(tmp_path: Path) -> None:
    database = Database(url_of(tmp_path), lock_seconds=0.1)
    maintenance.upgrade(database)
    other = sqlite3.connect(tmp_path / "memstow.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    jobs = Queue(database, Quotas(max_queued=1000))
    with pytest.raises(StoreError, match=r"another process writes to the store since 0\.1 s; try again"):
        jobs.submit(draft())
    other.execute("ROLLBACK")
    assert jobs.submit(draft())[1]
    other.close()
    database.close()


_OPENS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from sqlalchemy import text
from memstow.api.store.database import Database, url_of
from pathlib import Path

def open_it(folder):
    database = Database(url_of(Path(folder)), lock_seconds=300.0)
    try:
        with database.read() as connection:
            return connection.execute(text("PRAGMA journal_mode")).scalar()
    finally:
        database.close()

print("ready", flush=True)
with ThreadPoolExecutor(4) as pool:
    for line in sys.stdin:
        print(*pool.map(open_it, [line.strip()] * 4), flush=True)
"""


def test_a_new_file_can_be_opened_from_many_threads_and_processes_at_once(tmp_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        openers = [
            stack.enter_context(subprocess.Popen([sys.executable, "-c", _OPENS], **pipes))  # type: ignore[call-overload]
            for _ in range(3)
        ]
        for opener in openers:
            assert opener.stdout.readline() == "ready\n"
        for number in range(10):
            (tmp_path / str(number)).mkdir()
            for opener in openers:
                print(tmp_path / str(number), file=opener.stdin, flush=True)
            for opener in openers:
                assert opener.stdout.readline().split() == ["wal"] * 4
        for opener in openers:
            opener.stdin.close()


class _Refusing:
    """A cursor that SQLite refuses the log a few times, at once, as it does in a race."""

    def __init__(self, times: int, code: int) -> None:
        self.left = times
        self._code = code

    def execute(self, statement: str) -> "_Refusing":
        if "=" in statement and self.left:
            self.left -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = self._code
            raise error
        return self

    def fetchone(self) -> tuple[str]:
        return ("delete",)


def test_what_sqlite_refuses_at_once_for_a_race_is_tried_again_and_nothing_else_is() -> None:
    for code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_LOCKED):
        cursor = _Refusing(3, code)
        set_file_up(cursor, 300.0)
        assert cursor.left == 0
    cursor = _Refusing(3, sqlite3.SQLITE_READONLY)
    with pytest.raises(sqlite3.OperationalError):
        set_file_up(cursor, 300.0)
    assert cursor.left == 2
    with pytest.raises(sqlite3.OperationalError):
        set_file_up(_Refusing(1 << 30, sqlite3.SQLITE_BUSY), 0.02)


def test_a_file_that_stays_locked_is_told_in_time(tmp_path: Path) -> None:
    file = tmp_path / "memstow.sqlite"
    held = sqlite3.connect(file, isolation_level=None)
    held.execute("CREATE TABLE some (thing)")
    held.execute("BEGIN EXCLUSIVE")
    database = Database(url_of(tmp_path), lock_seconds=0.1)
    with pytest.raises(StoreError, match="locked"), database.read():
        pass
    held.execute("ROLLBACK")
    with database.read() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    held.close()
    database.close()


def test_a_job_comes_back_as_it_was_put_in(jobs: Queue) -> None:
    job, made = jobs.submit(draft(problem=b"problem", hint=b"hint", name="n", priority=3, term="peak"))
    result = jobs.get(job)
    assert made
    assert result is not None
    assert (result.state, result.name, result.priority, result.term) == (State.QUEUED, "n", 3, "peak")
    assert jobs.document(job, "problem") == b"problem"
    assert jobs.document(job, "hint") == b"hint"
    assert jobs.document(job, "plan") is None


def test_priority_comes_before_age(jobs: Queue, claims: Claims) -> None:
    old, _ = jobs.submit(draft())
    new, _ = jobs.submit(draft())
    urgent, _ = jobs.submit(draft(priority=5))
    taken = [claims.claim("me", 9) for _ in range(4)]
    names = [claimed_job.job.id if claimed_job else None for claimed_job in taken]
    assert names[0] == urgent
    assert set(names[1:3]) == {old, new}
    assert names[3] is None


def test_a_full_queue_refuses_and_room_comes_back(database: Database, claims: Claims) -> None:
    jobs = Queue(database, Quotas(max_queued=2))
    jobs.submit(draft())
    jobs.submit(draft())
    with pytest.raises(QueueFullError):
        jobs.submit(draft())
    assert not jobs.has_room()
    claims.claim("me", 9)
    jobs.submit(draft())


def test_a_batch_is_there_whole_or_not_at_all(database: Database) -> None:
    jobs = Queue(database, Quotas(max_queued=3))
    with pytest.raises(QueueFullError):
        jobs.submit_batch(None, "b", [draft() for _ in range(4)])
    assert jobs.page(Filter(), 10) == []
    batch, _ = jobs.submit_batch(None, "b", [draft(name=f"{i}") for i in range(3)])
    assert [job.name for job in jobs.batch_jobs(batch)] == ["0", "1", "2"]


def test_two_workers_never_take_the_same_job(jobs: Queue, claims: Claims) -> None:
    names = {jobs.submit(draft())[0] for _ in range(20)}
    taken: list[str] = []
    lock = threading.Lock()

    def work() -> None:
        while (one := claims.claim(threading.current_thread().name, 99)) is not None:
            with lock:
                taken.append(one.job.id)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(names)


def test_a_key_has_no_more_running_than_its_share(jobs: Queue, claims: Claims) -> None:
    for _ in range(2):
        jobs.submit(draft(key_id="k"))
    other, _ = jobs.submit(draft(key_id="o"))
    first, second, third = (claims.claim("me", 1) for _ in range(3))
    assert first is not None
    assert second is not None
    assert {first.job.key_id, second.job.key_id} == {"k", "o"}
    assert other in (first.job.id, second.job.id)
    assert third is None


def test_of_equal_jobs_one_runs_unless_it_must_be_solved_anew(jobs: Queue, claims: Claims) -> None:
    jobs.submit(draft(cache_key="same"))
    jobs.submit(draft(cache_key="same"))
    fresh, _ = jobs.submit(draft(cache_key="same", fresh=True, priority=-1))
    assert claims.claim("me", 9) is not None
    second = claims.claim("me", 9)
    assert second is not None
    assert second.job.id == fresh
    assert claims.claim("me", 9) is None


def test_what_a_run_says_counts_only_while_it_is_the_current_one(
    jobs: Queue, claims: Claims, events: JobEvents
) -> None:
    job, _ = jobs.submit(draft())
    first = claims.claim("a", 9)
    assert first is not None
    assert claims.record(job, 1, Progress(value=9, plan=b"nine"), [JobEvent("incumbent", '{"value": 9}')])
    assert claims.requeue(job, 1, 60)
    second = claims.claim("b", 9)
    assert second is not None
    assert (second.job.attempt, second.plan) == (2, b"nine")
    assert not claims.record(job, 1, Progress(value=1), [])
    assert not claims.finish(job, 1, ending(Progress(value=1), [JobEvent("done", "{}")], 60))
    assert claims.finish(job, 2, ending(Progress(value=8, plan=b"eight"), [JobEvent("done", "{}")], 60))
    assert not claims.finish(job, 2, ending(Progress(value=7), [JobEvent("done", "{}")], 60))
    result = jobs.get(job)
    assert result is not None
    assert (result.state, result.value, jobs.document(job, "plan")) == (State.DONE, 8, b"eight")
    assert [event.kind for event in events.after(job, 0)] == ["incumbent", "done"]


def test_what_a_run_says_is_written_to_its_own_job_alone(jobs: Queue, claims: Claims) -> None:
    one, _ = jobs.submit(draft())
    other, _ = jobs.submit(draft())
    assert {claim.job.id for _ in range(2) if (claim := claims.claim("a", 9))} == {one, other}
    assert claims.record(one, 1, Progress(value=9, bound=3, plan=b"nine"), [])
    assert claims.record(other, 1, Progress(value=5), [])
    result = [jobs.get(job) for job in (one, other)]
    assert [entry and (entry.value, entry.bound) for entry in result] == [(9, 3), (5, None)]
    assert [jobs.document(job, "plan") for job in (one, other)] == [b"nine", None]


def test_only_the_current_run_of_a_job_is_put_back(jobs: Queue, claims: Claims) -> None:
    job, _ = jobs.submit(draft())
    claims.claim("a", 9)
    assert claims.requeue(job, 1, 60)
    assert not claims.requeue(job, 1, 60), "it does not run"
    claims.claim("b", 9)
    assert not claims.requeue(job, 1, 60), "another has it by now"
    result = jobs.get(job)
    assert result is not None
    assert (result.state, result.attempt) == (State.RUNNING, 2)
    assert claims.requeue(job, 2, 60)


def test_the_times_of_a_job_are_those_of_its_first_begin_and_its_last_improvement(
    jobs: Queue, monkeypatch: pytest.MonkeyPatch, claims: Claims
) -> None:
    at = [1000.0]
    monkeypatch.setattr(time, "time", lambda: at[0])

    def times(job: str) -> tuple[float | None, ...]:
        result = jobs.get(job)
        assert result is not None
        return result.started, result.improved, result.finished, result.expires

    job, _ = jobs.submit(draft())
    claims.claim("a", 9)
    at[0] = 1010.0
    claims.record(job, 1, Progress(value=9), [])
    assert times(job) == (1000.0, 1010.0, None, None)
    at[0] = 1020.0
    claims.record(job, 1, Progress(bound=3), [])
    claims.requeue(job, 1, 60)
    claims.claim("b", 9)
    at[0] = 1030.0
    claims.finish(job, 2, ending(Progress(), [], 60.0))
    assert times(job) == (1000.0, 1010.0, 1030.0, 1090.0)


def test_jobs_of_one_moment_are_in_one_page_or_the_other(
    jobs: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    names = sorted((jobs.submit(draft())[0] for _ in range(3)), reverse=True)
    first = jobs.page(Filter(), 2)
    second = jobs.page(Filter(before=(first[-1].created, first[-1].id)), 2)
    assert [job.id for job in (*first, *second)] == names


def test_a_name_of_characters_that_cannot_be_printed_has_room(jobs: Queue) -> None:
    name = printable("\U000e0001" * 200, 200)
    job, _ = jobs.submit(draft(name=name))
    (result,) = jobs.page(Filter(search="\\U"), 9)
    assert result.id == job
    assert result.name is not None
    assert name.startswith(result.name)


def test_jobs_are_found_by_a_part_of_their_name(jobs: Queue) -> None:
    for name in ("A%b", "axb", "a_B", None):
        jobs.submit(draft(name=name))
    for search, names in {"a%": ["A%b"], "A_": ["a_B"], "b": ["a_B", "axb", "A%b"], "ab": []}.items():
        assert [job.name for job in jobs.page(Filter(search=search), 9)] == names


def test_a_bound_goes_with_its_value_and_not_with_a_later_one(jobs: Queue, claims: Claims) -> None:
    job, _ = jobs.submit(draft())
    claims.claim("server", 9)
    claims.record(job, 1, Progress(value=9, bound=9, plan=b"nine"), [])
    claims.record(job, 1, Progress(solver="mine"), [])
    result = jobs.get(job)
    assert result is not None
    assert (result.value, result.bound, result.gap) == (9, 9, 0.0)
    # The first point of a front so far, of which nothing is proven yet.
    claims.record(job, 1, Progress(value=8, plan=b"eight"), [])
    result = jobs.get(job)
    assert result is not None
    assert (result.value, result.bound, result.gap) == (8, None, None)


def test_jobs_without_a_name_are_found_by_what_they_are_called(jobs: Queue) -> None:
    nameless, _ = jobs.submit(draft(name=None))
    named, _ = jobs.submit(draft(name="a job of two"))
    (job,) = [one for one in jobs.page(Filter(), 9) if one.id == nameless]
    shown = f"{job.buffers:,} {'buffer' if job.buffers == 1 else 'buffers'}, job {nameless[:8]}"

    def ids_of(search: str, nameless: bool = True) -> set[str]:
        return {job.id for job in jobs.page(Filter(search=search, nameless=nameless), 9)}

    assert ids_of(shown) == ids_of(nameless[:8].upper()) == {nameless}
    assert ids_of("job") == {nameless, named}
    assert ids_of(named) == ids_of(named[:8]) == {named}
    assert ids_of(",") == ids_of("no such") == set()
    # What is ended by its name has one.
    assert ids_of("job", nameless=False) == {named}


def test_jobs_that_are_stopped_in_parts_are_all_stopped_in_the_end(jobs: Queue, claims: Claims) -> None:
    names = [jobs.submit(draft(name="part", key_id="ab"[i % 2]))[0] for i in range(5)]
    claims.claim("server", 9)
    other, _ = jobs.submit(draft(name="other"))
    for discard, left in ((False, 5), (True, 1)):
        stopped = []
        while part := jobs.stop_all(Filter(search="part"), discard, 60.0, 2):
            assert len(part) <= 2
            stopped += part
        assert sorted(stopped) == sorted(names)
        assert len(jobs.page(Filter(search="part"), 9)) == left
    (running,) = jobs.page(Filter(search="part"), 9)
    assert (running.state, running.stop) == (State.RUNNING, Stop.DISCARD)
    assert jobs.totals().queued == 1
    result = jobs.get(other)
    assert result is not None
    assert result.state is State.QUEUED


def test_a_heartbeat_is_of_the_current_run(jobs: Queue, claims: Claims) -> None:
    job, _ = jobs.submit(draft())
    claims.claim("a", 9)
    claims.requeue(job, 1, 60)
    claims.claim("b", 9)
    assert claims.heartbeat([(job, 1)]) == {job: None}
    assert claims.heartbeats() == {job: (2, 0)}


def test_a_batch_whose_jobs_run_is_there_until_they_have_ended(jobs: Queue, claims: Claims) -> None:
    batch, _ = jobs.submit_batch(None, "b", [draft(), draft()])
    claims.claim("a", 9)
    jobs.stop_batch(batch, discard=True, keep_seconds=60)
    assert jobs.batch(batch) is not None
    (running,) = jobs.batch_jobs(batch)
    assert (running.state, running.stop) == (State.RUNNING, Stop.DISCARD)
    other, _ = jobs.submit_batch(None, "b", [draft()])
    jobs.stop_batch(other, discard=True, keep_seconds=60)
    assert jobs.batch(other) is None


def test_an_answer_that_is_asked_for_is_kept_before_one_that_is_not(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [1000.0]
    monkeypatch.setattr(time, "time", lambda: at[0])
    cache = PlanCache(database)
    for name in ("first", "second"):
        cache.store([CachedPlan(name, solved(b"p"), name, False)])
        assert cache.best_of(name) is None, "it was not said to be the best"
        at[0] += 10
    at[0] += 7200
    assert cache.find("first") is not None
    administration.remove_expired(database, 1)
    assert cache.find("first") is not None
    assert cache.find("second") is None


def test_values_can_be_larger_than_any_machine_integer(jobs: Queue, claims: Claims) -> None:
    job, _ = jobs.submit(draft())
    claims.claim("me", 9)
    claims.finish(job, 1, ending(Progress(value=1 << 70, bound=(1 << 70) - 1), [], 60))
    result = jobs.get(job)
    assert result is not None
    assert (result.value, result.bound) == (1 << 70, (1 << 70) - 1)


def test_a_heartbeat_tells_what_the_owner_wants(jobs: Queue, claims: Claims) -> None:
    job, _ = jobs.submit(draft())
    claims.claim("me", 9)
    assert claims.heartbeat([(job, 1)]) == {job: Stop.NO}
    assert claims.heartbeats() == {job: (1, 1)}
    assert jobs.stop(job, False, 60)
    assert claims.heartbeat([(job, 1), ("gone", 1)]) == {job: Stop.KEEP, "gone": None}


def test_a_stopped_job_is_not_put_back(jobs: Queue, claims: Claims) -> None:
    keep, _ = jobs.submit(draft())
    discard, _ = jobs.submit(draft())
    for job in (keep, discard):
        claims.claim("me", 9)
        jobs.stop(job, job == discard, 60)
        assert not claims.requeue(job, 1, 60)
    result = jobs.get(keep)
    assert result is not None
    assert result.state is State.CANCELLED
    assert jobs.get(discard) is None


@pytest.mark.parametrize("at_start", [True, False], ids=["server restarted", "taken over"])
def test_a_cancelled_job_keeps_its_plan_when_its_server_dies(
    database: Database, jobs: Queue, claims: Claims, at_start: bool
) -> None:
    job, _ = jobs.submit(draft())
    claims.claim("me", 9)
    claims.record(job, 1, Progress(value=7, bound=3, status="feasible", plan=b"seven"), [])
    jobs.stop(job, discard=False, keep_seconds=60)
    if at_start:
        claims.requeue_all(60)
    else:
        claims.requeue(job, 1, 60)
    administration.remove_expired(database, 9)
    result = jobs.get(job)
    assert result is not None, "it is kept as long as any other"
    assert (result.state, result.value) == (State.CANCELLED, 7)
    assert result.expires is not None
    assert result.finished is not None
    assert result.expires == pytest.approx(result.finished + 60)
    assert jobs.document(job, "plan") == b"seven"
    (done,) = JobEvents(database).after(job, 0)
    assert json.loads(done.data) == {"state": "cancelled", "status": "feasible", "value": 7, "bound": 3}


def test_an_idempotency_key_makes_one_job(jobs: Queue) -> None:
    key = IdempotencyKey("", "once", "print")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: jobs.submit(draft(), key), range(4)))
    assert len({job for job, _ in made}) == 1
    assert sum(new for _, new in made) == 1
    with pytest.raises(KeyReusedError):
        jobs.submit(draft(), IdempotencyKey("", "once", "other"))
    assert jobs.submit(draft(), IdempotencyKey("someone", "once", "other"))[1]


def test_a_key_is_kept_for_a_day(database: Database, jobs: Queue) -> None:
    """A day from when it was made, though its job is gone long before."""
    key = IdempotencyKey("", "once", "print")
    job, _ = jobs.submit(draft(), key)
    jobs.stop(job, discard=True, keep_seconds=0)
    for hours, kept in ((1, True), (22.9, True), (0.2, False)):
        let_pass(database, hours * 3600)
        administration.remove_expired(database, 10)
        assert jobs.find_submitted(key) == (job if kept else None)
    again, new = jobs.submit(draft(), key)
    assert new
    assert again != job


def test_pages_go_on_where_they_ended(jobs: Queue) -> None:
    names = {jobs.submit(draft(key_id="k"))[0] for _ in range(5)}
    jobs.submit(draft(key_id="o"))
    first = jobs.page(Filter(key_id="k"), 3)
    last = first[-1]
    second = jobs.page(Filter(key_id="k", before=(last.created, last.id)), 3)
    assert {job.id for job in [*first, *second]} == names
    assert jobs.page(Filter(state=State.DONE), 3) == []


def test_a_job_never_says_more_than_a_bounded_number_of_things(
    jobs: Queue, monkeypatch: pytest.MonkeyPatch, claims: Claims, events: JobEvents
) -> None:
    monkeypatch.setattr(job_records, "MOST_EVENTS", 3)
    job, _ = jobs.submit(draft())
    claims.claim("me", 9)
    for value in range(9):
        claims.record(job, 1, Progress(), [JobEvent("incumbent", json.dumps({"value": value}))])
    claims.finish(job, 1, ending(Progress(), [JobEvent("done", "{}")], 60))
    assert [event.kind for event in events.after(job, 0)] == ["incumbent"] * 3 + ["done"]
    assert events.last_numbers([job, "gone"]) == {job: 4}


def test_what_is_over_its_time_goes_with_all_that_belongs_to_it(
    database: Database, jobs: Queue, claims: Claims, events: JobEvents
) -> None:
    over, _ = jobs.submit(draft())
    claims.claim("me", 9)
    claims.finish(over, 1, ending(Progress(plan=b"p"), [JobEvent("done", "{}")], -1))
    waiting, _ = jobs.submit(draft())
    assert administration.remove_expired(database, 10) == 1
    assert jobs.get(over) is None
    assert jobs.document(over, "problem") is None
    assert events.after(over, 0) == []
    assert jobs.get(waiting) is not None


def test_jobs_are_forgotten_a_part_at_a_time_until_none_is_over_its_time(
    database: Database, jobs: Queue, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administration, "_AT_ONCE", 2)
    for _ in range(5):
        jobs.submit(draft())
        taken = claims.claim("me", 9)
        assert taken is not None
        claims.finish(taken.job.id, 1, ending(Progress(plan=b"p"), [JobEvent("done", "{}")], -1))
    assert administration.remove_expired(database, 10) == 5
    assert jobs.page(Filter(), 9) == []


def test_a_batch_is_kept_as_long_as_a_job_of_it(database: Database, jobs: Queue, claims: Claims) -> None:
    batch, _ = jobs.submit_batch(None, "b", [draft()])
    let_pass(database, 3600.0)
    administration.remove_expired(database, 10)
    assert jobs.batch(batch) is not None
    taken = claims.claim("me", 9)
    assert taken is not None
    claims.finish(taken.job.id, 1, ending(Progress(plan=b"p"), [JobEvent("done", "{}")], -1))
    administration.remove_expired(database, 10)
    assert jobs.batch(batch) is None


def test_the_file_of_a_store_shrinks_when_what_it_held_is_gone(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'store.sqlite'}")
    maintenance.upgrade(database)
    jobs = Queue(database, Quotas(max_queued=100))
    job, _ = jobs.submit(draft(problem=os.urandom(3 << 20)))
    jobs.stop(job, discard=True, keep_seconds=0)
    administration.remove_expired(database, 10)
    with database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA freelist_count").scalar_one() == 0
    database.close()
    assert (tmp_path / "store.sqlite").stat().st_size < 1 << 20


def feasible(value: int) -> SolveResult:
    """A plan with this peak."""
    plan = b'{"status": "feasible", "objective": [{"term": "peak", "value": %d, "bound": 1, "gap": 0.5}]}'
    return solved(plan % value, value)


def test_a_plan_is_the_best_for_others_before_it_is_written(database: Database) -> None:
    cache = PlanCache(database)
    writer = CacheWriter(cache)  # which does not run yet
    writer.write(CachedPlan("d", feasible(8), "k", True))
    assert cache.best_of("d") == feasible(8).plan
    assert cache.find("k") is None, "it is written later"
    writer.write(CachedPlan("d", feasible(9), "worse", True))
    assert cache.best_of("d") == feasible(8).plan
    assert PlanCache(database).best_of("d") is None


def test_a_worse_plan_that_is_written_later_is_not_the_best(database: Database) -> None:
    cache = PlanCache(database)
    writer = CacheWriter(cache)
    writer.write(CachedPlan("d", feasible(9), "quick", True))
    cache.store([CachedPlan("d", feasible(8), "job", True)])
    writer.start()
    writer.close()
    assert cache.find("quick") == feasible(9)
    assert PlanCache(database).best_of("d") == feasible(8).plan


def test_the_cache_keeps_the_latest_and_no_more_than_it_may(database: Database) -> None:
    cache = PlanCache(database)
    old, new = feasible(2), feasible(1)
    cache.store([CachedPlan("d", plan, "k", True) for plan in (old, new)])
    assert cache.find("k") == new
    assert cache.best_of("d") == new.plan
    cache.store([CachedPlan(f"d{i}", solved(b"p"), f"k{i}", True) for i in range(5)])
    administration.remove_expired(database, 2)
    assert sum(cache.find(f"k{i}") is not None for i in range(5)) == 2
    assert sum(PlanCache(database).best_of(f"d{i}") is not None for i in range(5)) == 2
    assert cache.find("nothing") is None


def test_plans_of_one_problem_may_come_at_once(database: Database) -> None:
    cache = PlanCache(database)
    with ThreadPoolExecutor(4) as pool:
        stored = [
            pool.submit(cache.store, [CachedPlan("d", solved(b"p"), f"k{i % 2}", True)]) for i in range(100)
        ]
    assert [one.exception() for one in stored] == [None] * 100
    assert cache.find("k0") == cache.find("k1") == solved(b"p")


def test_large_plans_are_not_compared(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading two of them takes longer than what is gained; a run that knew none may have a worse one."""
    cache = PlanCache(database)
    better, worse = feasible(8), feasible(9)
    cache.store([CachedPlan("d", better, "k", True)])
    monkeypatch.setattr(plan_cache, "LARGEST_COMPARED", len(worse.plan) + 1)
    assert not cache.is_best("d", worse, stands_alone=False)
    assert cache.is_best("d", replace(worse, status="infeasible"), stands_alone=True)
    monkeypatch.setattr(plan_cache, "LARGEST_COMPARED", len(worse.plan))
    assert cache.is_best("d", worse, stands_alone=False)
    assert not cache.is_best("d", better, stands_alone=True)
    assert cache.is_best("another", worse, stands_alone=True)


def test_an_answer_that_another_question_outdid_is_none_unless_it_stands_alone(database: Database) -> None:
    """A deterministic answer is the same bytes whoever asked before; that of a named solver is its own."""
    cache = PlanCache(database)
    mine, theirs = feasible(9), feasible(8)
    cache.store([CachedPlan("d", mine, "k", True)])
    assert cache.answer("k", "d", stands_alone=False) == mine
    cache.store([CachedPlan("d", theirs, "other", True)])
    assert cache.answer("k", "d", stands_alone=False) is None
    assert cache.answer("k", "d", stands_alone=True) == mine


def test_a_key_is_known_by_its_text_until_it_is_revoked(database: Database) -> None:
    keys = Keys(database)
    assert not keys.any()
    key, text = keys.create("ci")
    assert keys.find(text) == key
    for wrong in (text[:-1], text + "x", text.replace("msk_", "msx_"), "", "msk__", "msk_\udcff_x"):
        assert keys.find(wrong) == RefusedKey(WhyRefused.UNKNOWN)
    with database.read() as connection:
        stored = connection.exec_driver_sql("SELECT * FROM keys").mappings().one()
    assert text.split("_", 2)[2] not in str(dict(stored))
    assert keys.revoke(key.id)
    assert not keys.revoke(key.id)
    assert keys.find(text) == RefusedKey(WhyRefused.REVOKED, key.id)
    assert keys.find(text + "x") == RefusedKey(WhyRefused.UNKNOWN), "who only knows the id is told nothing"


def test_a_refused_key_is_told_apart_by_who_has_its_secret(database: Database) -> None:
    keys = Keys(database)
    key, first = keys.create("ci")
    second = keys.rotate(key.id, 3600.0)
    assert second is not None
    assert keys.find(first) == keys.find(second) != RefusedKey(WhyRefused.UNKNOWN)
    third = keys.rotate(key.id, 0.0)
    assert third is not None
    assert keys.find(first) == RefusedKey(WhyRefused.UNKNOWN), "a secret before the last two is gone"
    assert keys.find(second) == RefusedKey(WhyRefused.ROTATED, key.id)
    assert keys.change(key.id, {"expires": 1.0})
    for known in (second, third):
        assert keys.find(known) == RefusedKey(WhyRefused.EXPIRED, key.id)
    assert keys.find(third + "x") == RefusedKey(WhyRefused.UNKNOWN)
    assert keys.revoke(key.id)
    assert keys.find(third) == RefusedKey(WhyRefused.REVOKED, key.id)


def test_a_key_reads_the_jobs_of_a_key_that_is_there(database: Database) -> None:
    keys = Keys(database)
    owner, _ = keys.create("owner")
    reader, _ = keys.create("reader", Role.READ, reads=owner.id)
    second, _ = keys.create("second", Role.READ, reads=reader.id)
    assert (owner.reads, reader.reads, second.reads) == (None, owner.id, owner.id)
    with pytest.raises(InputError, match="there is no key"):
        keys.create("third", Role.READ, reads="0" * 12)
    assert {key.id for key in keys.list()} == {owner.id, reader.id, second.id}


def test_revoked_keys_still_close_the_service_until_they_are_reset(database: Database) -> None:
    keys = Keys(database)
    one, two = (keys.create(name)[0] for name in ("one", "two"))
    keys.revoke(one.id)
    assert not keys.reset(), "the other is valid"
    assert len(keys.list()) == 2
    keys.revoke(two.id)
    assert keys.any()
    assert keys.reset()
    assert not keys.any()
    assert keys.reset()


def test_a_store_that_cannot_be_reached_says_so_in_one_way() -> None:
    for url in ("sqlite:////nowhere/at/all/store.sqlite", "postgresql://nobody@/none?host=/nowhere"):
        database = Database(url)
        seen: list[str] = []
        database.on_error = seen.append
        with pytest.raises(StoreError), database.read() as connection:
            connection.exec_driver_sql("SELECT 1")
        assert seen == ["OperationalError"]
        database.close()


class NoRoomError(Exception):
    """As PostgreSQL says that its disk is full."""

    sqlstate = "53100"


def test_a_full_disk_is_remembered_until_a_write_succeeds(database: Database) -> None:
    with pytest.raises(DiskFullError, match="no room"), database.write():
        raise OperationalError("INSERT", {}, NoRoomError("no room"))
    assert database.disk_full
    with database.read():
        pass
    assert database.disk_full, "reading says nothing about room"
    with database.write():
        pass
    assert not database.disk_full
