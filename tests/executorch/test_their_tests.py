"""ExecuTorch's own tests of its planners pass with memstow in their place."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("tests", "number"),
    [
        (("exir/tests/test_memory_planning.py", "exir/tests/test_banked_memory_planning.py"), 104),
        (("backends/cadence/aot/tests/test_memory_passes.py",), 30),
    ],
)
def test_they_pass(et: Any, tests: tuple[str, ...], number: int, tmp_path: Path) -> None:  # noqa: ARG001
    import executorch.exir

    home = Path(executorch.exir.__file__).parents[1]
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(tmp_path)]
    command += ["-p", "no:cacheprovider", "-p", "tests.executorch.in_greedys_place"]
    command += [str(home / test) for test in tests]
    # The working folder is on the path of `python -m`.
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    last = ran.stdout.rstrip().splitlines()[-1]
    assert re.match(rf"{number} passed", last), ran.stdout[-5000:] + ran.stderr[-2000:]
