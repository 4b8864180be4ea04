"""How time and memory grow: planted problems of 10,000 to 1,000,000 buffers, each in a process of its own.

`python -m benchmarks.growth N` measures one size and prints JSON.
"""

import json
import resource
import sys
import time
from math import inf

from benchmarks.page import held, table
from benchmarks.process import run

SIZES = (10_000, 100_000, 1_000_000)
PATIENCE = 600.0
# What holds for the largest.
MOST_GREEDY, MOST_VERIFY, MOST_GIB = 60.0, 20.0, 4.0


def measure() -> str:
    """A row for each size."""
    rows: list[tuple[str, ...]] = []
    for n in SIZES:
        ran = run(sys.executable, "-m", "benchmarks.growth", str(n))
        if ran.code != 0:
            rows.append((f"{n:,}", f"exit code {ran.code}", *[""] * 6))
            continue
        m = json.loads(ran.out)
        gib = ran.peak_bytes / (1 << 30)
        limits = (MOST_GREEDY, MOST_VERIFY, MOST_GIB) if n == SIZES[-1] else (inf, inf, inf)
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
    return f"Planted problems without slack. Limits at {SIZES[-1]:,}: {note}.\n\n" + table(header, rows)


def _one(n: int) -> dict[str, float]:
    import gc

    from memstow.planner.generate.planted import DEFAULT_HEIGHT, planted
    from memstow.planner.model.options import Event, Options, Phase
    from memstow.planner.solve.engine import plan
    from memstow.planner.verify import verify

    # As the command line does: see api/cli/main.py.
    gc.disable()
    began = time.perf_counter()
    problem = planted(n, 1)
    generated = time.perf_counter()
    phases: list[Phase] = []

    def hear(event: Event) -> None:
        if isinstance(event, Phase):
            phases.append(event)

    found = plan(problem, Options(time_limit=PATIENCE, solver="greedy"), hear)
    solved = time.perf_counter()
    violations = verify(problem, found)
    verified = time.perf_counter()
    if violations:
        raise RuntimeError(str(violations[0]))
    ends = [phase.seconds for phase in phases[1:]] + [solved - generated]
    return {
        "generate": generated - began,
        "solve": solved - generated,
        "greedy": sum(e - p.seconds for p, e in zip(phases, ends, strict=True) if p.name == "greedy"),
        "verify": verified - solved,
        "peak": sum(use.peak for use in found.pools),
        "optimum": DEFAULT_HEIGHT,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


if __name__ == "__main__":
    print(json.dumps(_one(int(sys.argv[1]))))
