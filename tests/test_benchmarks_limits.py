"""The problems whose limits are measured have the constraints in their names, and plans."""

import json
from pathlib import Path

import pytest

import memstow
from benchmarks import limits
from benchmarks.page import ROOT
from benchmarks.versions import Checkout, FailedError, Inputs

FIELDS = {
    "conflicts": "conflicts",
    "rigid groups": "relative",
    "in place": "in_place",
    "exclusive": "exclusive",
    "pools": "pools",
    "symbols": "symbols",
}


@pytest.mark.parametrize("kind", limits.KINDS)
def test_each_kind_has_its_constraints_and_can_be_planned(kind: str) -> None:
    document = limits.document(kind, 300)
    assert len(document["buffers"]) == 300
    named = set(kind.split(", "))
    assert {name for name, field in FIELDS.items() if document.get(field)} == named - {"plain", "pins"}
    assert any("offset" in buffer for buffer in document["buffers"]) == ("pins" in named)
    data = json.dumps(document).encode()
    if "symbols" in named:
        symbolic = memstow.read_symbolic(data)
        assert {type(buffer.size) for buffer in symbolic.buffers} == {int, str}
        return
    problem = memstow.read_problem(data)
    plan = memstow.plan(problem, memstow.Options(solver="greedy", deterministic=True))
    assert plan.placements
    assert memstow.verify(problem, plan) == []


def test_a_run_without_a_plan_has_figures_and_one_that_fails_has_none(tmp_path: Path) -> None:
    here, inputs = Checkout(ROOT), Inputs(tmp_path)
    figures = limits.late("pins", 100, "greedy", here, inputs, 0)
    assert figures.keys() == {"bytes", *(f"late-{limit:g}" for limit in limits.LIMITS)}
    with pytest.raises(FailedError, match="nobody"):
        limits.late("pins", 100, "nobody", here, inputs, 0)
