"""Plug-ins at every door: the command line, the bench, and the service where its operator allows them."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from memstow.planner.bench.record import RESULTS, Ending, from_line
from tests.api.cli.conftest import Cli, cli, three
from tests.api.serving import Server
from tests.plugins import Plugins, plugins_in

__all__ = ["cli", "three"]


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins:
    """A folder with both examples, and a solver that does not work."""
    folder = plugins_in(tmp_path / "plugins", monkeypatch)
    folder.template("solver")
    folder.template("format")
    folder.install("broken", "memstow.solvers", "broken", "import no_such_module")
    return folder


def test_solve_takes_a_plug_in_and_its_plan_is_verified(cli: Cli, three: Path, plugins: Plugins) -> None:  # noqa: ARG001
    ran = cli("solve", three, "--solver", "shuffle", "--output", three.with_name("plan.json"))
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "optimal: 3 buffers placed, found by shuffle" in ran.out
    assert cli("verify", three, three.with_name("plan.json"), "--strict").code == Exit.DONE


def test_what_a_solver_claims_is_told_and_does_not_count(cli: Cli, three: Path, plugins: Plugins) -> None:
    plugins.solver("quitter", "return Plan(status=Status.INFEASIBLE)")
    ran = cli("solve", three, "--capacity", "200", "--solver", "quitter")
    assert ran.code == Exit.UNKNOWN
    assert ran.err == "memstow: quitter claims, and nobody has checked, that nothing fits\n"


def test_a_plug_in_that_fails_is_an_error_in_a_line(cli: Cli, three: Path, plugins: Plugins) -> None:  # noqa: ARG001
    ran = cli("solve", three, "--solver", "broken")
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert "the solver 'broken' of broken 1.0 failed: ModuleNotFoundError" in ran.err
    ran = cli("solve", three, "--solver", "shufle")
    assert ran.code == Exit.USAGE
    assert "did you mean shuffle?" in ran.err


def test_formats_of_plug_ins_are_read_and_written(cli: Cli, three: Path, plugins: Plugins) -> None:  # noqa: ARG001
    rows, back, plan = (three.with_name(name) for name in ("three.rows", "back.json", "plan.rows"))
    assert cli("convert", three, rows, "--output-format", "rows").code == Exit.DONE
    assert rows.read_text() == "a 100 0 1\nb 50 1 2\nc 100 2 3\n"
    assert cli("convert", rows, back, "--format", "rows").code == Exit.DONE
    ran = cli("solve", rows, "--format", "rows", "--output", plan, "--output-format", "rows")
    assert ran.code == Exit.DONE, ran.err
    assert cli("verify", back, plan, "--plan-format", "rows").code == Exit.DONE
    ran = cli("convert", rows, back, "--format", "rose")
    assert ran.code == Exit.USAGE
    assert "'rose' is not one of json" in ran.err


def test_lists_have_the_plug_ins_and_why_some_do_not_work(cli: Cli, plugins: Plugins) -> None:
    plugins.solver("exact", "return None")
    solvers = {one["name"]: one for one in json.loads(cli("solvers", "--json").out) if one["package"]}
    assert {name: one["package"] for name, one in solvers.items()} == {
        "broken": "broken 1.0",
        "exact": "test-exact 1.0",
        "shuffle": "memstow-shuffle 0.1.0",
    }
    assert solvers["shuffle"]["supports"] == "one memory, single lifetimes, alignments, a capacity"
    assert "No module named 'no_such_module'" in solvers["broken"]["missing"]
    assert "another name" in solvers["exact"]["missing"]
    assert "a plug-in of memstow-shuffle 0.1.0" in cli("solvers").out
    forms = {one["name"]: one for one in json.loads(cli("formats", "--json").out)}
    assert forms["rows"]["problems"] == forms["rows"]["plans"] == ["read", "write"]
    assert (forms["rows"]["package"], forms["xla"]["problems"]) == ("memstow-rows 0.1.0", ["read"])
    assert "rows of text" in cli("formats").out


def test_the_bench_runs_them_like_others(cli: Cli, three: Path, plugins: Plugins) -> None:
    plugins.solver(
        "flat",
        "return Plan(status=Status.FEASIBLE, placements=[Placement(buffer=b.id, pool='memory', "
        "offset=0) for b in problem.buffers])",
    )
    output = three.with_name("results")
    ran = cli(
        "bench",
        "run",
        three,
        "--solvers",
        "shuffle,flat,broken,exact",
        "--output",
        output,
        "--time-limit",
        "30",
    )
    assert ran.code == Exit.DONE, ran.err
    records = {
        record.solver.name: record for record in map(from_line, (output / RESULTS).read_text().splitlines())
    }
    assert {name: record.status for name, record in records.items()} == {
        "shuffle": Ending.OPTIMAL,
        "flat": Ending.INVALID,
        "broken": Ending.ERROR,
        "exact": Ending.OPTIMAL,
    }
    assert records["shuffle"].solver.version.endswith(" memstow-shuffle 0.1.0")
    judged = records["flat"].judged
    assert judged is not None
    assert judged.violations == ("overlap",)
    ran = cli(
        "bench",
        "run",
        three,
        "--solvers",
        "shuffle",
        "--executor",
        "dask",
        "--scheduler",
        "tcp://a:1",
        "-o",
        output,
    )
    assert ran.code == Exit.USAGE
    assert "plug-ins run on this machine only" in ran.err


PROBLEM = {"version": 1, "buffers": [{"id": "a", "size": 8, "lifetime": [0, 1]}]}


@pytest.mark.parametrize("allowed", [True, False])
def test_the_service_runs_those_that_its_operator_allows(
    tmp_path: Path, plugins: Plugins, allowed: bool
) -> None:
    plugins.solver("stack", "return stacked(problem)")
    server = Server(tmp_path / "data").start(**({"plugins": "shuffle,rows"} if allowed else {}))
    try:
        with server.client() as client:
            solve = {"problem": PROBLEM, "options": {"solver": "shuffle"}}
            answer = client.post("/v1/plan", json=solve)
            rows = client.post(
                "/v1/plan?format=rows", content=b"a 8 0 0\n", headers={"Content-Type": "text/plain"}
            )
            named = {one["name"] for one in client.get("/v1/solvers").json()["solvers"]}
            formats = client.get("/v1/capabilities").json()["formats"]["problem"]
            other = client.post("/v1/plan", json={"problem": PROBLEM, "options": {"solver": "stack"}})
    finally:
        server.kill()
    assert other.status_code == 422
    assert ("shuffle" in named, "rows" in formats, "stack" in named) == (allowed, allowed, False)
    if allowed:
        assert (answer.status_code, answer.json()["solver"]) == (200, "shuffle")
        assert (rows.status_code, rows.json()["placements"][0]["buffer"]) == (200, "a")
    else:
        assert (answer.status_code, rows.status_code) == (422, 422)
        assert "there is no solver" in answer.json()["detail"]
