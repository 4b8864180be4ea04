"""Fronts in the memories of several targets: each is that of the target alone; the smallest is told."""

import json
from dataclasses import replace

import pytest

import memstow
from memstow.planner.front.front_documents import read_front, write_front
from memstow.planner.graph.documents import retarget
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Front, FrontPoint, TargetFront
from memstow.planner.model.graph import Graph, Order
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import Buffer, Pool, Problem, ReuseCost, Target
from memstow.planner.show.front_report import front_report
from memstow.planner.verify import verify
from tests.planner.graph.stripes.nets import random_net

ENOUGH = Options(deterministic=True, work_limit=200_000_000)
PROBLEM = Problem(
    name="three",
    buffers=[Buffer(id=name, size=4, lifetime=(at, at + 1)) for at, name in enumerate("abc")],
    reuse_costs=[ReuseCost(buffers=("a", "b"), cost=3), ReuseCost(buffers=("b", "c"), cost=1)],
)
TERMS = ("peak", "reuse_cost")


def target(name: str | None, *capacities: int | None) -> Target:
    """A target with pools of these capacities."""
    return Target(
        name=name, pools=[Pool(id=f"p{at}", capacity=capacity) for at, capacity in enumerate(capacities)]
    )


def values(points: tuple[FrontPoint, ...]) -> list[dict[str, int]]:
    return [dict(point.values) for point in points]


def test_each_front_is_that_of_the_target_alone() -> None:
    targets = [target("large", 64), target(None, None), target("small", 4), target("none", 3)]
    output: list[FrontPoint] = []
    front = memstow.front(PROBLEM, TERMS, targets=targets, options=ENOUGH, on_point=output.append)
    assert [device.target for device in front.targets] == ["none", "small", "large", "target 2"]
    assert [device.fits for device in front.targets] == ["no", "yes", "yes", "yes"]
    assert (front.smallest, front.complete) == ("small", True)
    for name, capacity in (("small", 4), ("large", 64)):
        moved = retarget(PROBLEM, target(name, capacity))
        alone = memstow.front(moved, TERMS, options=ENOUGH)
        (result,) = (device for device in front.targets if device.target == name)
        assert values(result.points) == values(alone.points)
        assert not any(verify(moved, point.plan) for point in result.points)
        assert all(dict(point.values) in values(tuple(output)) for point in result.points)


def test_a_front_of_targets_is_read_as_it_was_written() -> None:
    front = memstow.front(PROBLEM, TERMS, targets=[target("a", 64), target("b", 3)], options=ENOUGH)
    assert read_front(write_front(front, "json")) == front


@pytest.mark.parametrize("seed", range(6))
def test_a_graph_in_memories_that_are_too_small(seed: int) -> None:
    graph: Graph = random_net(3000 + seed, 6)
    least = memstow.front(graph, options=ENOUGH).points[0].values["peak"]
    targets = [target("large", 10 * least), target("tight", least), target("small", max(least - 1, 1))]
    front = memstow.front(graph, targets=targets, options=ENOUGH)
    assert [(device.target, device.fits) for device in front.targets] == [
        ("small", "no"),
        ("tight", "yes"),
        ("large", "yes"),
    ]
    assert front.smallest == "tight"
    for device in front.targets[1:]:
        moved = replace(graph, pools=(Pool(id="p0", capacity=device.bytes),), objective=None)
        assert not any(verify(moved, point.plan) for point in device.points)


def test_time_is_not_blamed_where_a_reason_is_told() -> None:
    unknown = TargetFront(target="a", fits="unknown", bytes=8)
    why = Explanation(code="too_small", message="pool 'ram' has 8 bytes", pool="ram", needed=9, capacity=8)
    text = {
        said: front_report(Front(terms=TERMS, targets=[replace(unknown, explanation=said)]))
        for said in (None, why)
    }
    assert text[None].endswith("is not known; give it more time")
    assert text[why].endswith("is not known")


def test_the_report_tells_how_large_the_memory_is_that_all_is_in() -> None:
    graph: Graph = random_net(3000, 6)
    board = target("board", 1 << 20, 1 << 21)
    text = front_report(memstow.front(graph, targets=[board], options=ENOUGH))
    assert text.startswith("board (3 MiB in all): fits, all in 'p1' of 2 MiB\n")
    tight = front_report(memstow.front(graph, targets=[target("board", 1, 2)], options=ENOUGH))
    assert tight.startswith("board (3 B in all): does not fit, all in 'p1' of 2 B\n")


def test_a_graph_that_names_no_memory_is_in_the_largest_of_each_target() -> None:
    graph: Graph = random_net(3000, 6)
    front = memstow.front(graph, options=ENOUGH)
    least = front.points[0].values["peak"]
    boards = [
        target("together", least - 1, least - 1),
        target("large", 7, 2 * least, least),
        target("none", least // 2 - 1, least // 2 - 1),
        target("open", 10, None),
    ]
    frontier = memstow.front(graph, targets=boards, options=ENOUGH)
    assert [(device.target, device.fits, device.pool) for device in frontier.targets] == [
        ("none", "no", "p0"),
        ("together", "unknown", "p0"),
        ("large", "yes", "p1"),
        ("open", "yes", "p1"),
    ]
    assert frontier.smallest is None
    assert frontier.terms == ("peak", "cost")
    assert values(frontier.targets[3].points) == values(front.points)
    for board, sample in ((boards[1], frontier.targets[2]), (boards[3], frontier.targets[3])):
        moved = replace(graph, pools=board.pools, objective=None)
        for point in sample.points:
            assert not verify(moved, point.plan)
            assert {place.pool for place in point.plan.placements} <= {sample.pool}
            assert [use.pool for use in point.plan.pools] == [pool.id for pool in board.pools]
    assert read_front(write_front(frontier, "json")) == frontier


@pytest.mark.parametrize("has_alternatives", [False, True])
def test_what_is_proven_of_one_order_is_not_said_of_all_in_several_memories(has_alternatives: bool) -> None:
    """Either the order is free, or an alternative may need less than the operators that it replaces."""
    sizes = {"x": 40, "y": 90, "z": 50, "small": 10}
    fused = memstow.Alternative(
        id="fused",
        replaces=["f", "g"],
        tensors=[memstow.Tensor(id="row", size=6)],
        operators=[
            memstow.Operator(id="rows of f", inputs=["x"], outputs=["row"]),
            memstow.Operator(id="rows of g", inputs=["row"], outputs=["z"]),
        ],
        cost=9,
    )
    graph = Graph(
        tensors=[memstow.Tensor(id=name, size=size) for name, size in sizes.items()],
        operators=[
            memstow.Operator(id="f", inputs=["x"], outputs=["y"], cost=2),
            memstow.Operator(id="g", inputs=["y"], outputs=["z"], cost=2),
            memstow.Operator(id="h", inputs=["x"], outputs=["small"], cost=2),
        ],
        inputs=["x"],
        outputs=["z", "small"],
        order="given" if has_alternatives else "free",
        alternatives=[fused] if has_alternatives else [],
    )
    board = target("board", 4096, 512)
    (result,) = memstow.front(graph, targets=[board], options=ENOUGH).targets
    alone = memstow.front(graph, options=ENOUGH)
    assert result.fits == "yes"
    assert values(result.points) == values(alone.points)
    for point in result.points:
        assert not verify(replace(graph, pools=board.pools, objective=None), point.plan)


@pytest.mark.parametrize(
    ("capacity", "has_alternatives", "pool"),
    [(4096, False, "fast"), (15, False, "fast"), (14, False, "slow"), (4096, True, "large")],
)
def test_a_graph_is_in_the_fastest_memory_that_holds_it_as_it_is(
    capacity: int, has_alternatives: bool, pool: str
) -> None:
    """x and y, then y and z: 15 bytes live at once."""
    other = memstow.Alternative(
        id="other", replaces=["f"], operators=[memstow.Operator(id="e", inputs=["x"], outputs=["y"])], cost=1
    )
    graph = Graph(
        tensors=[memstow.Tensor(id=name, size=size) for name, size in {"x": 5, "y": 10, "z": 5}.items()],
        operators=[
            memstow.Operator(id="f", inputs=["x"], outputs=["y"], cost=2),
            memstow.Operator(id="g", inputs=["y"], outputs=["z"], cost=2),
        ],
        inputs=["x"],
        outputs=["z"],
        alternatives=[other] if has_alternatives else [],
    )
    board = Target(
        name="board",
        pools=[
            Pool(id="large", capacity=1 << 20, cost=8),
            Pool(id="slow", capacity=64, cost=2),
            Pool(id="fast", capacity=capacity, cost=1),
        ],
    )
    (result,) = memstow.front(graph, targets=[board], options=ENOUGH).targets
    assert (result.fits, result.pool, result.complete) == ("yes", pool, True)
    assert values(result.points) == values(memstow.front(graph, options=ENOUGH).points)
    moved = replace(graph, pools=board.pools, objective=None)
    for point in result.points:
        assert {place.pool for place in point.plan.placements} == {pool}
        assert not verify(moved, point.plan)


def test_a_memory_that_is_larger_but_does_not_hold_the_graph_is_not_chosen() -> None:
    """x and y, then y and z: 15 bytes, but 26 where each begins at a multiple of 16."""
    graph = Graph(
        tensors=[memstow.Tensor(id=name, size=size) for name, size in {"x": 5, "y": 10, "z": 5}.items()],
        operators=[
            memstow.Operator(id="f", inputs=["x"], outputs=["y"]),
            memstow.Operator(id="g", inputs=["y"], outputs=["z"]),
        ],
        inputs=["x"],
        outputs=["z"],
    )
    views = replace(graph, views=(memstow.View(tensor="z", of="y", offset=3),))
    aligned = Pool(id="aligned", capacity=20, alignment=16, cost=1)
    board = Target(name="board", pools=[aligned, Pool(id="plain", capacity=15, cost=1)])
    for given in (graph, views):
        (output,) = memstow.front(given, targets=[board], options=ENOUGH).targets
        assert (output.fits, output.pool) == ("yes", "plain")


@pytest.mark.parametrize(("order", "pool"), [("free", "fast"), ("lpmf", "fast"), ("given", "slow")])
def test_a_memory_holds_a_graph_in_the_order_that_it_runs_in(order: Order, pool: str) -> None:
    """As it is listed all three parts are there before one is read: 30 bytes, else 21."""
    names = ("a", "b", "c")
    graph = Graph(
        tensors=[memstow.Tensor(id=name, size=10) for name in names]
        + [memstow.Tensor(id=f"sum of {name}", size=1) for name in names],
        operators=[
            *(memstow.Operator(id=f"make {name}", outputs=[name]) for name in names),
            *(
                memstow.Operator(id=f"add {name}", inputs=[name], outputs=[f"sum of {name}"])
                for name in names
            ),
        ],
        outputs=[f"sum of {name}" for name in names],
        order=order,
    )
    board = Target(
        name="board", pools=[Pool(id="slow", capacity=64, cost=2), Pool(id="fast", capacity=21, cost=1)]
    )
    (output,) = memstow.front(graph, generators=(), targets=[board], options=ENOUGH).targets
    assert (output.fits, output.pool) == ("yes", pool)


def test_a_graph_that_names_a_memory_is_not_moved_to_another() -> None:
    graph: Graph = random_net(3000, 6)
    named = replace(graph, tensors=(replace(graph.tensors[0], pools=("p0",)), *graph.tensors[1:]))
    with pytest.raises(InputError, match="name the one whose peak counts"):
        memstow.front(named, targets=[target("two", 10_000, 20_000)], options=ENOUGH)
    # As with the pools of a graph, a term that names one counts its bytes.
    frontier = memstow.front(
        named, ("peak:p0", "cost"), generators=(), targets=[target("two", 10_000, 20_000)], options=ENOUGH
    )
    assert (frontier.targets[0].fits, frontier.targets[0].pool) == ("yes", None)


def test_what_one_target_would_refuse_is_refused_before_any_work() -> None:
    output: list[FrontPoint] = []
    other = Target(name="other", pools=[Pool(id="fast", capacity=64), Pool(id="slow")])
    with pytest.raises(InputError, match="no pool 'p0'"):
        memstow.front(
            PROBLEM, ("peak:p0", "reuse_cost"), targets=[target("a", 3), other], on_point=output.append
        )
    assert output == []


def test_the_picture_names_each_target_and_the_smallest_that_will_do() -> None:
    targets = [target("large <1>", 64), target("none", 3), target("small", 4)]
    front = memstow.front(PROBLEM, TERMS, targets=targets, options=ENOUGH)
    picture = memstow.write_front(front, "svg").decode()
    assert picture.count('class="target"') == 3
    assert "none: does not fit<" in picture
    assert 'font-weight="bold"' in picture
    assert "small, the smallest that will do<" in picture
    assert "large &lt;1&gt;<" in picture
    nowhere = memstow.front(PROBLEM, TERMS, targets=[target("none", 3)], options=ENOUGH)
    picture = memstow.write_front(nowhere, "svg").decode()
    assert "no points" in picture
    assert "none: does not fit<" in picture
    document = json.loads(memstow.write_front(nowhere, "json"))
    assert "smallest" not in document


def test_a_run_that_is_stopped_says_what_it_does_not_know() -> None:
    front = memstow.front(
        PROBLEM, TERMS, targets=[target("a", 64), target("b", 32)], options=Options(time_limit=0.0)
    )
    assert isinstance(front, Front)
    assert [device.target for device in front.targets] == ["b", "a"]
    assert not front.complete or front.smallest == "b"


@pytest.mark.campaign
def test_a_capacity_that_is_looked_for_must_be_one_that_the_target_has() -> None:
    problem = Problem(
        pools=[Pool(id="fast", capacity=64), Pool(id="slow", cost=4)],
        buffers=[Buffer(id="a", size=8, lifetime=(0, 2)), Buffer(id="b", size=4, lifetime=(0, 2))],
    )
    boards = [
        Target(name=name, pools=[Pool(id="fast", capacity=fast), Pool(id="slow", capacity=slow, cost=4)])
        for name, fast, slow in (("small", 4, 2), ("middle", 8, 4), ("large", 64, 64))
    ]
    for options in (ENOUGH, Options(time_limit=240.0)):
        frontier = memstow.front(
            problem, ("capacity:fast", "placement_cost"), targets=boards, options=options
        )
        fits = {device.target: device.fits for device in frontier.targets}
        assert fits["small"] == ("no" if frontier.targets[0].complete else "unknown")
        assert (fits["middle"], fits["large"]) == ("yes", "yes")
        assert frontier.smallest == ("middle" if fits["small"] == "no" else None)


def test_a_pin_that_one_target_has_no_room_for_is_no_reason_to_refuse_the_others() -> None:
    problem = Problem(
        buffers=[
            Buffer(id="vec", size=64, lifetime="always", pool="memory", offset=1024),
            Buffer(id="a", size=4, lifetime=(0, 1)),
            Buffer(id="b", size=4, lifetime=(1, 2)),
        ],
        reuse_costs=[ReuseCost(buffers=("a", "b"), cost=3)],
    )
    boards = [Target(name=str(size), pools=[Pool(id="memory", capacity=size)]) for size in (1024, 2048)]
    frontier = memstow.front(problem, TERMS, targets=boards, options=ENOUGH)
    small, large = frontier.targets
    assert (small.fits, small.complete, large.fits, frontier.smallest) == ("no", True, "yes", "2048")
    assert small.explanation is not None
    assert "buffers[0].offset: the buffer would end at 1,088" in small.explanation.message
    nowhere = memstow.front(problem, TERMS, targets=boards[:1], options=ENOUGH)
    assert ([device.fits for device in nowhere.targets], nowhere.complete) == (["no"], True)


def test_targets_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="2 targets are called 'a'"):
        memstow.front(PROBLEM, TERMS, targets=[target("a", 64), target("a", 32)])
    with pytest.raises(InputError, match="called 'target 2'"):
        memstow.front(
            PROBLEM, TERMS, targets=[target("target 2", 64), Target(pools=[Pool(id="memory", capacity=9)])]
        )
