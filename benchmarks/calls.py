"""How long calls from Python take: `plan` of a problem that is new each time, and `place` of arrays."""

import time
from array import array
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from benchmarks.page import held, table
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.solve.array_places import place
from memstow.planner.solve.engine import plan

PLAN_LIMITS_MS: Final = {10: 0.5, 1000: 10.0}
PLACE_LIMITS_MS: Final = {10: 0.05, 100: 0.5, 1000: 4.0, 1_000_000: 1500.0}
# Runs of a call with so many buffers.
_RUNS: Final = {10: 300, 100: 300, 1000: 30, 1_000_000: 3}
_LIFE: Final = 50


def measure() -> str:
    """Each call with lists of random sizes and lives."""
    rows = [_row("plan", n, limit, _planning(n)) for n, limit in PLAN_LIMITS_MS.items()]
    rows += [_row("place", n, limit, _placing(n)) for n, limit in PLACE_LIMITS_MS.items()]
    header = ("call", "buffers", "ms", "limit", "of a processor, ms")
    return "Best run of one process; problems of `plan` are new:\n\n" + table(header, rows, 1)


def _row(name: str, n: int, limit: float, calls: Sequence[Callable[[], object]]) -> tuple[str, ...]:
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
