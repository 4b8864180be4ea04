"""What the runner makes of jobs whose children say and do what the test wants."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memstow.api.metrics import Metrics
from memstow.api.operations.answers import event_message
from memstow.api.store import migrate
from memstow.api.store.database import Database
from memstow.api.store.job import State
from memstow.api.store.plan_cache import PlanCache
from memstow.api.store.queue import Queue
from memstow.api.workers import runner
from memstow.api.workers.isolated_run import ChildError, Watch
from memstow.api.workers.runner import Runner, Work
from memstow.planner.model.events import Incumbent
from memstow.planner.processes.frames import Message
from tests.api.store.drafts import draft

LEASE = 10.0
MEMORY = 1 << 30


class Place:
    """Children that never answer, after what they do."""

    def __init__(self, act: Callable[[Watch], None] = lambda _watch: None) -> None:
        self.on_killed: Callable[[str], None] = lambda _reason: None
        self.act = act
        self.watches: list[Watch] = []

    def prepare(self) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, _what: str, _arguments: Mapping[str, Any], watch: Watch) -> Message:
        self.watches.append(watch)
        self.act(watch)
        raise ChildError("child_lost", "it is gone")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'store.sqlite'}")
    migrate.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def jobs(database: Database) -> Queue:
    return Queue(database, 100)


def runner_of(database: Database, jobs: Queue, place: Place) -> Runner:
    work = Work(
        slots=0,
        solve_memory=MEMORY,
        max_time_limit=60.0,
        key_running=9,
        lease_seconds=LEASE,
        keep_seconds=60.0,
        max_plans=9,
        max_attempts=2,
        fast_seconds=0.0,
        fast_body=-1,
    )
    return Runner(database, jobs, PlanCache(database), place, work, Metrics())


def attend_next(runner: Runner, jobs: Queue) -> None:
    taken = jobs.take(runner.name, 9)
    assert taken is not None
    runner._attend(taken)


def options(**changed: object) -> str:
    return json.dumps({"deterministic": False, "time_limit": 1.0, **changed})


def test_a_job_whose_child_is_lost_is_tried_again_as_often_as_it_may_be(
    database: Database, jobs: Queue
) -> None:
    job, _ = jobs.submit(draft(options=options(), fresh=True))
    mine = runner_of(database, jobs, Place())
    for state, error in ((State.QUEUED, None), (State.FAILED, "child_lost: it is gone")):
        attend_next(mine, jobs)
        found = jobs.get(job)
        assert found is not None
        assert (found.state, found.error) == (state, error)


@pytest.mark.parametrize(("asked", "given"), [(None, MEMORY), (5 << 20, 5 << 20), (MEMORY + 1, MEMORY)])
def test_no_job_has_more_memory_than_the_server_gives(
    database: Database, jobs: Queue, asked: int | None, given: int
) -> None:
    jobs.submit(draft(options=options(memory_limit=asked), fresh=True))
    place = Place()
    attend_next(runner_of(database, jobs, place), jobs)
    assert [watch.memory for watch in place.watches] == [given]


def test_only_better_values_are_told(
    database: Database, jobs: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_FLUSH_SECONDS", 0.0)

    def find(watch: Watch) -> None:
        for value in (9, 9, 10, 8):
            watch.hear({"kind": "event", **event_message(Incumbent(value, "greedy", 0.5))})
            watch.tick()

    job, _ = jobs.submit(draft(options=options(), fresh=True))
    attend_next(runner_of(database, jobs, Place(find)), jobs)
    told = [json.loads(data)["value"] for _, kind, data in jobs.events_after(job, 0) if kind == "incumbent"]
    assert told == [9, 8]


def test_a_job_is_taken_over_when_it_shows_no_life_for_a_lease(
    database: Database, jobs: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [0.0]
    monkeypatch.setattr(runner, "time", SimpleNamespace(monotonic=lambda: at[0]))
    job, _ = jobs.submit(draft())
    jobs.take("another server", 9)
    mine = runner_of(database, jobs, Place())
    for now, beats, state in (
        (0.0, False, State.RUNNING),
        (0.8, True, State.RUNNING),
        (1.6, False, State.RUNNING),
        (1.9, False, State.QUEUED),
    ):
        at[0] = now * LEASE
        if beats:
            jobs.beat([(job, 1)])
        mine._take_over()
        found = jobs.get(job)
        assert found is not None
        assert found.state is state, now
