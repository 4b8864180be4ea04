"""Fronts of graphs over several pools, against schedules gone through one by one."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from benchmarks.fronts import beside_slow_memory, residual_network
from memstow.planner.front.find_front import find_front, front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.front.graph_candidates import least_peak_plan
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.graph.schedules import scheduled_problem
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import FrontOptions, FrontPoint, Generator
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan, Schedule, Spill
from memstow.planner.model.problem import Pool, Problem, allowed_pools
from memstow.planner.solve import engine
from memstow.planner.solve.portfolio import Allowance
from memstow.planner.verify import verify
from memstow.planner.verify.graph_verdict import schedule_cost
from memstow.planner.verify.verdict import Refused
from tests import referee
from tests.campaign import gate_first

STEADY = Options(deterministic=True, work_limit=20_000_000)
TERMS = ("peak:fast", "cost")


def random_graph(seed: int) -> Graph:
    """Some operators in a row; tensors that must be in the fast pool, and some that may be in another."""
    r = Random(seed)
    count = r.randint(2, 4)
    names = ["x", *(f"t{i}" for i in range(count))]

    def pools() -> list[str] | None:
        return r.choice((["fast"], ["fast"], None, ["slow", "fast"]))

    operators = [
        Operator(
            id=f"o{i}",
            type=r.choice((None, None, None, "dropout")),
            inputs=list(dict.fromkeys((names[i], r.choice(names[: i + 1])))),
            outputs=[names[i + 1]],
            in_place=[(names[i], names[i + 1])] if r.random() < 0.3 else [],
            temporaries=[Temporary(id=f"o{i}.x", size=r.randint(1, 6), pools=pools())]
            if r.random() < 0.3
            else [],
            cost=r.randint(1, 9),
        )
        for i in range(count)
    ]
    pools_ = [Pool(id="fast"), Pool(id="slow", capacity=r.choice((None, None, 100, 6)))]
    return Graph(
        pools=pools_[:: r.choice((1, -1))],
        tensors=[Tensor(id=name, size=r.randint(1, 8), pools=pools()) for name in names],
        operators=operators,
        inputs=["x"],
        outputs=[names[-1]],
    )


def schedules(graph: Graph, kinds: frozenset[Generator]) -> Iterator[Schedule]:
    """With up to two runs more than needed, and up to one copy."""
    names = [operator.id for operator in graph.operators]
    for more in range(3 if "recompute" in kinds else 1):
        for runs in product(names, repeat=len(names) + more):
            if list(dict.fromkeys(runs)) != names:
                continue
            yield Schedule(order=runs)
            if "spill" not in kinds:
                continue
            for tensor, out, back in product(graph.tensors, range(len(runs)), range(1, len(runs))):
                if out < back:
                    spill = Spill(tensor=tensor.id, pool="slow", out=out, back=back)
                    yield Schedule(order=runs, spills=(spill,))


def live_in_fast(problem: Problem) -> int:
    """The most bytes at one time of what can be nowhere else, with pairs in place as one."""
    most = 0
    only = [buffer for buffer in problem.buffers if allowed_pools(problem, buffer) == ("fast",)]
    for time in {buffer.lifetime[0] for buffer in only if isinstance(buffer.lifetime, tuple)}:
        live = {
            buffer.id: buffer.size
            for buffer in only
            if isinstance(buffer.lifetime, tuple) and buffer.lifetime[0] <= time < buffer.lifetime[1]
        }
        saved = [
            min(live[pair.input], live[pair.output])
            for pair in problem.in_place
            if live.keys() >= {pair.input, pair.output}
        ]
        assert len(saved) <= 1
        most = max(most, sum(live.values()) - sum(saved))
    return most


def _refutes(point: FrontPoint, size: int, cost: int) -> bool:
    values, bounds = point.values, point.bounds
    if cost <= values["cost"] and size < bounds.get("peak:fast", 0):
        return True
    return size <= values["peak:fast"] and cost < bounds.get("cost", 0)


@pytest.mark.parametrize("seed", gate_first(range(30), 8))
@pytest.mark.parametrize("kinds", [(), ("recompute",), ("spill",), ("recompute", "spill")])
def test_no_schedule_is_below_the_bounds(seed: int, kinds: tuple[Generator, ...]) -> None:
    graph = random_graph(seed)
    frontier = front(graph, TERMS, generators=kinds, cost="bytes", options=STEADY)
    counted = with_cost_unit(graph, "bytes")
    for point in frontier.points:
        assert verify(graph, point.plan) == []
    for schedule in schedules(graph, frozenset(kinds)):
        try:
            cost = schedule_cost(counted, schedule)
            problem = scheduled_problem(counted, schedule)
            size = live_in_fast(problem)
        except (InputError, Refused, ValueError):
            continue
        if any(_refutes(point, size, cost) for point in frontier.points):
            # What counts in the fast pool alone may have no room in the other.
            placed = referee.judge(replace(problem, objective=("peak:fast",))).vector
            assert placed is None or not any(_refutes(point, placed[0], cost) for point in frontier.points)
        if kinds and _slow(graph).capacity is None and not _is_random(graph):
            assert any(
                point.values["cost"] <= cost
                and live_in_fast(scheduled_problem(graph, point.plan.schedule)) <= size
                for point in frontier.points
            )


def _slow(graph: Graph) -> Pool:
    return next(pool for pool in graph.pools if pool.id == "slow")


def _is_random(graph: Graph) -> bool:
    return any(operator.type == "dropout" for operator in graph.operators)


@pytest.mark.parametrize("seed", range(80))
def test_what_is_put_aside_leaves_the_least_peak(seed: int) -> None:
    graph = random_graph(seed)
    graph = replace(
        graph, tensors=tuple(replace(tensor, size=1 + (tensor.size or 0) // 2) for tensor in graph.tensors)
    )
    problem = replace(scheduled_problem(graph, None), objective=("peak:fast",))
    status, vector = referee.best(problem)
    plan = least_peak_plan(problem, "fast", STEADY, _solve)
    if vector is None:
        assert plan.status == status
        return
    least = plan.objective[0].value
    assert least == vector[0] if _slow(graph).capacity != 6 else least >= vector[0]


def test_what_does_not_fit_elsewhere_stays() -> None:
    graph = Graph(
        pools=[Pool(id="fast"), Pool(id="slow", capacity=10)],
        tensors=[Tensor(id="x", size=8), Tensor(id="y", size=8)],
        operators=[Operator(id="o", inputs=["x"], outputs=["y"])],
        inputs=["x"],
        outputs=["y"],
    )
    (point,) = front(graph, TERMS, generators=(), options=STEADY).points
    assert point.values["peak:fast"] == 8


def test_what_leaves_the_peak_as_it_is_is_where_it_would_rather_be() -> None:
    graph = Graph(
        pools=[Pool(id="fast"), Pool(id="slow")],
        tensors=[
            Tensor(id="x", size=8, pools=["fast"]),
            Tensor(id="y", size=4),
            Tensor(id="z", size=4),
            Tensor(id="end", size=2, pools=["fast"]),
        ],
        operators=[
            Operator(id="one", inputs=["x"], outputs=["y"]),
            Operator(id="two", inputs=["y"], outputs=["z"]),
            Operator(id="three", inputs=["z"], outputs=["end"]),
        ],
        inputs=["x"],
        outputs=["end"],
    )
    (point,) = front(graph, TERMS, generators=(), options=STEADY).points
    assert point.values["peak:fast"] == 8
    assert {placement.buffer: placement.pool for placement in point.plan.placements}["z"] == "fast"


def _solve(problem: Problem, options: Options) -> Plan:
    return engine.plan(problem, options)


def _in_p(name: str, size: int, *others: str) -> Tensor:
    return Tensor(id=name, size=size, pools=["p", *others])


def _operator(name: str, inputs: str, outputs: str) -> Operator:
    return Operator(id=name, inputs=inputs.split(), outputs=outputs.split())


# The last pool is too small for what waits.
NO_ROOM_IN_THE_LAST = Graph(
    pools=[Pool(id="p"), Pool(id="slow"), Pool(id="small", capacity=2)],
    tensors=[_in_p("x", 6), _in_p("a", 8), _in_p("b", 8), _in_p("c", 1)],
    operators=[_operator("one", "", "a"), _operator("two", "a", "b"), _operator("three", "b x", "c")],
    inputs=["x"],
    outputs=["c"],
)
# By live bytes the cheapest that waits in the other pool has no room there beside what may be there.
OTHER_WAYS = Graph(
    pools=[Pool(id="p"), Pool(id="slow", capacity=8)],
    tensors=[
        *(_in_p("x", 1), _in_p("y", 3, "slow"), _in_p("a", 2), _in_p("b", 0), _in_p("c", 3), _in_p("d", 1)),
    ],
    operators=[
        _operator("o0", "x y", "a"),
        replace(_operator("o1", "a x y", "b c"), in_place=(("x", "c"),)),
        _operator("o2", "c", "d"),
        _operator("o3", "a", ""),
        replace(_operator("o4", "b", ""), temporaries=(Temporary(id="t", size=3, pools=["p"]),)),
    ],
    inputs=["x", "y"],
    outputs=["a", "d"],
)


@pytest.mark.parametrize(
    ("graph", "point"), [(NO_ROOM_IN_THE_LAST, (16, 51)), (OTHER_WAYS, (5, 29))], ids=["room", "ways"]
)
def test_that_the_first_schedule_has_no_places_hides_no_point_of_a_tiny_graph(
    graph: Graph, point: tuple[int, int]
) -> None:
    frontier = front(
        graph, ("peak:p", "cost"), generators=("recompute", "spill"), cost="bytes", options=STEADY
    )
    assert point in [(point.values["peak:p"], point.values["cost"]) for point in frontier.points]
    assert frontier.complete
    assert not any(verify(graph, point.plan) for point in frontier.points)


def _waiting(pools: list[Pool], tensors: list[Tensor], operators: list[Operator], *kept: str) -> Graph:
    """A graph whose tensors that nobody makes are inputs."""
    made = {name for operator in operators for name in operator.outputs}
    inputs = [tensor.id for tensor in tensors if tensor.id not in made]
    return Graph(pools=pools, tensors=tensors, operators=operators, inputs=inputs, outputs=kept)


def _in_fast(name: str, size: int) -> Tensor:
    return Tensor(id=name, size=size, pools=["fast"])


# As they are listed, more bytes are live in the fast pool than there are.
WAITS_IN_THE_OTHER = _waiting(
    [Pool(id="fast", capacity=5), Pool(id="slow")],
    [_in_fast("a", 1), _in_fast("b", 5)],
    [_operator("one", "", "a"), _operator("two", "", "b"), _operator("three", "a", "")],
)
WAITS_BESIDE_PAIRS = _waiting(
    [Pool(id="fast", capacity=17, alignment=3), Pool(id="slow", capacity=9)],
    [*map(_in_fast, ("x", "y", "a", "b", "c", "d", "e"), (4, 6, 4, 2, 1, 4, 1))],
    [
        replace(_operator("one", "x", "a"), in_place=(("x", "a"),)),
        _operator("two", "a", "b c"),
        _operator("three", "b y", "d"),
        replace(_operator("four", "y a", "e"), in_place=(("a", "e"),)),
    ],
    "e",
)


def _long(count: int) -> Graph:
    """Tensors that all wait for the last of many operators, too many for the exact search."""
    names = [f"t{number}" for number in range(count)]
    return _waiting(
        [Pool(id="fast", capacity=20), Pool(id="slow")],
        [*(_in_fast(name, 4) for name in names), *(_in_fast(f"w{name}", 12) for name in names)],
        [
            *(_operator(f"make {name}", "", name) for name in names),
            *(_operator(f"use {name}", "", f"w{name}") for name in names),
            *(_operator(f"end {name}", f"{name} w{name}", "") for name in names),
        ],
    )


@pytest.mark.parametrize(
    ("graph", "least"), [(WAITS_IN_THE_OTHER, (1, 9)), (WAITS_BESIDE_PAIRS, (4, 46))], ids=["two", "pairs"]
)
def test_tensors_wait_where_it_counts_if_another_pool_is_too_small(
    graph: Graph, least: tuple[int, int]
) -> None:
    frontier = front(graph, ("peak:slow", "cost"), generators=("spill",), cost="bytes", options=STEADY)
    assert [tuple(point.values.values()) for point in frontier.points] == [least]
    assert not verify(graph, frontier.points[0].plan)


def test_tensors_of_a_large_graph_wait_where_it_counts_if_another_pool_is_too_small() -> None:
    graph = _long(9)
    frontier = front(graph, ("peak:slow", "cost"), generators=("spill",), cost="bytes", options=STEADY)
    assert frontier.points
    assert not any(verify(graph, point.plan) for point in frontier.points)
    # All but one that is at hand wait there, and what is used with it.
    assert frontier.points[0].values["peak:slow"] >= 4 * 7


def test_a_copy_waits_where_another_has_left_before() -> None:
    # x has room in the third pool while y is in the slow one; it is back in the fast one before y comes back.
    graph = _waiting(
        [Pool(id="fast", capacity=11), Pool(id="slow", capacity=7), Pool(id="third", capacity=9)],
        [
            *map(_in_fast, ("x", "a", "c", "d", "e"), (6, 4, 1, 6, 4)),
            *(
                Tensor(id=name, size=size, pools=[pool])
                for name, size, pool in (("y", 4, "third"), ("b", 3, "slow"))
            ),
        ],
        [
            replace(_operator("one", "", "a"), temporaries=(Temporary(id="t", size=4, pools=["slow"]),)),
            _operator("two", "x", "b c"),
            _operator("three", "a", "d"),
            _operator("four", "x c", "e"),
        ],
        *("y", "b", "e"),
    )
    frontier = front(graph, TERMS, generators=("spill",), cost="bytes", options=STEADY)
    assert [tuple(point.values.values()) for point in frontier.points] == [(11, 55)]
    assert not verify(graph, frontier.points[0].plan)


def _either(name: str, size: int) -> Tensor:
    return Tensor(id=name, size=size, pools=["slow", "fast"])


# a is made where there is room, and goes to the slow pool just before it is used.
MOVES_BETWEEN_RUNS = _waiting(
    [Pool(id="fast", capacity=16), Pool(id="slow", capacity=6)],
    [_in_fast("x", 2), Tensor(id="y", size=5, pools=["slow"]), _either("a", 3), _in_fast("b", 1)],
    [_operator("one", "x", "y"), _operator("two", "y", "a"), _operator("three", "a x", "b")],
    "b",
)
# x stays in the slow pool until its place is needed there, and is in the fast one for one run alone.
LEAVES_LATE = _waiting(
    [Pool(id="fast"), Pool(id="slow", capacity=5)],
    [_either("x", 5), _either("a", 6), Tensor(id="b", size=4, pools=["slow"])],
    [
        replace(_operator("one", "x", "a"), in_place=(("x", "a"),)),
        _operator("two", "a", ""),
        replace(_operator("three", "x", "b"), temporaries=(Temporary(id="t", size=3),)),
    ],
    *("a", "b"),
)


@pytest.mark.parametrize(
    ("graph", "points"),
    [
        (MOVES_BETWEEN_RUNS, [(5, 27), (6, 21)]),
        (LEAVES_LATE, [(10, 47), (11, 37), (14, 26)]),
    ],
    ids=["between", "late"],
)
def test_a_copy_may_be_for_a_moment(graph: Graph, points: list[tuple[int, int]]) -> None:
    frontier = front(graph, TERMS, generators=("recompute", "spill"), cost="bytes", options=STEADY)
    assert frontier.complete
    assert [tuple(point.values.values()) for point in frontier.points] == points
    assert not any(verify(graph, point.plan) for point in frontier.points)


def test_a_front_without_points_says_what_was_tried() -> None:
    graph = _waiting(
        [Pool(id="fast", capacity=9), Pool(id="slow", capacity=12)],
        [*map(_in_fast, ("x", "y", "a", "b"), (3, 2, 3, 6))],
        [_operator("one", "y", "a"), _operator("two", "a", "b"), _operator("three", "y x", "")],
        "b",
    )
    frontier = front(graph, ("peak:slow", "cost"), generators=("spill",), cost="bytes", options=STEADY)
    why = frontier.explanation
    assert (frontier.points, frontier.complete) == ((), True)
    assert why is not None
    # With each operator once and no copies it would be 14.
    assert (why.code, why.pool, why.needed, why.capacity) == ("too_small", "fast", 11, 9)
    assert "the least schedule that was found needs 11 at a cost of 25" in why.message
    assert "--with spill,recompute" in why.message
    # Who must run before others is not run again here, though the judge accepts that.
    ordered = replace(graph, before=(("one", "two"),))
    unknown = front(ordered, TERMS, generators=("recompute", "spill"), cost="bytes", options=STEADY)
    assert (unknown.points, unknown.complete) == ((), False)
    assert unknown.explanation is not None
    assert unknown.explanation.code == "too_small"


def test_what_has_no_places_in_one_schedule_is_not_said_of_all() -> None:
    # No more bytes live at once than there are, and each of two tensors begins at a multiple of 8.
    graph = _waiting(
        [Pool(id="fast", capacity=8, alignment=8), Pool(id="slow", capacity=1)],
        [*map(_in_fast, ("x", "a"), (4, 4))],
        [_operator("one", "x", "a")],
        "a",
    )
    why = front(graph, TERMS, generators=(), cost="bytes", options=STEADY).explanation
    assert why is not None
    assert why.code == "over_capacity"
    frontier = front(graph, TERMS, generators=("recompute", "spill"), cost="bytes", options=STEADY)
    assert frontier.explanation is not None
    assert frontier.explanation.code == "no_places"
    assert why.message in frontier.explanation.message
    assert not frontier.complete


def test_one_that_fits_is_planned_where_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes first needs more than there is, which takes no time to see."""
    graph = beside_slow_memory(residual_network(1))
    pools = (replace(graph.pools[0], capacity=12_000), graph.pools[1])
    monkeypatch.setattr(Allowance, "over", property(lambda _: True))
    request = FrontOptions(generators=("stripes", "spill"), cost="bytes", terms=TERMS)
    only = find_front(replace(graph, pools=pools), request, STEADY, FrontCallbacks())
    assert len(only.points) == 1
    assert only.points[0].values["peak:fast"] <= 12_000
