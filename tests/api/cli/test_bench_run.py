"""`memstow bench run`: what it is asked, and that a run killed at any moment ends as one left in peace."""

import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstow.api.cli.commands.bench_run import Progress
from memstow.api.cli.terminal import Exit
from memstow.planner.bench.journal import InterruptedBenchError, Journal
from memstow.planner.bench.record import RESULTS, Record, from_line
from memstow.planner.bench.run import Tally
from memstow.planner.instance_library.folder import instance_of
from tests.api.cli.conftest import ROOT, Cli
from tests.api.cli.test_graphs import FORKED
from tests.planner.bench.requests import SIDE_BY_SIDE, timeless
from tests.planner.instance_library.libraries import faults, unsolved
from tests.waiting import PATIENCE, wait_for

DETERMINISTIC = ("--deterministic", "--work-limit", "1000000")
# Each run of a search takes all of its steps, some hundredths of a second of them.
LASTING = ("generate:planted,n=300,seed=1..20,slack=0.1", "--deterministic", "--work-limit", "10000000")


def records(folder: Path) -> list[Record]:
    return [from_line(line) for line in (folder / RESULTS).read_text().splitlines()]


def compared(folder: Path) -> list[Record]:
    return sorted((timeless(record) for record in records(folder)), key=lambda record: record.key)


def written(folder: Path) -> int:
    """How many results are recorded whole."""
    file = folder / RESULTS
    return file.read_bytes().count(b"\n") if file.exists() else 0


def wait_for_results(run: "subprocess.Popen[Any]", folder: Path, count: int) -> None:
    """Wait until a run that goes on has recorded so many."""

    def enough() -> bool:
        assert run.poll() is None, "it has come to its end"
        return written(folder) >= count

    wait_for(enough, "results")


def bench(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "memstow.api.cli.main", "bench", "run", *map(str, arguments)]


def test_files_and_generated_problems_by_several_solvers(cli: Cli, three: Path, tmp_path: Path) -> None:
    ran = cli(
        "bench",
        "run",
        three,
        "generate:network,n=20..21,in-place",
        "--solvers",
        "greedy, exact",
        "--seeds",
        "2",
        "--output",
        tmp_path / "out",
    )
    assert (ran.code, ran.err) == (Exit.DONE, "")
    entries = records(tmp_path / "out")
    assert len({record.key for record in entries}) == len(entries) == 12
    assert {record.instance.family for record in entries} == {
        tmp_path.name,
        "network,n=20,alignment=64,element=4,in_place=True",
        "network,n=21,alignment=64,element=4,in_place=True",
    }
    assert ran.out.splitlines()[0].split() == ["solver", "optimal"]
    assert {tuple(row.split()) for row in ran.out.splitlines()[-2:]} == {("exact", "6"), ("greedy", "6")}


def test_options_reach_the_solver(cli: Cli, three: Path, tmp_path: Path) -> None:
    given = ("--capacity", "149", "--fit-only", "--gap", "0.5", "--workers", "2", "--memory", "1GiB")
    ran = cli("bench", "run", three, "--output", tmp_path / "out", "--time-limit", "3", *given)
    assert ran.code == Exit.DONE
    (record,) = records(tmp_path / "out")
    assert record.status == "infeasible"
    assert record.capacity == 149
    assert record.solver.name == "auto"
    expected = {"gap": 0.5, "workers": 2, "memory": 1 << 30, "time_limit": 3.0, "fit_only": True}
    assert expected.items() <= record.solver.options.items()


def test_orders_of_graphs_are_compared(cli: Cli, three: Path, tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(json.dumps(FORKED))
    request = ("--orders", "free, lpmf,dfs,given", "--solvers", "auto,greedy", *DETERMINISTIC)
    run = ("bench", "run", tmp_path / "graph.json", three, *request, "--output", tmp_path / "out")
    ran = cli(*run)
    assert ran.code == Exit.DONE
    said = (
        f"memstow: dfs+auto: declined on {three.stem}: it is a problem: there are no operators to be ordered"
    )
    assert said in ran.err.splitlines()
    entries = records(tmp_path / "out")
    declined = [record for record in entries if record.instance.name == three.stem]
    assert {(record.status.value, record.error) for record in declined} == {
        ("declined", "it is a problem: there are no operators to be ordered")
    }
    plans = {record.solver.name: record for record in entries if record not in declined}
    assert len({record.instance.digest for record in plans.values()}) == 1
    assert all(record.judged is not None and record.judged.valid for record in plans.values())
    assert all(record.instance.features["operators"] == 4 for record in plans.values())
    assert (plans["free+auto"].status, plans["free+auto"].peak, plans["free+auto"].bound) == (
        "optimal",
        110,
        110,
    )
    # The listed order is one of those that the graph allows: what is proven is proven of all of them.
    assert (plans["given+auto"].status, plans["given+auto"].peak, plans["given+auto"].bound) == (
        "feasible",
        160,
        110,
    )
    assert len(plans) == 8
    again = cli(*run, "--resume")
    assert again.code == Exit.DONE
    assert len(records(tmp_path / "out")) == len(entries)
    report = cli("bench", "report", tmp_path / "out")
    assert report.code == Exit.DONE
    assert "lpmf+greedy" in (tmp_path / "out" / "report.md").read_text()


def test_the_model_orders_where_it_is_installed(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("ortools")
    (tmp_path / "graph.json").write_text(json.dumps(FORKED))
    run = ("bench", "run", tmp_path / "graph.json", "--orders", "cpsat", "--output", tmp_path / "out")
    assert cli(*run, "--time-limit", "60").code == Exit.DONE
    (record,) = records(tmp_path / "out")
    assert (record.solver.name, record.status.value, record.peak) == ("cpsat+auto", "optimal", 110)
    assert "ortools" in record.solver.version


@pytest.mark.parametrize("orders", ["", "best", "lpmf,lpmf", "free,cpsat,x"])
def test_orders_are_named_once_each(cli: Cli, three: Path, tmp_path: Path, orders: str) -> None:
    ran = cli("bench", "run", three, "--orders", orders, "--output", tmp_path / "out")
    assert ran.code == Exit.USAGE
    assert "order" in ran.err


def test_generated_graphs_are_ordered(cli: Cli, tmp_path: Path) -> None:
    of = "generate:graph,n=30,seed=1..2,family=wiring"
    ran = cli("bench", "run", of, "--orders", "free,lpmf", *DETERMINISTIC, "--output", tmp_path / "out")
    assert ran.code == Exit.DONE
    peaks = {(r.instance.name, r.solver.name): r.peak for r in records(tmp_path / "out")}
    assert len(peaks) == 4
    for name, solver in peaks:
        assert (peaks[name, "free+auto"] or 0) <= (peaks[name, solver] or 0)


def test_results_are_not_mixed_unasked_but_added_to_when_asked(cli: Cli, three: Path, tmp_path: Path) -> None:
    first = ("bench", "run", three, "--output", tmp_path / "out", "--solvers", "greedy")
    assert cli(*first).code == Exit.DONE
    again = cli(*first)
    assert again.code == Exit.USAGE
    assert "there are results already; --resume continues with them" in again.err
    assert cli(*first[:-1], "greedy,exact", "--resume").code == Exit.DONE
    assert sorted(record.solver.name for record in records(tmp_path / "out")) == ["exact", "greedy"]


def test_what_is_no_problem_is_left_out_and_named(cli: Cli, three: Path, tmp_path: Path) -> None:
    (tmp_path / "poem.csv").write_text("roses,are\nred,\n")
    ran = cli("bench", "run", tmp_path, "--output", tmp_path / "out")
    assert ran.code == Exit.DONE
    assert f"{tmp_path / 'poem.csv'} is left out: line 1" in ran.err
    assert [record.instance.name for record in records(tmp_path / "out")] == [three.stem]
    only = cli("bench", "run", tmp_path / "poem.csv", "--output", tmp_path / "other")
    assert (only.code, only.out) == (Exit.USAGE, "")
    assert not (tmp_path / "other").exists()


def test_a_run_that_fails_leaves_what_was_there_before_and_nothing_more(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poem = tmp_path / "poem.csv"
    poem.write_text("roses,are\nred,\n")
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "notes.txt").touch()
    assert cli("bench", "run", poem, "--output", tmp_path / "new" / "inner" / "out").code == Exit.USAGE
    assert not (tmp_path / "new").exists()
    assert cli("bench", "run", poem, "--output", kept / "out").code == Exit.USAGE
    assert cli("bench", "run", poem, "--output", kept).code == Exit.USAGE
    assert [path.name for path in kept.iterdir()] == ["notes.txt"]
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    cluster = ("--executor", "dask", "--scheduler", "tcp://localhost:8786")
    assert cli("bench", "run", three, "--output", tmp_path / "dask", *cluster).code == Exit.USAGE
    assert not (tmp_path / "dask").exists()
    done = ("bench", "run", three, "--solvers", "greedy", "--output", tmp_path / "done")
    assert cli(*done).code == Exit.DONE
    assert cli("bench", "run", poem, "--output", tmp_path / "done", "--resume").code == Exit.DONE
    assert len(records(tmp_path / "done")) == 1


VENV = Path(sys.executable).parent.parent


def test_what_ends_a_bench_early_says_how_to_go_on(cli: Cli, three: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    request = ("bench", "run", three, "--output", out, "--solvers", "greedy", "--resume")
    out.mkdir()
    (out / "results.jsonl").write_text("damaged\n")
    damaged = cli(*request)
    assert damaged.code == Exit.USAGE
    assert "if the line is removed, --resume repeats that run" in damaged.err


def test_a_full_disk_is_told_with_the_way_to_go_on(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = Journal.close

    def close_on_a_full_disk(journal: Journal) -> None:
        close(journal)
        raise InterruptedBenchError("No space left on device")

    monkeypatch.setattr(Journal, "close", close_on_a_full_disk)
    ran = cli("bench", "run", three, "--output", tmp_path / "out", "--solvers", "greedy")
    assert ran.code == Exit.USAGE
    assert "No space left on device; the results so far are saved; --resume continues" in ran.err


@pytest.mark.campaign
def test_two_of_memstow_run_side_by_side_and_are_compared(cli: Cli, three: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    out = tmp_path / "out"
    sides = ("--interleave", VENV, VENV / "bin" / "memstow")
    request = ("bench", "run", three, "generate:network,n=5", *sides, "--solvers", "greedy,exact")
    ran = cli(*request, "--deterministic", "--output", out)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    # Times may differ by chance, and four pairs are too few to tell.
    assert re.search(r"nothing is (shown to be )?worse: 4 pairs of runs compared", ran.out)
    old, new = records(out / "old"), records(out / "new")
    assert sorted(map(timeless, old), key=str) == sorted(
        (replace(timeless(record), turn=3 - (record.turn or 0)) for record in new), key=str
    )
    assert [record.turn for record in old] == [1, 1, 2, 2]
    again = cli(*request, "--deterministic", "--output", out, "--resume")
    assert again.code == Exit.DONE
    assert (records(out / "old"), records(out / "new")) == (old, new)


def test_a_page_follows_both_of_a_pair(cli: Cli, three: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="comparing runs needs the extra bench")
    script = tmp_path / "side_by_side.py"
    script.write_text(SIDE_BY_SIDE)
    command, page = f"{sys.executable} {script} {{input}} {{output}}", tmp_path / "page.html"
    out = tmp_path / "out"
    cli("bench", "run", three, "--interleave", command, command, "--watch", page, "--output", out)
    assert "Finished.</b> 2 of 2 runs" in page.read_text()
    assert all(f"<td>{side}: program</td>" in page.read_text() for side in ("old", "new"))


def test_two_outside_programs_run_side_by_side(cli: Cli, three: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    # They make up their times, and the second makes up a poorer plan.
    for name, offset, milliseconds in (("good", 0, 1), ("poor", 150, 2)):
        script = tmp_path / f"{name}.sh"
        script.write_text(
            f"#!/bin/sh\nprintf 'id,offset\\na,0\\nb,100\\nc,{offset}\\n' > $2\necho took {milliseconds} ms\n"
        )
        script.chmod(0o755)
    commands = [f"{tmp_path / name}.sh {{input}} {{output}}" for name in ("good", "poor")]
    ran = cli("bench", "run", three, "--interleave", *commands, "--output", tmp_path / "out")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    (old,), (new,) = records(tmp_path / "out" / "old"), records(tmp_path / "out" / "new")
    assert (old.solver.name, new.solver.name) == ("program", "program")
    assert (old.peak, old.reported_seconds, new.peak, new.reported_seconds) == (150, 0.001, 250, 0.002)
    reported = next(line for line in ran.out.splitlines() if "reported" in line)
    assert "2.0000" in reported


def test_two_are_not_run_where_they_could_not_be_compared(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    ran = cli("bench", "run", three, "--output", tmp_path / "out", "--interleave", VENV, VENV)
    assert ran.code == Exit.USAGE
    assert "pip install 'memstow[bench]'" in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere", "nowhere"), "'nowhere' is neither a venv"),
        ((sys.executable, "cat {input}"), "give two commands"),
        (("cat {input}", "cat {input}", "--solvers", "greedy"), "give two commands"),
        (("/no/such {input}", "cat {input}"), "not an executable program"),
        ((VENV, VENV, "--jobs", "2"), "in pairs"),
        ((VENV, VENV, "--external", "mine=cat {input}"), "in pairs"),
        ((VENV, VENV, "--solvers", "greedy,greedy"), "each solver and each order only once"),
    ],
)
def test_what_cannot_run_side_by_side_is_told(
    cli: Cli, three: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ran = cli("bench", "run", three, "--output", tmp_path / "out", "--interleave", *arguments)
    assert ran.code == Exit.USAGE
    assert said in ran.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.csv",), "no_instances"),
        (("three.json", "--solvers", "nobody"), "there is no solver 'nobody'"),
        (("three.json", "--solvers", "greedy,greedy"), "each solver and each order only once"),
        (("three.json", "--solvers", ","), "name at least one solver"),
        (("three.json", "--external", "mine"), "does not have the form"),
        (("three.json", "--external", "mine=/bin/cat {output}"), "{input}"),
        (("three.json", "--external", "mine=/no/such {input}"), "not an executable program"),
        (("three.json", "--external", "mine=cat {input} '"), "No closing quotation"),
        (("three.json", "--external", "greedy=cat {input}"), "a solver of memstow"),
        (("generate:planted,n=5..3",), "write the smaller number first"),
        (("generate:planted,n=many",), "not a whole number"),
        (("generate:planted,n=5..99999999999",), "out of range"),
        (("generate:planted,seed=1..9999999999",), "more than 1,000,000,000 problems"),
        (("generate:planted,n=5,n=6..7",), "'n' is given twice"),
        (("generate:planted,n=5,output=a.csv",), "'output' selects an output file"),
        (("generate:spirals",), "there is no kind 'spirals'"),
        (("three.json", "--external", "mine=caf\udce9 {input}"), "bad_external"),
        (("three.json", "--external", "mine=cat {input} {output} {proof}"), "{proof} without {input.json}"),
        (("three.json", "--watch", "three.json"), "does not end with .html"),
        (("three.json", "--watch", "nowhere/page.html"), "nowhere/page.html"),
        (("three.json", "--executor", "dask"), "must be given together"),
        (("three.json", "--scheduler", "tcp://localhost:1"), "must be given together"),
        (("three.json", "--executor", "dask", "--scheduler", "http://localhost:1"), "tcp://host:8786"),
    ],
)
def test_what_cannot_be_asked_is_told_before_anything_runs(
    cli: Cli,
    three: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(three.parent)
    ran = cli("bench", "run", *arguments, "--output", tmp_path / "out")
    assert ran.code == Exit.USAGE
    assert said in ran.err
    assert not (tmp_path / "out").exists()


def test_an_outside_program_by_a_path_from_here(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "mine.sh"
    script.write_text("#!/bin/sh\nprintf 'id,offset\\na,0\\nb,100\\nc,0\\n' > $2\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    # c lies on a, which ends as it begins.
    ran = cli("bench", "run", three, "--external", "mine=./mine.sh {input} {output}", "--output", "out")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    (record,) = records(tmp_path / "out")
    assert (record.solver.name, record.status, record.peak) == ("mine", "feasible", 150)


def test_why_runs_failed_or_were_refused_is_told(
    cli: Cli, three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "mine.sh"
    script.write_text("#!/bin/sh\nprintf 'id,offset\\na,0\\nb,0\\nc,0\\n'\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    outside = ("--external", "mine=./mine.sh {input}", "--external", "broken=cat {input}")
    ran = cli("bench", "run", three, *outside, "--seeds", "2", "--output", "out")
    assert ran.code == Exit.DONE
    broken, mine = ran.err.splitlines()
    assert broken.startswith(
        "memstow: broken: error 2 times, the first time on three: what it wrote is not a plan"
    )
    assert mine == "memstow: mine: invalid 2 times, the first time on three: overlap"


@pytest.mark.campaign
def test_a_run_killed_again_and_again_ends_as_one_left_in_peace(cli: Cli, tmp_path: Path) -> None:
    request = (*LASTING, "--solvers", "greedy,exact,auto", "--jobs", "2")
    assert cli("bench", "run", *request, "--output", tmp_path / "peace").code == Exit.DONE
    chance = random.Random(5)
    folders = tmp_path / "folders"
    folders.mkdir()
    environment = {**os.environ, "TMPDIR": str(folders)}
    command = bench(*request, "--output", tmp_path / "killed", "--resume")
    # The first is killed as it starts, the others when there is more than before, a moment later: in so short
    # a one that not even together they come to the end.
    for more, moment in ((0, 0.5), (1, 0.05), (5, 0.05), (8, 0.05), (1, 0.05), (9, 0.05)):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment)
        if more:
            wait_for_results(run, tmp_path / "killed", written(tmp_path / "killed") + more)
        time.sleep(chance.random() * moment)
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
    assert subprocess.run(command, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment).returncode == 0
    assert compared(tmp_path / "killed") == compared(tmp_path / "peace")
    assert len(compared(tmp_path / "peace")) == 20 * 3
    wait_for(lambda: not any(folders.iterdir()), "the folders of processes to be removed")


def test_ctrl_c_keeps_what_is_recorded(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    request = (
        "generate:planted,n=300,seed=1..500",
        "--solvers",
        "improve",
        "--time-limit",
        "0.3",
        "--watch",
        page,
    )
    run = subprocess.Popen(
        bench(*request, "--output", tmp_path / "out"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    wait_for_results(run, tmp_path / "out", 1)
    run.send_signal(signal.SIGINT)
    out, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == Exit.INTERRUPTED
    assert "--resume continues" in complaint
    assert "improve" in out
    assert records(tmp_path / "out")
    assert "Interrupted." in page.read_text()
    assert "of 500 runs" in page.read_text()


@pytest.mark.campaign
@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
def test_memory_does_not_grow_with_the_number_of_instances(tmp_path: Path) -> None:
    """Of the bench itself; ten times the instances may cost what their names and keys take."""

    def peak(count: int) -> int:
        request = (f"generate:planted,n=3,seed=1..{count}", "--solvers", "first-fit", "--jobs", "2")
        script = (
            "import resource, sys; from memstow.api.cli.main import main; code = main(sys.argv[1:]); "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
        )
        command = [
            sys.executable,
            "-c",
            script,
            "bench",
            "run",
            *request,
            "--output",
            str(tmp_path / str(count)),
        ]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True)
        return int(ran.stdout.splitlines()[-1]) << 10

    few, many = peak(200), peak(2000)
    assert len(records(tmp_path / "2000")) == 2000
    assert many - few < 4 << 20


@pytest.mark.campaign
def test_the_public_sets_can_be_run(cli: Cli, shared_data: Path, tmp_path: Path) -> None:
    sets = [shared_data / "minimalloc" / "[A-C].*.csv", shared_data / "executorch", shared_data / "usmp"]
    sets += [shared_data / "minimalloc-dsa-rp", shared_data / "tflite" / "problems"]
    ran = cli(
        "bench",
        "run",
        *sets,
        "--solvers",
        "greedy,first-fit,auto",
        *DETERMINISTIC,
        "--output",
        tmp_path / "out",
    )
    assert ran.code == Exit.DONE
    entries = records(tmp_path / "out")
    solved = [record for record in entries if record.status in ("optimal", "feasible")]
    assert all(record.judged is not None and record.judged.valid for record in solved)
    assert {"minimalloc", "executorch"} <= {record.instance.family for record in solved}
    assert {record.status for record in entries} <= {"optimal", "feasible", "declined"}


def test_the_progress_line_tells_the_time_left() -> None:
    progress = Progress(io.StringIO())
    assert progress.line(0.0) == "start"
    tally = Tally(total=1200, begin=time.monotonic() - 30, done=300, before=0)
    progress.hear(tally)
    assert progress.line(30.2) == "300 of 1,200 runs  0:30 elapsed  about 1:30 left"
    tally.lost = 1
    assert progress.line(4000.0).startswith("301 of 1,200 runs  1:06:40 elapsed")
    assert progress.line(30.2).endswith("1 lost")


def test_problems_are_run_in_the_memories_of_a_target(cli: Cli, three: Path, tmp_path: Path) -> None:
    request = (
        "bench",
        "run",
        three,
        "--target",
        "corstone300",
        "--solvers",
        "greedy",
        "--output",
        tmp_path / "out",
    )
    assert cli(*request).code == Exit.DONE
    (record,) = records(tmp_path / "out")
    target = record.solver.options["target"]
    assert isinstance(target, dict)
    pools = target["pools"]
    assert record.instance.features["pools"] == len(pools) > 1
    assert record.objective[0].term == "placement_cost"
    assert cli(*request, "--resume").code == Exit.DONE
    assert records(tmp_path / "out") == [record]


def test_a_run_over_a_library_that_is_killed_goes_on_and_breaks_records(cli: Cli, tmp_path: Path) -> None:
    library = unsolved(tmp_path / "library")
    chosen = f"library:{library.path},state=open,family=tests"
    page = tmp_path / "page.html"
    request = (chosen, *LASTING[1:], "--solvers", "greedy,auto", "--jobs", "2", "--resume", "--watch", page)
    killed = tmp_path / "killed"
    run = subprocess.Popen(bench(*request, "--output", killed), stdout=subprocess.DEVNULL, cwd=ROOT)
    wait_for_results(run, killed, 3)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    before = records(killed) if (killed / RESULTS).read_bytes().endswith(b"\n") else []
    assert written(killed) < 20
    assert "Running." in page.read_text(), "it does not say that this is over, and grows old"
    # What is known by now breaks records while the rest is still to be run.
    ran = cli("library", "submit", library.path, "--bench", killed, "--by", "B")
    assert ran.code == Exit.DONE
    ran = cli("bench", "run", library.path, *request[1:], "--output", killed)
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert "Finished.</b> 20 of 20 runs" in page.read_text()
    assert cli("bench", "run", library.path, *request[1:], "--output", tmp_path / "peace").code == Exit.DONE
    assert compared(killed) == compared(tmp_path / "peace")
    assert len({record.key for record in records(killed)}) == len(records(killed)) == 20
    assert records(killed)[: len(before)] == before
    assert {(record.instance.name, record.instance.family) for record in records(killed)} == {
        (f"q{number}", "tests") for number in range(10)
    }
    assert json.loads((killed / "paths.json").read_text()) == [str(library.path)]
    ran = cli("library", "submit", library.path, "--bench", killed, "--by", "B")
    assert ran.code == Exit.DONE
    assert faults(library) == {}
    least = {
        name: min(record.objective[0].value for record in records(killed) if record.instance.name == name)
        for name in library.ids()
    }
    for name, value in least.items():
        instance = instance_of(library, name)
        assert [term.value for term in instance.best] == [value]
        assert {event.by for event in instance.history} == {"B"}
    ran = cli("library", "submit", library.path, "--bench", killed)
    assert (ran.code, ran.out) == (Exit.DONE, "0 better, 10 kept, 0 refused\n")
