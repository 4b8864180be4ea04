"""Plans with one thing made false: the judge must not call them checked, and refuse what it can count."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, cast

import pytest

from memstow.planner.model.errors import InputError
from tests.independent.documents import PlanDocument, ProblemDocument
from tests.independent.door import answer, believed, objections
from tests.independent.judge import Truth, faults_of
from tests.independent.runs import Run

PROBLEM: Final[ProblemDocument] = {
    "version": 1,
    "pools": [{"id": "p", "capacity": 32, "alignment": 2, "reserved": [{"offset": 0, "size": 2}]}],
    "buffers": [
        {"id": "a", "size": 4, "lifetime": [0, 2]},
        {"id": "b", "size": 6, "lifetime": [1, 3]},
        {"id": "c", "size": 4, "lifetime": [2, 4], "offset": 20, "pool": "p"},
        {"id": "d", "size": 2, "lifetime": [3, 5]},
    ],
    "relative": [{"buffer": "d", "base": "c", "offset": 4}],
    "reuse_costs": [{"buffers": ["a", "d"], "cost": 3}],
    "objective": ["peak", "reuse_cost"],
}

# Each breaks the document as it likes, also in ways that its type does not allow.
Forge = Callable[[Any], object]


def _place(plan: Any, index: int, offset: int) -> None:
    plan["placements"][index]["offset"] = offset


FORGERIES: Final[dict[str, Forge]] = {
    "two buffers overlap": lambda plan: _place(plan, 0, plan["placements"][1]["offset"]),
    "in the reserved range": lambda plan: _place(plan, 0, 0),
    "not aligned": lambda plan: _place(plan, 0, 13),
    "beyond the capacity": lambda plan: _place(plan, 0, 30),
    "away from its pin": lambda plan: _place(plan, 2, 22),
    "a tie is broken": lambda plan: _place(plan, 3, 26),
    "a buffer without a place": lambda plan: plan["placements"].pop(),
    "a buffer twice": lambda plan: plan["placements"].append(plan["placements"][0]),
    "another value": lambda plan: plan["objective"][0].update(value=25),
    "another gap": lambda plan: plan["objective"][0].update(gap=0.5),
    "a bound above the value": lambda plan: plan["objective"][0].update(bound=99),
    "another peak of a pool": lambda plan: plan["pools"][0].update(peak=25),
    "another capacity": lambda plan: plan["pools"][0].update(capacity=64),
    "more bytes live": lambda plan: plan["pools"][0]["live"].update(bytes=11),
    "fewer bytes live": lambda plan: plan["pools"][0]["live"].update(bytes=9),
    "another term": lambda plan: plan["objective"][0].update(term="max_peak"),
    "no terms": lambda plan: plan["objective"].clear(),
    "infeasible": lambda plan: plan.update(
        status="infeasible",
        placements=[],
        pools=[],
        objective=[],
        explanation={"code": "over_capacity", "message": "", "pool": "p", "capacity": 32, "buffers": ["a"]},
    ),
}


# What no one can count: it stays a claim where no layout of the judge's own refutes it.
CLAIMS: Final[dict[str, Forge]] = {
    "no layout": lambda plan: plan.update(
        status="infeasible",
        placements=[],
        pools=[],
        objective=[],
        explanation={"code": "no_layout", "message": "m", "pool": "p", "buffers": ["a", "b", "c", "d"]},
    ),
    "an unknown reason": lambda plan: plan.update(
        status="infeasible",
        placements=[],
        pools=[],
        objective=[],
        explanation={"code": "the stars", "message": "m", "buffers": ["a"]},
    ),
    "a search": lambda plan: plan["objective"][1].update(
        bound=3,
        value=3,
        certificate={"kind": "exhausted", "solver": "s", "refuted": [{"height": 2, "nodes": 9}]},
    ),
    "a model": lambda plan: plan["objective"][0].update(
        bound=plan["objective"][0]["value"] + 1, certificate={"kind": "model", "solver": "cbc"}
    ),
}


def _true_plan() -> PlanDocument:
    return cast(PlanDocument, answer(PROBLEM, None, Run(solver="greedy")))


def test_the_plan_is_true_before_it_is_forged() -> None:
    plan = _true_plan()
    assert faults_of(Truth.of(PROBLEM), plan) == []
    assert objections(PROBLEM, None, plan) == []
    assert believed(PROBLEM, None, plan)


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_plan_is_refused(name: str) -> None:
    plan = deepcopy(_true_plan())
    FORGERIES[name](plan)
    assert faults_of(Truth.of(PROBLEM), plan)
    assert not believed(PROBLEM, None, plan)
    assert _refused(plan)


@pytest.mark.parametrize("name", CLAIMS)
def test_what_cannot_be_counted_is_never_called_checked(name: str) -> None:
    plan = deepcopy(_true_plan())
    CLAIMS[name](plan)
    assert faults_of(Truth.of(PROBLEM), plan)
    assert not believed(PROBLEM, None, plan)


def _refused(plan: PlanDocument) -> bool:
    try:
        return bool(objections(PROBLEM, None, plan))
    except InputError:
        return True
