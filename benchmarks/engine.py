"""Calls of the library: how long they take, and what the solvers reach, beside published figures."""

import json
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.measuring import EngineRun, solve
from benchmarks.page import DATA, held, table
from benchmarks.problems import needs, problems_of, three_pools
from memstow.planner.backends import isolated_solver
from memstow.planner.backends.isolated_solver import IsolatedSolver
from memstow.planner.formats import read_problem
from memstow.planner.formats.usmp_format import objective_of
from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.model.problem import PEAK, Buffer, Pool, Problem
from memstow.planner.reduce import reduce
from memstow.planner.solve.array_places import place
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.planner.solve.run_state import task_of
from memstow.solvers import _native
from memstow.solvers.greedy import make
from memstow.solvers.registry import BACK_ENDS
from memstow.solvers.solver import Listeners, Outcome, Task

PLAN_LIMITS_MS: Final = {10: 0.5, 1000: 10.0}
PLACE_LIMITS_MS: Final = {10: 0.05, 100: 0.5, 1000: 4.0, 1_000_000: 1500.0}
# Runs of a call with so many buffers.
_RUNS: Final = {10: 300, 100: 300, 1000: 30, 1_000_000: 3}
_LIFE: Final = 50


def calls() -> str:
    """Each call with lists of random sizes and lives."""
    rows = [_call_row("plan", n, limit, _planning(n)) for n, limit in PLAN_LIMITS_MS.items()]
    rows += [_call_row("place", n, limit, _placing(n)) for n, limit in PLACE_LIMITS_MS.items()]
    header = ("call", "buffers", "ms", "limit", "of a processor, ms")
    return "Best run of one process; problems of `plan` are new:\n\n" + table(header, rows, 1)


def _call_row(name: str, n: int, limit: float, calls: Sequence[Callable[[], object]]) -> tuple[str, ...]:
    clocks, processors = [], []
    for call in calls:
        clock, processor = time.perf_counter(), time.process_time()
        call()
        clocks.append(1000 * (time.perf_counter() - clock))
        processors.append(1000 * (time.process_time() - processor))
    took = min(clocks)
    return (
        f"`{name}`",
        f"{n:,}",
        held(f"{took:,.3g}", took, limit),
        f"{limit:g}",
        f"{min(processors):,.3g}",
    )


def _columns(n: int) -> tuple["array[int]", "array[int]", "array[int]"]:
    random = Random(1)
    begins = array("q", (random.randrange(n) for _ in range(n)))
    ends = array("q", (begin + random.randint(1, _LIFE) for begin in begins))
    return array("q", (64 * random.randint(1, 64) for _ in range(n))), begins, ends


def _placing(n: int) -> list[Callable[[], object]]:
    sizes, begins, ends = _columns(n)
    return [lambda: place(sizes, begins, ends, alignment=16)] * _RUNS[n]


def _planning(n: int) -> list[Callable[[], object]]:
    """Problems that greedy's first passes prove, as most are."""

    def problem() -> Problem:
        random = Random(0)
        return Problem(
            buffers=[
                Buffer(
                    id=f"b{i}", size=64 * random.randrange(1, 64), lifetime=(i, i + random.randrange(1, 6))
                )
                for i in range(n)
            ]
        )

    return [_planned(problem()) for _ in range(_RUNS[n])]


def _planned(problem: Problem) -> Callable[[], object]:
    return lambda: plan(problem)


# What ExecuTorch's own greedy planner reaches, from the notes beside the data.
PUBLISHED_BY_EXECUTORCH = {
    "mobilenet_v2": 9_936_896,
    "resnet50": 14_614_528,
    "transformer": 12_419_072,
    "efficientnet_b0": 14_753_792,
    "unet": 8_388_608,
}


# Conflicts of the cases whose file gives sizes only, as in TVM's test_tir_usmp_algo.py: those that both sides
# name, since its planners overlook the others.
EDGES = {"linear": "ab bc cd de ef", "fanout": "ab ac bc be cd ce de df ef"}


@needs("executorch", "usmp")
def published() -> str:
    """A row for each problem."""
    header = ("problem", "buffers", "peak", "bound", "published", "status", "found by", "ms")
    return table(header, [*_executorch(), *_usmp()])


def _executorch() -> Iterator[tuple[object, ...]]:
    for name, published in PUBLISHED_BY_EXECUTORCH.items():
        data = (DATA / "executorch" / f"{name}.json").read_bytes()
        yield _published_row(f"executorch/{name}", data, f"{published:,}")


def _usmp() -> Iterator[tuple[object, ...]]:
    facts = json.loads((DATA / "usmp" / "facts.json").read_text())
    for name, case in facts.items():
        if isinstance(case, dict) and "sizes" in case:
            if name in EDGES:
                case["edges"] = [list(pair) for pair in EDGES[name].split()]
            yield _published_row(f"usmp/{name}", json.dumps(case).encode(), _best(case))
    for name, rows in facts["intervals_inclusive"].items():
        lowest = facts["interval_lower_bound"][name]
        yield _published_row(f"usmp/intervals/{name}", json.dumps(rows).encode(), f"{lowest:,}")


def _best(case: dict[str, Any]) -> str:
    """The best the case's authors expect of any of their planners: the least in the last pool first."""
    expected = case.get("expected")
    if expected is None:
        return f"{case['memory_pressure']:,} (pressure)"
    figures = expected.values() if isinstance(expected, dict) else [expected]
    pools: list[list[int]] = [f if isinstance(f, list) else [f] for f in figures]
    return _together(min(pools, key=_last_first))


def _last_first(figures: Iterable[int]) -> list[int]:
    return list(figures)[::-1]


def _together(figures: Iterable[int]) -> str:
    """What each pool takes, in their order."""
    return " + ".join(f"{figure:,}" for figure in figures)


def _published_row(name: str, data: bytes, published: str) -> tuple[object, ...]:
    problem = read_problem(data)
    result: Plan = plan(problem, Options())
    proven = {term.term: term.bound for term in result.objective}
    alone = proven.get("peak", 0) if len(result.pools) == 1 else 0
    bound = _together(max(use.bound, alone, proven.get(f"peak:{use.pool}", 0)) for use in result.pools)
    said = (result.status.value, result.solver, f"{result.seconds * 1000:.1f}")
    return (name, len(problem.buffers), _together(use.peak for use in result.pools), bound, published, *said)


MODEL_SECONDS = 10.0
REUSE_SECONDS = 4.0
MODEL_SOLVERS = ("greedy", "exact", "cpsat", "highs", "cbc")
MODEL_SETS = ("minimalloc", "idealloc", "executorch", "minimalloc-dsa-rp")


@needs(*MODEL_SETS, "pypto")
def models() -> str:
    """What each solver reaches on each problem, `*` where it is proven, and the seconds it took."""
    header = ("problem", "buffers", "bound", *MODEL_SOLVERS)
    parts = (
        "The first term of the objective, `*` where all terms are proven, and the seconds it took:",
        table(header, [*_model_rows(), *_several_pools()]),
        f"All problems of `pypto` with reuse costs, {REUSE_SECONDS:.0f} s each:",
        table(("solver", "problems", "proven", "sum of costs", "seconds"), list(_reuse())),
    )
    return "\n\n".join(parts)


def _model_rows() -> Iterator[tuple[object, ...]]:
    for folder in MODEL_SETS:
        for name, problem in problems_of(folder):
            yield _model_row(f"{folder}/{Path(name).stem}", problem)


def _several_pools() -> Iterator[tuple[object, ...]]:
    """Placement costs over three pools, two of them with room for a third of what lives at once."""
    for count in (20, 60, 200):
        for seed in range(2):
            yield _model_row(f"three pools, seed {seed}", three_pools(Random(seed), count))


def _reuse() -> Iterator[tuple[object, ...]]:
    problems = [problem for _, problem in problems_of("pypto") if problem.reuse_costs]
    for solver in MODEL_SOLVERS:
        runs = [_run_unless_declined(problem, solver, REUSE_SECONDS) for problem in problems]
        solved = [run for run in runs if run is not None]
        if len(solved) == len(runs):
            proven = sum(run.proven for run in solved)
            cost = sum(run.reuse_cost for run in solved)
            seconds = sum(run.usage.seconds for run in solved)
            yield solver, len(problems), proven, cost, f"{seconds:.0f}"


def _model_row(name: str, problem: Problem) -> tuple[object, ...]:
    bound, cells = _reached(problem, MODEL_SOLVERS, MODEL_SECONDS)
    return (name, len(problem.buffers), f"{bound:,}", *cells)


def _reached(problem: Problem, solvers: Sequence[str], seconds: float) -> tuple[int, list[str]]:
    """The best bound of the first term, and for each solver its value, `*` if proven, and its seconds."""
    bound, cells = 0, []
    for solver in solvers:
        run = _run_unless_declined(problem, solver, seconds)
        if run is None:
            cells.append("declines")
        elif not run.plan.objective:
            cells.append(str(run.plan.status))
        else:
            first = run.plan.objective[0]
            bound = max(bound, first.bound)
            star = "*" if run.plan.status is Status.OPTIMAL else ""
            cells.append(f"{first.value:,}{star} ({run.usage.seconds:.1f})")
    return bound, cells


def _run_unless_declined(problem: Problem, solver: str, seconds: float) -> EngineRun | None:
    try:
        return solve(problem, seconds, solver)
    except DeclinedError:
        return None


POOL_SECONDS = 10.0
POOL_SOLVERS = ("greedy", "cpsat", "assign", "auto")
NETWORKS = ("mobilenet_v2", "resnet50", "transformer", "efficientnet_b0", "unet")
SHARES = ((3, 4), (1, 2), (1, 4))
ALIGNMENT = 16


def pools() -> str:
    """What each solver reaches for the first term, `*` where all terms are proven, and its seconds."""
    header = ("problem", "buffers", "first term", "bound", *POOL_SOLVERS)
    return (
        "A fast memory of a share of the most live bytes and an unbounded slow one; "
        f"{POOL_SECONDS:.0f} s each, `*` where all terms are proven, and the seconds from the call "
        "to the answer:\n\n" + table(header, [_pool_row(problem) for problem in problems()])
    )


def problems() -> Iterator[Problem]:
    """Those from elsewhere, where they can be read, and those made here."""
    if DATA.exists():
        for above, below in SHARES:
            for name in NETWORKS:
                network = read_problem((DATA / "executorch" / f"{name}.json").read_bytes())
                yield replace(two_memories(network, above, below), name=f"{name}, {above}/{below} fast")
        yield from cases()
    for count in (20, 60, 200):
        for seed in range(2):
            yield replace(three_pools(Random(seed), count), name=f"three pools, seed {seed}")


def two_memories(problem: Problem, above: int, below: int) -> Problem:
    """The buffers over a fast memory with a share of their bound, and a slow one that is to be small."""
    reduction = reduce(problem)
    assert not isinstance(reduction, Explanation)
    bound = Bounds(reduction).of_pool(0).value
    pools = (
        Pool(id="fast", capacity=bound * above // below, alignment=ALIGNMENT),
        Pool(id="slow", alignment=ALIGNMENT),
    )
    return replace(problem, pools=pools, objective=("peak:slow",))


def cases() -> Iterator[Problem]:
    """Cases of a published planner: conflicts without times, over one pool and over two."""
    facts = json.loads((DATA / "usmp" / "facts.json").read_text())
    pools = (Pool(id="fast_memory", capacity=200_704), Pool(id="slow_memory"))
    for name in ("mobilenet", "resnet", "inception"):
        problem = replace(read_problem(json.dumps(facts[name]).encode(), "usmp"), name=f"usmp {name}")
        yield replace(problem, pools=(Pool(id="memory"),), objective=None)
        yield replace(problem, name=f"usmp {name}, two pools", pools=pools, objective=objective_of(pools))


def _pool_row(problem: Problem) -> tuple[object, ...]:
    bound, cells = _reached(problem, POOL_SOLVERS, POOL_SECONDS)
    return (problem.name, len(problem.buffers), problem.terms()[0], f"{bound:,}", *cells)


START_SECONDS = 10.0
START_COUNT = 10
START_PROBLEMS = 4
_SILENT = Listeners(lambda *_: None, lambda *_: None)


def starts() -> str:
    """A row for each problem."""
    names = [name for name in BACK_ENDS if BACK_ENDS[name].how_to_get() is None]
    header = ("problem", "bound", "greedy", "best", *(f"{n}: started / not, s" for n in names))
    return table(header, list(_start_rows(names)))


def _start_rows(names: list[str]) -> Iterator[tuple[object, ...]]:
    rows, seed = 0, 0
    while rows < START_PROBLEMS:
        seed += 1
        task = _start_task(seed)
        greedy = make("greedy").solve(task, _native.Budget(1.0, -1), _SILENT)
        if not greedy.values or greedy.values[0] <= task.lower_bounds[0]:
            continue
        rows += 1
        started = {n: _start_timed(n, replace(task, start=greedy.layout)) for n in names}
        unstarted = {n: _start_timed(n, task) for n in names}
        best = min([greedy.values[0], *(v for _, v, _ in (*started.values(), *unstarted.values()) if v)])
        cells = [f"{_start_told(started[n])} / {_start_told(unstarted[n])}" for n in names]
        yield (f"seed {seed}", task.lower_bounds[0], greedy.values[0], best, *cells)


def _start_task(seed: int) -> Task:
    rng = Random(seed)
    buffers = tuple(
        Buffer(
            id=f"b{i}",
            size=rng.randrange(5, 40),
            lifetime=(begin := rng.randrange(START_COUNT), begin + rng.randrange(2, START_COUNT // 2)),
        )
        for i in range(START_COUNT * 2)
    )
    reduction = reduce(Problem(version=1, buffers=buffers))
    if isinstance(reduction, Explanation):
        raise TypeError("nothing here has a capacity")
    bound = Bounds(reduction).of_term(PEAK).value
    return task_of(reduction, {PEAK: bound}, Options(workers=2))[0]


def _start_timed(name: str, task: Task) -> tuple[float, int | None, bool]:
    """Seconds, the value reached, and whether it was proven."""
    isolated_solver.prepare(name)
    time.sleep(1.0)  # the import is not what is measured
    begin = time.monotonic()
    outcome: Outcome = IsolatedSolver(name).solve(task, _native.Budget(START_SECONDS, -1), _SILENT)
    seconds = time.monotonic() - begin
    bound = max((b.value for b in outcome.bounds), default=task.lower_bounds[0])
    start = task.start is not None
    value = outcome.values[0] if outcome.values else None
    # A start that is the best there is comes back as a bound alone.
    proven = outcome.failure is None and (bound == value or (start and value is None))
    return seconds, value, proven


def _start_told(result: tuple[float, int | None, bool]) -> str:
    seconds, value, proven = result
    return f"{seconds:.1f}" if proven else f"not in {START_SECONDS:.0f} ({value or 'start'})"
