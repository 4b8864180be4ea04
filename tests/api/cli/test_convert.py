"""`memstow convert`."""

import gzip
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
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
    assert "there.yaml: .yaml is not a supported format: use a name that ends with .json or .csv" in ran.err
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


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version: 1\nbuffers:\n", "not a header: a CSV begins with a line such as id,lower,upper,size"),
        (b"a,b,c\n1,2,3\n", "line 1: this is not a header: "),
        (gzip.compress(b'{"version": 1}', mtime=0), "what else gzip has packed is to be unpacked first"),
        (b"PK\x03\x04....", "the input is packed with zip; unpack it first"),
        (b'{"status": "optimal", "placements": []}', "this is a plan, where a problem is expected"),
        (b"\x89PNG\r\n", "line 1, byte 1: byte 0x89 is not UTF-8"),
        (b"id;size\na;1\n", "separate columns with commas"),
    ],
)  # fmt: skip
def test_a_file_that_is_something_else_is_told_in_one_line(
    cli: Cli, tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "it").write_bytes(content)
    ran = cli("inspect", tmp_path / "it")
    (line,) = ran.err.splitlines()
    assert ran.code == Exit.USAGE
    assert line.startswith(f"memstow: {tmp_path}/it: ")
    assert said in line


def test_what_stands_at_the_wrong_place_is_told_for_what_it_is(cli: Cli, three: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert cli("solve", three, "-o", plan).code == Exit.DONE
    assert "this is a plan, where a problem is expected" in cli("verify", plan, three).err
    assert "this is a problem, where a plan is expected" in cli("verify", three, three).err
    assert "this is a problem, where a plan is expected" in cli("solve", three, "--hint", three).err
    assert "this is a problem, where a target is expected" in cli("solve", three, "--target", three).err
    assert (
        cli("solve", "").err
        == "memstow: FILE: the name of the file is empty; - is standard input [no_name]\n"
    )


def test_what_a_format_cannot_hold_is_told_with_the_name_of_the_file(cli: Cli, three: Path) -> None:
    ran = cli("convert", three, "-", "--output-format", "usmp")
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert ran.err.startswith(
        f"memstow: {three}: $.buffers[0].lifetime: the format 'usmp' cannot express this"
    )
