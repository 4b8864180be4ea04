"""Many runs in a row on a model far too large: how late answers come, and what is left behind.

`python -m benchmarks.soak [RUNS] [SECONDS]`, for each solver. It takes too long to be part of the page.
"""

import sys
import tempfile
import time
from pathlib import Path
from random import Random

from planner.engine import plan
from planner.options import Options
from planner.problem import Buffer, Problem
from solvers.models.register import BACK_ENDS

BUFFERS = 10_000


def main(runs: int, seconds: float) -> None:
    """Print a line for each back end."""
    problem = _problem(Random(1))
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        for name in BACK_ENDS:
            late, resident = [], []
            for _ in range(runs):
                begin = time.monotonic()
                plan(problem, Options(solver=name, time_limit=seconds))
                late.append(time.monotonic() - begin - seconds)
                resident.append(_resident())
            left = len(list(Path(folder).iterdir()))
            print(
                f"{name}: {runs} runs of {seconds} s; latest answer {max(late) * 1000:+.0f} ms after the "
                f"limit; memory {resident[0] >> 20} MiB after the first run and {resident[-1] >> 20} MiB "
                f"after the last; "
                f"{left} files and {_children()} processes left",
                flush=True,
            )


def _problem(rng: Random) -> Problem:
    buffers = []
    for i in range(BUFFERS):
        begin = rng.randrange(BUFFERS)
        life = (begin, begin + rng.randrange(1, BUFFERS // 10))
        buffers.append(Buffer(id=f"b{i}", size=rng.randrange(1, 5000) * 16, lifetime=life))
    return Problem(version=1, buffers=tuple(buffers))


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _children() -> int:
    return sum(len(file.read_text().split()) for file in Path("/proc/self/task").glob("*/children"))


if __name__ == "__main__":
    words = sys.argv[1:]
    main(int(words[0]) if words else 200, float(words[1]) if len(words) > 1 else 2.0)
