"""The problems of idealloc: some hundred to some ten thousand buffers of whole programs."""

from benchmarks.hard.effort import Effort
from benchmarks.hard.engine_run import WORKERS, solve
from benchmarks.hard.instances import SKIPPED, there
from benchmarks.page import DATA, held, table
from memstow.planner.formats import read_problem

# Seconds, and the multiple of the bound that is to be reached in them; the bound itself is to be proven.
PROBLEMS = {"resnet50": (5.0, 1.0), "G_1": (5.0, 1.0), "S_1": (20.0, 1.002)}


def measure(effort: Effort) -> str:
    """A row for each."""
    if not there("idealloc"):
        return SKIPPED
    header = (
        "problem",
        "buffers",
        "peak",
        "peak / bound",
        "wanted",
        "status",
        "found by",
        "s",
        "processor, s",
        "limit, s",
    )
    rows = [_row(name, effort.seconds(usual), wanted) for name, (usual, wanted) in PROBLEMS.items()]
    return f"Engine alone, {WORKERS} workers:\n\n" + table(header, rows)


def _row(name: str, seconds: float, wanted: float) -> tuple[object, ...]:
    problem = read_problem((DATA / "idealloc" / f"{name}.csv").read_bytes())
    solved = solve(problem, seconds)
    return (
        name,
        f"{len(problem.buffers):,}",
        f"{solved.peak:,}",
        held(f"{solved.ratio:.5f}", solved.ratio, wanted),
        "the bound, proven" if wanted == 1 else f"{wanted:g}",
        solved.plan.status.value,
        solved.plan.solver,
        f"{solved.seconds:.2f}",
        f"{solved.cpu_seconds:.2f}",
        f"{seconds:g}",
    )
