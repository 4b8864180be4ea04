"""`memstow bench report`, `compare` and `sets` from the command line."""

import json
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from memstow.planner.bench.instances import SETS
from memstow.planner.bench.record import Ending
from tests.api.cli.conftest import Cli
from tests.planner.bench.make import made, write

FILES = {"report.html", "report.md", "report.tex", "runs.csv", "summary.csv"}
EXACT = {"time_limit": 10.0, "deterministic": True}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run."""
    write(tmp_path / "run", made("a", "x", 10), made("a", "y", 12), made("b", "x", 8), made("b", "y", 8))
    return tmp_path / "run"


def test_a_report_stands_beside_the_results(cli: Cli, run: Path) -> None:
    pytest.importorskip("matplotlib")
    ran = cli("bench", "report", run)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert {path.name for path in run.iterdir()} > FILES
    assert not (run / "best_known.json").exists()
    assert "<title>memstow bench: run</title>" in (run / "report.html").read_text()


@pytest.mark.campaign
def test_figures_for_papers_are_written_when_asked_for(cli: Cli, run: Path) -> None:
    pytest.importorskip("matplotlib")
    ran = cli("bench", "report", run, "--figures", "pdf", "--output", run / "paper", "--scatter", "y,x")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    for name in ("profiles", "cactus", "gap", "size", "scatter"):
        assert (run / "paper" / f"report-{name}.pdf").read_bytes().startswith(b"%PDF-")
        assert str(run / "paper" / f"report-{name}.pdf") in ran.out
        assert (run / "paper" / f"report-{name}.svg").exists()


def test_best_values_are_written_only_when_asked_and_used_from_then_on(cli: Cli, run: Path) -> None:
    pytest.importorskip("matplotlib")
    best = run.parent / "best.json"
    write(run.parent / "better", made("a", "z", 5), made("b", "z", 1, status=Ending.INVALID))
    ran = cli("bench", "report", run.parent / "better", "--best", best, "--update-best", "--pictures", "0")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    before = best.read_bytes()
    assert [entry["value"] for entry in json.loads(before)["best"]] == [[5]]
    ran = cli("bench", "report", run, "--best", best, "--output", run / "out" / "page", "--title", "<T>")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert best.read_bytes() == before
    assert {path.name for path in (run / "out" / "page").iterdir()} > FILES
    # 10 and 12 against the 5 known, and 8 twice.
    summary = (run / "out" / "page" / "summary.csv").read_text().splitlines()
    assert [line.split(",")[10][:6] for line in summary[1:]] == ["1.4142", "1.5491"]


@pytest.mark.campaign
def test_a_memory_picture_is_drawn_from_the_problem_of_the_run(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    ran = cli("bench", "run", "generate:network,n=6", "--solvers", "greedy", "--output", out)
    assert ran.code == Exit.DONE
    assert cli("bench", "report", out).code == Exit.DONE
    assert "memory: peak" in (out / "report.html").read_text()
    (out / "paths.json").unlink()
    assert cli("bench", "report", out).code == Exit.DONE
    assert "memory: peak" not in (out / "report.html").read_text()
    assert cli("bench", "report", out, "--problems", "generate:network,n=6").code == Exit.DONE
    assert "memory: peak" in (out / "report.html").read_text()


def test_an_interactive_report_links_to_pages_of_plans(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    cli("bench", "run", "generate:network,n=6", "--solvers", "greedy,exact", "--output", out)
    assert cli("bench", "report", out).code == Exit.DONE
    plain = (out / "report.html").read_text()
    assert not (out / "report-plans").exists()
    ran = cli("bench", "report", out, "--interactive")
    assert ran.code == Exit.DONE
    assert "report-plans: 2 pages" in ran.out
    pages = sorted((out / "report-plans").iterdir())
    text = (out / "report.html").read_text()
    assert [f'<a href="report-plans/{page.name}">' in text for page in pages] == [True, True]
    assert "<script" not in text + plain
    assert ",seed=0: exact</title>" in pages[0].read_text() + pages[1].read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "nowhere"], "no such file"),
        (["report", "run", "--best", "nowhere.json"], "no such file"),
        (["report", "run", "--scatter", "x"], "two solver names"),
        (["report", "run", "--scatter", "x,nobody"], "--scatter: there are no results of 'nobody'"),
        (["compare", "run", "nowhere"], "no such file"),
        (["compare", "run", "run", "--measures", "beauty"], "beauty"),
        (["sets", "--folder", "nowhere"], "no such folder"),
    ],
)
def test_what_cannot_be_done_is_said(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(run.parent)
    ran = cli("bench", *arguments)
    assert ran.code == Exit.USAGE
    assert said in ran.err


def test_the_exit_code_of_compare_tells_whether_something_is_worse(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    fast = [made(name, "x", 10, options=EXACT, work={"steps": 100}) for name in "abc"]
    slow = [made(name, "x", 10, options=EXACT, work={"steps": 120}) for name in "abc"]
    write(tmp_path / "fast", *fast)
    write(tmp_path / "slow", *slow)
    worse = cli("bench", "compare", tmp_path / "fast", tmp_path / "slow")
    assert (worse.code, worse.err) == (Exit.WORSE, "")
    assert "worse in steps of x" in worse.out
    assert cli("bench", "compare", tmp_path / "slow" / "results.jsonl", tmp_path / "fast").code == Exit.DONE
    for less in (["--tolerance", "0.25"], ["--fail-on", "value,proven"]):
        assert cli("bench", "compare", tmp_path / "fast", tmp_path / "slow", *less).code == Exit.DONE
    output = cli("bench", "compare", tmp_path / "fast", tmp_path / "slow", "--json", "--measures", "steps")
    data = json.loads(output.out)
    assert (output.code, data["worse"], data["pairs"]) == (Exit.WORSE, True, 3)


def test_two_solvers_of_one_run_are_compared(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    write(
        tmp_path / "run", *(made(f"i{k}", solver, 10 + (solver == "y")) for k in range(8) for solver in "xy")
    )
    ran = cli("bench", "compare", tmp_path / "run", "--solvers", "x,y")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "worse in value of x -> y" in ran.out
    assert (
        cli("bench", "compare", tmp_path / "run", "--solvers", "x,y", "--fail-on", "value").code == Exit.WORSE
    )
    other = cli("bench", "compare", tmp_path / "run", tmp_path / "run", "--solvers", "y,x", "--json")
    assert [one["measure"] for one in json.loads(other.out)["lines"] if one["verdict"] == "better"] == [
        "value"
    ]
    alone = cli("bench", "compare", tmp_path / "run")
    assert (alone.code, "two solvers: --solvers A,B" in alone.err) == (Exit.USAGE, True)


def test_sets_are_listed_with_what_is_here(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "idealloc").mkdir()
    (tmp_path / "idealloc" / "G_1.csv").touch()
    monkeypatch.delenv("MEMSTOW_SETS", raising=False)
    nothing = cli("bench", "sets").out
    assert "installed: " not in nothing
    for step in (step for public in SETS for step in public.steps):
        assert step in nothing
    monkeypatch.setenv("MEMSTOW_SETS", str(tmp_path))
    assert "installed: 1 of 3 files" in cli("bench", "sets").out
    listed = {entry["name"]: entry for entry in json.loads(cli("bench", "sets", "--json").out)}
    assert listed["idealloc"]["files"] == 1
    assert listed["minimalloc"]["folder"] is None
