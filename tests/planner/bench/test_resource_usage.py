"""What a run has used is known to the end, whatever it has started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memstow.planner.bench.usage import Stopwatch, peak_memory
from memstow.planner.processes.process import Process

ROOT = Path(__file__).parents[3]
_HELD = 300 << 20


def test_a_child_that_was_let_go_of_counts_once_it_is_gone() -> None:
    """What is killed may take longer to end than its caller waits; here nobody waits at all."""
    stopwatch = Stopwatch()
    hold = f"import os, time; held = b'x' * {_HELD}; os.write({{events}}, b'.'); time.sleep(600)"
    process = Process([sys.executable, "-S", "-c", hold])
    os.set_blocking(process.events, True)
    assert os.read(process.events, 1) == b"."
    process.close(wait=0.0)
    used = stopwatch.usage()
    assert peak_memory() >= _HELD
    assert used.cpu_seconds > 0
    assert not process.folder.exists()
    assert not os.path.exists(f"/proc/{process.id}")


@pytest.mark.skipif(sys.platform != "linux", reason="only there the peak can be counted anew")
def test_what_was_given_back_before_is_not_of_this_run() -> None:
    """In a process of its own, started by one that holds as much: what a parent holds is not of its child."""
    program = f"""
from memstow.planner.bench.usage import peak_memory, reset_peak_memory
held = bytearray({_HELD})
del held
high = peak_memory()
reset_peak_memory()
raise SystemExit(0 if high >= {_HELD} > peak_memory() else 1)
"""
    held = bytearray(_HELD)
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
    assert len(held) == _HELD
