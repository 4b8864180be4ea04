"""A bench on a cluster has the results it has here, each once, with a worker killed on the way."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event

import pytest

from memstow import __version__
from memstow.planner.bench.journal import read
from memstow.planner.bench.library_records import submit_results
from memstow.planner.bench.record import RESULTS, Record, from_line
from memstow.planner.instance_library.records import opened
from tests.planner.bench.farm import ROOT, Farm
from tests.planner.bench.requests import timeless
from tests.planner.instance_library.libraries import CREDIT, faults, unsolved
from tests.processes import wait_gone
from tests.waiting import PATIENCE, wait_for

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install 'memstow[dask]'", allow_module_level=True)

ASKED = (
    "generate:planted,n=300,seed=1..10,slack=0.1",
    *("--solvers", "greedy,auto", "--seeds", "2", "--deterministic", "--work-limit", "3000000"),
)


def bench(folder: Path, *more: str, request: Sequence[str] = ASKED) -> "subprocess.Popen[str]":
    command = [
        sys.executable,
        "-m",
        "memstow.api.cli.main",
        "bench",
        "run",
        *request,
        "--output",
        str(folder),
        *more,
    ]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )


def there(farm: Farm) -> tuple[str, ...]:
    return ("--executor", "dask", "--scheduler", farm.address)


def records(folder: Path) -> list[Record]:
    return [from_line(line) for line in (folder / RESULTS).read_text().splitlines()]


def compared(folder: Path) -> list[Record]:
    return sorted((timeless(record) for record in records(folder)), key=lambda record: record.key)


def await_results(folder: Path, count: int, run: "subprocess.Popen[str]") -> None:
    def enough() -> bool:
        assert run.poll() is None, run.communicate()
        return (folder / RESULTS).exists() and (folder / RESULTS).read_bytes().count(b"\n") >= count

    wait_for(enough, "results")


def finish(run: "subprocess.Popen[str]") -> None:
    out, complaint = run.communicate(timeout=PATIENCE)
    assert (run.returncode, complaint) == (0, ""), out


def test_a_cluster_that_loses_a_worker_has_the_results_of_a_run_here(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker()
    farm.add_worker()
    run = bench(tmp_path / "there", *there(farm))
    await_results(tmp_path / "there", 4, run)
    lost = farm.workers[0]
    lost.send_signal(signal.SIGKILL)
    lost.wait()
    finish(run)
    finish(bench(tmp_path / "here"))
    assert (
        len({record.key for record in records(tmp_path / "there")}) == len(records(tmp_path / "there")) == 40
    )
    assert compared(tmp_path / "there") == compared(tmp_path / "here")
    wait_gone(lost.pid)


def test_a_library_run_on_a_cluster_that_loses_a_worker_breaks_records(farm: Farm, tmp_path: Path) -> None:
    library = unsolved(tmp_path / "library")
    farm.add_worker()
    farm.add_worker()
    run = bench(tmp_path / "there", *there(farm), request=(str(library.path), *ASKED[1:]))
    await_results(tmp_path / "there", 4, run)
    lost = farm.workers[0]
    lost.send_signal(signal.SIGKILL)
    lost.wait()
    finish(run)
    keys = [record.key for record in records(tmp_path / "there")]
    assert len(set(keys)) == len(keys) == 40
    with opened(library) as one:
        offers = list(submit_results(one, read(tmp_path / "there"), CREDIT, Event()))
    assert [(offer.name, offer.outcome) for offer in offers] == [(name, "better") for name in library.ids()]
    assert faults(library) == {}


@pytest.mark.campaign
def test_a_run_waits_for_workers_and_takes_those_that_come_later(farm: Farm, tmp_path: Path) -> None:
    run = bench(tmp_path / "there", *there(farm))
    wait_for((tmp_path / "there" / RESULTS).exists, "the run to begin")
    assert run.poll() is None
    farm.add_worker()
    await_results(tmp_path / "there", 2, run)
    farm.add_worker()
    finish(run)
    assert len(records(tmp_path / "there")) == 40


@pytest.mark.campaign
def test_where_the_scheduler_is_lost_what_is_recorded_stays(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker()
    run = bench(tmp_path / "there", *there(farm), "--scheduler-wait", "3")
    await_results(tmp_path / "there", 2, run)
    address = farm.address
    farm.scheduler.kill()
    _, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    assert f"lost the scheduler at {address}; waiting up to 3 s for it to come back" in complaint
    assert "has not come back; the results so far are saved; --resume continues" in complaint
    assert complaint.count("memstow: ") == complaint.count("\n") == 2, complaint
    assert len(records(tmp_path / "there")) >= 2
    finish(bench(tmp_path / "there", "--resume"))
    assert len({record.key for record in records(tmp_path / "there")}) == 40


@pytest.mark.campaign
def test_a_scheduler_that_comes_back_is_waited_for(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker()
    run = bench(tmp_path / "there", *there(farm))
    await_results(tmp_path / "there", 2, run)
    farm.lose_scheduler()
    assert run.stderr is not None
    assert "lost the scheduler" in run.stderr.readline()
    farm.start_scheduler()
    farm.add_worker()
    finish(run)
    assert len({record.key for record in records(tmp_path / "there")}) == 40


@pytest.mark.campaign
def test_the_runs_of_a_stalled_worker_are_done_by_others(farm: Farm, tmp_path: Path) -> None:
    stalled = farm.add_worker()
    run = bench(tmp_path / "there", *there(farm))
    await_results(tmp_path / "there", 2, run)
    stalled.send_signal(signal.SIGSTOP)
    assert run.stderr is not None
    assert "gives no sign of life: its runs are tried elsewhere" in run.stderr.readline()
    farm.add_worker()
    await_results(tmp_path / "there", 10, run)
    stalled.send_signal(signal.SIGCONT)
    out, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, (out, complaint)
    assert all("is back" in line for line in complaint.splitlines())
    finish(bench(tmp_path / "here"))
    assert compared(tmp_path / "there") == compared(tmp_path / "here")
    assert len(records(tmp_path / "there")) == 40


@pytest.mark.campaign
def test_a_worker_without_what_a_run_needs_gets_none_of_it(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker(without="ortools")
    request = ("generate:planted,n=8,seed=1..6", "--solvers", "cpsat,greedy", "--time-limit", "10")
    run = bench(tmp_path / "there", *there(farm), request=request)
    _, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    assert "by cpsat is lost: NoWorkerError: no worker of the cluster has ortools" in complaint
    assert "6 runs were lost; --resume runs them again" in complaint
    assert {record.solver.name for record in records(tmp_path / "there")} == {"greedy"}
    farm.add_worker()
    finish(bench(tmp_path / "there", *there(farm), "--resume", request=request))
    entries = records(tmp_path / "there")
    assert len({record.key for record in entries}) == len(entries) == 12
    assert {record.status for record in entries if record.solver.name == "cpsat"} <= {"optimal", "feasible"}


@pytest.mark.campaign
def test_a_program_that_is_on_no_worker_is_no_result(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker()
    request = ("generate:planted,n=8,seed=1", "--external", "mine=/no/such/program {input} {output}")
    run = bench(tmp_path / "there", *there(farm), request=request)
    _, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    assert "by mine is lost: NoWorkerError: no worker of the cluster has /no/such/program" in complaint
    assert not (tmp_path / "there" / RESULTS).exists()


@pytest.mark.campaign
def test_workers_of_another_version_get_nothing_and_are_named(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker(version="0.0.1")
    run = bench(tmp_path / "there", *there(farm))
    _, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    assert f"it has memstow 0.0.1, and here is {__version__}" in complaint
    assert f"no worker of the cluster has memstow {__version__}" in complaint
    farm.add_worker()
    run = bench(tmp_path / "there", *there(farm))
    _, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0
    assert "memstow 0.0.1" in complaint
    assert len(records(tmp_path / "there")) == 40
    assert {record.solver.version for record in records(tmp_path / "there")} == {__version__}


def test_where_there_is_no_scheduler_that_is_told(tmp_path: Path) -> None:
    run = bench(tmp_path / "there", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1")
    _, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    assert "no scheduler of Dask can be reached" in complaint


def test_ctrl_c_leaves_the_cluster(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker()
    run = bench(tmp_path / "there", *there(farm))
    await_results(tmp_path / "there", 1, run)
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=PATIENCE)
    assert run.returncode == 130
