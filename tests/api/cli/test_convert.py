"""`memstow convert`."""

from pathlib import Path

from api.cli.exits import Exit
from tests.api.cli.conftest import Cli


def test_there_and_back_is_the_same_problem(cli: Cli, three: Path, tmp_path: Path) -> None:
    assert cli("convert", three, tmp_path / "three.csv").code == Exit.DONE
    assert cli("convert", tmp_path / "three.csv", tmp_path / "again.csv").code == Exit.DONE
    first = (tmp_path / "three.csv").read_text()
    assert "a,0,2,100" in first
    assert (tmp_path / "again.csv").read_text() == first


def test_a_dash_writes_to_standard_output(cli: Cli, three: Path) -> None:
    ran = cli("convert", three, "-", "--output-format", "csv")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "b,1,3,50" in ran.out


def test_changes_are_written(cli: Cli, three: Path) -> None:
    assert '"capacity":65536' in cli("convert", three, "-", "--capacity", "64KiB").out.replace(" ", "")
