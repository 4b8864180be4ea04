"""The model-based solvers on problems that greedy and the bound do not settle, each within ten seconds."""

import time
from collections.abc import Iterator
from random import Random

from benchmarks.page import DATA, table
from memstow.planner.formats import read_problem
from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.solve.engine import plan

SECONDS = 10.0
REUSE_SECONDS = 4.0
SOLVERS = ("greedy", "exact", "cpsat", "highs", "cbc")
FOLDERS = ("minimalloc/*.csv", "idealloc/*.csv", "executorch/*.json", "minimalloc-dsa-rp/*.json")


def measure() -> str:
    """What each solver reaches on each problem, `*` where it is proven, and the seconds it took."""
    if not DATA.exists():
        return "Skipped: `../shared/data` is not there."
    header = ("problem", "buffers", "bound", *SOLVERS)
    parts = (
        "The first term of the objective, `*` where all terms are proven, and the seconds it took:",
        table(header, [*_rows(), *_several_pools()]),
        f"All problems of `pypto` with reuse costs, {REUSE_SECONDS:.0f} s each:",
        table(("solver", "problems", "proven", "sum of costs", "seconds"), list(_reuse())),
    )
    return "\n\n".join(parts)


def _rows() -> Iterator[tuple[object, ...]]:
    for pattern in FOLDERS:
        for path in sorted(DATA.glob(pattern)):
            yield _row(f"{path.parent.name}/{path.stem}", read_problem(path.read_bytes()))


def _several_pools() -> Iterator[tuple[object, ...]]:
    """Placement costs over three pools, two of them with room for a third of what lives at once."""
    for count in (20, 60, 200):
        for seed in range(2):
            yield _row(f"three pools, seed {seed}", three_pools(Random(seed), count))


def three_pools(rng: Random, count: int) -> Problem:
    """Buffers at random, and costs of access that make pools matter."""
    buffers = []
    for i in range(count):
        size, begin = rng.randrange(1, 64) * 16, rng.randrange(count)
        life = (begin, begin + rng.randrange(1, max(2, count // 5)))
        buffers.append(Buffer(id=f"b{i}", size=size, lifetime=life, accesses=rng.randrange(1, 200) * 16))
    live = max(sum(b.size for b in buffers if _lives(b, time)) for time in range(count))
    pools = (
        Pool(id="fast", capacity=live // 3 // 16 * 16, cost=1),
        Pool(id="middle", capacity=live // 3 // 16 * 16, cost=3),
        Pool(id="slow", cost=10),
    )
    return Problem(version=1, pools=pools, buffers=tuple(buffers))


def _lives(buffer: Buffer, time: int) -> bool:
    return isinstance(buffer.lifetime, tuple) and buffer.lifetime[0] <= time < buffer.lifetime[1]


def _reuse() -> Iterator[tuple[object, ...]]:
    problems = [read_problem(path.read_bytes()) for path in sorted((DATA / "pypto").rglob("*.json"))]
    problems = [problem for problem in problems if problem.reuse_costs]
    for solver in SOLVERS:
        begin = time.monotonic()
        found = [_solved(problem, solver, REUSE_SECONDS) for problem in problems]
        if None in found:
            continue
        proven = sum(p.status in (Status.OPTIMAL, Status.INFEASIBLE) for p in found if p)
        total = sum(term.value for p in found if p for term in p.objective if term.term == "reuse_cost")
        yield solver, len(problems), proven, total, f"{time.monotonic() - begin:.0f}"


def _row(name: str, problem: Problem) -> tuple[object, ...]:
    results = []
    bound = 0
    for solver in SOLVERS:
        begin = time.monotonic()
        found = _solved(problem, solver, SECONDS)
        seconds = time.monotonic() - begin
        results.append(_told(found, seconds))
        if found is not None and found.objective:
            bound = max(bound, found.objective[0].bound)
    return (name, len(problem.buffers), f"{bound:,}", *results)


def _solved(problem: Problem, solver: str, seconds: float) -> Plan | None:
    try:
        return plan(problem, Options(solver=solver, time_limit=seconds, workers=2))
    except DeclinedError:
        return None


def _told(found: Plan | None, seconds: float) -> str:
    if found is None:
        return "declines"
    if not found.objective:
        return str(found.status)
    star = "*" if found.status is Status.OPTIMAL else ""
    return f"{found.objective[0].value:,}{star} ({seconds:.1f})"
