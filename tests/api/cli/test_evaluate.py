"""`memstow evaluate`: the plan at a value, tables, pictures and C."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import memstow
from memstow.api.cli.terminal import Exit
from memstow.planner.formats.native import write_symbolic, write_symbolic_plan
from memstow.planner.formulas.sizes import problem_at
from memstow.planner.model.plan import Plan
from memstow.planner.model.symbolic import Order, digest_symbolic
from tests.api.cli.conftest import Cli
from tests.planner.exports.toolchains import HOST
from tests.planner.shapes.test_sweep import GOOD, STACK, plan, problem


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A problem and a plan of it."""
    paths = tmp_path / "problem.json", tmp_path / "plan.json"
    paths[0].write_bytes(write_symbolic(problem()))
    made = replace(plan(STACK, GOOD), digest=digest_symbolic(problem()))
    paths[1].write_bytes(write_symbolic_plan(made))
    return paths


def test_the_plan_at_a_value_is_an_ordinary_plan(cli: Cli, files: tuple[Path, Path]) -> None:
    ran = cli("evaluate", *files, "--at", "s=8", "--at", "b=2")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "memory  unlimited    32     32  0 %" in ran.out
    assert "optimal: 3 buffers placed" in ran.out
    made = files[0].with_name("at.json")
    ran = cli("evaluate", *files, "--at", "s=8", "--at", "b=2", "--json", "--output", made)
    assert ran.out == made.read_text()
    at = problem_at(problem(), {"s": 8, "b": 2})
    result: Plan = memstow.read_plan(made.read_bytes(), at)
    assert memstow.verify(at, result) == []
    ordinary = files[0].with_name("ordinary.json")
    ordinary.write_bytes(memstow.write_problem(at))
    assert cli("verify", ordinary, made, "--strict").code == Exit.DONE


def test_it_is_written_as_csv_and_drawn(cli: Cli, files: tuple[Path, Path]) -> None:
    csv, svg = (files[0].with_name(name) for name in ("at.csv", "at.svg"))
    assert cli("evaluate", *files, "--at", "s=8", "--at", "b=2", "-o", csv, "-o", svg).code == Exit.DONE
    assert "x" in csv.read_text()
    ElementTree.fromstring(svg.read_text())


def test_without_values_there_is_a_line_for_each_point(cli: Cli, files: tuple[Path, Path]) -> None:
    ran = cli("evaluate", *files)
    assert ran.out.splitlines() == [
        "s  b  peak  least  ratio  order",
        "8  1    24     24  1.000      1",
        "2  4    24     24  1.000      1",
        "",
        "largest ratio 1.000 at s=8, b=1",
    ]
    assert [point["peak"] for point in json.loads(cli("evaluate", *files, "--json").out)["points"]] == [
        24,
        24,
    ]


def test_a_sweep_is_a_table_a_picture_and_rows(cli: Cli, files: tuple[Path, Path]) -> None:
    svg, csv = (files[0].with_name(name) for name in ("sweep.svg", "sweep.csv"))
    ran = cli("evaluate", *files, "--sweep", "s", "--at", "b=1", "--points", "4", "--output", svg, "-o", csv)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert ran.out.startswith("at b=1\n\n s  peak  least  ratio  order\n")
    assert len(csv.read_text().splitlines()) == 5
    ElementTree.fromstring(svg.read_text())
    document = json.loads(cli("evaluate", *files, "--sweep", "s", "--at", "b=1", "--json").out)
    assert (document["symbol"], document["term"], len(document["points"])) == ("s", "peak", 15)


def test_c_is_for_every_value_and_nothing_is_printed(cli: Cli, files: tuple[Path, Path]) -> None:
    header = files[0].with_name("net.h")
    ran = cli("evaluate", *files, "--output", header, "--prefix", "net")
    assert (ran.code, ran.out, ran.err) == (Exit.DONE, "", "")
    text = header.read_text()
    assert "static inline int net_offsets(" in text
    assert digest_symbolic(problem()) in text
    header.with_name("use.c").write_text('#include "net.h"\n')
    HOST.compile(header.parent, "use.c")
    assert "optimal" in cli("evaluate", *files, "-o", header, "--at", "s=1", "--at", "b=1").out
    assert "plan_offsets" in header.read_text()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--at", "s=8"], "--at: 'b' has no value"),
        (["--at", "s=0", "--at", "b=1"], "--at: 0 is no value of 's'"),
        (["--at", "s=1", "--at", "s=2"], "--at: a symbol has two values"),
        (["--at", "s"], "is not a symbol and its value: write for example s=128"),
        (["--at", "s=1", "--at", "b=1", "--at", "c=3"], "--at: 'c' is no symbol"),
        (["--sweep", "t"], "--sweep: there is no symbol 't'"),
        (["--sweep", "s"], "--at: 'b' has no value"),
        (["--sweep", "s", "--at", "s=1"], "--at: 's' has a value"),
        (["--points", "4"], "--points: it is for --sweep"),
        (["--prefix", "net"], "--prefix: it is for C"),
        (["-o", "x.txt"], "use a name that ends with .json, .csv, .svg or .h"),
        (["-o", "x.svg"], "give --at for every symbol, or --sweep"),
        (["-o", "x.h", "--prefix", "1"], "cannot begin a name"),
    ],
)
def test_what_is_wrong_names_its_option(
    cli: Cli,
    files: tuple[Path, Path],
    words: list[str],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cli("evaluate", *files, *words)
    assert ran.code == Exit.USAGE
    assert text in ran.err
    assert not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize("command", ["solve", "inspect", "evaluate"])
def test_every_command_names_the_option_of_a_value(cli: Cli, files: tuple[Path, Path], command: str) -> None:
    ran = cli(command, *(files if command == "evaluate" else files[:1]), "--at", "s=1")
    assert ran.code == Exit.USAGE
    assert "--at: 'b' has no value" in ran.err


def test_an_output_is_no_input(cli: Cli, files: tuple[Path, Path]) -> None:
    assert "cannot be the same file" in cli("evaluate", *files, "-o", files[1]).err


def test_other_documents_are_told_apart(cli: Cli, files: tuple[Path, Path], three: Path) -> None:
    table = files[0].with_name("table.csv")
    table.write_text("id,lower,upper,size\na,0,1,4\n")
    for document in (three, table):
        assert f"{document}: this has no `symbols`" in cli("evaluate", document, files[1]).err
    assert "no plan of a problem with symbols" in cli("evaluate", files[0], three).err
    other = files[0].with_name("other.json")
    other.write_bytes(write_symbolic(problem(capacity=10)))
    assert "the plan is for another problem" in cli("evaluate", other, files[1]).err


def test_a_plan_that_overlaps_is_refused_at_the_value(cli: Cli, files: tuple[Path, Path]) -> None:
    flat = Order(placements=[replace(placement, above=()) for placement in STACK.placements])
    files[1].write_bytes(write_symbolic_plan(plan(flat)))
    ran = cli("evaluate", *files, "--at", "s=8", "--at", "b=2")
    assert ran.code == Exit.USAGE
    assert "the plan is not valid at s=8, b=2" in ran.err
