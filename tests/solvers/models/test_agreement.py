"""Every back end and the referee agree on what fits and on the best objective, all features mixed.

`MEMSTOW_AGREEMENT=1000` asks for that many problems instead of the few hundred of an ordinary run.
"""

import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from memstow.solvers.registry import BACK_ENDS
from tests.campaign import gate_first

COUNT = int(os.environ.get("MEMSTOW_AGREEMENT", "200"))
BUFFERS = 5
MORE_BUFFERS = 12


@cache
def said(name: str, count: int, buffers: int) -> Any:
    """What the back end says, by seed."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.solvers.models.agreement", name, "0", str(count)]
    answer = subprocess.run([*command, str(buffers)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return {seed: rest for seed, *rest in json.loads(answer.stdout)}


def require(name: str) -> None:
    reason = BACK_ENDS[name].how_to_get()
    if reason is not None:
        pytest.skip(f"{name} needs {reason}")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("count", gate_first((COUNT // 4, COUNT), 1))
@pytest.mark.parametrize("name", BACK_ENDS)
def test_it_agrees_with_brute_force(name: str, count: int) -> None:
    require(name)
    right, answers = said("brute", count, BUFFERS), said(name, count, BUFFERS)
    assert len(right) > count * 0.8
    assert {seed: answers[seed] for seed in right if answers[seed] != right[seed]} == {}


@pytest.mark.timeout(0)
@pytest.mark.parametrize("count", gate_first((COUNT // 10, COUNT // 4), 1))
@pytest.mark.parametrize("name", [name for name in BACK_ENDS if name != "cpsat"])
def test_it_agrees_with_the_constraint_model_where_brute_force_is_too_slow(name: str, count: int) -> None:
    require(name)
    require("cpsat")
    right, answers = said("cpsat", count, MORE_BUFFERS), said(name, count, MORE_BUFFERS)
    assert {seed: answers[seed] for seed in right if answers[seed] != right[seed]} == {}
