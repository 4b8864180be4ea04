"""A run on a cluster ends with its last message, or says why there is none."""

from collections.abc import Callable
from typing import Any

import pytest

from memstow.api.workers.dask import remote_run
from memstow.api.workers.dask.remote_run import LostError, Run
from memstow.api.workers.isolated_run import ChildError, Watch
from memstow.planner.processes.frames import Message

BEGUN: Message = {"kind": "begun", "worker": "tcp://there:1"}
DONE: Message = {"kind": "done", "result": {}}


def run_of(lease_seconds: float = 60.0, told: Callable[[Run], None] = lambda _run: None, **watch: Any) -> Run:
    return Run(Watch(memory=1, seconds=1.0, **watch), lease_seconds, told)


def failure_of(run: Run) -> ChildError:
    with pytest.raises(ChildError) as failed:
        run.attend()
    return failed.value


def test_what_it_says_is_heard_in_order_up_to_the_last_message() -> None:
    heard: list[Message] = []
    run = run_of(hear=heard.append)
    event, plan = {"kind": "event", "event": "phase", "data": {}}, {"kind": "plan", "plan": b"{}"}
    run.hear([BEGUN, event])
    run.hear([])
    run.hear([plan, DONE, event])
    assert run.attend() == DONE
    assert heard == [event, plan]
    assert run.worker == "tcp://there:1"


def test_begun_by_another_worker_means_that_the_first_is_lost() -> None:
    run = run_of()
    run.hear([BEGUN])
    run.hear([{**BEGUN, "worker": "tcp://elsewhere:1"}, DONE])
    assert failure_of(run).code == "child_lost"


def test_silence_is_for_workers_that_have_begun() -> None:
    looks = 0

    def stopped() -> bool:
        nonlocal looks
        looks += 1
        return looks > 3

    waiting = run_of(lease_seconds=0.0, stopped=stopped)
    assert failure_of(waiting).code == "killed", "it may wait for a worker as long as it takes"
    silent = run_of(lease_seconds=0.0)
    silent.hear([BEGUN])
    assert failure_of(silent).code == "child_lost"


def test_a_task_that_ends_without_an_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_run, "_LAST_SECONDS", 0.0)
    mute = run_of()
    mute.hear([BEGUN])
    mute.end(None)
    assert failure_of(mute).code == "child_lost"
    failed = run_of()
    failed.end("ModuleNotFoundError: no memstow here")
    assert "no memstow here" in str(failure_of(failed))


def test_where_the_scheduler_is_lost_the_best_plan_is_kept() -> None:
    run = run_of()
    run.hear([BEGUN, {"kind": "plan", "plan": b"1"}, {"kind": "plan", "plan": b"2"}])
    run.lose()
    with pytest.raises(LostError):
        run.attend()
    assert run.plan == b"2"


def test_it_is_told_to_stop_once_and_waited_for() -> None:
    told: list[Run] = []

    def tell(run: Run) -> None:
        told.append(run)
        run.hear([])
        run.hear([DONE])

    run = run_of(told=tell, stopped=lambda: True)
    run.hear([BEGUN])
    assert run.attend() == DONE
    assert told == [run]


def test_what_is_to_be_killed_is_not_waited_for() -> None:
    run = run_of(killed=lambda: True)
    run.hear([BEGUN])
    assert failure_of(run).code == "killed"
