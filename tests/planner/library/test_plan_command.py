"""memstow-plan writes what `memstow solve --json` does, and says what is wrong with its arguments."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

import pytest

from memstow.planner.formats import write_plan
from memstow.planner.formats.csv_table import write_problem
from memstow.planner.formats.native import write_document
from memstow.planner.model import PLANNED
from memstow.planner.model.options import Options
from memstow.planner.model.problem import BankConflict, Banks, Buffer, Pool, Problem
from memstow.planner.solve.engine import plan
from tests.waiting import PATIENCE, wait_for

COMMAND: Final = Path(sys.executable).with_name("memstow-plan")


def run(*words: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """A run of the command."""
    return subprocess.run(
        [COMMAND, *words], input=text, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def random_problem(rng: Random, count: int) -> Problem:
    """A plain problem."""
    begins = [rng.randint(0, 30) for _ in range(count)]
    buffers = tuple(
        Buffer(
            id=f"buffer {number}" + rng.choice(("", "é", "\\")),
            size=rng.choice((1, 4, 7, 16, 64)),
            lifetime=(begin, begin + rng.randint(1, 9)),
            alignment=rng.choice((1, 4, 16)),
        )
        for number, begin in enumerate(begins)
    )
    return Problem(buffers=buffers, pools=(Pool(id="memory", capacity=rng.choice((None, 1 << 20))),))


@pytest.mark.parametrize("seed", range(12))
def test_the_document_is_that_of_the_package(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    problem = random_problem(rng, rng.choice((1, 5, 30, 90)))
    (pool,) = problem.pools
    path = tmp_path / "problem.csv"
    path.write_bytes(write_problem(replace(problem, pools=(Pool(id="memory"),))))
    words = [] if pool.capacity is None else ["--capacity", str(pool.capacity)]
    ran = run(path, "--deterministic", "--work-limit", "300000", "--seed", str(seed), *words)
    wanted = plan(problem, Options(deterministic=True, work_limit=300_000, seed=seed))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == write_plan(problem, wanted).decode()


def banked(rng: Random, count: int) -> Problem:
    """The same with banks, which may leave no room beside them."""
    draft = random_problem(rng, count)
    banks = [Banks(size=64, count=2, offset=128), Banks(size=32, count=4)]
    capacity = rng.choice((None, 256, 260))
    names = [buffer.id for buffer in draft.buffers]
    conflicts = [
        BankConflict(buffers=rng.sample(names, rng.randint(2, count)), cost=rng.choice((None, 0, 1, 5)))
        for _ in range(rng.randint(0, 3))
    ]
    buffers = [
        replace(
            buffer,
            size=rng.choice((0, 4, 7, 16, 32)),
            within_bank=rng.choice((None, False, True)),
            banks=rng.choice((None, None, (5, 0, 1), (4,))),
        )
        for buffer in draft.buffers
    ]
    buffers[0] = replace(buffers[0], size=8)
    terms = rng.choice((None, (), ("bank_cost",), ("bank_cost", "peak"), ("peak", "bank_cost")))
    pool = Pool(id="tile é", capacity=capacity, banks=banks)
    return Problem(buffers=buffers, pools=[pool], bank_conflicts=conflicts, objective=terms)


def test_documents_of_banks_are_those_of_the_package(tmp_path: Path) -> None:
    planned = crowded = 0
    for seed in range(40):
        rng = Random(seed)
        problem = banked(rng, rng.choice((2, 6, 12, 20)))
        path = tmp_path / "problem.json"
        path.write_bytes(write_document(problem))
        ran = run(path, "--deterministic", "--work-limit", "20000", "--seed", str(seed))
        wanted = plan(problem, Options(deterministic=True, work_limit=20_000, seed=seed))
        if wanted.status not in PLANNED:
            assert json.loads(ran.stdout)["status"] == wanted.status.value, seed
            continue
        assert (ran.returncode, ran.stderr) == (0, ""), seed
        assert ran.stdout == write_plan(problem, wanted).decode(), seed
        planned += 1
        crowded += '"crowds"' in ran.stdout
    assert planned > 20
    assert crowded > 2


def test_banks_that_are_wrong_are_named() -> None:
    problem = banked(Random(3), 5)
    many = (Banks(size=8, count=4096), Banks(size=8, offset=1 << 20))
    wrong = replace(problem, pools=(replace(problem.pools[0], banks=many),))
    ran = run("-", text=write_document(wrong).decode())
    assert ran.returncode == 2
    assert "more than 4096 banks" in ran.stderr


CSV: Final = "id,lower,upper,size\na,0,2,8\nb,1,3,8\nc,2,4,8\n"


def test_what_does_not_fit_is_explained() -> None:
    ran = run("-", "--capacity", "15", text=CSV)
    document = json.loads(ran.stdout)
    assert ran.returncode == 3
    assert (document["status"], document["prover"]) == ("infeasible", "live bytes")
    assert document["explanation"]["buffers"] == ["a", "b"]
    assert document["explanation"]["needed"] == 16


def test_a_plan_is_written_as_csv_and_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    ran = run("-", "--csv", "--capacity=16", "-o", path, text=CSV)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert path.read_text(encoding="utf-8").splitlines()[0] == "id,lower,upper,size,offset"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no FILE"),
        (("missing.csv",), "cannot read missing.csv"),
        (("-", "-"), "one FILE"),
        (("-", "--what"), "there is no option --what"),
        (("-", "--capacity"), "--capacity takes a value"),
        (("-", "--capacity", "12XB"), "--capacity takes bytes"),
        (("-", "--capacity", "99999999999999999999"), "--capacity takes bytes"),
        (("-", "--csv=1"), "--csv takes no value"),
        (("-", "--seed", "-1"), "--seed takes a number"),
        (("-", "--time-limit", "nan"), "time_limit"),
        (("-", "--deterministic", "--time-limit", "1"), "limit the work"),
    ],
)
def test_arguments_that_are_wrong_are_named(words: tuple[str, ...], message: str) -> None:
    ran = run(*words, text=CSV)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr


def test_a_folder_is_no_problem(tmp_path: Path) -> None:
    ran = run(str(tmp_path))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "is a directory; give a file" in ran.stderr


def test_what_is_no_plain_problem_is_left_to_the_package() -> None:
    ran = run("-", text='{"version": 1, "buffers": [{"id": "a", "size": 1}]}')
    assert ran.returncode == 2
    assert "`memstow solve` reads" in ran.stderr


def listens(pid: int) -> bool:
    """Whether the process has a handler for SIGINT."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="signals of a process are read in /proc")
def test_an_interrupt_gives_the_best_plan_so_far(tmp_path: Path) -> None:
    rng = Random(2)
    path = tmp_path / "large.csv"
    path.write_bytes(write_problem(replace(random_problem(rng, 1500), pools=(Pool(id="memory"),))))
    process = subprocess.Popen(
        [COMMAND, path, "--time-limit", "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: listens(process.pid), "the command to listen to SIGINT")
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert json.loads(output)["status"] in ("optimal", "feasible")
