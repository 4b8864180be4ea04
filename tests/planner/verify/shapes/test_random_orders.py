"""Orders of small random problems: the judge against what is true by definition, at every value."""

from dataclasses import replace
from random import Random

import pytest

from memstow.planner.model import Status
from memstow.planner.model.symbolic import Order, SymbolicPlan, SymbolicProblem
from memstow.planner.verify import Verdict
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from memstow.planner.verify.verdict import Code
from tests.campaign import gate_first
from tests.planner.verify.shapes.made import Meaning, everywhere, plan_of, some_order, some_problem

_AT_VALUES = {Code.BEYOND_CAPACITY, Code.RESERVED, Code.PINNED_OFFSET}


@pytest.mark.parametrize("seed", gate_first(range(12), 3))
def test_the_judge_accepts_what_holds_at_every_value_and_nothing_else(seed: int) -> None:
    random = Random(seed)
    seen = {"valid": 0, "unordered": 0, "at values": 0}
    for _ in range(50):
        problem = some_problem(random)
        order = some_order(random, problem)
        verdict = _judged(problem, [order])
        codes = {violation.code for violation in verdict.violations}
        assert Code.NOT_SHOWN not in codes
        if not codes <= {*_AT_VALUES, Code.UNORDERED}:
            continue  # Its structure is wrong.
        if any("are pinned to offsets" in violation.message for violation in verdict.violations):
            continue
        meaning = Meaning(problem, order)
        output = {violation.buffers for violation in verdict.violations if violation.code is Code.UNORDERED}
        assert output == meaning.unordered(), (problem, order)
        if not output:
            assert verdict.valid == all(meaning.holds_at(at) for at in everywhere(problem)), (
                problem,
                order,
                verdict.violations,
            )
        seen["valid"] += verdict.valid
        seen["unordered"] += bool(output)
        seen["at values"] += bool(codes & _AT_VALUES)
        if verdict.valid:
            full = judge_symbolic(problem, plan_of(problem, [order]))
            assert full.valid, (problem, order, full.violations)
    assert min(seen.values()) > 0


def _without(order: Order, buffer: str, other: str) -> Order:
    return Order(
        placements=[
            replace(placement, above=tuple(name for name in placement.above if name != other))
            if placement.buffer == buffer
            else placement
            for placement in order.placements
        ]
    )


@pytest.mark.parametrize("seed", gate_first(range(6), 2))
def test_each_arc_that_is_needed_is_missed(seed: int) -> None:
    random = Random(1_000 + seed)
    needed = 0
    for _ in range(40):
        problem = some_problem(random)
        order = some_order(random, problem)
        if not _judged(problem, [order]).valid:
            continue
        # Take away what is not needed, until every arc that is left is.
        for place in order.placements:
            for other in place.above:
                less = _without(order, place.buffer, other)
                unordered = Meaning(problem, less).unordered()
                output = [
                    violation
                    for violation in _judged(problem, [less]).violations
                    if violation.code is Code.UNORDERED
                ]
                assert {entry.buffers for entry in output} == unordered, (problem, less)
                needed += bool(unordered)
                order = order if unordered else less
    assert needed > 5


@pytest.mark.parametrize("seed", gate_first(range(6), 2))
def test_of_several_orders_the_one_with_the_least_objective_holds(seed: int) -> None:
    random = Random(2_000 + seed)
    seen = {True: 0, False: 0}
    for _ in range(60):
        problem = some_problem(random)
        orders = [some_order(random, problem) for _ in range(random.choice((2, 2, 3)))]
        verdict = _judged(problem, orders)
        if not {violation.code for violation in verdict.violations} <= _AT_VALUES:
            continue
        if any("are pinned to offsets" in violation.message for violation in verdict.violations):
            continue
        meanings = [Meaning(problem, order) for order in orders]
        holds = all(
            min(meanings, key=lambda meaning: meaning.value(at)).holds_at(at) for at in everywhere(problem)
        )
        assert verdict.valid == holds, (problem, orders, verdict.violations)
        seen[holds] += 1
    assert min(seen.values()) > 1


def _judged(problem: SymbolicProblem, orders: list[Order]) -> Verdict:
    shapes = "order" if len(orders) == 1 else "pieces"
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes=shapes, orders=orders)  # type: ignore[arg-type]
    return judge_symbolic(problem, plan)
