"""Problems with symbols in columns: the same problem, plans and judgement as of objects."""

import json
from array import array
from random import Random
from typing import Any, Final

import pytest

from memstow.planner.formats.native import read_symbolic, write_symbolic_plan
from memstow.planner.formulas.sizes import with_largest_sizes
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError, MemstowError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem, digest_symbolic
from memstow.planner.plain.symbolic_documents import (
    Offsets,
    SymbolicColumns,
    digest,
    offsets_as_json,
    symbolic_columns_in,
    symbolic_plan_of,
    symbolic_problem_of,
)
from memstow.planner.plain.symbolic_verdict import verdict_on_offsets
from memstow.planner.shapes.column_run import plan_offsets
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.verify import judge, verify
from memstow.planner.verify.symbolic_columns import has_columns
from memstow.records import replace
from tests.campaign import gate_first
from tests.planner.plain.test_related import document, document_in_pools

DOCUMENTS: Final = (document, document_in_pools)
QUICK: Final = Options(deterministic=True, work_limit=20_000)


def symbolic_document(seed: int, *, pooled: bool, most: int = 9) -> dict[str, Any]:
    """A problem with some sizes that are formulas; most are sound."""
    odd = Random(1000 + seed)
    raw: dict[str, Any] = json.loads(DOCUMENTS[pooled](seed, most))
    raw.pop("objective", None)
    if odd.random() < 0.1:
        raw["objective"] = odd.choice((["peak"], ["max_peak"], []))
    raw["symbols"] = [{"id": "s", "min": odd.choice((0, 1, 2)), "max": odd.choice((2, 3, 5, 8))}]
    if odd.random() < 0.3:
        raw["symbols"].append({"id": "t", "min": 0, "max": odd.choice((0, 1, 4)), "step": 1})
    names = [symbol["id"] for symbol in raw["symbols"]]
    if odd.random() < 0.2:
        at = {symbol["id"]: odd.randint(symbol["min"], symbol["max"]) for symbol in raw["symbols"]}
        raw["points"] = [{"at": at, "weight": 3}]
    if odd.random() < 0.3:
        raw["aim"] = odd.choice(("worst", "sum", "first"))
    share = odd.choice((0.2, 0.6, 1))
    for buffer in raw["buffers"]:
        buffer.pop("accesses", None)
        if odd.random() < share:
            size, name = buffer["size"], odd.choice(names)
            buffer["size"] = odd.choice(
                (
                    f"{size}*{name}",
                    f" {size} * {name}",
                    f"{size}+{name}",
                    f"max({size}, 2*{name})",
                    f"{name}*{name}",
                    f"{size} - {name}",
                    f"max(0, 4 - {name})*{size}",
                    f"({name} * 3) % 4",
                    "0",
                    "5",
                )
            )
    fields = list(raw)
    odd.shuffle(fields)
    return {field: raw[field] for field in fields}


def by_objects(problem: SymbolicProblem) -> SymbolicPlan | str:
    """The plan of the problem as objects, or why there is none."""
    try:
        return plan_symbolic(problem, QUICK, shapes="fixed")
    except MemstowError as error:
        return str(error)


def by_columns(symbolic: SymbolicColumns) -> Offsets | SymbolicPlan | str:
    """The same in columns."""
    try:
        return plan_offsets(symbolic, QUICK)
    except MemstowError as error:
        return str(error)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("block", gate_first(range(3), 1))
def test_plans_are_those_of_objects(block: int, pooled: bool) -> None:
    statuses = []
    for seed in range(150 * block, 150 * block + 150):
        data = json.dumps(symbolic_document(seed, pooled=pooled)).encode()
        symbolic = symbolic_columns_in(data)
        if symbolic is None:
            continue
        problem = read_symbolic(data)
        assert symbolic_problem_of(symbolic) == problem
        assert digest(symbolic) == digest_symbolic(problem)
        wanted, planned = by_objects(problem), by_columns(symbolic)
        if isinstance(planned, Offsets):
            assert isinstance(wanted, SymbolicPlan)
            assert offsets_as_json(symbolic, planned) == write_symbolic_plan(wanted)
            planned = symbolic_plan_of(symbolic, planned)
            statuses.append(planned.status)
        assert planned == wanted, seed
    assert {Status.OPTIMAL, Status.FEASIBLE} <= set(statuses)
    assert len(statuses) > 50


WRONG: Final[tuple[object, ...]] = (
    None,
    True,
    0,
    -1,
    1 << 63,
    1.5,
    "",
    "s +",
    "s/2",
    "u*2",
    "ä",
    "2**s",
    "b0",
    [],
    ["peak"],
    {},
    {"s": 1},
    [{"id": "s", "min": 1, "max": 0}],
)


@pytest.mark.parametrize("pooled", [False, True])
def test_what_is_changed_is_read_as_by_the_ordinary_reader(pooled: bool) -> None:
    odd, right, wrong = Random(5), 0, 0
    for seed in range(900):
        raw = symbolic_document(seed, pooled=pooled, most=5)
        places: list[Any] = [raw, *raw["buffers"], *raw["symbols"], *raw.get("pools", ()), *raw["in_place"]]
        for _ in range(odd.choice((0, 1, 1, 2))):
            place = odd.choice(places)
            if odd.random() < 0.3:
                place[odd.choice(("size", "aim", "points", "accesses", "banks", "name", "group", "x"))] = (
                    odd.choice(WRONG)
                )
            else:
                place[odd.choice(list(place))] = odd.choice(WRONG)
        data = json.dumps(raw).encode()
        symbolic = symbolic_columns_in(data)
        if symbolic is None:
            wrong += 1
            continue
        problem = read_symbolic(data)
        assert digest(symbolic) == digest_symbolic(problem), data
        right += 1
    assert min(right, wrong) > 150


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "symbols": [{"id": "s", "min": 1, "max": 2}}, "buffers": []}',
        '{"version": 1, "symbols": [{"id": "s", "min": 1, "max": 2}], "aim": "worst": 1, "buffers": [%s]}',
        '{"version": 1, "symbols": [{"id": "s", "min": 1, "max": 2}] 1, "buffers": [%s]}',
        '{"version": 1, "symbols": [], "buffers": [%s]}',
        '{"version": 1, "buffers": [%s]}',
        '{"version": 1, "points": [], "aim": "worst", "buffers": [%s]}',
    ],
)
def test_no_document_with_symbols_is_left_to_others(text: str) -> None:
    buffer = '{"id": "a", "size": 3, "lifetime": [0, 1]}'
    data = text.replace("%s", buffer).encode()
    assert symbolic_columns_in(data) is None
    with pytest.raises(InputError):
        read_symbolic(data)


@pytest.mark.parametrize("pooled", [False, True])
def test_the_judge_sees_what_the_judge_of_objects_sees(pooled: bool) -> None:
    odd, right, wrong = Random(7), 0, 0
    for seed in range(500):
        data = json.dumps(symbolic_document(seed, pooled=pooled, most=6)).encode()
        symbolic = symbolic_columns_in(data)
        plan = None if symbolic is None else by_columns(symbolic)
        if symbolic is None or not isinstance(plan, Offsets):
            continue
        offsets, homes, frame = array("q", plan.offsets), array("q", plan.homes), plan.frame
        for _ in range(odd.choice((0, 1, 1, 2))):
            offsets[odd.randrange(len(offsets))] = odd.choice((*plan.offsets, *range(6)))
        if homes and odd.random() < 0.3:
            homes[odd.randrange(len(homes))] = odd.randrange(len(symbolic.frame.pools))
        point = odd.randrange(len(frame.points))
        changed = {"peak": odd.choice((0, 0, 0, 1)), "least": odd.choice((0, 0, 0, -1, 1, 3))}
        values = {name: max(0, getattr(frame.points[point], name) + by) for name, by in changed.items()}
        points = [*frame.points[:point], replace(frame.points[point], **values), *frame.points[point + 1 :]]
        changed_plan = Offsets(replace(frame, points=tuple(points)), offsets, homes)
        verdict = verdict_on_offsets(symbolic, changed_plan)
        problem, judged = read_symbolic(data), symbolic_plan_of(symbolic, changed_plan)
        wanted = judge(problem, judged)
        if verdict is None:
            # What the largest sizes break may hold at every value: that is for the other judge to say.
            bare = Plan(status=Status.FEASIBLE, placements=judged.placements)
            assert verify(with_largest_sizes(problem), bare)
        else:
            assert verdict.violations == wanted.violations, seed
        if wanted.violations:
            wrong += 1
        elif verdict is not None:
            # Where pools have alignments or reserved ranges, the other judge knows more of what is least.
            assert verdict.claims == wanted.claims or not has_columns(problem)
            right += 1
    assert min(right, wrong) > 60
