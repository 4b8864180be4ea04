"""The C compiles without a warning, and computes what the layout in Python computes, error for error."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from memstow.planner.generate.features import SYMBOLIC_FEATURES
from memstow.planner.generate.symbolic import symbolic
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import DeclinedError, InputError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool, Relative
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Shapes,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.shapes.symbolic_c import header_of, write_symbolic_c
from memstow.planner.shapes.symbolic_layout import Layout
from tests.campaign import gate_first
from tests.planner.exports.toolchains import ALL, HOST, STRICT, Compiler, found, run
from tests.planner.shapes.judged import JudgedLayout
from tests.planner.shapes.stacks import (
    fixed_plan,
    random_point,
    random_problem,
    stacked_plan,
)

_POINTS = 25
QUICK = Options(deterministic=True, work_limit=200_000)
_ERRORS = {
    "value_out_of_range": 1,
    "formula_negative": 2,
    "formula_overflow": 2,
    "formula_divisor": 2,
    "does_not_fit": 3,
}
_SANITIZED = ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all")

Case = tuple[SymbolicProblem, SymbolicPlan]


def answer(layout: Layout, at: dict[str, int]) -> list[int]:
    """The error, then sizes, offsets and peaks."""
    try:
        result = layout.lay_out(at)
    except InputError as error:
        return [_ERRORS[error.issues[0].code]]
    return [0, *result.sizes, *result.offsets, *result.peaks]


def program(cases: Sequence[Case], points: Sequence[Sequence[dict[str, int]]]) -> dict[str, bytes]:
    """Headers of all cases, and a program that prints the answer at each of their points."""
    files = {f"p{n}.h": header_of(problem, plan, f"p{n}") for n, (problem, plan) in enumerate(cases)}
    main = ["#include <inttypes.h>", "#include <stdio.h>", *(f'#include "{name}"' for name in files)]
    main.append(
        "static void print(const uint64_t *values, unsigned count) {\n"
        '  for (unsigned i = 0; i < count; i++) printf(" %" PRIu64, values[i]);\n}'
    )
    for n, (problem, _) in enumerate(cases):
        rows = ", ".join(
            "{" + ", ".join(f"INT64_C({at[symbol.id]})" for symbol in problem.symbols) + "}"
            for at in points[n]
        )
        main.append(f"""
static void run{n}(void) {{
  static const p{n}_symbols points[] = {{{rows}}};
  uint64_t sizes[P{n}_BUFFERS], offsets[P{n}_BUFFERS], peaks[P{n}_POOLS];
  for (unsigned i = 0; i < {len(points[n])}; i++) {{
    const int error = p{n}_offsets(&points[i], offsets, peaks);
    printf("%d", error);
    if (error == P{n}_OK && p{n}_sizes(&points[i], sizes) == P{n}_OK) {{
      print(sizes, P{n}_BUFFERS);
      print(offsets, P{n}_BUFFERS);
      print(peaks, P{n}_POOLS);
    }}
    printf("\\n");
  }}
}}""")
    calls = " ".join(f"run{n}();" for n in range(len(cases)))
    main.append(f"int main(void) {{ {calls} return 0; }}\n")
    return files | {"main.c": "\n".join(main).encode()}


def check(
    folder: Path,
    cases: Sequence[Case],
    points: Sequence[Sequence[dict[str, int]]],
    *,
    is_judged: bool = False,
) -> set[int]:
    """Compare the C with Python, and with the judge, at all points; the errors that there were."""
    for name, text in program(cases, points).items():
        (folder / name).write_bytes(text)
    made = HOST.compile(folder, "main.c", *_SANITIZED)
    run(folder, found("gcc"), made, *_SANITIZED, "-o", "program")
    printed = iter(run(folder, str(folder / "program")).splitlines())
    errors = set()
    for (problem, plan), some in zip(cases, points, strict=True):
        layout = Layout(problem, plan)
        judged = JudgedLayout(problem, plan) if is_judged and plan.orders else None
        for at in some:
            line = [int(word) for word in next(printed).split()]
            assert line == answer(layout, at), (problem, plan, at)
            if judged is not None and (expected := judged.at(at)) is not None and line[0] != 1:
                assert line == [0, *expected], (problem, plan, at)
            errors.add(line[0])
    return errors


def cases_of(seeds: range, orders: int) -> tuple[list[Case], list[list[dict[str, int]]]]:
    """Random problems with plans, and points of each: some outside of the range."""
    cases, points = [], []
    for seed in seeds:
        rng = Random(seed)
        problem = random_problem(rng)
        plan = stacked_plan(problem, rng, orders)
        try:
            if plan is not None:
                Layout(problem, plan)
        except InputError:
            continue
        if plan is not None:
            cases.append((problem, plan))
            some = [random_point(problem, rng) for _ in range(_POINTS)]
            points.append([*some, {"s": 0, "b": 0}, {"s": 41, "b": 0}, {"s": 1, "b": 3}])
    return cases, points


@pytest.mark.parametrize("orders", gate_first((3, 1), 1))
def test_it_computes_what_python_computes(tmp_path: Path, orders: int) -> None:
    cases, points = cases_of(range(orders * 1000, orders * 1000 + 60), orders)
    assert len(cases) > 33
    assert check(tmp_path, cases, points, is_judged=True) >= {0, 1}


@pytest.mark.campaign
def test_plans_of_the_planner(tmp_path: Path) -> None:
    """Orders that were searched for, with pairs in place, pins, distances and several pools."""
    cases, points = [], []
    kinds: tuple[Shapes, ...] = ("order", "pieces", "fixed")
    for seed in range(45):
        problem = symbolic(8, seed=seed, family="random", symbols=1 + seed % 3, features=SYMBOLIC_FEATURES)
        try:
            plan = plan_symbolic(problem, QUICK, shapes=kinds[seed % 3])
        except DeclinedError:
            continue
        if plan.status in PLANNED:
            rng = Random(seed)
            cases.append((problem, plan))
            points.append([random_point(problem, rng) for _ in range(_POINTS)])
    assert {plan.shapes for _, plan in cases} == set(kinds)
    assert check(tmp_path, cases, points, is_judged=True) == {0}


def test_fixed_offsets(tmp_path: Path) -> None:
    cases, points = [], []
    for seed in range(40):
        rng = Random(seed)
        problem = random_problem(rng)
        cases.append((problem, fixed_plan(problem)))
        points.append([random_point(problem, rng) for _ in range(_POINTS)])
    check(tmp_path, cases, points)


def test_whatever_the_values_are_nothing_overflows(tmp_path: Path) -> None:
    """Formulas, alignments, distances and pins near the limits, and values of symbols anywhere."""
    most = 1 << 62
    ends = [0, 1, 2, 3, 7, 1 << 31, (1 << 31) - 1, 1 << 32, (1 << 61) - 1, 1 << 61, most - 1, most]
    rng = Random(18)
    cases, points = [], []
    for _ in range(180):
        formulas = [_wild_formula(rng, 3) for _ in range(4)]
        alignments = [rng.choice((1, 1, 3, 1 << 20, most - 1, most)) for _ in formulas]
        buffers = [
            SymbolicBuffer(id=f"b{n}", size=formula, alignment=alignments[n])
            for n, formula in enumerate(formulas)
        ]
        buffers.append(SymbolicBuffer(id="pin", size=1, pool="memory", offset=rng.choice(ends[:-1])))
        distance = rng.choice((-1, 1)) * rng.choice(ends)
        relative = [Relative(buffer="b0", base="b1", offset=distance)] if rng.random() < 0.4 else []
        problem = SymbolicProblem(
            symbols=[Symbol(id="s", min=-most, max=most), Symbol(id="int", min=-most, max=most, step=3)],
            pools=[Pool(id="memory", alignment=rng.choice((1, 2, most)), base=rng.choice((None, 5, most)))],
            buffers=buffers,
            relative=relative,
        )
        placements = [
            OrderedPlacement(buffer="b0", pool="memory"),
            OrderedPlacement(buffer="b1", pool="memory"),
            OrderedPlacement(buffer="b2", pool="memory", above=["b0", "b1"]),
            OrderedPlacement(buffer="b3", pool="memory", above=["b2"]),
            OrderedPlacement(buffer="pin", pool="memory", above=rng.choice(([], ["b3"]))),
        ]
        plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[Order(placements=placements)])
        try:
            header_of(problem, plan, "net")
        except InputError:
            continue
        values = [*ends, *(-end for end in ends)]
        steps = [-most + 3 * (end * 2 // 3) for end in ends]
        some = [{"s": rng.choice(values), "int": rng.choice((*steps, 1))} for _ in range(60)]
        cases.append((problem, plan))
        points.append(some)
    assert len(cases) > 60
    assert check(tmp_path, cases, points) == {0, 1, 2, 3}


def _wild_formula(rng: Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(("s", "s", "int", "0", "1", "5", "4294967296", str(1 << 62)))
    one, other = _wild_formula(rng, depth - 1), _wild_formula(rng, depth - 1)
    return rng.choice(
        (
            f"({one} + {other})",
            f"({one} - {other})",
            f"{one} * {other}",
            f"({one}) // ({other})",
            f"({one}) % ({other})",
            f"-({one})",
            f"align({one}, {other})",
            f"ceil_div({one}, {other})",
            f"min({one}, {other}, 77)",
            f"max({one}, 0)",
            f"max(0, min({one}, 9))",
        )
    )


HOSTILE = ("int", "for", "INT64_MAX", "uint64_t", "s", "S", "_s", "linux", "a__b", "NULL", "x1")


@pytest.mark.parametrize("compiler", ALL, ids=str)
def test_every_compiler_takes_hostile_names_without_a_warning(tmp_path: Path, compiler: Compiler) -> None:
    problem = SymbolicProblem(
        name='*/ ??/ @N "\\\n',
        symbols=[Symbol(id=name, min=-5, max=5, step=2) for name in HOSTILE],
        pools=[Pool(id="int"), Pool(id="S")],
        buffers=[
            SymbolicBuffer(id=name, size=f"5 + {name}" if name in HOSTILE else 1, pool=rng)
            for name, rng in zip(("int", "S", "s", "*/", "@n", "é"), ("int", "S") * 3, strict=True)
        ],
    )
    placements = [OrderedPlacement(buffer=buffer.id, pool=buffer.pool or "") for buffer in problem.buffers]
    order = Order(placements=placements)
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="pieces", orders=[order, order], digest="*/")
    only = SymbolicProblem(symbols=problem.symbols, pools=problem.pools, buffers=problem.buffers[3:])
    header = header_of(problem, plan, "net")
    (tmp_path / "net.h").write_bytes(header)
    (tmp_path / "fixed.h").write_bytes(header_of(only, fixed_plan(only), "fixed"))
    suffix = "cpp" if compiler.language == "c++" else "c"
    # A header whose functions are not called is no reason for a warning.
    (tmp_path / f"use.{suffix}").write_text(
        '#include "net.h"\n#include "net.h"\n#include "fixed.h"\n'
        "int use(const net_symbols *at, uint64_t *offsets, uint64_t *peaks);\n"
        "int use(const net_symbols *at, uint64_t *offsets, uint64_t *peaks) {\n"
        "  return net_offsets(at, offsets, peaks);\n}\n"
    )
    compiler.compile(tmp_path, f"use.{suffix}", "-Wconversion", "-Wshadow")
    assert b"@" not in header


def test_it_needs_nothing_but_integers(tmp_path: Path) -> None:
    """Also without a library, as firmware is compiled."""
    problem = random_problem(Random(3))
    plan = stacked_plan(problem, Random(3))
    assert plan is not None
    text = header_of(problem, plan, "net")
    assert text.count(b"#include") == 1
    (tmp_path / "net.h").write_bytes(text)
    (tmp_path / "use.c").write_text('#include "net.h"\n')
    run(tmp_path, found("gcc"), "-std=c11", *STRICT, "-ffreestanding", "-c", "use.c", "-o", "use.o")


def test_a_problem_without_buffers_has_no_layout() -> None:
    problem = SymbolicProblem(symbols=[Symbol(id="s", min=1, max=2)], buffers=[])
    with pytest.raises(InputError, match="has no buffers"):
        write_symbolic_c(problem, fixed_plan(problem))


def test_a_plan_that_overlaps_at_some_value_is_not_written() -> None:
    buffers = [SymbolicBuffer(id=name, size=f"s // {name}", lifetime=(0, 1)) for name in ("9", "2")]
    problem = SymbolicProblem(symbols=[Symbol(id="s", min=0, max=9)], buffers=buffers)
    flat = Order(placements=[OrderedPlacement(buffer=buffer.id, pool="memory") for buffer in buffers])
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[flat])
    with pytest.raises(InputError, match="'9' and '2'"):
        write_symbolic_c(problem, plan)
    with pytest.raises(InputError, match="the status is unknown"):
        write_symbolic_c(problem, SymbolicPlan(status=Status.UNKNOWN, shapes="order"))
    with pytest.raises(InputError, match="cannot begin a name"):
        write_symbolic_c(problem, plan, "9net")
