"""Real networks and kernels, easy one by one: all of executorch and pypto, each in some milliseconds."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from benchmarks.hard.effort import Effort
from benchmarks.hard.engine_run import WORKERS, EngineRun, solve
from benchmarks.hard.instances import SKIPPED, there
from benchmarks.page import DATA, held, table
from memstow.planner.formats import read_problem
from memstow.planner.model import Status
from memstow.planner.model.problem import Problem

SECONDS = 10.0
LIMIT_MS = 50


def measure(effort: Effort) -> str:
    """A row for each set of problems."""
    if not (there("executorch") and there("pypto")):
        return SKIPPED
    seconds = effort.seconds(SECONDS)
    executorch = dict(_read("executorch", "*.json"))
    pypto = dict(_read("pypto", "**/*.json"))
    sets = {
        "executorch": executorch,
        "pypto without reuse costs": {name: p for name, p in pypto.items() if not p.reuse_costs},
        "pypto with reuse costs, these left out": {
            name: _without_reuse(p) for name, p in pypto.items() if p.reuse_costs
        },
    }
    solve(next(iter(executorch.values())), seconds)  # what is loaded at the first run is not what is measured
    header = (
        "problems",
        "how many",
        "optimal",
        "infeasible",
        "median, ms",
        "most, ms",
        "of a processor, ms",
        "the slowest",
    )
    rows = [_row(name, problems, seconds) for name, problems in sets.items() if problems]
    return f"Engine alone, {WORKERS} workers; limit: {LIMIT_MS} ms each:\n\n" + table(header, rows)


def _read(folder: str, pattern: str) -> Iterator[tuple[str, Problem]]:
    for path in sorted((DATA / folder).glob(pattern)):
        yield str(path.relative_to(DATA / folder)), read_problem(path.read_bytes())


def _without_reuse(problem: Problem) -> Problem:
    terms = tuple(term for term in problem.terms() if term != "reuse_cost")
    return replace(problem, reuse_costs=(), objective=terms)


def _row(name: str, problems: dict[str, Problem], seconds: float) -> tuple[object, ...]:
    found: dict[str, EngineRun] = {which: solve(problem, seconds) for which, problem in problems.items()}
    slowest = max(found, key=lambda which: found[which].seconds)
    statuses = Counter(solved.plan.status for solved in found.values())
    times = [solved.seconds * 1000 for solved in found.values()]
    return (
        name,
        len(found),
        statuses[Status.OPTIMAL],
        statuses[Status.INFEASIBLE],
        f"{median(times):.1f}",
        held(f"{max(times):.1f}", max(times), LIMIT_MS),
        f"{found[slowest].cpu_seconds * 1000:.1f}",
        f"{slowest} ({found[slowest].plan.status})",
    )
