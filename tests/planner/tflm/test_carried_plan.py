"""Plans that models carry: read as the runtime carries them out, judged like any other."""

import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

import memstow
from memstow.planner.model.errors import InputError
from memstow.planner.tflm.planned_model import carried_plan, plan_in
from memstow.planner.tflm.runtime_model import MOST_STEPS, Block, first_fit
from tests.planner.tflm.test_planned_model import carrying, plan_of
from tests.tflite_models import CUSTOM, RELU, Sub, branching_model, model, small_model, table

GOOD = [0, 16, 528, 1136, 0]


def violations(data: bytes) -> set[str]:
    carried = carried_plan(data)
    assert carried is not None
    return {str(issue.code) for issue in memstow.verify(memstow.read_graph(data), carried.plan)}


def test_a_plan_is_judged_by_overlaps_and_alignment() -> None:
    assert violations(carrying(GOOD)) == set()
    assert violations(carrying([0] * 5)) == {"overlap"}
    assert violations(carrying([0, 24, 544, 1152, 0])) == {"misaligned"}
    assert carried_plan(branching_model()) is None


def test_what_is_left_is_where_the_runtime_puts_it() -> None:
    carried = carried_plan(carrying([0, -1, 528, -1, -1]))
    assert carried is not None
    places = {placement.buffer: placement.offset for placement in carried.plan.placements}
    # The largest first: 512 bytes fit below the planned 608, then 16 and 16 below these, later ones first.
    assert places == {"0": 0, "1": 16, "2": 528, "3": 0, "4": 16} | {"3": places["3"], "4": places["4"]}
    assert (carried.left, carried.head) == (3, 1136 if places["3"] < 1136 else 1152)
    assert violations(carrying([0, -1, 528, -1, -1])) == set()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (carrying([0] * 4), "it has offsets of 4 tensors, and the model has 5"),
        (carrying([], b"1234"), "it has 4 bytes, and 12 come before the first offset"),
        (carrying([], struct.pack("<4i", 1, 1, 5, 0)), "too few for the offsets of 5 tensors"),
        (carrying([0, -16, 0, 0, 0]), "the plan puts tensor 1 16 bytes before the arena"),
        (
            branching_model([table(f0="OfflineMemoryAllocation", f1=("I", 9))]),
            "its metadata names no buffer with bytes",
        ),
    ],
)
def test_what_the_runtime_could_not_read_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        carried_plan(data)


def test_a_plan_of_the_same_model_in_another_order_is_a_plan_of_this_one() -> None:
    data = branching_model()
    graph = memstow.read_graph(data)
    written = memstow.planned_model(data, plan_of(data, "free"))
    planned = plan_in(written, graph)
    assert planned.plan.schedule is not None
    assert planned.plan.schedule.order == ("1", "2", "0", "3")
    assert memstow.verify(graph, planned.plan) == []
    renamed = replace(
        graph, tensors=tuple(replace(tensor, name=f"{tensor.name};") for tensor in graph.tensors)
    )
    assert plan_in(written, renamed) == planned
    for other, code in ((small_model(), "other_model"), (data, "no_carried_plan")):
        with pytest.raises(InputError) as caught:
            plan_in(written if other != data else data, memstow.read_graph(other))
        assert caught.value.issues[0].code == code


def for_npu(offsets: Sequence[int], is_needed: bool = False) -> bytes:
    """A model as Vela writes it; its input may be needed after its output was made."""
    main = Sub()
    commands, weights = main.tensor(4, constant=True), main.tensor(4, constant=True)
    scratch, fast, x, y, z = (main.tensor(size) for size in (1024, 1024, 256, 64, 16))
    main.operator(0, [commands, weights, scratch, fast, x], [y])
    main.operator(1, [y, *([x] if is_needed else [])], [z])
    main.inputs, main.outputs = [x], [z]
    plan = struct.pack("<10i", 0, 1, 7, -1, -1, 0, 0, *offsets)
    metadata = [table(f0="OfflineMemoryAllocation", f1=("I", 2))]
    return model([(CUSTOM, "ethos-u"), RELU], main, metadata=metadata, buffers=[table(f0=plan)])


def test_tensors_lie_in_the_memory_of_a_neural_processor() -> None:
    carried = carried_plan(for_npu([512, 0, 64]))
    assert carried is not None
    assert carried.head == 1024
    assert violations(for_npu([512, 0, 64])) == set()
    # What it makes may lie over what it reads, but not over what others still need.
    assert violations(for_npu([16, 0, 64])) == set()
    assert violations(for_npu([16, 0, 512], is_needed=True)) == {"overlap"}
    assert violations(for_npu([512, 0, 32])) == {"overlap"}


def test_the_rule_of_the_runtime_fills_the_lowest_gap_with_the_largest_first() -> None:
    blocks = [
        Block(16, (0, 2)),
        Block(32, (0, 2)),
        Block(32, (1, 3)),
        Block(16, (0, 1), offset=64),
        Block(48, (4, 5)),
    ]
    assert first_fit(blocks) == [96, 32, 0, 64, 0] or first_fit(blocks) == [80, 32, 0, 64, 0]
    assert first_fit([]) == []


def test_too_many_blocks_are_not_followed() -> None:
    count = int(MOST_STEPS**0.5) + 1
    assert first_fit([Block(16, (0, 1))] * count) is None


def test_a_model_with_many_unused_tensors_is_planned_at_once() -> None:
    main = Sub()
    x = main.tensor(16)
    for _ in range(6000):
        main.tensor(1600)
    y = main.tensor(16)
    main.operator(0, [x], [y])
    main.inputs, main.outputs = [x], [y]
    data = model([RELU], main)
    carried = carried_plan(memstow.planned_model(data, plan_of(data)))
    assert carried is not None
    assert carried.head == 1600
