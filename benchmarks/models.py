"""The model-based solvers on problems that greedy and the bound do not settle, each within ten seconds."""

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.page import DATA, table
from planner.engine import plan
from planner.errors import DeclinedError
from planner.formats import read_problem
from planner.options import Options
from planner.plan import Plan, Status
from planner.problem import Problem

SECONDS = 10.0
SOLVERS = ("greedy", "exact", "cpsat", "highs", "cbc")
FOLDERS = ("minimalloc/*.csv", "idealloc/*.csv", "executorch/*.json", "minimalloc-dsa-rp/*.json")


def measure() -> str:
    """A row for each problem: what each solver reaches, `*` where it is proven, and the seconds it took."""
    if not DATA.exists():
        return "Skipped: `../shared/data` is not there."
    header = ("problem", "buffers", "bound", *SOLVERS)
    return table(header, list(_rows()))


def _rows() -> Iterator[tuple[object, ...]]:
    for pattern in FOLDERS:
        for path in sorted(DATA.glob(pattern)):
            yield _row(path)


def _row(path: Path) -> tuple[object, ...]:
    problem = read_problem(path.read_bytes())
    results = []
    bound = 0
    for solver in SOLVERS:
        begin = time.monotonic()
        found = _solved(problem, solver)
        seconds = time.monotonic() - begin
        results.append(_told(found, seconds))
        if found is not None and found.objective:
            bound = max(bound, found.objective[0].bound)
    return (f"{path.parent.name}/{path.stem}", len(problem.buffers), f"{bound:,}", *results)


def _solved(problem: Problem, solver: str) -> Plan | None:
    try:
        return plan(problem, Options(solver=solver, time_limit=SECONDS, workers=2))
    except DeclinedError:
        return None


def _told(found: Plan | None, seconds: float) -> str:
    if found is None:
        return "declines"
    if not found.objective:
        return str(found.status)
    star = "*" if found.status is Status.OPTIMAL else ""
    return f"{found.objective[0].value:,}{star} ({seconds:.1f})"
