"""Ctrl-C: the best plan so far, then an end; a second one ends at once."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from api.cli.exits import Exit
from tests.api.cli.conftest import door

SIGNALS_TAKEN = "SigCgt:"


def _wait_until_solving(process: "subprocess.Popen[bytes]") -> None:
    """Until the run has a second thread: only then is Ctrl-C its own."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if len(os.listdir(f"/proc/{process.pid}/task")) > 1:
            time.sleep(0.1)
            return
        time.sleep(0.01)
    raise AssertionError("the run did not start")


def test_ctrl_c_prints_the_best_plan_so_far_and_exits_130(three: Path) -> None:
    with door("60", "solve", three, "--json") as process:
        _wait_until_solving(process)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert time.monotonic() - began < 5
    assert process.returncode == Exit.INTERRUPTED
    assert len(json.loads(out)["placements"]) == 3
    assert err == b"memstow: interrupted: this is the best plan so far\n"


def test_ctrl_c_still_writes_the_output_file(three: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    with door("60", "solve", three, "--output", plan) as process:
        _wait_until_solving(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == Exit.INTERRUPTED
    assert len(json.loads(plan.read_text())["placements"]) == 3


def test_a_second_ctrl_c_ends_at_once(three: Path) -> None:
    with door("deaf", "solve", three) as process:
        _wait_until_solving(process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=5)
    assert process.returncode == Exit.INTERRUPTED
    assert out == b""


def test_ctrl_c_while_reading_exits_130_without_a_traceback() -> None:
    with door("0", "solve", "-", stdin=subprocess.PIPE) as process:
        # More than a pipe holds: once it is written, standard input is being read, and has no end yet.
        assert process.stdin is not None
        process.stdin.write(b" " * (1 << 20))
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == Exit.INTERRUPTED
    assert (out, err) == (b"", b"memstow: interrupted\n")


def test_a_run_in_the_background_leaves_ctrl_c_ignored(three: Path) -> None:
    with door(
        "1", "solve", three, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    ) as process:
        _wait_until_solving(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == Exit.DONE
