"""Loops of plans from the command line: `solve` and `view` write them, and plans of fronts are taken."""

import json
from pathlib import Path

import pytest

from memstow.api.cli import plan_output
from memstow.api.cli.terminal import Exit
from memstow.api.options import LOOPS
from memstow.planner import loops
from tests.api.cli.conftest import Cli
from tests.planner.loops.samples import TWO

NAMES = ("net.loops.json", "net.loops.txt", "net.loops.h", "net.loops.svg")


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """A graph."""
    path = tmp_path / "net.json"
    path.write_text(json.dumps(TWO))
    return path


@pytest.fixture
def front(cli: Cli, net: Path, tmp_path: Path) -> Path:
    """Its front."""
    path = tmp_path / "front.json"
    assert cli("front", net, "--deterministic", "--output", path, "--quiet").code == Exit.DONE
    return path


def test_the_command_line_knows_the_formats_of_the_planner() -> None:
    assert loops.names() == LOOPS
    assert loops.SUFFIXES == plan_output.LOOPS_SUFFIXES


def test_a_point_of_a_front_is_written_as_its_name_ends(
    cli: Cli, net: Path, front: Path, tmp_path: Path
) -> None:
    for name in NAMES:
        ran = cli("view", front, "--point", "2", "--problem", net, "--output", tmp_path / name)
        assert (ran.code, ran.out, ran.err) == (Exit.DONE, "", "")
    table = json.loads((tmp_path / NAMES[0]).read_text())
    points = json.loads(front.read_text())["points"]
    assert table["digest"] == points[1]["plan"]["digest"]
    assert [segment["kind"] for segment in table["segments"]] == ["stripe"]
    assert (tmp_path / NAMES[1]).read_text().startswith("Loops of two")
    assert "PLAN_LOOPS_OPERATOR_blur = 0" in (tmp_path / NAMES[2]).read_text()
    assert (tmp_path / NAMES[3]).read_text().startswith("<svg")
    assert cli("verify", net, front, "--point", "2").code == Exit.DONE
    assert cli("view", front, "--point", "1", "--problem", net, "--output", tmp_path / "a.html").code == 0


def test_solve_writes_the_loops_of_a_plan_in_order(cli: Cli, net: Path, tmp_path: Path) -> None:
    given = [word for name in NAMES[:3] for word in ("--output", str(tmp_path / name))]
    assert cli("solve", net, *given, "--prefix", "cam", "--quiet", "--deterministic").code == Exit.DONE
    table = json.loads((tmp_path / NAMES[0]).read_text())
    assert [segment["id"] for segment in table["segments"]] == ["blur", "shrink", "pool"]
    assert "CAM_LOOPS_H" in (tmp_path / NAMES[2]).read_text()
    printed = cli("solve", net, "--output-format", "loops-text", "--deterministic")
    assert printed.out == (tmp_path / NAMES[1]).read_text()


def test_what_cannot_be_is_told(cli: Cli, net: Path, front: Path, three: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.loops.txt"
    for arguments, said in (
        (("solve", three, "--output", out), "give the graph or the model"),
        (("solve", net, "--output", out, "--prefix", "a"), "[unused_option]"),
        (("view", front, "--point", "9", "--problem", net, "--output", out), "take one from 1 on"),
        (("view", front, "--point", "1"), "give what it is a front of"),
        (("view", front, "--output", out), "give the graph"),
        (("view", front, front, "--problem", net, "--output", out), "leave the other out"),
        (("view", front, "--problem", net, "--output-format", "loops"), "name the file for the loops"),
        (("view", front, "--problem", net, "--output", out, "--prefix", "a"), "net.loops.h"),
        (("solve", net, "--output", tmp_path / "n.loops.svg"), "no stripes to draw"),
    ):
        ran = cli(*arguments)
        assert (ran.code, said in ran.err) == (Exit.USAGE, True), ran.err
    assert not out.exists()
