"""examples/arenas: engines compute the same in planned arenas, which are not larger than their own."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.examples.building import ROOT, tool
from tests.waiting import PATIENCE


def compare(program: str, *arguments: str) -> list[tuple[int, int]]:
    """What the engine reserves and what memstow plans, program by program."""
    ran = subprocess.run(
        [sys.executable, ROOT / "examples" / "arenas" / program, *arguments],
        env={**os.environ, "DEV": "CPU"}, capture_output=True, text=True, timeout=PATIENCE * 4, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    sizes = []
    for line in ran.stdout.splitlines():
        match = re.search(
            r"(?:tinygrad|ggml) ([0-9,]+) bytes, memstow ([0-9,]+) \(proven least\), same results$", line
        )
        assert match is not None, line
        sizes.append((int(match[1].replace(",", "")), int(match[2].replace(",", ""))))
    return sizes


@pytest.mark.campaign
def test_tinygrad_computes_the_same_in_a_planned_arena() -> None:
    if find_spec("tinygrad") is None:
        pytest.skip("needs tinygrad")
    tool("clang")
    sizes = compare("in_tinygrad.py")
    assert all(ours <= theirs for theirs, ours in sizes)
    assert any(ours < theirs for theirs, ours in sizes)


def test_ggml_computes_the_same_in_a_planned_arena() -> None:
    package = find_spec("pywhispercpp")
    if package is None or package.origin is None:
        pytest.skip("needs pywhispercpp, for its ggml")
    folder = Path(package.origin).parents[1] / "pywhispercpp.libs"
    if not folder.is_dir():
        pytest.skip("this pywhispercpp has no libraries beside it")
    sizes = compare("in_ggml.py", str(folder))
    assert all(ours <= theirs for theirs, ours in sizes)
    assert any(ours < theirs for theirs, ours in sizes)
