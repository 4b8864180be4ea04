"""A bench on a cluster has the results it has here, each once, with a worker killed on the way."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from memstow.planner.bench.records.record import RESULTS, Record, from_line
from tests.planner.bench.farm import ROOT, Farm
from tests.planner.bench.requests import timeless
from tests.processes import wait_gone
from tests.waiting import PATIENCE, wait_for

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install 'memstow[dask]'", allow_module_level=True)

ASKED = (
    "generate:planted,n=120,seed=1..10",
    *("--solvers", "greedy,auto", "--seeds", "2", "--deterministic", "--work-limit", "3000000"),
)


def bench(folder: Path, *more: str) -> "subprocess.Popen[str]":
    command = [
        sys.executable,
        "-m",
        "memstow.api.cli.main",
        "bench",
        "run",
        *ASKED,
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
        env={**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"},
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


def test_a_run_waits_for_workers_and_takes_those_that_come_later(farm: Farm, tmp_path: Path) -> None:
    run = bench(tmp_path / "there", *there(farm))
    wait_for((tmp_path / "there" / RESULTS).exists, "the run to begin")
    assert run.poll() is None
    farm.add_worker()
    await_results(tmp_path / "there", 2, run)
    farm.add_worker()
    finish(run)
    assert len(records(tmp_path / "there")) == 40


def test_where_the_scheduler_is_lost_what_is_recorded_stays(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker()
    run = bench(tmp_path / "there", *there(farm))
    await_results(tmp_path / "there", 2, run)
    farm.scheduler.kill()
    _, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    assert "--resume continues" in complaint
    assert len(records(tmp_path / "there")) >= 2
    finish(bench(tmp_path / "there", "--resume"))
    assert len({record.key for record in records(tmp_path / "there")}) == 40


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
