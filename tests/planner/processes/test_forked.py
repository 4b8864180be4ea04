"""A forked child is as isolated as one started anew, and what it used is known when it is closed."""

import signal
import subprocess
import sys
import textwrap

import pytest

from tests.processes import wait_ended
from tests.waiting import PATIENCE

# Forking is for processes of one thread, which a test runner need not be.
START = """
import json, os, sys, time
from memstow.planner.processes.process import ForkedProcess
from memstow.planner.processes.frames import pack
from memstow.planner.processes.process import EndedError, Session

def say(**message):
    print(json.dumps(message), flush=True)

def talk(child, look=lambda now: None, memory=1 << 40):
    try:
        return Session(child, {"kind": "hello"}, memory, lambda message: None, look).run()
    except EndedError as error:
        return {"failure": str(error)}
"""


def run(body: str) -> list[str]:
    """What a script prints in which children are forked."""
    script = f"{START}\n{textwrap.dedent(body)}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return done.stdout.splitlines()


def test_it_hears_and_answers_in_a_folder_and_group_of_its_own() -> None:
    (output,) = run("""
    def serve(events):
        heard = os.read(0, 1000)
        os.write(events, pack({"kind": "done", "heard": b"hello" in heard, "group": os.getpgrp(),
                               "here": os.getcwd(), "temporary": os.environ["TMPDIR"]}))
        time.sleep(600)
    child = ForkedProcess(serve)
    done = talk(child)
    assert done["heard"] and done["group"] == child.id != os.getpgrp()
    assert done["here"] == done["temporary"] == str(child.folder)
    child.close()
    print(child.status, child.alive(), child.folder.exists())
    """)
    assert output == f"{-signal.SIGKILL} False False"


def test_it_keeps_no_pipe_of_its_parent_open() -> None:
    (output,) = run("""
    ours, other = os.pipe()
    def serve(events):
        found = []
        for number in (ours, other):
            try:
                os.fstat(number)
                found.append(number)
            except OSError:
                pass
        os.write(events, pack({"kind": "done", "open": found}))
    child = ForkedProcess(serve)
    print(talk(child)["open"])
    child.close()
    """)
    assert output == "[]"


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("os._exit(3)", "the child ended with status 3"),
        ("os.kill(os.getpid(), 11)", "the child killed by signal 11"),
        ("raise ValueError", "the child ended with status 70"),
        ("os.write(events, b'garbage' * 100)", "garbage"),
    ],
)
def test_how_it_ended_is_told(does: str, said: str) -> None:
    (output,) = run(f"""
    def serve(events):
        {does}
    child = ForkedProcess(serve)
    print(talk(child)["failure"])
    child.close()
    """)
    assert said in output


def test_what_it_used_is_known_and_its_own() -> None:
    (output,) = run("""
    def serve(events):
        held = b"x" * (200 << 20)
        end = time.process_time() + 1.0
        while time.process_time() < end: pass
        os.write(events, pack({"kind": "done"}))
        time.sleep(600)
    for _ in range(2):
        child = ForkedProcess(serve)
        talk(child)
        child.close()
    print(child.usage.cpu_seconds, child.usage.peak_memory)
    """)
    seconds, memory = map(float, output.split())
    # The second is not charged with what the first has used.
    assert 1.0 <= seconds < 1.9
    assert 200 << 20 < memory < 400 << 20


def test_what_it_started_ends_with_it() -> None:
    (process,) = run("""
    import subprocess
    def serve(events):
        started = subprocess.Popen(["sleep", "6000"])
        os.write(events, pack({"kind": "done", "started": started.pid}))
        time.sleep(600)
    child = ForkedProcess(serve)
    print(talk(child)["started"])
    child.close()
    """)
    wait_ended(int(process))


def test_it_may_be_closed_before_it_has_begun() -> None:
    output = run("""
    for _ in range(30):
        child = ForkedProcess(lambda events: time.sleep(600))
        child.close()
        assert child.status == -9
    print("closed")
    """)
    assert output == ["closed"]
