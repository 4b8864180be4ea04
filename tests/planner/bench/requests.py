"""What the tests of the bench share: instances, what is asked of solvers, and records without their times."""

import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from memstow.planner.bench.executors import Result, Supervisors
from memstow.planner.bench.record import Record, from_line, to_line
from memstow.planner.bench.task import InstanceSource, RunOptions, SolverRequest, Task
from tests.planner.bench.test_record import RECORD

OPTIONS: dict[str, Any] = {
    "format": None,
    "target": None,
    "capacity": None,
    "fit_only": False,
    "time_limit": 60.0,
    "memory": None,
    "gap": 0.0,
    "deterministic": True,
    "work_limit": 200_000,
    "workers": 1,
}
THREE = b"id,lower,upper,size\na,0,2,100\nb,1,3,50\nc,2,4,100\n"
"""Its least peak is 150."""

SIDE_BY_SIDE = """
import csv, sys
at = 0
with open(sys.argv[1]) as problem, open(sys.argv[2], "w") as plan:
    print("id,offset", file=plan)
    for row in csv.DictReader(problem):
        print(f"{row['id']},{at}", file=plan)
        at += int(row["size"])
"""
"""An outside program: each buffer above the one before."""


def given(data: bytes = THREE, name: str = "three") -> InstanceSource:
    return InstanceSource(name, "tiny", data=data)


def planted(n: int, seed: int = 1) -> InstanceSource:
    return InstanceSource(
        f"planted{n}-{seed}", "planted", generated={"kind": "planted", "n": n, "seed": seed}
    )


def task(of: InstanceSource, solver_request: SolverRequest, seed: int = 0) -> Task:
    return Task(of, of.content, solver_request, seed)


def solver(name: str, **options: object) -> SolverRequest:
    return SolverRequest(name, cast(RunOptions, {**OPTIONS, **options}), repeat_seconds=0.0)


def program(folder: Path, body: str, arguments: str = "{input} {output}", **options: object) -> SolverRequest:
    """An outside program in Python; `arguments` follow its name."""
    script = folder / "program.py"
    script.write_text(textwrap.dedent(body))
    ours = ("gap", "deterministic", "work_limit", "workers")
    common = {name: value for name, value in OPTIONS.items() if name not in ours}
    command = (sys.executable, "-S", str(script), *arguments.split())
    changed = cast(RunOptions, {**common, **options})
    return SolverRequest("mine", changed, command, str(folder), repeat_seconds=0.0)


def recorded(result: Result) -> Record:
    assert result.line is not None, result
    return from_line(result.line)


def record_of(supervisors: Supervisors, of: InstanceSource, solver_request: SolverRequest) -> Record:
    return recorded(supervisors.perform(task(of, solver_request)))


def line(seed: int, digest: str = "d" * 64, content: str = "", name: str = "exact") -> str:
    """A record of a run of this solver, as a line."""
    record = replace(
        RECORD,
        seed=seed,
        instance=replace(RECORD.instance, digest=digest, content=content or given().content),
        solver=solver(name).solver_info("1"),
    )
    return to_line(record)


def timeless(record: Record) -> Record:
    """The record without what no two runs have in common."""
    return replace(
        record,
        repeats=1,
        seconds=0.0,
        cpu_seconds=0.0,
        peak_memory=0,
        reported_seconds=None,
        machine=replace(record.machine, load=0.0),
        events=tuple(replace(event, seconds=0.0) for event in record.events),
    )
