"""Every solver, on problems with every feature, ended in every way, judged from the docs alone.

A failure names its seed: `python -m tests.independent SEED` shows the problem and everything that is wrong.
"""

import ast
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.campaign import gate_first
from tests.independent.runs import ALONE, SOLVERS

_HERE: Final = Path(__file__).parent
_KNOWS_THE_DOCS_ALONE: Final = (
    "documents.py",
    "meaning.py",
    "brute_force.py",
    "judge.py",
    "generator.py",
    "forged.py",
    "runs.py",
    "scaled.py",
)


@pytest.mark.parametrize("name", _KNOWS_THE_DOCS_ALONE)
def test_the_judge_knows_the_docs_alone(name: str) -> None:
    imported = set()
    for node in ast.walk(ast.parse((_HERE / name).read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert not {name for name in imported if name.split(".")[0] == "memstow"}
    ours = {name.rpartition(".")[2] + ".py" for name in imported if name.startswith("tests.")}
    assert ours <= set(_KNOWS_THE_DOCS_ALONE)


@pytest.mark.parametrize("count", gate_first((25, 100), 1))
def test_every_answer_is_true(count: int) -> None:
    _skip_without("ortools", "pulp")
    ran = _tried(range(count))
    assert ran.returncode == 0, ran.stdout
    assert all(f" {solver}: optimal\n" in ran.stdout for solver in SOLVERS if solver != ALONE)
    assert " nothing fits\n" in ran.stdout


@pytest.mark.parametrize("count", gate_first((20, 60), 1))
def test_every_answer_of_highs_is_true(count: int) -> None:
    _skip_without("highspy", "pulp")
    ran = _tried(range(count), ALONE)
    assert ran.returncode == 0, ran.stdout
    assert f" {ALONE}: optimal\n" in ran.stdout


@pytest.mark.campaign
def test_fuzz_every_answer_is_true() -> None:
    """`make fuzz` does this for minutes; the seeds are in what it prints."""
    _skip_without("ortools", "pulp", "highspy")
    seconds = float(os.environ.get("MEMSTOW_FUZZ_SECONDS", "0"))
    first = int(os.environ.get("MEMSTOW_FUZZ_SEED", "1000000"))
    many = 500 if seconds else 20
    end = time.monotonic() + seconds
    while True:
        for solvers in ((), (ALONE,)):
            ran = _tried(range(first, first + many), *solvers)
            sys.stdout.write(f"seeds {first} to {first + many - 1}\n{ran.stdout}")
            assert ran.returncode == 0, ran.stdout
        first += many
        if time.monotonic() >= end:
            break


def _skip_without(*modules: str) -> None:
    # Found and not imported: OR-tools and highspy cannot be in one process.
    if not all(find_spec(module) for module in modules):
        pytest.skip("needs every solver: pip install 'memstow[milp,cpsat]'")


def _tried(seeds: range, *solvers: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.independent", f"{seeds[0]}-{seeds[-1]}", *solvers]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=_HERE.parents[1]
    )
