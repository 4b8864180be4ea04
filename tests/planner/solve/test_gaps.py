"""No more is claimed than is so by a solver that may stop at a gap, or must at a limit.

MEMSTOW_GAPS=5000 in the environment tries so many problems with each.
"""

import json
import os
import subprocess
import sys
from typing import Final

import pytest

from memstow.solvers.registry import BACK_ENDS
from tests.campaign import gate_first

TRIED: Final = int(os.environ.get("MEMSTOW_GAPS", "12"))


@pytest.mark.timeout(0)
@pytest.mark.parametrize("tried", gate_first((6, TRIED), 1))
@pytest.mark.parametrize("solver", gate_first(["auto", "exact", "reuse", *BACK_ENDS], 4))
def test_bounds_hold_and_what_is_optimal_is_so(solver: str, tried: int) -> None:
    back_end = BACK_ENDS.get(solver)
    if back_end is not None and (reason := back_end.how_to_get()) is not None:
        pytest.skip(f"{solver} needs {reason}")
    command = [sys.executable, "-W", "ignore", "-m", "tests.planner.solve.gaps", solver, "0", str(tried)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    said = json.loads(answer.stdout)
    assert said["wrong"] == []
    assert said["tally"]["runs"] > 4 * tried
    assert said["tally"]["with a gap left"] > 0
