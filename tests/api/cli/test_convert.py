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


def test_a_name_that_promises_another_format_is_refused_before_anything_is_read(
    cli: Cli, tmp_path: Path
) -> None:
    ran = cli("convert", tmp_path / "none.json", tmp_path / "there.yaml")
    assert ran.code == Exit.USAGE
    assert "there.yaml: nothing is written as .yaml: let the name end with .json or .csv" in ran.err
    assert not list(tmp_path.iterdir())


def test_what_is_wrong_is_told_with_the_name_of_the_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"version": 1,\n "buffers": [}')
    (tmp_path / "bad.csv").write_text("id,lower,upper,size\na,0,2,x\n")
    assert "bad.json: line 2, column 14: expected a value" in cli("convert", tmp_path / "bad.json", "-").err
    assert "bad.csv: line 2, column size: expected an integer" in cli("inspect", tmp_path / "bad.csv").err
    (tmp_path / "none.json").write_text("{}")
    assert "none.json: $.version: the field" in cli("solve", tmp_path / "none.json").err
    (tmp_path / "empty").write_text("")
    assert cli("solve", tmp_path / "empty").err == f"memstow: {tmp_path}/empty: the input is empty [empty]\n"
