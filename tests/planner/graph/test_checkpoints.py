"""What a training step keeps for its backward pass: what is said of a choice holds, and limits are kept."""

import random
from collections.abc import Iterator
from itertools import chain, combinations

import pytest

from memstow.planner.graph.checkpoints import Checkpoints, CheckpointSearch, TrainingStep, kept_within
from memstow.planner.graph.recompute import peak_of
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.plan import Schedule
from tests.campaign import gate_first

WORK = 300_000


def chain_step(length: int, *, size: int = 100, once: frozenset[str] = frozenset()) -> TrainingStep:
    """Layers one after the other; going back, each reads what its layer has read."""
    forward = [
        Operator(id=f"f{i}", inputs=[f"x{i - 1}"] if i else [], outputs=[f"x{i}"], cost=10)
        for i in range(length)
    ]
    backward = [
        Operator(
            id=f"b{i}",
            inputs=[*([f"g{i + 1}"] if i + 1 < length else []), *([f"x{i - 1}"] if i else [])],
            outputs=[f"g{i}"],
            cost=10,
        )
        for i in reversed(range(length))
    ]
    names = [*(f"x{i}" for i in range(length)), *(f"g{i}" for i in range(length))]
    graph = Graph(
        tensors=[Tensor(id=name, size=size) for name in names],
        operators=[*forward, *backward],
        outputs=[f"x{length - 1}", "g0"],
    )
    return TrainingStep(
        graph=graph,
        forward_outputs=frozenset({f"x{length - 1}"}),
        backward=frozenset(operator.id for operator in backward),
        element_wise=frozenset(),
        fusing=frozenset(),
        once=once,
    )


def random_step(seed: int) -> TrainingStep:
    """Operators of both passes that read what others have made before."""
    draw = random.Random(seed)
    operators: list[Operator] = []
    made: list[str] = []
    forward, backward = draw.randint(2, 6), draw.randint(1, 5)
    for number in range(forward + backward):
        inputs = draw.sample(made, min(len(made), draw.randint(0, 3)))
        if number > forward:
            inputs = list(dict.fromkeys([*inputs, made[-1]]))
        made.append(f"t{number}")
        operators.append(
            Operator(id=f"o{number}", inputs=inputs, outputs=[made[-1]], cost=draw.randint(1, 20))
        )
    returned = {f"t{forward - 1}", *draw.sample(made[:forward], 1)}
    read = {name for operator in operators for name in operator.inputs}
    gradients = {name for name in made[forward:] if name not in read}
    return TrainingStep(
        graph=Graph(
            tensors=[Tensor(id=name, size=draw.randint(1, 50)) for name in made],
            operators=operators,
            outputs=sorted(returned | gradients),
        ),
        forward_outputs=frozenset(returned),
        backward=frozenset(operator.id for operator in operators[forward:]),
        element_wise=frozenset(),
        fusing=frozenset(),
        once=frozenset(operator.id for operator in operators[:forward] if draw.random() < 0.2),
    )


def passes(step: TrainingStep, choice: Checkpoints) -> Iterator[str]:
    """The operators of both passes, where what is not kept runs again just before it is needed first."""
    graph = step.graph
    maker = {name: operator for operator in graph.operators for name in operator.outputs}

    def with_sources(operator: Operator, done: set[str], kept: frozenset[str]) -> Iterator[str]:
        if operator.id in done or operator.id in kept:
            return
        done.add(operator.id)
        for name in operator.inputs:
            yield from with_sources(maker[name], done, kept)
        yield operator.id

    forward: set[str] = set()
    for operator in graph.operators:
        if operator.id in choice.kept or not step.forward_outputs.isdisjoint(operator.outputs):
            set(with_sources(operator, forward, frozenset()))
    yield from (operator.id for operator in graph.operators if operator.id in forward)
    backward: set[str] = set()
    for operator in graph.operators:
        if operator.id in step.backward:
            yield from with_sources(operator, backward, choice.kept)


@pytest.mark.parametrize("seed", range(60))
def test_what_a_choice_needs_is_what_its_passes_need(seed: int) -> None:
    step = random_step(seed)
    free = [operator.id for operator in step.graph.operators if operator.id not in step.backward]
    search = CheckpointSearch(step, work=WORK)
    for kept in chain.from_iterable(combinations(free, count) for count in range(len(free) + 1)):
        choice = search.judged(kept)
        order = tuple(passes(step, choice))
        # What no pass needs, such as a result that nobody reads, runs in neither.
        ran = set(order)
        operators = [operator for operator in step.graph.operators if operator.id in ran]
        there = {name for operator in operators for name in operator.outputs}
        graph = Graph(
            tensors=[tensor for tensor in step.graph.tensors if tensor.id in there],
            operators=operators,
            outputs=[name for name in step.graph.outputs if name in there],
        )
        assert choice.peak == peak_of(graph, Schedule(order=order))
        again = [name for name in ran if order.count(name) > 1]
        assert set(again) <= choice.again
        assert step.once.isdisjoint(choice.again)
        assert choice.cost == sum(operator.cost or 0 for operator in operators if operator.id in again)


@pytest.mark.parametrize("seed", range(20))
def test_a_limit_is_kept_where_there_is_a_choice_that_does(seed: int) -> None:
    step = random_step(seed)
    free = [operator.id for operator in step.graph.operators if operator.id not in step.backward]
    search = CheckpointSearch(step, work=WORK)
    choices = [
        search.judged(kept)
        for kept in chain.from_iterable(combinations(free, count) for count in range(len(free) + 1))
    ]
    start = search.judged(free)
    for limit in {choice.peak for choice in choices if choice.peak <= start.peak}:
        chosen = CheckpointSearch(step, work=WORK).within(limit, start)
        cheapest = min(choice.cost for choice in choices if choice.peak <= limit)
        assert chosen == search.judged(chosen.kept)
        assert chosen.peak > limit or chosen.cost >= cheapest
        if limit == start.peak:
            assert chosen.peak <= limit
            assert chosen.cost <= start.cost


def test_a_chain_needs_about_twice_the_root_of_its_length() -> None:
    step = chain_step(36)
    search = CheckpointSearch(step, work=WORK)
    start = search.judged([operator.id for operator in step.graph.operators])
    assert start.cost == 0
    assert start.peak >= 3_600
    least = search.within(0, start)
    assert least.peak <= 1_600
    # Nobody runs more than once more.
    assert least.cost <= 360


def test_what_must_not_run_again_is_kept() -> None:
    step = chain_step(10, once=frozenset({"f3"}))
    search = CheckpointSearch(step, work=WORK)
    least = search.within(0, search.judged([]))
    assert "f3" in least.kept
    assert "f3" not in least.again


def test_what_is_fused_takes_no_memory() -> None:
    tensors = [Tensor(id=name, size=100) for name in ("a", "b", "c")]
    operators = [
        Operator(id="wide", inputs=[], outputs=["a"], cost=1),
        Operator(id="scaled", inputs=["a"], outputs=["b"], cost=1),
        Operator(id="summed", inputs=["b"], outputs=["c"], cost=1),
    ]
    step = TrainingStep(
        graph=Graph(tensors=tensors, operators=operators, outputs=["c"]),
        forward_outputs=frozenset({"c"}),
        backward=frozenset(),
        element_wise=frozenset({"scaled"}),
        fusing=frozenset({"scaled", "summed"}),
        once=frozenset(),
    )
    assert CheckpointSearch(step, work=WORK).judged([]).peak == 200


@pytest.mark.parametrize("seed", gate_first(range(200), 70))
def test_what_a_part_keeps_is_worth_the_most(seed: int) -> None:
    draw = random.Random(seed)
    results = [(draw.randint(0, 12), draw.choice([0, 1, 5, draw.randint(0, 30)])) for _ in range(10)]
    limit = draw.randint(0, 50)
    kept = kept_within(results, limit)
    choices = chain.from_iterable(combinations(results, length) for length in range(len(results) + 1))
    best = max(
        sum(cost for _, cost in choice) for choice in choices if sum(size for size, _ in choice) <= limit
    )
    assert sum(results[i][0] for i in kept) <= limit
    assert sum(results[i][1] for i in kept) == best


def test_many_results_are_chosen_among_soon() -> None:
    draw = random.Random(5)
    results = [(draw.randint(1, 10**9), draw.randint(1, 10**9)) for _ in range(500)]
    limit = sum(size for size, _ in results) // 3
    kept = kept_within(results, limit)
    assert 0.999 * limit <= sum(results[i][0] for i in kept) <= limit
