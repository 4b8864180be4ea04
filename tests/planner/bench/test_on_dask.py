"""A bench on a cluster has the results it has here, each once, with a worker killed on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest

from planner.bench.record import RESULTS, Record, from_line
from tests.planner.bench.asking import timeless
from tests.planner.isolate.test_session import gone

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install 'memstow[dask]'", allow_module_level=True)

ROOT = Path(__file__).parents[3]
ASKED = (
    "generate:planted,n=120,seed=1..10",
    *("--solvers", "greedy,auto", "--seeds", "2", "--deterministic", "--work-limit", "3000000"),
)


class Farm:
    """A scheduler and workers of Dask, as processes of their own on the loopback."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", folder / "it")
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """Where the scheduler is, once it says so."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            assert self.scheduler.poll() is None
            if (self._folder / "it").exists() and (text := (self._folder / "it").read_text()):
                address: str = json.loads(text)["address"]
                return address
            time.sleep(0.05)
        raise AssertionError("no scheduler")

    def add_worker(self) -> None:
        """Another worker, of one thread."""
        place = self._folder / f"worker{len(self.workers)}"
        place.mkdir()
        limits = ("--nthreads", "1", "--no-nanny", "--local-directory", place)
        self.workers.append(self._start("worker", self.address, *limits, temporary=place))

    def _start(
        self, what: str, *arguments: object, temporary: Path | None = None
    ) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "dask", what, "--host", "127.0.0.1", "--no-dashboard"]
        process = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary or self._folder)},
            start_new_session=True,
        )
        self._stack.callback(_end, process)
        return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    folder = tmp_path / "farm"
    folder.mkdir()
    with ExitStack() as stack:
        yield Farm(folder, stack)


def bench(folder: Path, *more: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "api.cli.main", "bench", "run", *ASKED, "--output", str(folder), *more]
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
    while not (folder / RESULTS).exists() or (folder / RESULTS).read_bytes().count(b"\n") < count:
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)


def finish(run: "subprocess.Popen[str]") -> None:
    out, complaint = run.communicate(timeout=200)
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
    assert gone(lost.pid)


def test_a_run_waits_for_workers_and_takes_those_that_come_later(farm: Farm, tmp_path: Path) -> None:
    run = bench(tmp_path / "there", *there(farm))
    time.sleep(1.0)
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
    _, complaint = run.communicate(timeout=200)
    assert run.returncode == 2
    assert "--resume goes on" in complaint
    assert len(records(tmp_path / "there")) >= 2
    finish(bench(tmp_path / "there", "--resume"))
    assert len({record.key for record in records(tmp_path / "there")}) == 40


def test_where_there_is_no_scheduler_that_is_told(tmp_path: Path) -> None:
    run = bench(tmp_path / "there", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1")
    _, complaint = run.communicate(timeout=100)
    assert run.returncode == 2
    assert "no scheduler of Dask can be reached" in complaint


def test_ctrl_c_leaves_the_cluster(farm: Farm, tmp_path: Path) -> None:
    farm.add_worker()
    run = bench(tmp_path / "there", *there(farm))
    await_results(tmp_path / "there", 1, run)
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
