"""Children of a server that lacks what it takes to start them."""

import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstow.api.operations.encoding import options_to_text
from memstow.api.operations.operations import SOLVE
from memstow.api.operations.request_types import SolveRequest
from memstow.api.workers import isolated_run
from memstow.api.workers.executor import ChildError, RunControl, last_message_of
from memstow.api.workers.isolated_run import ChildExecutor
from memstow.planner.model.options import Options
from memstow.planner.processes.process import Process
from tests.waiting import PATIENCE, wait_for

REQUEST = SolveRequest(
    problem=b'{"version": 1, "buffers": [{"id": "a", "size": 4, "lifetime": [0, 1]}]}',
    options=options_to_text(Options(time_limit=60.0)),
    hint=None,
    known_plan=None,
)
CONTROL = RunControl(memory=1 << 32, seconds=120.0)


@pytest.fixture
def executor() -> Iterator[ChildExecutor]:
    executor = ChildExecutor()
    yield executor
    executor.close()


def no_child(*_: object) -> Process:
    raise OSError(errno.EMFILE, "Too many open files")


def test_an_answer_is_kept_when_the_next_child_cannot_be_started(
    executor: ChildExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor.prepare()
    monkeypatch.setattr(isolated_run, "_start_child", no_child)
    assert executor.run(SOLVE, REQUEST, CONTROL).value == 4


@pytest.mark.parametrize("step", ["close", "prepare"])
def test_an_answer_is_kept_when_cleaning_up_after_it_fails(
    executor: ChildExecutor, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    executor.prepare()

    def fail(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    with monkeypatch.context() as faked:
        faked.setattr(*((Process, "_kill", fail) if step == "close" else (executor, "prepare", fail)))
        assert executor.run(SOLVE, REQUEST, CONTROL).value == 4


def test_a_child_that_cannot_be_killed_leaves_no_folder_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process([sys.executable, "-c", ""])

    def fail(_process: Process) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(Process, "_kill", fail)
    with pytest.raises(OSError, match="Invalid argument"):
        process.close(wait=PATIENCE)
    assert not process.folder.exists()


def test_a_child_that_cannot_be_started_is_a_shortage(
    executor: ChildExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_run, "_start_child", no_child)
    executor.prepare()
    with pytest.raises(ChildError, match=r"could not be started: .*Too many open files") as raised:
        executor.run(SOLVE, REQUEST, CONTROL)
    assert raised.value.code == "shortage"


@pytest.mark.parametrize(
    "code", ["raise SystemExit(1)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
)
def test_a_child_that_ends_before_it_has_started_up_is_a_shortage(
    executor: ChildExecutor, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(isolated_run, "_start_child", lambda _scratch: Process([sys.executable, "-c", code]))
    with pytest.raises(ChildError, match="did not start up") as raised:
        executor.run(SOLVE, REQUEST, CONTROL)
    assert raised.value.code == "shortage"


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "shortage"),
        (OSError(errno.ENOSPC, "No space left on device"), "shortage"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "child_lost"),
        (RuntimeError("can't start new thread"), "child_lost"),
        (MemoryError(), "memory"),
        (RuntimeError("anything else"), "defect"),
    ],
)
def test_a_child_tells_a_shortage_of_the_machine_from_its_own_limits(error: Exception, failure: str) -> None:
    assert last_message_of(error)["failure"] == failure


def test_a_child_without_handles_leaves_no_folder_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr("os.pipe", no_child)
    with pytest.raises(OSError, match="Too many open files"):
        Process([sys.executable, "-c", "pass"])
    assert list(folder.iterdir()) == []


_LATE = """
import os, sys, time
from memstow.planner.processes.frames import parts_of
for seconds, kind in ((0, "ready"), (2, "done")):
    time.sleep(seconds)
    for part in parts_of({"kind": kind}):
        os.write(int(sys.argv[1]), part)
"""


@pytest.mark.parametrize("is_waiting", [True, False])
def test_a_child_that_waits_for_a_processor_is_not_stuck(
    monkeypatch: pytest.MonkeyPatch, is_waiting: bool
) -> None:
    monkeypatch.setattr(isolated_run, "_STOP_SECONDS", 0.2)
    monkeypatch.setattr(Process, "waited", lambda _: time.monotonic() if is_waiting else 0.0)
    process = Process([sys.executable, "-c", _LATE, "{events}"])
    supervisor = isolated_run._Supervisor(process, {"kind": "run"}, RunControl(memory=1 << 32, seconds=0.1))
    try:
        if is_waiting:
            assert supervisor.run() == {"kind": "done"}
        else:
            with pytest.raises(ChildError, match="did not end when it was told to") as raised:
                supervisor.run()
            assert raised.value.code == "stuck"
    finally:
        process.close()


def test_waiting_has_an_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_run, "_STOP_SECONDS", 0.1)
    monkeypatch.setattr(isolated_run, "_MOST_STOP_SECONDS", 0.3)
    monkeypatch.setattr(Process, "waited", lambda _: time.monotonic())
    process = Process([sys.executable, "-c", "import time; time.sleep(600)"])
    supervisor = isolated_run._Supervisor(process, {"kind": "run"}, RunControl(memory=1 << 32, seconds=0.1))
    try:
        with pytest.raises(ChildError, match="did not end when it was told to"):
            supervisor.run()
    finally:
        process.close()


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the system does not say how long threads wait"
)
def test_two_that_share_a_processor_wait_for_it() -> None:
    spin = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\nwhile True: pass"
    children = [Process([sys.executable, "-c", spin]) for _ in range(2)]
    try:
        wait_for(lambda: all(child.waited() > 0.05 for child in children), "both to wait")
    finally:
        for child in children:
            child.close()
    assert [child.waited() for child in children] == [0.0, 0.0]


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the system does not say how long threads wait"
)
def test_who_waits_for_a_descendant_that_has_no_processor_waits_for_it() -> None:
    spin = f"import os; os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\nwhile True: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"
    children = [Process([sys.executable, "-c", code]) for code in (spin, parent)]
    try:
        wait_for(lambda: children[1].waited() > 1.0, "the descendant to wait")
    finally:
        for child in children:
            child.close()


def test_long_runs_have_a_lower_priority_than_short_ones(executor: ChildExecutor) -> None:
    def priority(seconds: float) -> int:
        seen: list[int] = []

        def look(_: object) -> None:
            (process,) = executor._running
            seen.append(os.getpriority(os.PRIO_PROCESS, process.id))

        executor.run(SOLVE, REQUEST, RunControl(memory=1 << 32, seconds=seconds, on_update=look))
        return seen[0]

    assert os.getpriority(os.PRIO_PROCESS, 0) < priority(11.0) < priority(60.0)
