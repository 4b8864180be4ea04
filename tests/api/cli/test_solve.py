"""`memstow solve`."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import THREE, Cli, door
from tests.api.cli.fakes import FakeEngine, infeasible, stacked, unknown
from tests.waiting import PATIENCE


def test_a_person_gets_a_table_a_verdict_and_a_picture(cli: Cli, three: Path, engine: FakeEngine) -> None:
    ran = cli("solve", three)
    assert ran.code == Exit.DONE
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0].split() == ["pool", "capacity", "peak", "bound", "gap"]
    assert lines[1].split() == ["memory", "unlimited", "250", "100", "60.00", "%"]
    assert "feasible: 3 buffers placed, found by stack, 250 ms" in lines
    assert any("a a 100 B" in line for line in lines)
    assert max(map(len, lines)) <= 80
    assert engine.options is not None


def test_a_solver_that_gives_up_is_named_with_the_reason(cli: Cli, three: Path, engine: FakeEngine) -> None:
    engine.gives_up = "used 72 MiB of memory; 20 are allowed"
    ran = cli("solve", three, "--json")
    assert ran.code == Exit.DONE
    assert ran.err == "memstow: cpsat ended early: used 72 MiB of memory; 20 are allowed\n"
    assert json.loads(ran.out)["status"] == "feasible"


def test_json_prints_the_plan_alone(cli: Cli, three: Path, engine: FakeEngine) -> None:  # noqa: ARG001
    ran = cli("solve", three, "--json")
    assert ran.code == Exit.DONE
    assert json.loads(ran.out)["status"] == "feasible"
    assert ran.err == ""


def test_an_output_format_without_a_file_prints_the_plan_alone(
    cli: Cli,
    three: Path,
    engine: FakeEngine,  # noqa: ARG001
) -> None:
    out = cli("solve", three, "--output-format", "csv").out
    assert len(out.splitlines()) == 4
    assert out == cli("solve", three, "--output", "-", "--output-format", "csv").out


def test_a_problem_comes_from_standard_input(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, engine: FakeEngine
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(THREE).encode())))
    assert cli("solve", "-").code == Exit.DONE
    assert engine.problem is not None
    assert [buffer.id for buffer in engine.problem.buffers] == ["a", "b", "c"]


def test_every_option_reaches_the_engine(cli: Cli, three: Path, tmp_path: Path, engine: FakeEngine) -> None:
    hint = tmp_path / "hint.json"
    assert cli("solve", three, "--output", hint).code == Exit.DONE
    options = (
        "--solver x --gap 0.1 --deterministic --seed 7 --workers 3 --work-limit 5000 --memory-limit 64MiB"
    )
    assert cli("solve", three, *options.split(), "--hint", hint).code == Exit.DONE
    got = engine.options
    assert got is not None
    assert (got.solver, got.gap, got.deterministic) == ("x", 0.1, True)
    assert (got.seed, got.workers) == (7, 3)
    assert (got.work_limit, got.memory_limit) == (5000, 64 << 20)
    assert got.hint is not None
    assert len(got.hint.placements) == 3
    assert cli("solve", three, "--time-limit", "2.5").code == Exit.DONE
    assert engine.options is not None
    assert engine.options.time_limit == 2.5


def test_capacity_is_that_of_the_only_pool(cli: Cli, three: Path, engine: FakeEngine) -> None:
    assert cli("solve", three, "--capacity", "1KiB").code == Exit.DONE
    assert engine.problem is not None
    assert [pool.capacity for pool in engine.problem.pools] == [1024]


def test_capacity_with_several_pools_is_an_error(cli: Cli, tmp_path: Path, engine: FakeEngine) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps({**THREE, "pools": [{"id": "p"}, {"id": "q"}]}))
    ran = cli("solve", path, "--capacity", "1KiB")
    assert ran.code == Exit.USAGE
    assert "--capacity: the problem has 2 pools" in ran.err
    assert engine.problem is None


def test_fit_only_asks_for_no_objective(cli: Cli, three: Path, engine: FakeEngine) -> None:
    assert cli("solve", three, "--fit-only").code == Exit.DONE
    assert engine.problem is not None
    assert engine.problem.terms() == ()


def test_the_output_file_holds_the_plan_and_the_table_is_still_shown(
    cli: Cli,
    three: Path,
    tmp_path: Path,
    engine: FakeEngine,  # noqa: ARG001
) -> None:
    ran = cli("solve", three, "--output", tmp_path / "plan.json")
    assert "found by stack" in ran.out
    assert len(json.loads((tmp_path / "plan.json").read_text())["placements"]) == 3
    cli("solve", three, "--output", tmp_path / "plan.csv")
    assert len((tmp_path / "plan.csv").read_text().splitlines()) == 4


def test_infeasible_exits_with_3_and_says_why(cli: Cli, three: Path, engine: FakeEngine) -> None:
    engine.answer = infeasible
    ran = cli("solve", three)
    assert ran.code == Exit.INFEASIBLE
    assert "the buffers live at 3 need 300 bytes and the pool has 100" in ran.out
    assert "buffers   a, b" in ran.out


def test_unknown_exits_with_4_and_shows_the_closest(cli: Cli, three: Path, engine: FakeEngine) -> None:
    engine.answer = unknown
    ran = cli("solve", three)
    assert ran.code == Exit.UNKNOWN
    assert "30 more than its capacity of 100" in ran.out


def test_without_a_plan_json_says_so_and_csv_is_not_written(
    cli: Cli, three: Path, tmp_path: Path, engine: FakeEngine
) -> None:
    engine.answer = unknown
    assert cli("solve", three, "--output", tmp_path / "plan.json").code == Exit.UNKNOWN
    assert json.loads((tmp_path / "plan.json").read_text())["status"] == "unknown"
    ran = cli("solve", three, "--output", tmp_path / "plan.csv")
    assert "not written" in ran.err
    assert not (tmp_path / "plan.csv").exists()


def test_a_picture_is_drawn_where_there_is_a_plan(
    cli: Cli, three: Path, tmp_path: Path, engine: FakeEngine
) -> None:
    picture = tmp_path / "plan.svg"
    assert cli("solve", three, "--picture", picture).code == Exit.DONE
    assert picture.read_text().startswith("<svg ")
    engine.answer = unknown
    picture.unlink()
    assert "not drawn" in cli("solve", three, "--picture", picture).err
    assert not picture.exists()


def test_an_output_that_cannot_be_written_is_told(
    cli: Cli,
    three: Path,
    tmp_path: Path,
    engine: FakeEngine,  # noqa: ARG001
) -> None:
    ran = cli("solve", three, "--output", tmp_path / "none" / "plan.json")
    assert ran.code == Exit.USAGE
    assert "none" in ran.err


@pytest.mark.parametrize("option", ["--output", "--picture"])
def test_what_cannot_be_written_is_told_before_the_search(
    cli: Cli, three: Path, tmp_path: Path, engine: FakeEngine, option: str
) -> None:
    engine.answer = None  # type: ignore[assignment]
    ran = cli("solve", three, option, tmp_path / "none" / "plan")
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert f"{tmp_path}/none/plan: there is no such folder" in ran.err


@pytest.mark.parametrize("option", ["--output", "--picture"])
def test_the_problem_is_not_written_over(cli: Cli, three: Path, option: str) -> None:
    before = three.read_bytes()
    ran = cli("solve", three, option, three.parent / "." / three.name)
    assert ran.code == Exit.USAGE
    assert "cannot be the same file" in ran.err
    assert three.read_bytes() == before


def test_the_plan_and_its_picture_are_two_files(cli: Cli, three: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan"
    ran = cli("solve", three, "--output", path, "--picture", f"{tmp_path}/./plan")
    assert ran.code == Exit.USAGE
    assert not path.exists()
    assert cli("solve", three, "--output", os.devnull, "--picture", os.devnull).code == Exit.DONE


@pytest.mark.parametrize(
    "arguments",
    [
        "--json --output-format csv",
        "--json --output - --output-format csv",
        "--json --picture -",
        "--output - --picture -",
    ],
)
def test_standard_output_holds_one_thing(cli: Cli, three: Path, arguments: str) -> None:
    ran = cli("solve", three, *arguments.split())
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert "standard output can hold only one of" in ran.err


@pytest.mark.parametrize("arguments", ["--json --output-format json", "--json --output -"])
def test_one_thing_may_be_asked_for_twice(cli: Cli, three: Path, arguments: str) -> None:
    assert json.loads(cli("solve", three, *arguments.split()).out)["status"] == "optimal"


def test_a_picture_on_standard_output_is_alone_there(cli: Cli, three: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    ran = cli("solve", three, "--picture", "-", "--output", plan)
    assert ran.out.startswith("<svg ")
    assert ran.out.endswith("</svg>\n")
    assert plan.exists()


def test_without_a_plan_what_cannot_say_so_is_told(cli: Cli, three: Path, engine: FakeEngine) -> None:
    engine.answer = infeasible
    ran = cli("solve", three, "--output-format", "csv")
    assert (ran.code, ran.out) == (Exit.INFEASIBLE, "")
    assert (
        ran.err
        == "memstow: nothing is printed: there is no plan (infeasible), and csv cannot represent that\n"
    )


def test_an_issue_of_the_hint_says_that_it_is_one(cli: Cli, three: Path, tmp_path: Path) -> None:
    hint = tmp_path / "hint.json"
    hint.write_text('{"status": "best"}')
    assert cli("solve", three, "--hint", hint).err.startswith(f"memstow: {hint}: $.status: expected")


def test_problem_and_hint_cannot_both_be_standard_input(cli: Cli) -> None:
    ran = cli("solve", "-", "--hint", "-")
    assert ran.code == Exit.USAGE
    assert "only one" in ran.err


def test_optimal_names_who_proved_it(cli: Cli, three: Path, engine: FakeEngine) -> None:
    from memstow.planner.model import Status

    engine.answer = lambda problem: stacked(problem, Status.OPTIMAL)
    assert "found by stack, proven by bounds (live_bytes)" in cli("solve", three).out


def test_names_cannot_drive_the_terminal(cli: Cli, tmp_path: Path, engine: FakeEngine) -> None:  # noqa: ARG001
    path = tmp_path / "evil.json"
    buffers = [{"id": "\x1b[2J\u009b", "size": 8, "lifetime": [0, 1]}]
    path.write_text(json.dumps({"version": 1, "pools": [{"id": "p\rq"}], "buffers": buffers}))
    out = cli("solve", path).out
    assert not set("\x1b\u009b\r") & set(out)
    assert "p\\rq" in out


@pytest.mark.parametrize(("encoding", "drawn"), [("utf-8", "─"), ("ascii", "-"), ("latin-1", "-")])
def test_pictures_use_what_the_encoding_has(three: Path, encoding: str, drawn: str) -> None:
    import os

    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    with door("0", "solve", three, env=environment) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    assert f"time 0 {drawn}{drawn}" in out.decode(encoding)


def test_an_id_that_the_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    import os

    path = tmp_path / "greek.json"
    buffers = [{"id": "\u03b1", "size": 8, "lifetime": [0, 1]}]
    path.write_text(json.dumps({"version": 1, "buffers": buffers}))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    with door("0", "solve", path, env=environment) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    assert b"\\u03b1" in out
