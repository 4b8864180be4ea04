"""Plans whose schedules do more than order: good ones are accepted, others refused with a clear word."""

from dataclasses import replace

import pytest

from memstow.planner.graph.schedules import scheduled_problem
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Alternative, Graph, Operator, Temporary, Tensor, View, Window
from memstow.planner.model.options import Options
from memstow.planner.model.plan import (
    Certificate,
    Cut,
    Least,
    Model,
    Plan,
    Schedule,
    Spill,
    Stripe,
    TermValue,
    gap_of,
)
from memstow.planner.model.problem import Pool
from memstow.planner.solve.engine import plan as solve
from memstow.planner.verify import Standing, Subject, judge, verify
from memstow.planner.verify.graph_verdict import scheduled
from memstow.planner.verify.row_operators import least_cost
from memstow.planner.verify.verdict import Refused

CONV = Window(kernel=(3, 3), padding=(1, 1, 1, 1))
SMALLER = Window(kernel=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1))


def image(name: str, side: int = 8, channels: int = 1) -> Tensor:
    return Tensor(id=name, shape=(side, side, channels), type="int8")


def branches() -> Graph:
    """x -> two branches that are added, resized, put beside another, and averaged."""
    weights = Tensor(id="w", shape=(3, 3, 1, 1), type="int8", kind="constant")
    mean = Tensor(id="mean", shape=(1, 1, 1, 2), type="int8")
    return Graph(
        version=1,
        tensors=[
            *(image(name) for name in ("x", "a", "b", "sum", "wide")),
            image("small", 4),
            image("both", 8, 2),
            weights,
            mean,
        ],
        operators=[
            Operator(
                id="conv",
                type="conv2d",
                inputs=["x", "w"],
                outputs=["a"],
                window=CONV,
                cost=640,
                temporaries=[Temporary(id="columns", size=9)],
            ),
            Operator(id="relu", type="relu", inputs=["x"], outputs=["b"], cost=64),
            Operator(
                id="add", type="ADD", inputs=["a", "b"], outputs=["sum"], in_place=[("a", "sum")], cost=64
            ),
            Operator(
                id="down", type="conv2d", inputs=["sum", "w"], outputs=["small"], window=SMALLER, cost=160
            ),
            Operator(id="up", type="RESIZE_NEAREST_NEIGHBOR", inputs=["small"], outputs=["wide"], cost=64),
            Operator(id="beside", type="concat", inputs=["sum", "wide"], outputs=["both"], cost=128),
            Operator(id="pool", type="mean", inputs=["both"], outputs=["mean"], cost=128),
        ],
        inputs=["x"],
        outputs=["mean"],
    )


NAMES = ("conv", "relu", "add", "down", "up", "beside", "pool")
STRIPED = Schedule(order=NAMES, stripes=(Stripe(begin=0, end=7, columns=8),))


def planned(graph: Graph, schedule: Schedule) -> Plan:
    """A plan of the problem that the planner makes of the schedule."""
    result = solve(scheduled_problem(graph, schedule), Options(deterministic=True))
    return replace(result, schedule=schedule)


def with_cost(plan: Plan, cost: int, bound: int = 0, certificate: Certificate | None = None) -> Plan:
    term = TermValue(term="cost", value=cost, bound=bound, gap=gap_of(cost, bound), certificate=certificate)
    proven = all(entry.value == entry.bound for entry in (*plan.objective, term))
    return replace(
        plan, objective=(*plan.objective, term), status=Status.OPTIMAL if proven else Status.FEASIBLE
    )


def reasons(graph: Graph, plan: Plan) -> list[str]:
    return [str(violation) for violation in verify(graph, plan)]


def refused(graph: Graph, schedule: Schedule, word: str) -> None:
    """Whether the judge refuses a plan of this schedule, whatever its places are."""
    (message,) = reasons(graph, Plan(status=Status.FEASIBLE, schedule=schedule))
    assert word in message, message
    assert message.endswith("[schedule]")


def test_stripes_are_replayed_and_told() -> None:
    graph = branches()
    plan = planned(graph, STRIPED)
    verdict = judge(graph, plan)
    assert verdict.violations == ()
    (claim,) = (claim for claim in verdict.claims if claim.subject is Subject.STRIPES)
    assert claim.says == "replayed 1 stripe: 52 rows, each there when it was read"
    assert claim.standing is Standing.CHECKED
    by_layers = planned(graph, Schedule(order=NAMES))
    assert plan.objective[0].value < by_layers.objective[0].value


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("begin", range(6))
def test_any_stripe_of_it_is_accepted(begin: int, columns: int) -> None:
    graph, accepted = branches(), 0
    for end in range(begin + 1, 8):
        schedule = Schedule(order=NAMES, stripes=(Stripe(begin=begin, end=end, columns=columns),))
        try:
            plan = planned(graph, schedule)
        except InputError:
            continue  # A strip has more columns than there are.
        assert verify(graph, plan) == [], (begin, end, columns)
        accepted += 1
    assert accepted


def test_another_strip_width_is_another_plan() -> None:
    graph = branches()
    narrow = replace(STRIPED, stripes=(Stripe(begin=0, end=7, columns=2),))
    plan = planned(graph, narrow)
    result = reasons(graph, replace(plan, schedule=STRIPED))
    assert any(entry.endswith("[digest]") for entry in result)
    assert any(entry.endswith("[overlap]") for entry in result)


def test_a_stripe_with_fewer_operators_is_another_plan() -> None:
    graph = branches()
    plan = planned(graph, STRIPED)
    shorter = replace(STRIPED, stripes=(Stripe(begin=0, end=5, columns=8),))
    assert any("[digest]" in reason for reason in reasons(graph, replace(plan, schedule=shorter)))


def test_a_buffer_moved_into_a_ring_is_an_overlap() -> None:
    graph = branches()
    plan = planned(graph, STRIPED)
    ring = next(placement for placement in plan.placements if placement.buffer == "sum")
    moved = [
        replace(placement, offset=ring.offset) if placement.buffer == "x" else placement
        for placement in plan.placements
    ]
    assert any("[overlap]" in reason for reason in reasons(graph, replace(plan, placements=tuple(moved))))


@pytest.mark.parametrize(
    ("stripes", "word"),
    [
        (((0, 3, 8), (2, 4, 8)), "follow each other"),
        (((3, 4, 8), (0, 2, 8)), "follow each other"),
        (((4, 9, 8),), "7 places"),
        (((5, 5, 8),), "follow each other"),
    ],
)
def test_stripes_that_are_none(stripes: tuple[tuple[int, int, int], ...], word: str) -> None:
    made = tuple(Stripe(begin=begin, end=end, columns=columns) for begin, end, columns in stripes)
    refused(branches(), Schedule(order=NAMES, stripes=made), word)


def test_barriers_do_not_run_in_stripes() -> None:
    graph = branches()

    def changed(kind: str = "relu", inputs: tuple[str, ...] = ("x",)) -> Graph:
        operators = [
            replace(operator, type=kind, inputs=inputs) if operator.id == "relu" else operator
            for operator in graph.operators
        ]
        return replace(graph, operators=tuple(operators))

    refused(changed("softmax"), STRIPED, "'relu' cannot run in a stripe: the type 'softmax'")
    refused(replace(graph, before=(("conv", "relu"),)), STRIPED, "orders it by `before`")
    state = Tensor(id="s", size=1, kind="state")
    stateful = replace(changed(inputs=("x", "s")), tensors=(*graph.tensors, state))
    refused(stateful, STRIPED, "'s' is a state")
    flat = replace(
        graph,
        tensors=tuple(
            replace(tensor, shape=None, size=64) if tensor.id == "b" else tensor for tensor in graph.tensors
        ),
    )
    refused(flat, STRIPED, "no image")
    half = replace(
        graph,
        tensors=tuple(
            replace(tensor, type="int4", shape=(8, 16, 1)) if tensor.id == "b" else tensor
            for tensor in graph.tensors
        ),
    )
    refused(half, STRIPED, "no image")
    views = replace(graph, views=(View(tensor="b", of="both"),))
    refused(views, STRIPED, "a view or has one")


@pytest.mark.parametrize(
    ("shape", "word"),
    [
        ((8, 2), "is not a single row of elements"),
        ((2, 1, 2), "is not a single row of elements"),
        ((1, 2, 1, 2), "is not a single row of elements"),
        ((), "is not a single row of elements"),
        ((1, 1), "does not have an element for each channel"),
    ],
)
def test_a_mean_in_stripes_is_of_all_rows_and_columns(shape: tuple[int, ...], word: str) -> None:
    graph = branches()
    tensors = tuple(
        replace(tensor, shape=shape) if tensor.id == "mean" else tensor for tensor in graph.tensors
    )
    refused(replace(graph, tensors=tensors), STRIPED, f"'mean' {word}")


def test_nobody_reads_what_a_reduction_has_not_finished() -> None:
    graph = branches()
    tail = Operator(id="tail", type="relu", inputs=["mean"], outputs=["end"])
    end = Tensor(id="end", shape=(1, 1, 1, 2), type="int8")
    longer = replace(
        graph, operators=(*graph.operators, tail), tensors=(*graph.tensors, end), outputs=("end",)
    )
    schedule = Schedule(order=(*NAMES, "tail"), stripes=(Stripe(begin=3, end=8, columns=8),))
    refused(longer, schedule, "'tail' reads 'mean', which has its first element only when 'pool'")


def test_huge_images_are_refused_and_not_followed() -> None:
    for shape in ((1 << 31, 1, 1), (1, 1 << 31, 1), (1 << 24, 2, 1), (1 << 20, 1 << 20, 1)):
        graph = Graph(
            version=1,
            tensors=[Tensor(id=name, shape=shape, type="int8") for name in "xyz"],
            operators=[
                Operator(id="a", type="relu", inputs=["x"], outputs=["y"]),
                Operator(id="b", type="relu", inputs=["y"], outputs=["z"]),
            ],
            inputs=["x"],
        )
        refused(graph, Schedule(order=("a", "b"), stripes=(Stripe(begin=0, end=2, columns=1),)), "too large")


def test_what_takes_too_many_steps_is_refused() -> None:
    with pytest.raises(Refused, match="takes more than 100 steps"):
        scheduled(branches(), STRIPED, steps=100)


def line() -> Graph:
    """x -> h -> y, z: `late` reads h again at the end."""
    return Graph(
        version=1,
        pools=(Pool(id="fast"), Pool(id="slow", cost=1)),
        objective=("peak:fast",),
        tensors=[
            Tensor(id=name, size=size)
            for name, size in (("x", 4), ("h", 100), ("y", 50), ("z", 50), ("r", 1))
        ],
        operators=[
            Operator(id="make", inputs=["x"], outputs=["h"], cost=10),
            Operator(id="first", inputs=["h"], outputs=["y"], cost=1),
            Operator(id="middle", inputs=["y"], outputs=["z"], cost=1),
            Operator(id="late", inputs=["h", "z"], outputs=["r"], cost=1),
        ],
        inputs=["x"],
        outputs=["r"],
    )


AGAIN = Schedule(order=("make", "first", "middle", "make", "late"))
AWAY = Schedule(
    order=("make", "first", "middle", "late"), spills=(Spill(tensor="h", pool="slow", out=1, back=3),)
)


def test_an_operator_that_runs_again_makes_a_version_of_its_own() -> None:
    graph = line()
    plan = planned(graph, AGAIN)
    verdict = judge(graph, plan)
    assert verdict.violations == ()
    assert "1 operator run again, on versions made before" in [claim.says for claim in verdict.claims]
    assert {placement.buffer for placement in plan.placements} >= {"h", "h#2"}
    lives = {buffer.id: buffer.lifetime for buffer in scheduled_problem(graph, AGAIN).buffers}
    assert (lives["h"], lives["h#2"]) == ((1, 3), (4, 6))


def test_a_tensor_that_waits_elsewhere_is_three_tensors() -> None:
    graph = line()
    plan = planned(graph, AWAY)
    verdict = judge(graph, plan)
    assert verdict.violations == ()
    assert "1 tensor copied out and back" in [claim.says for claim in verdict.claims]
    pools = {placement.buffer: placement.pool for placement in plan.placements}
    assert pools["h.away.1"] == "slow"
    away = next(placement for placement in plan.placements if placement.buffer == "h.away.1")
    back = replace(
        plan,
        placements=tuple(
            replace(placement, pool="fast") if placement == away else placement
            for placement in plan.placements
        ),
    )
    assert any("[pool_not_allowed]" in reason for reason in reasons(graph, back))


@pytest.mark.parametrize(
    ("order", "word"),
    [
        (("first", "make", "middle", "make", "late"), "'first' reads 'h' before it is made"),
        (("make", "make", "middle", "first", "late"), "'middle' reads 'y' before it is made"),
        (("make", "make", "first", "late"), "'middle' does not run"),
        (("make", "first", "middle", "make", "late", "other"), "'other' runs, and is no operator"),
    ],
)
def test_versions_that_are_missing(order: tuple[str, ...], word: str) -> None:
    refused(
        line(),
        Schedule(order=order, spills=()) if len(set(order)) < len(order) else Schedule(order=order),
        word,
    )


def test_states_views_and_what_is_ordered_do_not_run_again() -> None:
    graph = line()
    state = replace(
        graph,
        tensors=(*graph.tensors, Tensor(id="s", size=1, kind="state")),
        operators=(
            replace(graph.operators[0], outputs=(*graph.operators[0].outputs, "s")),
            *graph.operators[1:],
        ),
    )
    refused(state, AGAIN, "'make' runs again, and 's' of it is a state")
    read_then_written = replace(
        state,
        operators=(
            replace(graph.operators[0], inputs=("x", "s")),
            replace(graph.operators[1], outputs=(*graph.operators[1].outputs, "s")),
            *graph.operators[2:],
        ),
    )
    refused(read_then_written, AGAIN, "uses the state 's' before one that is listed earlier")
    refused(replace(graph, views=(View(tensor="y", of="h"),)), AGAIN, "is a view or has one")
    refused(replace(graph, before=(("make", "middle"),)), AGAIN, "must run after it each time")
    viewed = replace(graph, views=(View(tensor="y", of="h"),))
    refused(viewed, AWAY, "'h' is copied out, and is a view or has one")


@pytest.mark.parametrize(
    ("spill", "word"),
    [
        (("h", "slow", 1, 1), "never back"),
        (("h", "slow", 3, 1), "never back"),
        (("h", "slow", 1, 4), "never back"),
        (("h", "slow", 0, 3), "'first' reads or makes 'h' at place 1, while it is away"),
        (("z", "slow", 0, 3), "'middle' reads or makes 'z' at place 2, while it is away"),
        (("r", "slow", 0, 1), "'r' is copied out before it is made"),
        (("h", "other", 1, 3), "no pool"),
        (("q", "slow", 1, 3), "no tensor"),
    ],
)
def test_copies_that_are_none(spill: tuple[str, str, int, int], word: str) -> None:
    tensor, pool, out, back = spill
    spills = (Spill(tensor=tensor, pool=pool, out=out, back=back),)
    refused(line(), Schedule(order=AWAY.order, spills=spills), word)


def test_a_tensor_is_not_copied_twice_at_once() -> None:
    spills = (Spill(tensor="x", pool="slow", out=0, back=3), Spill(tensor="x", pool="slow", out=1, back=2))
    refused(line(), Schedule(order=AWAY.order, spills=spills), "is away already")


def test_copies_in_the_middle_of_a_stripe() -> None:
    graph = replace(branches(), pools=(Pool(id="fast"), Pool(id="slow")))
    spills = (Spill(tensor="x", pool="slow", out=3, back=4),)
    refused(graph, replace(STRIPED, spills=spills), "'x.out.1' would copy in the middle of a stripe")


def choices() -> Graph:
    graph = line()
    alternatives = [
        Alternative(
            id="small",
            replaces=["first", "middle"],
            operators=[
                Operator(id="part", inputs=["h"], outputs=["p"], cost=5),
                Operator(id="rest", inputs=["p"], outputs=["z"], cost=5),
            ],
            tensors=[Tensor(id="p", size=5)],
            cost=20,
        ),
        Alternative(
            id="direct", replaces=["middle"], operators=[Operator(id="copy", inputs=["y"], outputs=["z"])]
        ),
        Alternative(
            id="half",
            replaces=["first", "middle"],
            operators=[Operator(id="only", inputs=["h"], outputs=["y"])],
        ),
    ]
    return replace(graph, alternatives=tuple(alternatives))


def test_alternatives_take_the_place_of_operators() -> None:
    graph = choices()
    schedule = Schedule(order=("make", "part", "rest", "late"), alternatives=("small",))
    plan = planned(graph, schedule)
    assert verify(graph, with_cost(plan, 10 + 20 + 1)) == []
    assert not any(placement.buffer == "y" for placement in plan.placements)


@pytest.mark.parametrize(
    ("order", "chosen", "word"),
    [
        (("make", "first", "middle", "part", "rest", "late"), ("small",), "'first' runs, and is no operator"),
        (("make", "part", "rest", "late"), (), "is no operator"),
        (("make", "first", "middle", "late"), ("small",), "'first' runs"),
        (("make", "part", "late"), ("small",), "'rest' does not run"),
        (("make", "part", "rest", "copy", "late"), ("small", "direct"), "both replace 'middle'"),
        (("make", "part", "rest", "late"), ("small", "small"), "twice"),
        (("make", "part", "rest", "late"), ("none",), "does not have"),
        (("make", "only", "late"), ("half",), "'late' reads 'z' before it is made"),
    ],
)
def test_alternatives_that_do_not_go(order: tuple[str, ...], chosen: tuple[str, ...], word: str) -> None:
    schedule = Schedule(order=order, alternatives=chosen)
    result = reasons(choices(), Plan(status=Status.FEASIBLE, schedule=schedule))
    assert any(word in entry or "each operator of the graph once" in entry for entry in result), result


def test_the_cost_is_counted() -> None:
    graph = line()
    plan = planned(graph, AGAIN)
    assert verify(graph, with_cost(plan, 23)) == []
    assert any("[value]" in reason for reason in reasons(graph, with_cost(plan, 22)))
    given = solve(replace(graph, objective=("peak:fast",)), Options(deterministic=True))
    assert verify(graph, with_cost(given, 13)) == []
    assert any("[value]" in reason for reason in reasons(graph, with_cost(given, 14)))


def test_the_least_cost_is_each_operator_once() -> None:
    graph = line()
    assert least_cost(graph) == 13
    plan = planned(graph, AGAIN)
    assert verify(graph, with_cost(plan, 23, 13, Least())) == []
    assert any("[certificate]" in reason for reason in reasons(graph, with_cost(plan, 23, 14, Least())))
    verdict = judge(graph, with_cost(plan, 23, 20, Model(solver="s")))
    assert verdict.violations == ()
    assert [claim.says for claim in verdict.unchecked] == ["no plan has cost below 20"]
    chosen = planned(choices(), Schedule(order=("make", "part", "rest", "late"), alternatives=("small",)))
    assert any("[certificate]" in reason for reason in reasons(choices(), with_cost(chosen, 31, 13, Least())))


def test_what_no_window_reads_is_in_no_least_cost() -> None:
    graph = branches()
    assert least_cost(graph) == sum(operator.cost or 0 for operator in graph.operators)
    sparse = Window(kernel=(1, 1), stride=(2, 2))
    skipping = tuple(
        replace(operator, inputs=("sum", "w1"), window=sparse) if operator.id == "down" else operator
        for operator in graph.operators
    )
    weights = Tensor(id="w1", shape=(1, 1, 1, 1), type="int8", kind="constant")
    alone = [entry for entry in skipping if entry.id in ("conv", "relu", "add", "down")]
    small = replace(graph, tensors=(*graph.tensors, weights), operators=tuple(alone), outputs=("small",))
    # Of what `add` makes, and of what it reads, every second row and column is not needed.
    assert least_cost(small) == 160
    schedule = Schedule(order=NAMES[:4], stripes=(Stripe(begin=0, end=4, columns=1),))
    cost = 160 + (640 + 64 + 64) * 28 // 64
    assert verify(small, with_cost(planned(small, schedule), cost, 160, Least())) == []


def test_a_problem_has_no_cost() -> None:
    graph = line()
    problem = scheduled_problem(graph, AGAIN)
    plan = replace(planned(graph, AGAIN), schedule=None)
    assert any("[terms]" in entry for entry in map(str, verify(problem, with_cost(plan, 23))))


def test_a_graph_may_ask_for_the_cost() -> None:
    graph = replace(line(), objective=("peak:fast", "cost"))
    plan = planned(line(), AGAIN)
    assert verify(graph, with_cost(plan, 23)) == []
    assert any("[terms]" in reason for reason in reasons(graph, plan))
    first = with_cost(plan, 23)
    turned = replace(first, objective=tuple(reversed(first.objective)))
    assert any("[terms]" in reason for reason in reasons(graph, turned))


def test_bounds_are_about_the_places_of_the_schedule() -> None:
    graph = replace(branches(), order="free")
    plan = planned(graph, STRIPED)
    # No order of whole tensors needs as little, and the bound of this schedule is proven all the same.
    assert plan.status == "optimal"
    assert verify(graph, plan) == []
    first = replace(plan.objective[0], certificate=Cut(operator=None, ways=()))
    message = reasons(graph, replace(plan, objective=(first,)))
    assert any("the schedule does more" in entry and "[certificate]" in entry for entry in message)
