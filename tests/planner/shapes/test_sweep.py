"""The peak against the least possible at many values: which values, what rows say, and how it is shown."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Pool
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Point,
    PointPeak,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.sweep import as_csv, as_data, said_points, spread, sweep, sweep_points
from memstow.planner.shapes.symbolic_layout import Layout
from memstow.planner.show.symbolic_report import sweep_svg, sweep_table


def problem(capacity: int | None = None) -> SymbolicProblem:
    """x and y live together, and y and z; x and z need not be apart."""
    return SymbolicProblem(
        name="three <of> them",
        symbols=[Symbol(id="s", min=1, max=64), Symbol(id="b", min=1, max=4)],
        points=[Point(at={"s": 8, "b": 1}), Point(at={"s": 2, "b": 4})],
        pools=[Pool(id="memory", capacity=capacity)],
        buffers=[
            SymbolicBuffer(id="x", size="s*b", lifetime=(0, 2)),
            SymbolicBuffer(id="y", size=16, lifetime=(1, 4)),
            SymbolicBuffer(id="z", size="b", lifetime=(3, 5)),
        ],
    )


def order(**above: list[str]) -> Order:
    return Order(
        placements=[
            OrderedPlacement(buffer=name, pool="memory", above=above.get(name, []))
            for name in ("x", "y", "z")
        ]
    )


STACK = order(y=["x"], z=["y"])
GOOD = order(x=["y"], z=["y"])


def plan(*orders: Order, points: tuple[PointPeak, ...] = ()) -> SymbolicPlan:
    made = SymbolicPlan(status=Status.FEASIBLE, shapes="pieces", orders=orders, points=points)
    return made if len(orders) > 1 else replace(made, shapes="order")


@pytest.mark.parametrize(
    ("symbol", "points", "values"),
    [
        (Symbol(id="s", min=3, max=9, step=2), 8, [3, 5, 7, 9]),
        (Symbol(id="s", min=5, max=5), 8, [5]),
        (Symbol(id="s", min=1, max=1024), 6, [1, 4, 16, 64, 256, 1024]),
        (Symbol(id="s", min=0, max=1024), 6, [0, 1, 6, 32, 181, 1024]),
        (Symbol(id="s", min=100, max=200), 5, [100, 125, 150, 175, 200]),
        (Symbol(id="s", min=-100, max=100, step=10), 3, [-100, 0, 100]),
        (Symbol(id="s", min=1, max=1024), 2, [1, 1024]),
        (Symbol(id="s", min=1, max=6), 6, [1, 2, 3, 4, 5, 6]),
        (Symbol(id="s", min=1, max=7), 6, [1, 2, 3, 4, 5, 7]),
    ],
)
def test_values_are_spread_over_the_range(symbol: Symbol, points: int, values: list[int]) -> None:
    assert spread(symbol, points) == values


@pytest.mark.parametrize("most", [(1 << 62), (1 << 62) - 1, 1000])
@pytest.mark.parametrize("step", [1, 3, 1 << 40])
def test_all_values_are_such_that_the_symbol_takes(most: int, step: int) -> None:
    for least in (-(1 << 62), -5, 0, 1, 900):
        symbol = Symbol(id="s", min=least, max=most, step=step)
        result = spread(symbol, 40)
        assert result == sorted(set(result))
        assert all(least <= entry <= most and (entry - least) % step == 0 for entry in result)
        assert result[0] == least
        assert result[-1] > most - step
        assert len(result) <= 40


def test_rows_have_peak_least_and_ratio() -> None:
    points = sweep(Layout(problem(), plan(STACK)), "s", {"b": 2}, 3)
    assert [(point.at, point.peak, point.least) for point in points.points] == [
        ({"b": 2, "s": 1}, 20, 18),
        ({"b": 2, "s": 8}, 34, 32),
        ({"b": 2, "s": 64}, 146, 144),
    ]
    worst = points.worst
    assert worst is not None
    assert (worst.at["s"], worst.ratio) == (1, 20 / 18)
    text = sweep_table(points)
    assert text.startswith("at b=2\n\n s  peak  least  ratio\n 1    20     18  1.111\n")
    assert text.endswith("largest ratio 1.111 at b=2, s=1")
    assert as_csv(points).decode().splitlines()[:2] == ["b,s,peak,least,ratio,order", "2,1,20,18,1.111111,"]


def test_the_points_of_the_problem_and_which_order_is_used() -> None:
    points = sweep_points(Layout(problem(), plan(STACK, GOOD)))
    assert [(point.at, point.peak, point.least, point.order) for point in points.points] == [
        ({"s": 8, "b": 1}, 24, 24, 1),
        ({"s": 2, "b": 4}, 24, 24, 1),
    ]
    assert "order" in sweep_table(points)
    assert as_data(points)["points"][0] == {  # type: ignore[index]
        "at": {"s": 8, "b": 1},
        "peak": 24,
        "least": 24,
        "ratio": 1.0,
        "order": 1,
    }


def test_what_a_plan_says_of_its_points_is_not_computed_again() -> None:
    said = (
        PointPeak(at={"s": 8, "b": 1}, peak=99, least=66),
        PointPeak(at={"s": 2, "b": 4}, peak=9, least=9),
    )
    result = said_points(problem(), plan(STACK, points=said))
    assert (result.name, result.term, result.symbol, result.fixed) == ("three <of> them", "peak", None, {})
    assert [(point.at, point.peak, point.least, point.order) for point in result.points] == [
        ({"s": 8, "b": 1}, 99, 66, None),
        ({"s": 2, "b": 4}, 9, 9, None),
    ]
    assert result.worst is result.points[0]


def test_a_least_of_the_plan_counts_where_it_is_larger_and_can_be_so() -> None:
    said = [
        PointPeak(at={"s": 8, "b": 1}, peak=25, least=25),
        PointPeak(at={"s": 2, "b": 4}, peak=99, least=98),
    ]
    points = sweep_points(Layout(problem(), plan(STACK, points=tuple(said))))
    assert [(point.peak, point.least) for point in points.points] == [(25, 25), (28, 24)]


def test_values_at_which_it_does_not_fit_are_told() -> None:
    points = sweep(Layout(problem(capacity=50), plan(STACK)), "s", {"b": 1}, 7)
    assert points.points[-1].peak is None
    assert "64  does not fit" in sweep_table(points)
    assert "does not fit at 1 of 7 values" in sweep_table(points)
    assert as_csv(points).decode().splitlines()[-1] == "1,64,,80,,"
    assert 'class="misfit"' in sweep_svg(points)


def test_the_picture_says_what_its_marks_mean() -> None:
    fits = sweep_svg(sweep(Layout(problem(), plan(STACK)), "s", {"b": 1}, 7))
    tight = sweep_svg(sweep(Layout(problem(capacity=50), plan(STACK)), "s", {"b": 1}, 7))
    many = sweep_svg(sweep(Layout(problem(), plan(STACK)), "s", {"b": 1}, 500))
    assert all(">least that is known<" in entry for entry in (fits, tight, many))
    for picture in (fits, tight, many):
        assert (">the least<" in picture) == ('class="met"' in picture)
        assert (">above the least<" in picture) == ('class="open"' in picture)
        assert (">does not fit<" in picture) == ('class="misfit"' in picture)
    assert ">does not fit<" in tight


@pytest.mark.parametrize(
    ("symbol", "others", "code"),
    [("t", {}, "no_symbol"), ("s", {"s": 1}, "two_values"), ("s", {}, "missing_symbol")],
)
def test_what_cannot_be_swept_is_told(symbol: str, others: dict[str, int], code: str) -> None:
    with pytest.raises(InputError) as caught:
        sweep(Layout(problem(), plan(STACK)), symbol, others)
    assert caught.value.issues[0].code == code


@pytest.mark.parametrize("points", [2, 3, 64, 500])
def test_the_picture_has_its_lines_and_says_its_figures(points: int) -> None:
    result = sweep(Layout(problem(), plan(STACK, GOOD)), "s", {"b": 1}, points)
    root = ElementTree.fromstring(sweep_svg(result))
    kinds = [entry.get("class") for entry in root.iter()]
    assert {"peak", "least", "ratio", "met"} <= set(kinds)
    assert "s=64, 80" in "".join(root.itertext()).replace("b=1, s=64: ", "s=64, ")
    assert "three <of> them" in "".join(root.itertext())


def test_nothing_to_minimise_has_a_picture_all_the_same() -> None:
    empty = SymbolicProblem(symbols=[Symbol(id="s", min=3, max=3)], buffers=[])
    points = sweep(Layout(empty, plan(Order(placements=[]))), "s", {})
    assert [(point.peak, point.least, point.ratio) for point in points.points] == [(0, 0, 1.0)]
    ElementTree.fromstring(sweep_svg(points))
