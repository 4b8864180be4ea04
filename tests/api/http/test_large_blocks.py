"""Memory of large bodies goes back to the system."""

import platform
import subprocess
import sys

import pytest

from tests.api.serving import ROOT

PROGRAM = """
import os
from pathlib import Path
from memstow.api.process_memory import return_large_blocks

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

return_large_blocks()
# By itself glibc would from here on take blocks of up to this size from the heap.
b"a" * (24 << 20)
body = b"a" * (20 << 20)
behind = [b"a" * 100_000 for _ in range(100)]
before = resident()
del body
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the setting")
def test_a_large_block_between_others_is_given_back() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) > 16 << 20
