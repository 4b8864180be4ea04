"""Each constraint in a tricky case whose best plan was worked out by hand; brute force agrees."""

from typing import Any

import pytest

from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Problem
from memstow.planner.reading.parse import parse_problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from memstow.solvers.registry import BACK_ENDS
from tests.referee import best
from tests.waiting import PATIENCE

Values = tuple[int, ...]


def problem(buffers: dict[str, Any], pool: dict[str, Any] | None = None, **fields: Any) -> Problem:
    """Buffers as (size, life) or (size, life, more); a life is None, a range, a list of them, or always."""
    made = []
    for name, (size, life, *more) in buffers.items():
        field = "lifetimes" if life and isinstance(life[0], list) else "lifetime"
        lives = {} if life is None else {field: life}
        made.append({"id": name, "size": size, **lives, **(more[0] if more else {})})
    pools = fields.pop("pools", [{"id": "m", **(pool or {})}])
    return parse_problem({"version": 1, "pools": pools, "buffers": made, **fields})


def proven(request: Problem, hint: Plan | None = None) -> Values | None:
    """What the engine proves and brute force confirms; None where nothing fits."""
    planned = plan(request, Options(hint=hint, time_limit=PATIENCE))
    assert verify(request, planned, hint) == []
    values = tuple(term.value for term in planned.objective) if planned.placements else None
    assert (planned.status, values) == best(request, hint)
    return values


def ties(*entries: tuple[str, str, int]) -> list[dict[str, Any]]:
    return [{"buffer": buffer, "base": base, "offset": offset} for buffer, base, offset in entries]


def shares(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"input": one, "output": other} for one, other in pairs]


def at(offset: int) -> dict[str, Any]:
    return {"pool": "m", "offset": offset}


def aligned(alignment: int) -> dict[str, Any]:
    return {"alignment": alignment}


NOW, PAIR = [0, 1], {"a": (4, [0, 1]), "b": (4, [0, 1])}
HOLES = [{"offset": 8, "size": 4}, {"offset": 20, "size": 4}]
ODD = {"a": (4, NOW, aligned(5)), "b": (7, NOW), "c": (9, NOW, aligned(7))}
WIDE = {"base": (8, [0, 2]), "view": (32, [1, 3]), "other": (16, [0, 3])}
VIEW = ties(("view", "base", -24))
CHAIN = {"x": (8, [0, 2]), "y": (12, [1, 3]), "z": (4, [2, 4]), "w": (4, [0, 4])}

CASES: dict[str, tuple[Problem, Values | None]] = {
    # Addresses are multiples of lcm(8, 12) = 24 less a base of 10: 14. The other one is at 6, below it.
    "the base counts": (
        problem({"a": (5, NOW, aligned(12)), "b": (3, NOW)}, {"base": 10, "alignment": 8}),
        (19,),
    ),
    # Steps of 15, 3 and 21: c at 0, a at 15, b at 21.
    "odd alignments": (problem(ODD, aligned(3)), (28,)),
    "a byte less": (problem(ODD, {"alignment": 3, "capacity": 27}), None),
    "reserved with a pin between": (
        problem(
            {"p": (8, "always", at(12)), "a": (8, [0, 2]), "b": (8, [0, 2]), "c": (4, [1, 2])},
            {"capacity": 32, "reserved": HOLES},
        ),
        None,
    ),
    "the pin's life is over": (
        problem(
            {"p": (8, [0, 2], at(12)), "a": (8, [0, 3]), "b": (8, [0, 3]), "c": (4, [2, 3])},
            {"capacity": 32, "reserved": HOLES},
        ),
        (32,),
    ),
    "reserved ranges that overlap": (
        problem(
            {"a": (8, NOW)}, {"reserved": [{"offset": o, "size": s} for o, s in ((0, 3), (2, 5), (10, 1))]}
        ),
        (19,),
    ),
    # The view reaches 24 below its base and is larger: [0, 32), the base in its top.
    "a view below and larger": (problem(WIDE, {"capacity": 48}, relative=VIEW), (48,)),
    "a view that would stick out": (problem(WIDE, {"capacity": 47}, relative=VIEW), None),
    # The reserved byte at 2 lies under a, wherever b is: a at 3 at the lowest.
    "a group over a reserved byte": (
        problem(PAIR, {"reserved": [{"offset": 2, "size": 1}]}, relative=ties(("b", "a", 4))),
        (11,),
    ),
    "a group around a reserved range": (
        problem(PAIR, {"reserved": [{"offset": 4, "size": 5}]}, relative=ties(("b", "a", 10))),
        (14,),
    ),
    # b at 8, so a at 3.
    "a member decides where a group is": (
        problem({"a": (4, NOW), "b": (4, NOW, aligned(8))}, relative=ties(("b", "a", 5))),
        (12,),
    ),
    # y and x begin together, z and y too; w is beside the largest of them.
    "in place in a chain": (problem(CHAIN, in_place=shares(("x", "y"), ("y", "z"))), (16,)),
    "one input, two outputs that live together": (
        problem(
            {"x": (8, [0, 2]), "y": (8, [1, 3]), "z": (8, [1, 3])}, in_place=shares(("x", "y"), ("x", "z"))
        ),
        (16,),
    ),
    # x is at 3, where y may not begin, and there is no room below.
    "in place, and not aligned there": (
        problem({"x": (8, [0, 2], at(3)), "y": (8, [1, 3], aligned(4))}, in_place=shares(("x", "y"))),
        (20,),
    ),
    "a listed conflict is lifted in place": (
        problem({"x": (8, NOW), "y": (8, NOW)}, conflicts=[["x", "y"]], in_place=shares(("y", "x"))),
        (8,),
    ),
    # y would begin with x, but x lies within its base, which y meets.
    "in place with a slice": (
        problem(
            {"x": (4, [0, 2]), "base": (8, [0, 2]), "y": (4, [1, 3])},
            relative=ties(("x", "base", 4)),
            in_place=shares(("x", "y")),
        ),
        (12,),
    ),
    "exclusive, and listed as a conflict": (
        problem({"t": (40, NOW), "e": (32, NOW)}, exclusive=[["t", "e"]], conflicts=[["e", "t"]]),
        (72,),
    ),
    "exclusive is not passed on": (
        problem({"t": (4, NOW), "e": (3, NOW), "f": (5, NOW)}, exclusive=[["t", "e"], ["e", "f"]]),
        (9,),
    ),
    "exclusive for ever": (problem({"t": (4, "always"), "e": (3, "always")}, exclusive=[["t", "e"]]), (4,)),
    "no size, at the end of the pool": (
        problem({"x": (0, NOW, aligned(8))}, {"base": 4, "capacity": 4}),
        (0,),
    ),
    "no size, and no address for it": (
        problem({"x": (0, NOW, aligned(8))}, {"base": 4, "capacity": 3}),
        None,
    ),
    # It asks nothing of what it is tied to: neither its alignment nor a place for it below.
    "no size, in a group": (
        problem({"x": (0, NOW, aligned(16)), "y": (4, NOW)}, relative=ties(("x", "y", -4))),
        (4,),
    ),
    # Its distances hold all the same between those that are tied through it.
    "no size, between two of a group": (
        problem(
            {"x": (4, NOW), "y": (0, NOW, at(64)), "z": (4, NOW)}, relative=ties(("x", "y", 4), ("y", "z", 8))
        ),
        (16,),
    ),
    "what lives in the gaps": (
        problem({"s": (8, [[0, 1], [2, 3], [4, 5]]), "g": (8, [1, 2]), "h": (8, [3, 4])}),
        (8,),
    ),
    # Any two meet, no three do: 8 bytes are live at most, and 12 are needed.
    "lives that meet in pairs": (
        problem({"a": (4, [[0, 1], [4, 5]]), "b": (4, [[0, 1], [2, 3]]), "c": (4, [[2, 3], [4, 5]])}),
        (12,),
    ),
    "always, and never": (problem({"a": (4, "always"), "b": (4, None)}), (4,)),
    "tied so that they always pay": (
        problem(
            {"a": (8, [0, 1]), "b": (8, [1, 2])},
            relative=ties(("b", "a", 7)),
            reuse_costs=[{"buffers": ["a", "b"], "cost": 2}],
            objective=["reuse_cost", "peak"],
        ),
        (2, 15),
    ),
}

MODELLED = pytest.mark.skipif(
    BACK_ENDS["assign"].how_to_get() is not None, reason="the [cpsat] extra is not installed"
)


@MODELLED
@pytest.mark.parametrize("name", CASES)
def test_the_best_plan_is_the_one_worked_out(name: str) -> None:
    request, values = CASES[name]
    assert proven(request) == values


# One after the other, so all may share; a fast pool with room for two of them.
TURNS = {"a": (8, [0, 1]), "b": (8, [1, 2]), "c": (8, [2, 3])}
TWO = [{"id": "f", "capacity": 16, "cost": 1}, {"id": "s", "cost": 3}]
COSTS = [{"buffers": list(pair), "cost": cost} for pair, cost in (("ab", 2), ("bc", 3), ("ac", 4))]
# c's place is beyond the capacity, and of a pool that is gone nothing can be kept.
BEFORE = Plan(
    status=Status.FEASIBLE,
    placements=tuple(
        Placement(buffer=buffer, pool=pool, offset=offset)
        for buffer, pool, offset in (("a", "s", 0), ("b", "s", 4), ("c", "f", 20))
    ),
)


@MODELLED
@pytest.mark.parametrize(
    ("objective", "values"),
    [
        (("reuse_cost", "peak", "placement_cost"), (0, 24, 40)),
        (("peak", "reuse_cost", "placement_cost"), (8, 9, 24)),
        (("placement_cost", "reuse_cost", "peak"), (24, 2, 16)),
        (("placement_cost", "peak", "reuse_cost"), (24, 8, 9)),
        (("max_peak", "reuse_cost", "placement_cost"), (8, 2, 40)),
        (("max_peak", "placement_cost", "reuse_cost"), (8, 24, 9)),
        (("peak:f", "placement_cost", "reuse_cost"), (0, 72, 0)),
        (("moves", "placement_cost", "peak"), (1, 56, 20)),
        (("placement_cost", "moves"), (24, 3)),
        (("moves", "reuse_cost", "peak"), (1, 2, 20)),
        (("reuse_cost", "moves", "peak"), (0, 2, 24)),
    ],
    ids=lambda value: ",".join(map(str, value)),
)
def test_each_order_of_the_terms_has_its_own_best_plan(objective: tuple[str, ...], values: Values) -> None:
    sample = problem(TURNS, pools=TWO, reuse_costs=COSTS, objective=list(objective))
    assert proven(sample, BEFORE if "moves" in objective else None) == values


@pytest.mark.parametrize(
    ("contradiction", "code"),
    [
        (lambda: problem({"a": (4, NOW, at(6))}, {"reserved": HOLES}), "pin_on_reserved"),
        (lambda: problem({"a": (4, NOW), "b": (4, NOW, at(2))}, relative=ties(("b", "a", 4))), "below_zero"),
        (
            lambda: problem({"x": (8, NOW, at(0)), "y": (8, NOW, at(4))}, in_place=shares(("x", "y"))),
            "pins_clash",
        ),
    ],
    ids=["on a reserved range", "a base below 0", "in place, elsewhere"],
)
def test_what_cannot_be_is_told_as_a_contradiction(contradiction: Any, code: str) -> None:
    with pytest.raises(InputError, match=code):
        plan(contradiction())
