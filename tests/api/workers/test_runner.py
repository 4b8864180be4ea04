"""What the runner makes of jobs whose children say and do what the test wants."""

import errno
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import pytest

import memstow
from memstow.api.metrics import Metrics
from memstow.api.operations.encoding import cache_key_of_parts
from memstow.api.operations.front_solve import result_of as front_result
from memstow.api.operations.operations import Operation
from memstow.api.operations.request_types import FrontUpdate
from memstow.api.operations.solve import result_of
from memstow.api.store import maintenance
from memstow.api.store.database import Database
from memstow.api.store.job_records import JobEvents
from memstow.api.store.keys import Quotas
from memstow.api.store.plan_cache import PlanCache
from memstow.api.store.queue import Claims, Queue
from memstow.api.store.tables import Progress, State, Stop
from memstow.api.workers import housekeeper, job_run
from memstow.api.workers.executor import Backoff, ChildError, RunControl
from memstow.api.workers.job_run import JobLimits
from memstow.api.workers.runner import Runner, RunnerSettings
from memstow.planner.front.front_documents import read_front
from memstow.planner.model.options import Bound, Incumbent
from memstow.planner.reading.parse import parse_problem
from memstow.planner.solve.engine import plan
from tests.api.store.drafts import draft
from tests.waiting import PATIENCE, wait_for

LEASE = 10.0
TWO_POOLS = {"pools": [{"id": "fast", "capacity": 8}, {"id": "slow", "cost": 3}]}
MEMORY = 1 << 30
Q = TypeVar("Q")
R = TypeVar("R")


class Place:
    """Children that never answer, after what they do."""

    def __init__(self, act: Callable[[RunControl], None] = lambda _control: None) -> None:
        self.on_killed: Callable[[str], None] = lambda _reason: None
        self.act = act
        self.controls: list[RunControl] = []

    @property
    def spreads(self) -> bool:
        return False

    def prepare(self) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, _operation: Operation[Q, R], _request: Q, control: RunControl) -> R:
        self.controls.append(control)
        self.act(control)
        raise ChildError("child_lost", "it is gone")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'store.sqlite'}")
    maintenance.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def jobs(database: Database) -> Queue:
    return Queue(database, Quotas(max_queued=100))


def runner_of(
    database: Database, jobs: Queue, place: Place, slots: int = 0, short_seconds: float = 0.0
) -> Runner:
    settings = RunnerSettings(
        slots=slots,
        short_seconds=short_seconds,
        key_running=9,
        lease_seconds=LEASE,
        keep_seconds=60.0,
        max_plans=9,
        limits=JobLimits(
            solve_memory=MEMORY,
            max_time_limit=60.0,
            max_attempts=2,
            fast_seconds=0.0,
            fast_body=-1,
            fast_choices=-1,
        ),
    )
    claims, cache = Claims(database), PlanCache(database)
    return Runner(database, jobs, claims, cache, place, settings, Metrics())


def run_next(runner: Runner, database: Database) -> None:
    claimed = Claims(database).claim(runner.name, 9)
    assert claimed is not None
    runner._run(claimed)


def options(**changed: object) -> str:
    return json.dumps({"deterministic": False, "time_limit": 1.0, **changed})


def test_a_job_whose_child_is_lost_is_tried_again_as_often_as_it_may_be(
    database: Database, jobs: Queue
) -> None:
    job, _ = jobs.submit(draft(options=options(), fresh=True))
    mine = runner_of(database, jobs, Place())
    for state, error in ((State.QUEUED, None), (State.FAILED, "child_lost: it is gone")):
        run_next(mine, database)
        result = jobs.get(job)
        assert result is not None
        assert (result.state, result.error) == (state, error)


class Busy(Place):
    """Children that are solving until they are told that they may end; long ones only by the end of all."""

    def __init__(self) -> None:
        super().__init__(self._solve)
        self.free = threading.Event()
        self.long_running = 0

    def close(self) -> None:
        self.free.set()

    def _solve(self, control: RunControl) -> None:
        if control.seconds < 30:
            return
        self.long_running += 1
        self.free.wait(PATIENCE)


@pytest.mark.parametrize("slots", [1, 3])
def test_a_short_job_is_answered_while_long_ones_have_all_slots(database: Database, slots: int) -> None:
    jobs = Queue(database, Quotas(max_queued=100), short_seconds=2.0)
    place = Busy()
    mine = runner_of(database, jobs, place, slots, short_seconds=2.0)
    mine.start()
    try:
        for _ in range(slots + 3):
            jobs.submit(draft(options=options(time_limit=60.0), time_limit=60.0, fresh=True, priority=9))
        mine.wake()
        wait_for(lambda: place.long_running == slots, "all slots to be busy")
        short = [jobs.submit(draft(options=options(), time_limit=1.0, fresh=True))[0] for _ in range(5)]
        mine.wake()
        wait_for(lambda: all(over(jobs, job) for job in short), "the short jobs to be answered")
        assert place.long_running == slots
        assert jobs.totals().queued == 3
    finally:
        mine.close()


def test_a_key_with_nothing_running_does_not_wait_for_one_that_has_all_slots(
    database: Database, jobs: Queue
) -> None:
    place = Busy()
    mine = runner_of(database, jobs, place, slots=2)
    mine.start()
    try:
        long = options(time_limit=60.0)
        for _ in range(5):
            jobs.submit(draft(options=long, fresh=True, key_id="flood", priority=9))
        mine.wake()
        wait_for(lambda: place.long_running == 2, "all slots to be busy")
        one, two = (jobs.submit(draft(options=long, fresh=True, key_id="quiet"))[0] for _ in range(2))
        mine.wake()
        wait_for(lambda: state_of(jobs, one) is State.RUNNING, "the first job of the other key to run")
        wait_for(lambda: place.long_running == 3, "its process to run")
        assert state_of(jobs, two) is State.QUEUED, "only the first is let in"
        assert jobs.totals().running == 3
    finally:
        mine.close()


def test_a_key_alone_has_no_more_running_than_there_are_slots(database: Database, jobs: Queue) -> None:
    place = Busy()
    mine = runner_of(database, jobs, place, slots=2)
    assert mine._lanes.all[2].first_only
    mine.start()
    try:
        for _ in range(5):
            jobs.submit(draft(options=options(time_limit=60.0), fresh=True, key_id="flood"))
        mine.wake()
        wait_for(lambda: place.long_running == 2, "all slots to be busy")
        mine.wake()
        time.sleep(0.3)
        assert jobs.totals().running == 2
    finally:
        mine.close()


def state_of(jobs: Queue, job: str) -> State:
    result = jobs.get(job)
    assert result is not None
    return result.state


def over(jobs: Queue, job: str) -> bool:
    result = jobs.get(job)
    return result is not None and result.over


@pytest.mark.parametrize(
    ("slots", "short_seconds", "short_slots"), [(0, 2.0, 0), (1, 2.0, 1), (8, 2.0, 1), (9, 2.0, 2), (4, 0, 0)]
)
def test_slots_for_short_jobs_are_few_beside_the_others(
    database: Database, jobs: Queue, slots: int, short_seconds: float, short_slots: int
) -> None:
    mine = runner_of(database, jobs, Place(), slots, short_seconds)
    assert mine._settings.short_slots == short_slots
    assert mine._settings.threads == slots + short_slots + ceil(slots / 8)


def test_one_call_wakes_as_many_workers_as_there_are_jobs(database: Database, jobs: Queue) -> None:
    place = Busy()
    mine = runner_of(database, jobs, place, slots=4)
    mine.start()
    try:
        long = [draft(options=options(time_limit=60.0), fresh=True) for _ in range(4)]
        jobs.submit_batch(None, None, long)
        mine.wake()
        wait_for(lambda: place.long_running == 4, "all slots to be busy")
    finally:
        mine.close()


def test_a_job_that_is_delayed_is_claimed_when_its_time_has_come(database: Database, jobs: Queue) -> None:
    """No other job calls the worker, and it hears of new ones without asking."""
    job, _ = jobs.submit(draft(options=options(), fresh=True))
    failures = [OSError(errno.ENOSPC, "No space left on device")]

    def fail_once(_control: RunControl) -> None:
        if failures:
            raise failures.pop()

    mine = runner_of(database, jobs, Place(fail_once), slots=1)
    assert mine._notices.reliable
    mine.start()
    try:
        wait_for(lambda: over(jobs, job), "the job to be tried again")
    finally:
        mine.close()


def fail_with(error: Exception) -> Callable[[RunControl], None]:
    def act(_control: RunControl) -> None:
        raise error

    return act


SHORTAGES = [
    OSError(errno.EMFILE, "Too many open files"),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EAGAIN, "Resource temporarily unavailable"),
    MemoryError(),
    RuntimeError("can't start new thread"),
    ChildError("shortage", "the solving process could not be started"),
]


@pytest.mark.parametrize("error", SHORTAGES, ids=repr)
def test_a_shortage_of_the_server_puts_a_job_back_as_often_as_it_happens(
    database: Database, jobs: Queue, error: Exception
) -> None:
    job, _ = jobs.submit(draft(options=options(), fresh=True))
    place = Place(fail_with(error))
    mine = runner_of(database, jobs, place)
    for _ in range(5):
        run_next(mine, database)
        result = jobs.get(job)
        assert result is not None
        assert (result.state, result.error, result.losses) == (State.QUEUED, None, 0)
    assert mine._backoff.delayed_jobs() == [job]
    assert mine._backoff.seconds() > 0
    assert Claims(database).claim(mine.name, 9, mine._backoff.delayed_jobs()) is None
    place.act = lambda _control: None
    run_next(mine, database)
    assert (mine._backoff.delayed_jobs(), mine._backoff.seconds()) == ([], 0)


def test_an_error_that_is_no_shortage_is_not_tried_again(database: Database, jobs: Queue) -> None:
    job, _ = jobs.submit(draft(options=options(), fresh=True))
    run_next(runner_of(database, jobs, Place(fail_with(ValueError("Invalid")))), database)
    result = jobs.get(job)
    assert result is not None
    assert result.state is State.FAILED


def test_an_unexpected_error_of_the_system_is_tried_again_later_as_often_as_a_job_may_be_lost(
    database: Database, jobs: Queue
) -> None:
    job, _ = jobs.submit(draft(options=options(), fresh=True))
    mine = runner_of(database, jobs, Place(fail_with(OSError(errno.EINVAL, "Invalid"))))
    run_next(mine, database)
    result = jobs.get(job)
    assert result is not None
    assert (result.state, result.losses) == (State.QUEUED, 1)
    assert mine._backoff.delayed_jobs() == [job]
    run_next(mine, database)
    result = jobs.get(job)
    assert result is not None
    assert result.state is State.FAILED


def test_a_job_that_is_stopped_while_the_server_lacks_something_is_cancelled(
    database: Database, jobs: Queue
) -> None:
    job, _ = jobs.submit(draft(options=options(), fresh=True))

    def stop_and_fail(_control: RunControl) -> None:
        jobs.stop(job, discard=False, keep_seconds=60)
        raise OSError(errno.EMFILE, "Too many open files")

    run_next(runner_of(database, jobs, Place(stop_and_fail)), database)
    result = jobs.get(job)
    assert result is not None
    assert result.state is State.CANCELLED


def test_restarts_of_servers_do_not_count_as_attempts_of_the_job(database: Database, jobs: Queue) -> None:
    job, _ = jobs.submit(draft(options=options(), fresh=True))
    claims = Claims(database)
    for _ in range(5):
        claims.claim("a server", 9)
        claims.requeue_all(60)
    mine = runner_of(database, jobs, Place())
    for state in (State.QUEUED, State.FAILED):
        run_next(mine, database)
        result = jobs.get(job)
        assert result is not None
        assert result.state is state


def test_a_cancelled_attempt_leaves_the_better_plan_of_an_earlier_one(
    database: Database, jobs: Queue
) -> None:
    """A deterministic run does not start from the plan of an earlier attempt."""
    problem = parse_problem({"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}]})
    good = result_of(problem, plan(problem))
    worse = replace(good, plan=good.plan.replace(b'"value": 4', b'"value": 9'), value=9)
    assert worse.plan != good.plan
    job, _ = jobs.submit(draft(options=options(deterministic=True), fresh=True))
    claims = Claims(database)
    claims.claim("a server", 9)
    claims.record(job, 1, Progress(value=good.value, status=good.status, plan=good.plan), [])
    claims.requeue_all(60)

    def report_and_stop(control: RunControl) -> None:
        control.on_update(worse)
        control.tick()
        mine.request_stop(job, Stop.KEEP)

    mine = runner_of(database, jobs, Place(report_and_stop))
    run_next(mine, database)
    result = jobs.get(job)
    assert result is not None
    assert (result.state, result.value) == (State.CANCELLED, 4)
    assert jobs.document(job, "plan") == good.plan


@pytest.mark.parametrize("stopped", [False, True])
def test_only_a_run_that_was_not_stopped_answers_equal_requests(
    database: Database, jobs: Queue, stopped: bool
) -> None:
    """What a stopped run has is the best plan that is known, and no answer of its own."""
    problem = parse_problem({"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}]})
    outcome = result_of(problem, plan(problem))

    class Answering(Place):
        def run(self, _operation: Operation[Q, R], _request: Q, control: RunControl) -> R:
            if stopped:
                mine.request_stop(job, Stop.KEEP)
                control.tick()
            return outcome  # type: ignore[return-value]

    key = cache_key_of_parts("d", "{}", "")
    job, _ = jobs.submit(draft(digest="d", cache_key=key, options=options()))
    mine = runner_of(database, jobs, Answering())
    run_next(mine, database)
    over = jobs.get(job)
    assert over is not None
    assert over.state is (State.CANCELLED if stopped else State.DONE)
    cache = PlanCache(database)
    assert cache.best_of("d") == outcome.plan
    assert cache.find(key) == (None if stopped else outcome)


def test_delays_double_up_to_a_limit_and_those_at_once_count_once() -> None:
    at = 0.0
    backoff = Backoff(lambda: at)
    delays = []
    for _ in range(9):
        backoff.shortage("a")
        backoff.shortage("b")
        delays.append(backoff.seconds())
        at += backoff.seconds()
    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    backoff.success("b")
    assert "b" not in backoff.delayed_jobs()


@pytest.mark.parametrize(("wanted", "given"), [(None, MEMORY), (5 << 20, 5 << 20), (MEMORY + 1, MEMORY)])
def test_no_job_has_more_memory_than_the_server_gives(
    database: Database, jobs: Queue, wanted: int | None, given: int
) -> None:
    jobs.submit(draft(options=options(memory_limit=wanted), fresh=True))
    place = Place()
    run_next(runner_of(database, jobs, place), database)
    assert [control.memory for control in place.controls] == [given]


def test_only_better_values_are_told(
    database: Database, jobs: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_run, "_FLUSH_SECONDS", 0.0)

    def find(control: RunControl) -> None:
        for value in (9, 9, 10, 8):
            control.on_update(Incumbent(value, "greedy", 0.5))
            control.tick()

    job, _ = jobs.submit(draft(options=options(), fresh=True))
    run_next(runner_of(database, jobs, Place(find)), database)
    events = JobEvents(database).after(job, 0)
    output = [json.loads(event.data)["value"] for event in events if event.kind == "incumbent"]
    assert output == [9, 8]


def test_a_job_is_taken_over_when_it_shows_no_life_for_a_lease(
    database: Database, jobs: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [0.0]
    monkeypatch.setattr(housekeeper, "time", SimpleNamespace(monotonic=lambda: at[0]))
    job, _ = jobs.submit(draft())
    claims = Claims(database)
    claims.claim("another server", 9)
    mine = runner_of(database, jobs, Place())
    for now, beats, state in (
        (0.0, False, State.RUNNING),
        (0.8, True, State.RUNNING),
        (1.6, False, State.RUNNING),
        (1.9, False, State.QUEUED),
    ):
        at[0] = now * LEASE
        if beats:
            claims.heartbeat([(job, 1)])
        mine._housekeeper._take_over()
        result = jobs.get(job)
        assert result is not None
        assert result.state is state, now


def test_what_is_proven_of_one_point_is_no_bound_of_a_front(database: Database, jobs: Queue) -> None:
    problem = parse_problem(
        {"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}], **TWO_POOLS}
    )
    whole = memstow.front(problem, ("peak:fast", "placement_cost"))
    first = replace(whole.points[0], bounds={}, proven=False)
    front = replace(whole, points=(first, *whole.points[1:]), complete=False)
    job, _ = jobs.submit(draft(options=options(front={"terms": ["peak:fast", "placement_cost"]})))

    def act(control: RunControl) -> None:
        control.on_update(Incumbent(value=3, solver="greedy", seconds=0.1))
        control.on_update(Bound(value=3, solver="order", seconds=0.2))
        control.on_update(FrontUpdate(front=front_result(front), points=()))
        control.on_update(Bound(value=4, solver="order", seconds=0.3))
        raise ChildError("stuck", "did not end when it was told to")

    run_next(runner_of(database, jobs, Place(act)), database)
    result = jobs.get(job)
    assert result is not None
    assert (result.value, result.bound, result.gap) == (first.values["peak:fast"], None, None)


@pytest.mark.parametrize("output", [True, False])
def test_a_front_whose_child_does_not_end_has_the_points_that_were_found(
    database: Database, jobs: Queue, output: bool
) -> None:
    front = memstow.front(
        parse_problem({"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}], **TWO_POOLS}),
        ("peak:fast", "placement_cost"),
        points=1,
    )
    update = FrontUpdate(front=front_result(front), points=())

    def act(control: RunControl) -> None:
        if output:
            control.on_update(update)
        raise ChildError("stuck", "did not end when it was told to")

    job, _ = jobs.submit(draft(options=options(front={"terms": ["peak:fast", "placement_cost"]})))
    run_next(runner_of(database, jobs, Place(act)), database)
    over = jobs.get(job)
    assert over is not None
    if not output:
        assert (over.state, over.error) == (State.FAILED, "stuck: did not end when it was told to")
        return
    assert (over.state, over.status, over.error) == (State.DONE, "feasible", None)
    stored = jobs.document(job, "plan")
    assert stored is not None
    frontier = read_front(stored)
    assert (len(frontier.points), frontier.complete) == (1, False)
    assert [entry.kind for entry in JobEvents(database).after(job, 0)] == ["done"]
