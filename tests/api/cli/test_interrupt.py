"""Ctrl-C: the best plan so far, then an end; a second one ends at once."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import door
from tests.waiting import PATIENCE, wait_for

# Longer than anything is waited for: what lasts so long ends because it is told to.
LONG = "6000"


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the engine behind the door."""
    path = tmp_path / "diary"
    monkeypatch.setenv("DOOR_DIARY", str(path))
    return path


def wait_until(diary: Path, what: str) -> None:
    wait_for(lambda: diary.exists() and f"{what}\n" in diary.read_text(), f"the engine to be {what}")


def test_ctrl_c_prints_the_best_plan_so_far_and_exits_130(three: Path, diary: Path) -> None:
    with door(LONG, "solve", three, "--json") as process:
        wait_until(diary, "begun")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == Exit.INTERRUPTED
    assert len(json.loads(out)["placements"]) == 3
    assert err == b"memstow: interrupted: this is the best plan found so far\n"


def test_ctrl_c_still_writes_the_output_file(three: Path, diary: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    with door(LONG, "solve", three, "--output", plan) as process:
        wait_until(diary, "begun")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == Exit.INTERRUPTED
    assert len(json.loads(plan.read_text())["placements"]) == 3


def test_a_second_ctrl_c_ends_at_once(three: Path, diary: Path) -> None:
    with door("deaf", "solve", three) as process:
        wait_until(diary, "begun")
        process.send_signal(signal.SIGINT)
        wait_until(diary, "told")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == Exit.INTERRUPTED
    assert out == b""


def test_ctrl_c_while_reading_exits_130_without_a_traceback() -> None:
    with door("0", "solve", "-", stdin=subprocess.PIPE) as process:
        # More than a pipe holds: once it is written, standard input is being read, and has no end yet.
        assert process.stdin is not None
        process.stdin.write(b" " * (1 << 20))
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == Exit.INTERRUPTED
    assert (out, err) == (b"", b"memstow: interrupted\n")


def test_a_run_in_the_background_leaves_ctrl_c_ignored(three: Path, diary: Path) -> None:
    with door(
        "1", "solve", three, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    ) as process:
        wait_until(diary, "begun")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == Exit.DONE
