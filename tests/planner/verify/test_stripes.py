"""Stripes as the judge replays them: against a naive run pixel by pixel, and rings that are too small."""

import pytest

from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule, Stripe
from memstow.planner.verify.graph_verdict import scheduled
from memstow.planner.verify.row_operators import Kinds
from memstow.planner.verify.stripe_replay import Keeping, Parts, check_slots, parts_of, rows_of, strips_of
from memstow.planner.verify.verdict import Effort, Refused
from tests.campaign import gate_first
from tests.rolling import Naive, random_network

SEEDS = range(600)


def in_one_stripe(graph: Graph, width: int) -> Schedule:
    order = tuple(operator.id for operator in graph.operators)
    return Schedule(order=order, stripes=(Stripe(begin=0, end=len(order), columns=width),))


def cases(chunk: int, of: int) -> list[tuple[int, Graph, int]]:
    result = []
    for seed in SEEDS[chunk::of]:
        graph = random_network(seed)
        wide = Naive(graph, 1 << 20).extent(len(graph.operators) - 1)[1]
        result += [(seed, graph, width) for width in {1, 2, 3, max(wide // 2, 1), wide}]
    return result


@pytest.mark.parametrize("chunk", gate_first(range(6), 2))
def test_rings_are_what_a_run_pixel_by_pixel_needs(chunk: int) -> None:
    tighter = rings = 0
    for seed, graph, width in cases(chunk, 6):
        naive = Naive(graph, width)
        planned = scheduled(graph, in_one_stripe(graph, width))
        (operator,) = planned.graph.operators
        assert operator.id == graph.operators[-1].id
        assert set(operator.outputs) == naive.leaves
        sizes = {
            temporary.id: temporary
            for temporary in operator.temporaries
            if not temporary.id.endswith(".sums")
        }
        assert set(sizes) == {name for name in naive.inside if naive.is_made(name)}, (seed, width)
        tensors = {tensor.id: tensor for tensor in graph.tensors}
        rows = dict.fromkeys(naive.inside, 0)
        for name, size in sizes.items():
            shape, element = (
                tensors[name].shape or (),
                {"int8": 1, "int16": 2, "float32": 4}[tensors[name].type or ""],
            )
            row = naive.widest(name) * shape[-1] * element
            assert size.size % max(row, 1) == 0, (seed, width, name)
            rows[name] = size.size // row if row else 0
        assert naive.fails(rows) is None, (seed, width, naive.fails(rows))
        for name in naive.inside:
            rings += 1
            if rows[name]:
                tighter += naive.fails({**rows, name: rows[name] - 1}) is not None
        for name, places in naive.held().items():
            if name in sizes:
                assert sizes[name].phases == (min(places), max(places) + 1), (seed, width, name)
        made = [naive.strips[i][step.place] for i in range(len(naive.strips)) for step in naive.steps]
        assert planned.rows == sum(begin < end for begin, end in made)
    # Where all that a window would read is padding, a row less does as well.
    assert tighter >= rings * 0.97, (tighter, rings)


def test_costs_are_those_of_the_pixels_made() -> None:
    counted = 0
    for seed, graph, width in cases(0, 3):
        naive = Naive(graph, width)
        if any(operator.cost is None for operator in graph.operators):
            continue
        planned = scheduled(graph, in_one_stripe(graph, width))
        naive.fails(dict.fromkeys(naive.inside, 1 << 20))
        total = 0
        for place, operator in enumerate(graph.operators):
            high, wide = naive.extent(place)
            pixels = naive.computed[operator.id]
            cost = operator.cost or 0
            total += cost if naive.reduces[place] else -(-cost * pixels // (high * wide))
        assert planned.cost == total, (seed, width)
        counted += 1
    assert counted > 50


def parts_in(graph: Graph, width: int) -> Parts:
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    made = frozenset(name for operator in graph.operators for name in operator.outputs)
    kinds = Kinds(tensors, frozenset(), made)
    rolling = [kinds.rolling(operator) for operator in graph.operators]
    return parts_of(rolling, width, tensors, frozenset(graph.outputs))


@pytest.mark.parametrize("chunk", gate_first(range(4), 2))
def test_a_ring_with_one_row_less_is_refused(chunk: int) -> None:
    refused = 0
    for _, graph, width in cases(chunk, 4):
        parts, effort = parts_in(graph, width), Effort()
        assert len(list(strips_of(parts, effort))) == len(Naive(graph, width).strips)
        rows = rows_of(parts, effort)
        rings = {at: ring.rows for at, ring in Keeping(parts, rows, effort).rings().items()}
        check_slots(parts, rows, rings, effort)
        for at, count in rings.items():
            if count > 1:
                with pytest.raises(Refused, match=r"^row \d+ of "):
                    check_slots(parts, rows, {**rings, at: count - 1}, effort)
                refused += 1
    assert refused > 100
