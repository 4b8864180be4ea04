"""A child serves one request, hears that it should stop, and says what went wrong."""

import sys
import textwrap
import time
from collections.abc import Callable

import pytest

from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import Process, Session
from tests.processes import wait_gone
from tests.waiting import PATIENCE, wait_for

SCRIPT = """
import sys, threading, time
from memstow.planner.processes.child_side import Idle, Sender, listen, serve_request
sender = Sender(int(sys.argv[1]))
def failed(error):
    return {"kind": "done", "error": type(error).__name__}
"""
REQUEST: Message = {"kind": "run", "memory": 1 << 32, "seconds": None, "number": 20}


def converse(
    body: str, hear: Callable[[Session, Message], None] = lambda _session, _message: None
) -> tuple[Message, Process]:
    """The last message of a child that runs this code, which may be heard and spoken to before."""
    script = f"{SCRIPT}\n{textwrap.dedent(body)}"
    process = Process([sys.executable, "-P", "-c", script, "{events}"])
    end = time.monotonic() + PATIENCE

    def look(now: float) -> None:
        assert now < end, "the child sends no last message"

    session = Session(process, REQUEST, 1 << 40, lambda message: hear(session, message), look)
    try:
        return session.run(), process
    finally:
        process.close()
        wait_gone(process.id)


def test_the_answer_is_the_last_message() -> None:
    done, _ = converse("""
        def answer(request, cancel):
            sender.send({"kind": "update"})
            return {"kind": "done", "number": request["number"] + 1, "stopped": cancel.is_set()}
        serve_request(sender, lambda: None, answer, failed)
    """)
    assert done == {"kind": "done", "number": 21, "stopped": False}


def test_a_request_to_stop_sets_the_event_while_the_answer_is_worked_on() -> None:
    def hear(session: Session, message: Message) -> None:
        if message["kind"] == "working":
            session.say({"kind": "cancel"})

    done, _ = converse(
        """
        def answer(request, cancel):
            sender.send({"kind": "working"})
            return {"kind": "done", "stopped": cancel.wait(600)}
        serve_request(sender, lambda: None, answer, failed)
        """,
        hear,
    )
    assert done == {"kind": "done", "stopped": True}


def test_its_folder_is_there_while_it_works_and_gone_with_its_last_message() -> None:
    """Whoever gets that message may be killed before it removes anything."""
    process = Process(
        [
            sys.executable,
            "-P",
            "-c",
            SCRIPT
            + textwrap.dedent("""
            import os
            def answer(request, cancel):
                open("here", "w").close()
                return {"kind": "done", "here": os.getcwd(), "there": os.environ["TMPDIR"]}
            serve_request(sender, lambda: None, answer, failed)
            """),
            "{events}",
        ]
    )
    try:
        done = Session(process, REQUEST, 1 << 40, lambda _: None, lambda _: None).run()
        is_left = process.folder.exists()
    finally:
        process.close()
        wait_gone(process.id)
    assert (done["here"], done["there"]) == (str(process.folder), str(process.folder))
    assert not is_left


@pytest.mark.parametrize("place", ["warm_up", "answer"])
def test_an_error_becomes_the_last_message(place: str) -> None:
    done, _ = converse(f"""
        def warm_up():
            if "{place}" == "warm_up":
                raise ImportError
        def answer(request, cancel):
            raise ImportError
        serve_request(sender, warm_up, answer, failed)
    """)
    assert done == {"kind": "done", "error": "ImportError"}


def test_a_function_is_called_while_no_request_comes() -> None:
    done, _ = converse("""
        numbers = []
        def idle():
            if numbers:
                sender.send({"kind": "done", "requests": numbers})
        listen(lambda message: numbers.append(message["number"]), Idle(1, idle))
    """)
    assert done == {"kind": "done", "requests": [20]}


def test_a_child_whose_parent_closes_its_pipe_ends() -> None:
    process = Process(
        [
            sys.executable,
            "-P",
            "-c",
            f"{SCRIPT}\nthreading.Thread(target=listen, args=(print,)).start()\ntime.sleep(600)",
            "{events}",
        ]
    )
    try:
        assert process._popen.stdin is not None
        process._popen.stdin.close()
        wait_for(lambda: not process.alive(), "the child to end")
    finally:
        process.close()
        wait_gone(process.id)
