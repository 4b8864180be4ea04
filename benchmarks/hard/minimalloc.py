"""A-K of google/minimalloc with no height given, next to what others reach on them."""

from statistics import geometric_mean

from benchmarks.hard.effort import Effort
from benchmarks.hard.engine_run import WORKERS, EngineRun, solve
from benchmarks.hard.instances import SKIPPED, minimalloc, there
from benchmarks.page import table

SECONDS = 10.0

# Known before memstow, from the notes in ../shared/design/search.md; none of it is measured again here. Their
# multiples are of the best plans known then: D's was 999,424.
OTHERS = (
    ("size-ordered first fit", "1.22 x the best known, geometric mean"),
    ("OpenXLA's heap policy", "1.23 x"),
    ("TVM USMP hill climb, 2,000 attempts, best of 3", "1.08 x"),
    ("CP-SAT `no_overlap_2d`, 2 workers, 50 s, without a start", "1.04-1.21 x, none proven"),
    ("CP-SAT, given the height 1,048,576", "K in 0.5 s, G in 21 s, the rest not in 25 s"),
    ("MiniMalloc, given the height 1,048,576", "all: 0.6-4.7 s each, 26.8 s in total"),
    ("MiniMalloc, minimising, 5 s", "proves only C"),
    ("MiniMalloc, given D's or J's maximum of live bytes", "nothing in 60 s"),
)


def measure(effort: Effort) -> str:
    """A row for each problem, then what others reach."""
    if not there("minimalloc"):
        return SKIPPED
    seconds = effort.seconds(SECONDS)
    found = {letter: (len(problem.buffers), solve(problem, seconds)) for letter, problem in minimalloc()}
    header = (
        "problem",
        "buffers",
        "peak",
        "bound",
        "peak / bound",
        "status",
        "found by",
        "s",
        "processor, s",
    )
    rows = [_row(letter, count, solved) for letter, (count, solved) in found.items()]
    return "\n\n".join(
        (
            f"No height given, {seconds:g} s each, {WORKERS} workers, engine alone:",
            table(header, rows),
            "What others reach: measured earlier (July to November 2026) on 2 cores, and not repeated by "
            "this benchmark.",
            table(("planner", "result"), [*OTHERS, _ours(seconds, [s for _, s in found.values()])], left=2),
        )
    )


def _row(letter: str, count: int, solved: EngineRun) -> tuple[str, ...]:
    return (
        letter,
        f"{count}",
        f"{solved.peak:,}",
        f"{solved.bound:,}",
        f"{solved.ratio:.4f}",
        solved.plan.status.value,
        solved.plan.solver or "",
        f"{solved.seconds:.2f}",
        f"{solved.cpu_seconds:.2f}",
    )


def _ours(seconds: float, found: list[EngineRun]) -> tuple[str, str]:
    mean = geometric_mean(solved.ratio for solved in found)
    proven = sum(solved.proven for solved in found)
    return (
        f"memstow, no height given, {seconds:g} s",
        f"{mean:.4f} x the bound, geometric mean; {proven} of {len(found)} proven",
    )
