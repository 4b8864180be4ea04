"""Whatever a child does, its parent has an answer in time, and nothing of the child is left."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.isolate.frames import Message
from planner.isolate.process import Process
from planner.isolate.session import Terms, converse

MIB = 1 << 20
REQUEST: Message = {"kind": "solve"}
HELLO = """
import os, sys, time
from planner.isolate.frames import pack
def tell(data): os.write(int(sys.argv[1]), data)
"""


@pytest.fixture
def child() -> Iterator["Children"]:
    children = Children()
    yield children
    for process in children.started:
        process.close()
        assert gone(process.id), "a process is left"
        assert not process.folder.exists(), "a folder is left"


class Children:
    def __init__(self) -> None:
        self.started: list[Process] = []

    def __call__(self, body: str) -> Process:
        script = f"{HELLO}\n{textwrap.dedent(body)}"
        process = Process([sys.executable, "-P", "-c", script, "{events}"])
        self.started.append(process)
        return process


def gone(process: int, within: float = 2.0) -> bool:
    """Whether no process of that group is left but, perhaps, what nobody reaps."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not list(members(process)):
            return True
        time.sleep(0.01)
    return False


def members(group: int) -> Iterator[int]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(words[2]) == group and words[0] != "Z":
            yield int(stat.parent.name)


def talk(
    process: Process, seconds: float | None = 30.0, memory: int = 1 << 40
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
        child('tell(pack({"kind": "a"}) + b"Segmentation fault, or so" * 100); time.sleep(60)')
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
    failure, _ = talk(child("held = bytearray(300 << 20)\ntime.sleep(60)"), memory=150 * MIB)
    assert failure is not None
    assert "MiB of memory" in failure


def test_memory_of_what_the_child_started_counts(child: Children) -> None:
    failure, _ = talk(
        child("""
        import subprocess
        subprocess.run([sys.executable, "-c", "import time; held = bytearray(300 << 20); time.sleep(60)"])
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
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    tell(pack({"kind": "a"}))
    while True: pass
    """)
    begin = time.monotonic()
    failure, heard = talk(process, seconds=1.0)
    assert time.monotonic() - begin < 1.5
    assert failure == "out of time"
    assert len(heard) == 1


def test_a_child_that_reads_nothing_does_not_hold_up_a_large_request(child: Children) -> None:
    process = child("time.sleep(60)")
    begin = time.monotonic()
    request = {"kind": "solve", "much": "x" * (8 * MIB)}
    failure = converse(process, request, Terms(begin + 0.5, 1 << 40, lambda: False), lambda _: None)
    assert failure == "out of time"
    assert time.monotonic() - begin < 1.0


def test_cancelling_ends_it_at_once(child: Children) -> None:
    process = child("time.sleep(60)")
    begin = time.monotonic()
    terms = Terms(None, 1 << 40, lambda: time.monotonic() > begin + 0.2)
    assert converse(process, REQUEST, terms, lambda _: None) == "told to stop"
    assert time.monotonic() - begin < 1.0


def test_what_a_child_writes_to_its_temporary_folder_goes_with_it(child: Children) -> None:
    process = child("""
    import tempfile
    tempfile.NamedTemporaryFile(delete=False).write(b"x" * 100)
    open("here", "w").write("x")
    tell(pack({"kind": "done"}))
    time.sleep(60)
    """)
    assert talk(process)[0] is None
    assert not process.folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to look for what is left")
def test_when_the_parent_is_killed_its_children_end_by_themselves(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent("""
            import sys, time
            from planner.isolate.process import Process, command_for
            for name in ("cbc", "cpsat"):
                print(Process(command_for(name)).id, flush=True)
            time.sleep(60)
            """),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert parent.stdout is not None
    children = [int(parent.stdout.readline()) for _ in range(2)]
    time.sleep(0.3)
    assert all(list(members(child)) for child in children)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert all(gone(child) for child in children)
    assert list(tmp_path.iterdir()) == []
