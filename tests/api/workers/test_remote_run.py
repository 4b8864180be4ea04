"""A run on a cluster ends with its last message, or says why there is none."""

from collections.abc import Callable
from typing import Any

import pytest

from memstow.api.operations.request_types import SolveResult, SolveUpdate, encode_update
from memstow.api.workers import dask_executor
from memstow.api.workers.dask_executor import LostError, Run
from memstow.api.workers.executor import ChildError, RunControl
from memstow.planner.cluster.roster import NoWorkerError
from memstow.planner.model.options import Phase
from memstow.planner.processes.frames import Message

BEGUN: Message = {"kind": "begun", "worker": "tcp://there:1"}
DONE: Message = {"kind": "done", "result": {}}


def run_of(lease_seconds: float = 60.0, **control: Any) -> Run:
    return Run(RunControl(memory=1, seconds=1.0, **control), lease_seconds)


def last_of(run: Run, send_stop: Callable[[], None] = lambda: None) -> Message:
    return run.wait(send_stop)


def of_plan(plan: bytes) -> SolveResult:
    return SolveResult(plan=plan, status="feasible", value=2, bound=1, peak=2, solver="greedy")


def failure_of(run: Run) -> ChildError:
    with pytest.raises(ChildError) as failed:
        last_of(run)
    return failed.value


def test_what_it_says_is_heard_in_order_up_to_the_last_message() -> None:
    updates: list[SolveUpdate] = []
    run = run_of(on_update=updates.append)
    phase, result = Phase("bounds", 0.5), of_plan(b"{}")
    event, plan = encode_update(phase), encode_update(result)
    run.receive([BEGUN, event])
    run.receive([])
    run.receive([plan, DONE, event])
    assert last_of(run) == DONE
    assert updates == [phase, result]
    assert run.worker == "tcp://there:1"


def test_begun_by_another_worker_means_that_the_first_is_lost() -> None:
    run = run_of()
    run.receive([BEGUN])
    run.receive([{**BEGUN, "worker": "tcp://elsewhere:1"}, DONE])
    assert failure_of(run).code == "child_lost"


def test_silence_is_for_workers_that_have_begun() -> None:
    looks = 0

    def stopped() -> bool:
        nonlocal looks
        looks += 1
        return looks > 3

    waiting = run_of(lease_seconds=0.0, stop_requested=stopped)
    assert failure_of(waiting).code == "killed", "it may wait for a worker as long as it takes"
    silent = run_of(lease_seconds=0.0)
    silent.receive([BEGUN])
    assert failure_of(silent).code == "child_lost"


def test_a_task_that_ends_without_an_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_executor, "_LAST_SECONDS", 0.0)
    mute = run_of()
    mute.receive([BEGUN])
    mute.end(None)
    assert failure_of(mute).code == "child_lost"
    failed = run_of()
    failed.fail(ModuleNotFoundError("no memstow here"))
    assert failure_of(failed).code == "child_lost"
    nowhere = run_of()
    nowhere.fail(NoWorkerError("no worker of the cluster has ortools"))
    assert failure_of(nowhere).code == "declined"


def test_a_lost_worker_ends_a_run_that_has_begun_and_leaves_another_to_go_elsewhere() -> None:
    waiting = run_of()
    assert waiting.lose_worker("tcp://there:1")
    begun = run_of()
    begun.receive([BEGUN])
    assert not begun.lose_worker("tcp://there:1")
    assert failure_of(begun).code == "child_lost"


def test_where_the_scheduler_is_lost_the_best_plan_is_kept() -> None:
    run = run_of()
    run.receive([BEGUN, *(encode_update(of_plan(body)) for body in (b"1", b"2"))])
    run.lose()
    with pytest.raises(LostError):
        last_of(run)
    assert run.plan == b"2"


def test_it_is_told_to_stop_once_and_waited_for() -> None:
    output: list[str] = []

    def tell() -> None:
        output.append("stop")
        run.receive([])
        run.receive([DONE])

    run = run_of(stop_requested=lambda: True)
    run.receive([BEGUN])
    assert last_of(run, tell) == DONE
    assert output == ["stop"]


def test_what_is_to_be_killed_is_not_waited_for() -> None:
    run = run_of(kill_requested=lambda: True)
    run.receive([BEGUN])
    assert failure_of(run).code == "killed"
