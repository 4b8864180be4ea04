"""Orders of small random problems: the judge against what is true by definition, at every value."""

from random import Random

import pytest

from memstow.planner.model.plan import Status
from memstow.planner.model.symbolic import SymbolicPlan
from memstow.planner.verify.findings import Code
from memstow.planner.verify.shapes import judge_symbolic
from tests.planner.verify.shapes.made import Meaning, everywhere, plan_of, some_order, some_problem

_AT_VALUES = {Code.BEYOND_CAPACITY, Code.RESERVED, Code.PINNED_OFFSET}


@pytest.mark.parametrize("seed", range(20))
def test_the_judge_accepts_what_holds_at_every_value_and_nothing_else(seed: int) -> None:
    random = Random(seed)
    seen = {"valid": 0, "unordered": 0, "at values": 0}
    for _ in range(60):
        problem = some_problem(random)
        order = some_order(random, problem)
        bare = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[order])
        verdict = judge_symbolic(problem, bare)
        codes = {it.code for it in verdict.violations}
        assert Code.NOT_SHOWN not in codes
        if not codes <= {*_AT_VALUES, Code.UNORDERED}:
            continue  # Its structure is wrong.
        if any("are pinned to offsets" in it.message for it in verdict.violations):
            continue
        meaning = Meaning(problem, order)
        told = {it.buffers for it in verdict.violations if it.code is Code.UNORDERED}
        assert told == meaning.unordered(), (problem, order)
        if not told:
            assert verdict.valid == all(meaning.holds_at(at) for at in everywhere(problem)), (
                problem,
                order,
                verdict.violations,
            )
        seen["valid"] += verdict.valid
        seen["unordered"] += bool(told)
        seen["at values"] += bool(codes & _AT_VALUES)
        if verdict.valid:
            full = judge_symbolic(problem, plan_of(problem, [order]))
            assert full.valid, (problem, order, full.violations)
    assert min(seen.values()) > 0
