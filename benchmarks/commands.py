"""Commands as whole processes: how long a person waits, and how time and memory grow with the problem."""

import json
import math
import sys
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.measuring import IN_PROCESS, MEMSTOW, run, run_well, typical
from benchmarks.page import DATA, held, table
from benchmarks.problems import needs, write_random_csv

STARTUP_RUNS = 15
STARTUP_LIMITS = {10: 0.2, 300: 0.25}


_LIBRARY = "import memstow; memstow.Problem"


def startup() -> str:
    """Network problems of each size, solved by the console script."""
    rows = [
        _startup_row("`python -c pass`", None, sys.executable, "-c", "pass"),
        _startup_row("`import memstow; memstow.Problem`", None, sys.executable, "-c", _LIBRARY),
        _startup_row("`memstow version`", None, MEMSTOW, "version"),
    ]
    with TemporaryDirectory() as folder:
        for n, limit in STARTUP_LIMITS.items():
            path = Path(folder) / f"{n}.json"
            run(MEMSTOW, "generate", "network", "--n", str(n), "--output", path)
            plan = path.with_suffix(".plan.json")
            run(MEMSTOW, "solve", path, "--output", plan)
            rows.append(_startup_row(f"`memstow solve`, {n} buffers", limit, MEMSTOW, "solve", path))
            rows.append(_startup_row(f"`memstow verify`, {n} buffers", None, MEMSTOW, "verify", path, plan))
    header = ("command", "seconds", "limit", "of a processor, s")
    return f"Whole process, median of {STARTUP_RUNS} runs:\n\n" + table(header, rows)


def _startup_row(name: str, limit: float | None, *command: str | Path) -> tuple[str, ...]:
    usage = typical(STARTUP_RUNS, *command)
    shown, processor = f"{usage.seconds:.3f}", f"{usage.cpu_seconds:.3f}"
    if limit is None:
        return name, shown, "", processor
    return name, held(shown, usage.seconds, limit), f"{limit:g}", processor


BOUND = 1_498_635_932
SOLVERS = ("auto", "greedy", "first-fit")
LARGE_RUNS = 3
# Seconds of the whole process, and of the engine alone.
PROCESS_LIMITS = {"greedy": 3.0}
ENGINE_LIMITS = {"first-fit": 0.5}


@needs("idealloc")
def large() -> str:
    """Whole processes; the peak as a multiple of the bound."""
    path = DATA / "idealloc" / "S_1.csv"
    rows = [_large_row(solver, path) for solver in SOLVERS]
    header = (
        "solver",
        "seconds, whole process",
        "limit",
        "of a processor, s",
        "engine alone, s",
        "limit",
        "peak / bound",
        "MiB",
    )
    return f"`idealloc/S_1.csv`, best of {LARGE_RUNS} runs:\n\n" + table(header, rows)


def _shown(seconds: float, limit: float | None) -> tuple[str, str]:
    """The seconds and their limit."""
    if limit is None:
        return f"{seconds:.2f}", ""
    return held(f"{seconds:.2f}", seconds, limit), f"{limit:g}"


def _large_row(solver: str, path: Path) -> tuple[str, ...]:
    best = min(
        (run(MEMSTOW, "solve", path, "--solver", solver, "--json") for _ in range(LARGE_RUNS)),
        key=lambda ran: ran.usage.seconds,
    )
    if best.code != 0:
        return (solver, f"exit code {best.code}", *[""] * 6)
    plan = json.loads(best.out)
    peak = sum(pool["peak"] for pool in plan["pools"])
    process, engine = (
        _shown(best.usage.seconds, PROCESS_LIMITS.get(solver)),
        _shown(plan["seconds"], ENGINE_LIMITS.get(solver)),
    )
    return (
        solver,
        *process,
        f"{best.usage.cpu_seconds:.2f}",
        *engine,
        f"{peak / BOUND:.4f}",
        f"{best.peak_memory / (1 << 20):.0f}",
    )


GROWTH_SIZES = (10_000, 100_000, 1_000_000)
# What holds for the largest.
MOST_GREEDY, MOST_VERIFY, MOST_GIB = 60.0, 20.0, 4.0


def growth() -> str:
    """A row for each size."""
    rows: list[tuple[str, ...]] = []
    for n in GROWTH_SIZES:
        ran = run(sys.executable, "-P", IN_PROCESS, "tiling", str(n))
        if ran.code != 0:
            rows.append((f"{n:,}", f"exit code {ran.code}", *[""] * 6))
            continue
        m = json.loads(ran.out)
        gib = ran.peak_memory / (1 << 30)
        limits = (MOST_GREEDY, MOST_VERIFY, MOST_GIB) if n == GROWTH_SIZES[-1] else (inf, inf, inf)
        rows.append(
            (
                f"{n:,}",
                f"{m['generate']:.2f}",
                f"{m['solve']:.2f}",
                held(f"{m['greedy']:.2f}", m["greedy"], limits[0]),
                held(f"{m['verify']:.2f}", m["verify"], limits[1]),
                f"{1e6 * m['greedy'] / n:.1f}",
                f"{m['peak'] / m['optimum']:.4f}",
                held(f"{gib:.2f}", gib, limits[2]),
            )
        )
    header = (
        "buffers",
        "generate, s",
        "plan, s",
        "of it greedy, s",
        "verify, s",
        "greedy, µs a buffer",
        "peak / optimum",
        "GiB",
    )
    note = f"greedy {MOST_GREEDY:g} s and {MOST_GIB:g} GiB, verify {MOST_VERIFY:g} s"
    return f"Planted problems without slack. Limits at {GROWTH_SIZES[-1]:,}: {note}.\n\n" + table(
        header, rows
    )


FILE_SIZES: Final = (100, 1_000, 10_000, 100_000, 1_000_000)
_ONE_PASS: Final = ("--solver", "greedy", "--work-limit")
"""With as much work as there are buffers."""


def files() -> str:
    """A row for each size."""
    rows: list[tuple[str, ...]] = []
    before: tuple[float, float] | None = None
    with TemporaryDirectory() as folder:
        problem, plan = Path(folder, "random.csv"), Path(folder, "plan.json")
        for n in FILE_SIZES:
            write_random_csv(problem, n)
            solved = run_well(MEMSTOW, "solve", problem, *_ONE_PASS, str(n), "--output", plan)
            verified = run_well(MEMSTOW, "verify", problem, plan)
            short = run_well(MEMSTOW, "solve", problem, "--time-limit", "1", "--quiet")
            ends = solved.usage.cpu_seconds, verified.usage.cpu_seconds
            rows.append(
                (
                    f"{n:,}",
                    f"{solved.usage.seconds:.2f}",
                    f"{solved.usage.cpu_seconds:.2f}",
                    f"{verified.usage.seconds:.2f}",
                    f"{verified.usage.cpu_seconds:.2f}",
                    *(
                        ["", ""]
                        if before is None
                        else [_slope(a, b) for a, b in zip(before, ends, strict=True)]
                    ),
                    f"{short.usage.seconds:.2f}",
                    f"{solved.peak_memory / (1 << 20):.0f}",
                )
            )
            before = ends
    header = (
        "buffers",
        "one pass, s",
        "of a processor, s",
        "verify, s",
        "of a processor, s",
        "slope of a pass",
        "slope of verify",
        "solve, limit 1 s",
        "MiB",
    )
    return (
        "Whole processes, from a CSV to a plan in JSON: one pass of greedy, `verify` of its plan, and what "
        "`auto` does in a second. A slope is that of the processor time from the row above, on logarithmic "
        "scales.\n\n" + table(header, rows)
    )


def _slope(before: float, after: float) -> str:
    return f"{math.log10(after / before):.2f}"
