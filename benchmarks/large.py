"""A large real problem: idealloc's S_1, 28,526 buffers, by the portfolio and by the fastest greedy alone."""

import json
from pathlib import Path

from benchmarks.page import DATA, held, table
from benchmarks.process import MEMSTOW, run

BOUND = 1_498_635_932
SOLVERS = ("auto", "greedy", "first-fit")
RUNS = 3
# Seconds of the whole process, and of the engine alone.
PROCESS_LIMITS = {"greedy": 3.0}
ENGINE_LIMITS = {"first-fit": 0.5}


def measure() -> str:
    """Whole processes; the peak as a multiple of the bound."""
    path = DATA / "idealloc" / "S_1.csv"
    if not path.exists():
        return "Skipped: `../shared/data` is not there."
    rows = [_row(solver, path) for solver in SOLVERS]
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
    return f"`idealloc/S_1.csv`, best of {RUNS} runs:\n\n" + table(header, rows)


def _shown(seconds: float, limit: float | None) -> tuple[str, str]:
    """The seconds and their limit."""
    if limit is None:
        return f"{seconds:.2f}", ""
    return held(f"{seconds:.2f}", seconds, limit), f"{limit:g}"


def _row(solver: str, path: Path) -> tuple[str, ...]:
    best = min(
        (run(MEMSTOW, "solve", path, "--solver", solver, "--json") for _ in range(RUNS)),
        key=lambda ran: ran.seconds,
    )
    if best.code != 0:
        return (solver, f"exit code {best.code}", *[""] * 6)
    plan = json.loads(best.out)
    peak = sum(pool["peak"] for pool in plan["pools"])
    process, engine = (
        _shown(best.seconds, PROCESS_LIMITS.get(solver)),
        _shown(plan["seconds"], ENGINE_LIMITS.get(solver)),
    )
    return (
        solver,
        *process,
        f"{best.cpu_seconds:.2f}",
        *engine,
        f"{peak / BOUND:.4f}",
        f"{best.peak_bytes / (1 << 20):.0f}",
    )
