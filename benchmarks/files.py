"""How time and memory of the command line grow with a CSV of random buffers: whole processes."""

import math
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.page import table
from benchmarks.process import MEMSTOW, Ran, run

SIZES: Final = (100, 1_000, 10_000, 100_000, 1_000_000)
_LONGEST: Final = 0.05
"""A life takes at most this part of the whole time."""


_ONE_PASS: Final = ("--solver", "greedy", "--work-limit")
"""With as much work as there are buffers."""


def measure() -> str:
    """A row for each size."""
    rows: list[tuple[str, ...]] = []
    before: tuple[float, float] | None = None
    with TemporaryDirectory() as folder:
        problem, plan = Path(folder, "random.csv"), Path(folder, "plan.json")
        for n in SIZES:
            write_random_csv(problem, n)
            solved = _done(run(MEMSTOW, "solve", problem, *_ONE_PASS, str(n), "--output", plan))
            verified = _done(run(MEMSTOW, "verify", problem, plan))
            short = _done(run(MEMSTOW, "solve", problem, "--time-limit", "1", "--quiet"))
            ends = solved.cpu_seconds, verified.cpu_seconds
            rows.append(
                (
                    f"{n:,}",
                    f"{solved.seconds:.2f}",
                    f"{solved.cpu_seconds:.2f}",
                    f"{verified.seconds:.2f}",
                    f"{verified.cpu_seconds:.2f}",
                    *(
                        ["", ""]
                        if before is None
                        else [_slope(a, b) for a, b in zip(before, ends, strict=True)]
                    ),
                    f"{short.seconds:.2f}",
                    f"{solved.peak_bytes / (1 << 20):.0f}",
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


def write_random_csv(path: Path, n: int) -> None:
    """Write buffers of all sizes whose lives begin at any time; most lives are short."""
    with path.open("w") as file:
        # One by one: our memory counts as that of the processes that we start.
        file.writelines(f"{line}\n" for line in _random_lines(n))


def _random_lines(n: int) -> Iterator[str]:
    odd = random.Random(n)
    yield "id,lower,upper,size"
    for number in range(n):
        begin = odd.randrange(n)
        length = int(math.exp(odd.uniform(0.0, math.log(max(2.0, _LONGEST * n)))))
        yield f"b{number},{begin},{begin + length},{int(math.exp(odd.uniform(0.0, 12.0)))}"


def _done(ran: Ran) -> Ran:
    if ran.code != 0:
        raise RuntimeError(f"exit code {ran.code}")
    return ran


def _slope(before: float, after: float) -> str:
    return f"{math.log10(after / before):.2f}"
