"""Problems again: `python -m tests.independent FIRST-LAST [SOLVER...]`, or one alone: `SEED`."""

import json
import sys

import pytest

from tests.in_process import run_back_ends_in_process
from tests.independent.campaign import Tally, solvers_of, try_seeds
from tests.independent.generator import problem_of
from tests.independent.runs import ALONE


def main(arguments: list[str]) -> int:
    """Print what was wrong and how much was tried."""
    first, _, last = arguments[0].partition("-")
    chosen = tuple(arguments[1:])
    tally = Tally()
    with pytest.MonkeyPatch.context() as patch:
        run_back_ends_in_process(patch, with_highs=ALONE in chosen)
        seeds = range(int(first), int(last or first) + 1)
        try_seeds(seeds, tally, (lambda _seed: chosen) if chosen else solvers_of)
    if not last:
        sys.stdout.write(json.dumps(problem_of(int(first))) + "\n")
    sys.stdout.write(tally.report())
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
