"""Progress goes to the error stream, and only to a terminal."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

from memstow.api.cli.terminal import Progress
from memstow.planner.model.options import Bound, Incumbent, Phase
from tests.api.cli.conftest import ROOT, door
from tests.waiting import PATIENCE


def _seen_in_a_terminal(*arguments: str) -> str:
    """What a terminal gets when the error stream is one and standard output is not."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tests.api.cli.door", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                # Linux reports the end of a terminal's last writer as an error.
                break
            if not part:
                break
            seen += part
        assert process.stdout is not None
        process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    return seen.decode()


def test_a_terminal_sees_one_line_rewritten_and_left_empty(three: Path) -> None:
    seen = _seen_in_a_terminal("0.6", "solve", str(three), "--json")
    lines = seen.split("\r")
    assert any("peak 2,000  bound 1,000  gap 50.00 %  search" in line for line in lines)
    assert "\n" not in seen
    assert lines[-1] == ""
    assert lines[-2].isspace()


def test_a_short_run_shows_nothing(three: Path) -> None:
    assert _seen_in_a_terminal("0", "solve", str(three), "--json") == ""


def test_what_is_no_terminal_sees_nothing(three: Path) -> None:
    with door("0.4", "solve", three, "--json") as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert err == b""


def test_the_line_says_only_what_is_known() -> None:
    progress = Progress(io.StringIO(), "max_peak")
    assert progress.line(0.04) == "start  0.0 s"
    progress.hear(Phase("greedy", 0.0))
    progress.hear(Bound(10, "bounds", 0.0))
    assert progress.line(1.26) == "bound 10  greedy  1.3 s"
    progress.hear(Incumbent(10, "greedy", 0.0))
    assert progress.line(2.0) == "max_peak 10  bound 10  gap 0 %  greedy  2.0 s"


def test_a_terminal_that_goes_away_does_not_end_the_run() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    stream.close()
    progress.draw()
    progress.clear()
