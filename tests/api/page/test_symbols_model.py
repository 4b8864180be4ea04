"""The page lays out a plan of formulas as `planner.shapes.symbolic_layout` does, and counts nothing else."""

import json
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any, Final

import pytest

import memstow
from memstow.planner.formats.native import write_symbolic, write_symbolic_plan
from memstow.planner.formulas.formula import FormulaError, FormulaValueError, parse_formula
from memstow.planner.formulas.sizes import problem_at
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import PEAK, InPlace, Relative
from memstow.planner.model.symbolic import (
    OperatorOrder,
    Order,
    OrderedPlacement,
    Point,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.symbolic_layout import Layout, plan_of_layout
from memstow.planner.show.symbolic_view import symbolic_document
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.symbolic_sizes import LiveBound
from memstow.planner.verify.verdict import Findings
from tests.api.page import modules
from tests.planner.shapes.solve.test_operator_order import TWO_BRANCHES
from tests.planner.shapes.stacks import fixed_plan, random_formula, random_problem, stacked_plan

LAY_OUT: Final = """
import { symbolicAmong } from "./model/symbolic.ts";
import { pointAt, shownAt } from "./model/symbolic_shown.ts";
const text = (values) => Array.from(values, String);
export default (cases) => cases.map(({ held, rows }) => {
  const file = symbolicAmong([{ name: "", bytes: new TextEncoder().encode(held), trusted: true }]);
  return rows.map((row) => {
    const at = row.map(BigInt);
    const { scene, pools, symbolic } = shownAt(file, at, []);
    const { peak, least } = pointAt(file, at);
    return {
      sizes: text(scene.sizes), offsets: text(scene.offsets), pools: [...scene.pool],
      peaks: pools.map((pool) => String(pool.peak)),
      live: pools.map((pool) => String(pool.profile.most)), misfit: symbolic.misfit,
      order: symbolic.order, peak: String(peak), least: least === null ? null : String(least),
    };
  });
});
"""
REFUSED: Final = """
import { readSymbolicShown } from "./model/symbolic_shown.ts";
export default (text) => {
  try {
    const file = { name: "a", bytes: new TextEncoder().encode(text), trusted: false };
    readSymbolicShown([file], null, () => undefined);
    return "read";
  } catch (error) {
    return error.constructor.name === "ReadError" ? error.message : `not refused: ${error}`;
  }
};
"""
COUNT: Final = """
import { readFormula } from "./model/formula.ts";
export default ({ formulas, rows }) => formulas.map((text) => rows.map((row) => {
  try {
    const at = new Map(Object.entries(row).map(([name, value]) => [name, BigInt(value)]));
    return String(readFormula(text, new Set(Object.keys(row)))(at));
  } catch (error) {
    return "refused";
  }
}));
"""


def held(problem: SymbolicProblem, plan: SymbolicPlan) -> str:
    """What `memstow view` puts into the page."""
    parts = {"symbolic": json.loads(write_symbolic(problem)), "formed": json.loads(write_symbolic_plan(plan))}
    return json.dumps({"name": "a", **parts})


def lay_out(problem: SymbolicProblem, plan: SymbolicPlan, rows: list[list[int]]) -> list[dict[str, Any]]:
    """What the page finds at each of these values."""
    result: list[list[dict[str, Any]]] = modules.run(
        LAY_OUT, [{"held": held(problem, plan), "rows": [[str(cell) for cell in row] for row in rows]}]
    )
    return result[0]


@pytest.mark.campaign
def test_every_value_is_laid_out_as_python_does() -> None:
    rng = Random(18)
    cases, expected = [], []
    for number in range(150):
        problem = random_problem(rng)
        plan = fixed_plan(problem) if number % 10 == 0 else stacked_plan(problem, rng, rng.choice((1, 1, 3)))
        if plan is None or (
            number % 10 == 0 and (problem.relative or any(buffer.offset for buffer in problem.buffers))
        ):
            continue
        try:
            layout = Layout(problem, plan)
        except InputError:
            continue
        rows = [[rng.randint(1, 40), rng.randrange(0, 7, 2)] for _ in range(6)]
        cases.append({"held": held(problem, plan), "rows": [[str(cell) for cell in row] for row in rows]})
        expected.append([(layout, dict(zip(("s", "b"), row, strict=True))) for row in rows])
    assert len(cases) > 100
    for result, wanted in zip(modules.run(LAY_OUT, cases), expected, strict=True):
        for one, (layout, at) in zip(result, wanted, strict=True):
            _compare(one, layout, at)


def _compare(one: dict[str, Any], layout: Layout, at: dict[str, int]) -> None:
    try:
        laid = layout.lay_out(at)
    except InputError:
        assert one["misfit"]
        return
    assert one["misfit"] == ""
    assert one["sizes"] == [str(size) for size in laid.sizes]
    assert one["pools"] == list(laid.pools)
    assert one["peaks"] == [str(peak) for peak in laid.peaks]
    assert one["peak"] == str(laid.objective)
    assert one["order"] == laid.order
    places = zip(one["offsets"], laid.offsets, laid.sizes, strict=True)
    assert all(entry == str(offset) for entry, offset, size in places if size)
    try:
        problem, ordinary = plan_of_layout(layout, at)
    except InputError:
        return
    assert int(one["peak"]) == ordinary.objective[0].value
    least = memstow.plan(problem, memstow.Options(deterministic=True))
    assert one["least"] is None or int(one["least"]) <= least.objective[0].value


@pytest.mark.campaign
def test_what_must_be_live_is_counted_where_buffers_may_share_bytes() -> None:
    rng = Random(1804)
    cases, problems = [], []
    for _ in range(400):
        problem = _sharing(rng)
        rows = [[rng.randint(1, 40), rng.randrange(0, 7, 2)] for _ in range(2)]
        plan = SymbolicPlan(status=Status.UNKNOWN, shapes="order")
        cases.append({"held": held(problem, plan), "rows": [[str(cell) for cell in row] for row in rows]})
        problems.append((problem, rows))
    equal = 0
    for result, (problem, rows) in zip(modules.run(LAY_OUT, cases), problems, strict=True):
        for one, row in zip(result, rows, strict=True):
            at = dict(zip(("s", "b"), row, strict=True))
            ordinary = problem_at(problem, at)
            least = int(one["least"] or 0)
            best = memstow.plan(ordinary, memstow.Options(deterministic=True, time_limit=5))
            assert least <= best.objective[0].value
            index = ProblemIndex(ordinary, Findings())
            judged = LiveBound(index, PEAK).at([buffer.size for buffer in ordinary.buffers])
            assert least >= judged
            equal += least == best.objective[0].value
            (live,) = one["live"]
            assert int(live) <= best.objective[0].value
    assert equal > 400


def _sharing(rng: Random) -> SymbolicProblem:
    """One pool, and many buffers that may share bytes: in place, in chains, exclusive, at a distance."""
    buffers = [
        replace(buffer, pool=None, offset=None, alignment=1) for buffer in random_problem(rng, most=8).buffers
    ]
    names = [buffer.id for buffer in buffers]
    pairs = list(combinations(names, 2))
    rng.shuffle(pairs)
    count = min(len(pairs), rng.randint(0, 4))
    relative = []
    if len(names) > 2 and rng.random() < 0.4:
        one, other = names[0], names[1]
        relative.append(Relative(buffer=one, base=other, offset=rng.randint(-40, 40)))
    return SymbolicProblem(
        symbols=(Symbol(id="s", min=1, max=40), Symbol(id="b", min=0, max=6, step=2)),
        buffers=buffers,
        in_place=[InPlace(input=one, output=other) for one, other in pairs[:count]],
        exclusive=pairs[count : count + rng.randint(0, 2)],
        relative=relative,
    )


def _counted(text: str, row: dict[str, int]) -> str:
    try:
        return str(parse_formula(text, row).value(row))
    except (FormulaError, FormulaValueError):
        return "refused"


def test_a_buffer_without_a_place_is_named() -> None:
    problem = json.loads(write_symbolic(_two()))
    order = {"placements": [{"buffer": "b", "pool": "memory", "above": ["a"]}]}
    plan = {"status": "feasible", "shapes": "order", "orders": [order]}
    code = REFUSED.replace("[file]", "[file, { ...file, bytes: new TextEncoder().encode(PLAN) }]")
    code = code.replace("PLAN", json.dumps(json.dumps(plan)))
    assert modules.run(code, json.dumps(problem)) == "a has no place"


def _two() -> SymbolicProblem:
    return SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=8)],
        points=[Point(at={"s": 4})],
        buffers=[
            SymbolicBuffer(id="a", size="s", lifetime=(0, 2)),
            SymbolicBuffer(id="b", size="s", lifetime=(1, 2)),
        ],
    )


def test_formulas_mean_what_they_mean_to_the_planner() -> None:
    rng = Random(5)
    formulas = [
        *(random_formula(rng) for _ in range(200)),
        *(_formula(rng, 4) for _ in range(300)),
        "4611686018427387904",
        "4611686018427387905",
        "s*4611686018427387904*0",
        "-4611686018427387904 - s + 1",
        "align(-7, 4)",
        "-7 // 2",
        "-7 % 4",
        "--s",
        "min(s)",
        *("s s", "s +", "s / 2", "2.5", "constructor", "min", "min()", ")", "-", "", "1e3"),
        "toString(1)",
        "align(1)",
        "ceil_div(s, 2, 3)",
        " \t s \n",
        "(" * 64 + "s" + ")" * 64,
        "(" * 65 + "s" + ")" * 65,
        "+".join("s" * 900),
        "+".join("s" * 1100),
        "s\u00a0+1",
        "s // (b - b)",
        "\u0661",
    ]
    rows = [{"s": rng.randint(1, 40), "b": rng.choice((0, 2, 6))} for _ in range(5)]
    sent = [{name: str(value) for name, value in row.items()} for row in rows]
    result = modules.run(COUNT, {"formulas": formulas, "rows": sent})
    for text, one in zip(formulas, result, strict=True):
        assert one == [_counted(text, row) for row in rows], text


def _formula(rng: Random, depth: int) -> str:
    if not depth or rng.random() < 0.2:
        return rng.choice(("s", "b", str(rng.randint(0, 9)), "1073741824"))
    one, other = _formula(rng, depth - 1), _formula(rng, depth - 1)
    kind = rng.randrange(9)
    if kind < 5:
        return f"{one} {('+', '-', '*', '//', '%')[kind]} {other}"
    if kind == 5:
        return f"-({one})"
    if kind == 6:
        return f"({one})"
    name = rng.choice(("align", "ceil_div", "min", "max"))
    return f"{name}({one}, {other})"


def test_sizes_up_to_the_limit_are_exact() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=2**60)],
        buffers=[
            SymbolicBuffer(id="a", size="s", lifetime=(0, 2)),
            SymbolicBuffer(id="b", size="2*s + 1", lifetime=(1, 3)),
        ],
    )
    order = Order(
        placements=[
            OrderedPlacement(buffer="a", pool="memory"),
            OrderedPlacement(buffer="b", pool="memory", above=["a"]),
        ]
    )
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[order])
    (one,) = lay_out(problem, plan, [[2**60 - 1]])
    assert one["offsets"] == ["0", str(2**60 - 1)]
    assert one["peak"] == one["least"] == one["peaks"][0] == str(3 * 2**60 - 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"symbols": [{"id": "s", "min": 1, "max": 8, "step": 0}]}, "in steps of 1 or more"),
        ({"symbols": [{"id": "s", "min": 9, "max": 8}]}, "goes from its least value"),
        ({"symbols": [{"id": f"s{index}", "min": 1, "max": 2**60} for index in range(16)]}, "give `points`"),
        ({"points": [{"at": {"s": 1}}] * 65}, "more than 64 points"),
        ({"points": [{"at": {}}]}, "has no value at a point"),
        ({"buffers": [{"id": "a", "size": "s +", "lifetime": [0, 1]}]}, "cannot be read at character"),
        ({"buffers": [{"id": "a", "size": "t", "lifetime": [0, 1]}]}, "is no symbol"),
        (
            {"buffers": [{"id": "a", "size": "s - 5", "lifetime": [0, 1]}]},
            "the size of a at s=1: -4 is not within 0 and 2^62",
        ),
    ],
)
def test_a_file_from_anywhere_is_refused_and_not_believed(change: dict[str, object], said: str) -> None:
    problem = {
        "symbols": [{"id": "s", "min": 1, "max": 8}],
        "buffers": [{"id": "a", "size": "s", "lifetime": [0, 1]}],
    } | change
    assert said in modules.run(REFUSED, json.dumps(problem))


SAID: Final = """
import { symbolicAmong } from "./model/symbolic.ts";
import { shownAt } from "./model/symbolic_shown.ts";
export default ({ held, rows }) => {
  const file = symbolicAmong([{ name: "", bytes: new TextEncoder().encode(held), trusted: true }]);
  return rows.map((row) => shownAt(file, row.map(BigInt), []).sentence.rest);
};
"""


def test_where_operators_may_run_in_another_order_the_page_speaks_of_this_one() -> None:
    here_by_order: dict[OperatorOrder, str] = {"free": " in this order of the operators", "given": ""}
    for order, here in here_by_order.items():
        graph = replace(TWO_BRANCHES, order=order)
        plan = memstow.plan_symbolic(graph, memstow.Options(deterministic=True))
        document = symbolic_document(graph, plan, "branches", {}).decode()
        at_point, between = modules.run(SAID, {"held": document, "rows": [[8], [32]]})
        of_all = ", in any order of the operators" if here else ""
        assert at_point == f"No layout for this value can be smaller{of_all}."
        assert between == f"No layout for this value can be smaller{here}."
