"""Whatever a child does, its parent has an answer in time, and nothing of the child is left."""

import os
import select
import signal
import stat
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import Process, Session, Terms, converse
from tests.processes import members, wait_gone
from tests.waiting import PATIENCE, wait_for

MIB = 1 << 20
REQUEST: Message = {"kind": "solve"}
HELLO = """
import os, sys, time
from memstow.planner.processes.child_side import move_into_folder
from memstow.planner.processes.frames import pack
move_into_folder()
def tell(data): os.write(int(sys.argv[1]), data)
"""


@pytest.fixture
def child() -> Iterator["Children"]:
    children = Children()
    yield children
    for process in children.started:
        process.close()
        wait_gone(process.id)
    wait_for(
        lambda: not any(entry.folder.exists() for entry in children.started), "the folders to be removed"
    )


class Children:
    def __init__(self) -> None:
        self.started: list[Process] = []

    def __call__(self, body: str) -> Process:
        script = f"{HELLO}\n{textwrap.dedent(body)}"
        process = Process([sys.executable, "-P", "-c", script, "{events}"])
        self.started.append(process)
        return process


def wait_told(process: Process) -> None:
    """Wait until it has told something: from then on it is as fast as it is."""
    assert select.select([process.events], [], [], PATIENCE)[0], "the child says nothing"


def talk(
    process: Process, seconds: float | None = PATIENCE, memory: int = 1 << 40
) -> tuple[str | None, list[Message]]:
    heard: list[Message] = []
    until = None if seconds is None else time.monotonic() + seconds
    return converse(process, REQUEST, Terms(until, memory, lambda: False), heard.append), heard


def test_messages_come_in_their_order_and_done_ends_it(child: Children) -> None:
    failure, heard = talk(child('tell(pack({"kind": "a"}) + pack({"kind": "b"}) + pack({"kind": "done"}))'))
    assert failure is None
    assert [message["kind"] for message in heard] == ["a", "b", "done"]


def test_garbage_ends_the_child_and_is_told(child: Children) -> None:
    failure, heard = talk(
        child('tell(pack({"kind": "a"}) + b"Segmentation fault, or so" * 100); time.sleep(600)')
    )
    assert failure is not None
    assert "garbage" in failure
    assert [message["kind"] for message in heard] == ["a"]


def test_what_a_child_prints_disturbs_nobody(child: Children) -> None:
    failure, _ = talk(
        child("""
        print("noise" * 100_000, flush=True)
        print("noise" * 100_000, file=sys.stderr, flush=True)
        tell(pack({"kind": "done"}))
        """)
    )
    assert failure is None


def test_a_child_that_is_killed_is_told_with_the_signal(child: Children) -> None:
    failure, heard = talk(child('tell(pack({"kind": "a"})); os.kill(os.getpid(), 11)'))
    assert failure is not None
    assert "signal 11" in failure
    assert len(heard) == 1


def test_a_child_that_takes_too_much_memory_is_ended(child: Children) -> None:
    failure, _ = talk(child("held = bytearray(300 << 20)\ntime.sleep(600)"), memory=150 * MIB)
    assert failure is not None
    assert "MiB of memory" in failure


def test_memory_of_what_the_child_started_counts(child: Children) -> None:
    failure, _ = talk(
        child("""
        import subprocess
        subprocess.run([sys.executable, "-c", "import time; held = bytearray(300 << 20); time.sleep(600)"])
        """),
        memory=150 * MIB,
    )
    assert failure is not None
    assert "MiB of memory" in failure


def test_the_deadline_holds_for_a_child_that_ignores_everything(child: Children) -> None:
    process = child("""
    import signal, subprocess
    for number in range(1, 30):
        if number not in (9, 19):
            signal.signal(number, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    tell(pack({"kind": "a"}))
    while True: pass
    """)
    wait_told(process)
    failure, heard = talk(process, seconds=1.0)
    assert failure == "out of time"
    assert len(heard) == 1


def test_a_child_that_reads_nothing_does_not_hold_up_a_large_request(child: Children) -> None:
    process = child("time.sleep(600)")
    request = {"kind": "solve", "much": "x" * (8 * MIB)}
    until = time.monotonic() + 0.5
    failure = converse(process, request, Terms(until, 1 << 40, lambda: False), lambda _: None)
    assert failure == "out of time"


def test_cancelling_ends_it_at_once(child: Children) -> None:
    process = child("time.sleep(600)")
    looks = iter([False] * 5)
    terms = Terms(None, 1 << 40, lambda: next(looks, True))
    assert converse(process, REQUEST, terms, lambda _: None) == "told to stop"


def test_what_a_child_writes_to_its_temporary_folder_goes_with_it(child: Children) -> None:
    process = child("""
    import tempfile
    tempfile.NamedTemporaryFile(delete=False).write(b"x" * 100)
    open("here", "w").write("x")
    tell(pack({"kind": "done"}))
    time.sleep(600)
    """)
    assert talk(process)[0] is None
    wait_for(lambda: not process.folder.exists(), "its folder to be removed")


def test_the_folder_of_a_child_is_gone_at_once_though_its_end_takes_a_while(
    child: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is not waited for is buried by a thread, which a caller that ends does not wait for either."""
    buried: list[Process] = []
    process = child("""
    open("here", "w").write("x")
    tell(pack({"kind": "a"}))
    time.sleep(600)
    """)
    wait_told(process)
    with monkeypatch.context() as patch:
        patch.setattr(Process, "_reap", lambda entry: buried.append(entry))
        process.close(wait=0.0)
        assert not process.folder.exists()
    for late in buried:
        late._reap()


def test_a_parent_that_ends_while_it_kills_a_child_leaves_no_folder(
    child: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a worker of a cluster does on SIGTERM, whose threads still wait for what they have killed."""
    process = child("""
    open("here", "w").write("x")
    tell(pack({"kind": "a"}))
    time.sleep(600)
    """)
    wait_told(process)
    seen: list[bool] = []
    kill = process._kill

    def look_and_kill() -> None:
        seen.append(process.folder.exists())
        kill()

    monkeypatch.setattr(process, "_kill", look_and_kill)
    process.close()
    assert seen == [False]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to look for what is left")
def test_when_the_parent_is_killed_its_children_end_by_themselves(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
            import sys, time
            from memstow.planner.backends.isolated_solver import command_for
            from memstow.planner.processes.process import Process
            for name in ("cbc", "cpsat"):
                print(Process(command_for(name)).id, flush=True)
            time.sleep(600)
            """),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert parent.stdout is not None
    children = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(list(members(child)) for child in children)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for child in children:
        wait_gone(child)
    wait_for(lambda: not list(tmp_path.iterdir()), "their folders to be removed")


@pytest.mark.parametrize("killed", ["before", "after"])
def test_a_parent_that_is_killed_as_a_child_starts_leaves_no_folder(tmp_path: Path, killed: str) -> None:
    """A SIGKILL as soon as a solve begins: nobody is there to remove a folder that a parent has made."""
    script = f"""
    import os, signal, subprocess
    from memstow.planner.backends.isolated_solver import command_for
    from memstow.planner.processes.process import Process
    start = subprocess.Popen
    def starts(*arguments, **options):
        if "{killed}" == "after":
            print(start(*arguments, **options).pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    subprocess.Popen = starts
    Process(command_for("cbc"))
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    for child in ended.stdout.split():
        wait_gone(int(child))
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_of_its_owner_alone(child: Children) -> None:
    process = child('tell(pack({"kind": "a"})); time.sleep(600)')
    wait_told(process)
    assert stat.S_IMODE(process.folder.stat().st_mode) == 0o700


def test_bytes_on_their_way_to_a_child_are_not_copied_nor_kept(child: Children) -> None:
    process = child(
        """
        from memstow.planner.processes.child_side import requests
        for message in requests():
            if message["kind"] == "end":
                tell(pack({"kind": "done"}))
            else:
                tell(pack({"kind": "received", "size": len(message["body"])}))
        """
    )
    size = 20 * MIB
    kept: list[int] = []

    def hear(message: Message) -> None:
        if message["kind"] == "received":
            assert message["size"] == size
            request.clear()
            kept.append(tracemalloc.get_traced_memory()[0])
            session.say({"kind": "end"})

    tracemalloc.start()
    try:
        request: Message = {"kind": "run", "body": bytes(size)}
        session = Session(process, request, 1 << 40, hear, lambda _now: None)
        session.run()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1.4 * size
    assert kept[0] < 0.4 * size


def test_the_priority_of_a_child_counts_against_its_parent() -> None:
    process = Process([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        # Linux may share processors between sessions, whatever the priorities in them.
        assert os.getsid(process.id) == os.getsid(0)
        assert os.getpgid(process.id) == process.id != os.getpgrp()
    finally:
        process.close()
