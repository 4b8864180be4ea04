"""Which pool and which offset, together: real networks over two memories, and problems at random."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from benchmarks.models import three_pools
from benchmarks.page import DATA, table
from memstow.planner.formats import read_problem
from memstow.planner.formats.usmp_format import objective_of
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.model.problem import Pool, Problem
from memstow.planner.reduce import reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan

SECONDS = 10.0
SOLVERS = ("greedy", "cpsat", "assign", "auto")
NETWORKS = ("mobilenet_v2", "resnet50", "transformer", "efficientnet_b0", "unet")
SHARES = ((3, 4), (1, 2), (1, 4))
ALIGNMENT = 16


def measure() -> str:
    """What each solver reaches for the first term, `*` where all terms are proven, and its seconds."""
    header = ("problem", "buffers", "first term", "bound", *SOLVERS)
    return (
        f"A fast memory of a share of the most live bytes and an unbounded slow one; {SECONDS:.0f} s each, "
        "`*` where all terms are proven, and the seconds from the call to the answer:\n\n"
        + table(header, [_row(problem) for problem in problems()])
    )


def problems() -> Iterator[Problem]:
    """Those from elsewhere, where they can be read, and those made here."""
    if DATA.exists():
        for above, below in SHARES:
            for name in NETWORKS:
                found = read_problem((DATA / "executorch" / f"{name}.json").read_bytes())
                yield replace(two_memories(found, above, below), name=f"{name}, {above}/{below} fast")
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


def _row(problem: Problem) -> tuple[object, ...]:
    results = []
    bound = 0
    for solver in SOLVERS:
        begin = time.monotonic()
        found = plan(problem, Options(solver=solver, time_limit=SECONDS, workers=2))
        results.append(_told(found, time.monotonic() - begin))
        bound = max([bound, *(term.bound for term in found.objective[:1])])
    return (problem.name, len(problem.buffers), problem.terms()[0], f"{bound:,}", *results)


def _told(found: Plan, seconds: float) -> str:
    if not found.objective:
        return str(found.status)
    star = "*" if found.status is Status.OPTIMAL else ""
    return f"{found.objective[0].value:,}{star} ({seconds:.1f})"
