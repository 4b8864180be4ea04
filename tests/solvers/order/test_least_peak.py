"""The search for the order with the least peak."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from memstow.solvers import _native
from memstow.solvers.orders import (
    ORDER_SOLVERS,
    OrderInstance,
    OrderListeners,
    OrderOutcome,
    OrderTask,
    bytes_by_step,
    order_within,
    peak,
)
from memstow.solvers.registry import order_solver
from tests.solvers.order.instances import instance_of, random_instance, shared_graph
from tests.solvers.order.least_peak import Sets

IGNORED = OrderListeners(lambda *_: None, lambda *_: None)


def solved(
    task: OrderTask, *, work: int = -1, name: str = "order", listeners: OrderListeners = IGNORED
) -> OrderOutcome:
    return ORDER_SOLVERS[name].solve(task, _native.Budget(-1, work), listeners)


@pytest.mark.parametrize("seed", range(300))
def test_the_least_peak_of_small_instances_is_that_of_all_orders(seed: int) -> None:
    instance = random_instance(Random(seed), 8)
    outcome = solved(OrderTask(instance))
    assert outcome.peak == outcome.bound == peak(instance, outcome.order) == Sets(instance).least_peak()


@pytest.mark.parametrize("seed", range(40))
def test_native_steps_are_those_of_the_definition(seed: int) -> None:
    instance = random_instance(Random(seed), 12)
    for name in ("given", "lpmf", "dfs", "order"):
        order = solved(OrderTask(instance), name=name).order
        assert _native.order_needs(instance.native, order) == bytes_by_step(instance, order)


@pytest.mark.parametrize("seed", range(20))
def test_a_search_that_is_stopped_early_claims_no_more_than_holds(seed: int) -> None:
    instance = random_instance(Random(1000 + seed), 9)
    least = Sets(instance).least_peak()
    for work in (0, 1, 10, 100, 1000):
        outcome = solved(OrderTask(instance), work=work)
        assert outcome.bound <= least <= outcome.peak == peak(instance, outcome.order)


def _add_peak(heard: list[int], _name: str, peak: int, _order: object) -> None:
    heard.append(peak)


def _add_bound(output: list[int], _name: str, bound: int) -> None:
    output.append(bound)


def test_the_model_of_cpsat_has_the_same_least_peaks() -> None:
    pytest.importorskip("ortools")
    compared = saved = 0
    for seed in range(60):
        instance = random_instance(Random(seed), 14)
        if instance.operator_count >= 8:
            heard: list[int] = []
            listeners = OrderListeners(partial(_add_peak, heard), lambda *_: None)
            model = order_solver("cpsat").solve(OrderTask(instance), _native.Budget(600.0, -1), listeners)
            outcome = solved(OrderTask(instance))
            assert model.peak == model.bound == outcome.peak == outcome.bound
            assert model.peak == peak(instance, model.order) == heard[-1]
            compared += 1
            saved += model.peak < solved(OrderTask(replace(instance, in_place=array("q")))).peak
    assert compared >= 10
    assert saved > 0


def test_the_model_bounds_sums_exactly_that_a_float_cannot_hold() -> None:
    pytest.importorskip("ortools")
    odd = 0
    for seed in range(40):
        rng = Random(seed)
        small = random_instance(rng, 10)
        unit = (1 << 51) - 1

        def enlarged(bytes_: "array[int]", rng: Random = rng, unit: int = unit) -> "array[int]":
            return array("q", [entry * unit - (entry > 0 and rng.random() < 0.5) for entry in bytes_])

        instance = replace(
            small, size=enlarged(small.size), extra=enlarged(small.extra), base=small.base * unit
        )
        output: list[int] = []
        listeners = OrderListeners(lambda *_: None, partial(_add_bound, output))
        model = order_solver("cpsat").solve(OrderTask(instance), _native.Budget(600.0, -1), listeners)
        outcome = solved(OrderTask(instance))
        assert model.peak == peak(instance, model.order) >= outcome.bound, seed
        assert max(model.bound, *output, 0) <= outcome.peak, seed
        odd += outcome.peak > 1 << 53 and float(outcome.peak) != outcome.peak
    assert odd > 5


def test_the_model_ends_when_its_time_is_over_with_an_order() -> None:
    pytest.importorskip("ortools")
    instance = random_instance(Random(3), 14)
    for budget in (_native.Budget(0.0, -1), _native.Budget(-1.0, 0)):
        outcome = order_solver("cpsat").solve(OrderTask(instance), budget, IGNORED)
        assert outcome.bound <= outcome.peak == peak(instance, outcome.order)


@pytest.mark.parametrize("name", ["given", "lpmf", "dfs"])
def test_the_bound_of_a_rule_is_about_all_orders(name: str) -> None:
    tight = 0
    for seed in range(60):
        instance = random_instance(Random(seed), 8)
        outcome = solved(OrderTask(instance), name=name)
        least = Sets(instance).least_peak()
        assert outcome.bound <= least <= outcome.peak
        assert (outcome.prover, outcome.solver) == ("order", name)
        tight += outcome.bound == least
    assert tight > 30


REACH = [
    # name, given, least peak first, least: plain and in place
    ("swiftnet", 351_232, 388_864, 301_056, 275_968),
    ("nasnet_imagenet", 5_171_840, 5_469_184, 4_619_904, 4_474_080),
    ("darts_cifar", 2_064_384, 1_769_472, 1_622_016, 1_622_016),
    ("randwire32", 3_913_728, 3_913_728, 3_913_728, 3_424_512),
    ("ws48_eq_1", 1_920, 1_728, 1_472, 1_472),
    ("ws64_rnd_1", 2_116, 1_732, 1_431, 1_431),
    ("train_resnet50_b1", 166_133_156, 95_129_092, 95_129_092, 95_129_092),
    ("train_googlenet_b1", 83_074_148, 51_260_388, 50_423_780, 50_423_780),
    ("infer_shufflenet", 2_408_448, 2_408_448, 2_408_448, 2_408_448),
]


@pytest.mark.parametrize(("name", "given", "lpmf", "plain", "in_place"), REACH)
def test_known_graphs_are_proven(name: str, given: int, lpmf: int, plain: int, in_place: int) -> None:
    task = OrderTask(shared_graph(name, in_place=False))
    assert solved(task, name="given").peak == given
    assert solved(task, name="lpmf").peak == lpmf
    assert (solved(task).peak, solved(task).bound) == (plain, plain)
    task = OrderTask(shared_graph(name, in_place=True))
    assert (solved(task).peak, solved(task).bound) == (in_place, in_place)


def wired(count: int) -> OrderInstance:
    """Each operator reads what two earlier ones made, at random: hard to prove from some 100 operators on."""
    rng = Random(count)
    readers: list[list[int]] = [[] for _ in range(count)]
    for v in range(1, count):
        for entry in {rng.randrange(v), rng.randrange(v)}:
            readers[entry].append(v)
    storages = [(rng.randint(32, 96), [v], readers[v]) for v in range(count)]
    return instance_of(count, storages, outputs=[count - 1])


def wired_in_stages(nodes: int, seed: int) -> OrderInstance:
    """Three stages, each half as large, of nodes wired at random; a node is four operators in a row."""
    rng = Random(seed)
    storages: list[tuple[int, list[int], list[int]]] = []

    def operator(size: int, sources: Iterable[int]) -> int:
        number = len(storages)
        for source in sources:
            storages[source][2].append(number)
        storages.append((size, [number], []))
        return number

    last: list[int] = []
    for size in (4, 2, 1):
        sources: list[set[int]] = [set() for _ in range(nodes)]
        for node in range(nodes):
            for step in (1, 2):
                other = rng.randrange(nodes) if rng.random() < 0.75 else (node + step) % nodes
                if other != node:
                    sources[max(node, other)].add(min(node, other))
        ends: list[int] = []
        for node in range(nodes):
            end = operator(size, [ends[k] for k in sorted(sources[node])] or last)
            for _ in range(3):
                end = operator(size, [end])
            ends.append(end)
        last = [operator(size, [end for end in ends if not storages[end][2]])]
    return instance_of(len(storages), storages, outputs=last)


def test_what_ends_after_hundreds_of_operators_is_committed_at_once() -> None:
    # From behind, two stages of 640 operators come first, which no choice in the third calls into question.
    outcome = solved(OrderTask(wired_in_stages(80, 1), deterministic=True), work=8_000_000)
    assert (outcome.peak, outcome.bound) == (108, 108)


def test_limited_by_work_two_runs_are_the_same() -> None:
    task = OrderTask(wired(300), deterministic=True, workers=4)
    first, second = (solved(task, work=200_000) for _ in range(2))
    assert first == second
    assert first.bound < first.peak, "no proof in so little work, or there is nothing to compare"


def test_several_workers_find_the_same_proof() -> None:
    instance = wired(30)
    alone, together = (solved(OrderTask(instance, workers=workers)) for workers in (1, 3))
    assert alone.peak == together.peak == together.bound


def test_better_orders_and_bounds_are_heard_as_they_are_found() -> None:
    peaks: list[int] = []
    bounds: list[int] = []
    instance = shared_graph("ws64_rnd_1", in_place=False)

    def on_order(name: str, least: int, order: Sequence[int]) -> None:
        assert (name, peak(instance, order)) == ("order", least)
        peaks.append(least)

    outcome = solved(
        OrderTask(instance), listeners=OrderListeners(on_order, lambda _, bound: bounds.append(bound))
    )
    assert peaks == sorted(set(peaks), reverse=True)
    assert bounds == sorted(set(bounds))
    assert (peaks[-1], bounds[-1]) == (outcome.peak, outcome.bound)


def test_a_cancelled_search_ends_with_what_it_has() -> None:
    budget = _native.Budget(-1, -1)
    heard: list[int] = []

    def on_order(_: str, least: int, __: Sequence[int]) -> None:
        heard.append(least)
        budget.cancel()

    instance = wired(300)
    outcome = ORDER_SOLVERS["order"].solve(
        OrderTask(instance), budget, OrderListeners(on_order, IGNORED.bound)
    )
    assert outcome.peak == heard[-1] == peak(instance, outcome.order)


def test_an_error_of_a_listener_ends_the_search() -> None:
    def on_order(*_: object) -> None:
        raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        ORDER_SOLVERS["order"].solve(
            OrderTask(wired(20), workers=2), _native.Budget(-1, -1), OrderListeners(on_order, IGNORED.bound)
        )


def test_a_search_ends_with_an_order_that_is_good_enough() -> None:
    instance = wired(300)
    given = solved(OrderTask(instance), name="given").peak
    assert solved(OrderTask(instance, enough=given)).peak <= given


def test_little_memory_costs_time_and_nothing_else() -> None:
    instance = shared_graph("ws48_eq_1", in_place=False)
    outcome = solved(OrderTask(instance, memory=20_000))
    assert outcome.peak == outcome.bound == 1472


def test_other_orders_within_a_limit() -> None:
    instance = shared_graph("swiftnet", in_place=False)
    limit = solved(OrderTask(instance)).peak
    result = [order_within(instance, limit, seed, _native.Budget(-1, -1)) for seed in range(1, 6)]
    assert all(order is not None and peak(instance, order) == limit for order in result)
    assert len({tuple(order) for order in result if order is not None}) > 1
    assert order_within(instance, limit - 1, 1, _native.Budget(-1, -1)) is None


def test_without_operators_what_is_always_live_is_the_peak() -> None:
    instance = instance_of(0, [(5, [], []), (3, [], [])], inputs=[0, 1], outputs=[0], base=2)
    outcome = solved(OrderTask(instance))
    assert (outcome.order, outcome.peak, outcome.bound) == ([], 7, 7)
    assert solved(OrderTask(instance), name="lpmf").peak == 7


SIMPLE = instance_of(2, [(5, [0], [1]), (3, [1], [])], outputs=[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"before": array("q", [0, 1, 1, 0])}, "wait for each other"),
        ({"before": array("q")}, "operator 1 reads storage 0 before it is written"),
        ({"before": array("q", [0, 2])}, "there is no operator 2"),
        ({"size": array("q", [5, -1])}, "below 0"),
        ({"size": array("q", [1 << 60, 1 << 60])}, "2\\^61"),
        ({"size": array("q", [5])}, "differ in length"),
        ({"reader_start": array("q", [0, 2, 1])}, "not within it"),
        ({"in_place": array("q", [1, 0])}, "a pair in place has"),
        ({"in_place": array("q", [1, 1, 0])}, "input of a pair"),
        ({"in_place": array("q", [1, 0, 0])}, "output of a pair"),
        ({"listed": array("q", [1, 0])}, "given order"),
        ({"listed": array("q", [0])}, "given order"),
    ],
)
def test_arrays_that_make_no_sense_are_refused(change: dict[str, "array[int]"], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _ = replace(SIMPLE, **change).native  # type: ignore[arg-type]


def test_what_must_come_first_bounds_a_graph_that_no_search_ends_with() -> None:
    instance = wired(150)
    by_cuts, _ = _native.cut_bound(instance.native, list(instance.listed), _native.Budget(-1, -1))
    outcome = solved(OrderTask(instance, deterministic=True), work=20_000_000)
    assert 1.2 * by_cuts < outcome.bound < outcome.peak
    # Nothing was written down that shows it.
    assert outcome.proof is None
