"""Models written with their plan: what stays, what the runtime reads, what is refused."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Literal

import pytest

import memstow
from memstow.planner.formats.flatbuffer import Flatbuffer
from memstow.planner.graph.changes import with_order
from memstow.planner.model.errors import InputError
from memstow.planner.tflm.planned_model import carried_plan, planned_model, without_plan, written_model
from memstow.planner.tflm.runtime_model import PLAN_METADATA, carried_offsets, encoded_offsets
from tests.planner.tflm.random_models import random_model
from tests.tflite_models import (
    CUSTOM,
    IF,
    RELU,
    Fields,
    Sub,
    branching_model,
    model,
    small_model,
    table,
)


def plan_of(data: bytes, order: Literal["given", "free"] = "given") -> memstow.Plan:
    graph = with_order(memstow.read_graph(data), order)
    return memstow.plan(graph, memstow.Options(deterministic=True))


def offsets_in(data: bytes) -> list[int]:
    subgraphs = list(Flatbuffer(data).root().tables(2))
    offsets = carried_offsets(data, sum(len(list(subgraph.tables(0))) for subgraph in subgraphs))
    assert offsets is not None
    return offsets


def refusal(data: bytes, plan: memstow.Plan, replan: bool = False) -> str:
    with pytest.raises(InputError) as caught:
        planned_model(data, plan, replan=replan)
    return caught.value.issues[0].code


def carrying(offsets: Sequence[int], data: bytes | None = None) -> bytes:
    """The branching model with these offsets, or other bytes, as its plan."""
    content = encoded_offsets(1, offsets) if data is None else data
    metadata = [table(f0=PLAN_METADATA, f1=("I", 2))]
    return _branching(metadata, [table(f0=content)])


def _branching(metadata: Sequence[Fields], buffers: Sequence[Fields]) -> bytes:
    main = Sub()
    x, kept, wide, narrow, y = (main.tensor(size) for size in (16, 500, 600, 10, 16))
    main.operator(0, [x], [kept])
    main.operator(0, [x], [wide])
    main.operator(0, [wide], [narrow])
    main.operator(1, [kept, narrow], [y])
    main.inputs, main.outputs = [x], [y]
    return model([RELU, 0], main, metadata=metadata, buffers=buffers)


@pytest.mark.parametrize("data", [small_model(), branching_model(), *map(random_model, range(6))])
def test_every_byte_stays_behind_the_plan(data: bytes) -> None:
    plan = plan_of(data)
    written = planned_model(data, plan)
    assert written.endswith(data)
    assert (len(written) - len(data)) % 16 == 0
    assert memstow.read_graph(written) == memstow.read_graph(data)
    carried = carried_plan(written)
    assert carried is not None
    assert memstow.verify(memstow.read_graph(data), carried.plan) == []
    buffer = list(Flatbuffer(written).root().tables(4))[-1].vector(0, 1)
    assert buffer is not None
    assert buffer[0] % 16 == 0


def test_the_runtime_gets_the_offsets_of_the_plan() -> None:
    plan = plan_of(branching_model())
    places = {placement.buffer: placement.offset for placement in plan.placements}
    assert offsets_in(planned_model(branching_model(), plan)) == [places[str(i)] for i in range(5)]


def test_order_and_plan_are_written_together() -> None:
    plan = plan_of(branching_model(), "free")
    assert plan.schedule is not None
    written = planned_model(branching_model(), plan)
    assert written.endswith(memstow.reorder_model(branching_model(), plan.schedule.order))
    carried = carried_plan(written)
    assert carried is not None
    assert (carried.head, carried.left) == (640, 0)


def test_constants_and_variables_are_left_and_what_nobody_uses_is_at_0() -> None:
    main = Sub()
    x, state, unused, weights = (
        main.tensor(16),
        main.tensor(16, variable=True),
        main.tensor(640),
        main.tensor(4, constant=True),
    )
    y = main.tensor(32)
    main.operator(0, [x, state, weights], [y])
    main.inputs, main.outputs = [x], [y]
    data = model([0], main)
    offsets = offsets_in(planned_model(data, plan_of(data)))
    assert (offsets[state], offsets[weights], offsets[unused]) == (-1, -1, 0)
    assert {offsets[x], offsets[y]} in ({0, 16}, {0, 32})


def test_where_a_later_subgraph_has_a_variable_the_first_has_no_offset() -> None:
    main, then, other = Sub(), Sub(), Sub()
    test, x, y = main.tensor(16), main.tensor(64), main.tensor(64)
    main.operator(0, [test, x], [y], table(f0=("i", 1), f1=("i", 2)))
    main.inputs, main.outputs = [test, x], [y]
    for sub in (then, other):
        begin, state, end = sub.tensor(64), sub.tensor(64, variable=sub is other), sub.tensor(64)
        sub.operator(1, [begin, state], [end])
        sub.inputs, sub.outputs = [begin, state] if sub is then else [begin], [end]
    data = model([IF, RELU], main, then, other)
    offsets = offsets_in(planned_model(data, plan_of(data)))
    assert [offset == -1 for offset in offsets] == [i in (1, 7) for i in range(9)]


def test_a_plan_in_the_model_is_replaced_only_on_demand() -> None:
    data = carrying([0, 16, 528, 1136, 1152])
    plan = plan_of(data)
    assert refusal(data, plan) == "carries_plan"
    written = planned_model(data, plan, replan=True)
    assert written.endswith(data)
    places = {placement.buffer: placement.offset for placement in plan.placements}
    assert offsets_in(written) == [places[str(i)] for i in range(5)]
    free = planned_model(data, plan_of(data, "free"), replan=True)
    assert carried_plan(free) is not None
    plain = without_plan(data)
    assert carried_plan(plain) is None
    assert without_plan(plain) == plain


def test_a_plan_that_is_wrong_or_none_is_not_written() -> None:
    data = branching_model()
    plan = plan_of(data)
    stacked = tuple(replace(placement, offset=0) for placement in plan.placements)
    everywhere = tuple(replace(placement, pool=placement.buffer) for placement in plan.placements)
    assert refusal(data, replace(plan, placements=stacked)) == "overlap"
    assert refusal(data, replace(plan, placements=everywhere)) == "several_pools"
    assert refusal(data, memstow.Plan(status=memstow.Status.UNKNOWN)) == "no_plan"
    assert refusal(data, replace(plan, placements=plan.placements[1:])) == "missing"
    far = [replace(placement, offset=placement.offset + (1 << 33)) for placement in plan.placements]
    assert refusal(data, memstow.Plan(status=memstow.Status.FEASIBLE, placements=far)) == "cannot_carry_plan"


def test_models_that_cannot_carry_a_plan_are_refused() -> None:
    npu = Sub()
    names = [npu.tensor(16) for _ in range(6)]
    npu.operator(0, names[:5], names[5:])
    npu.inputs, npu.outputs = names[:5], names[5:]
    vela = model([(CUSTOM, "ethos-u")], npu)
    assert refusal(vela, plan_of(vela)) == "cannot_carry_plan"
    with pytest.raises(InputError, match="plan with Vela"):
        written_model(vela, plan_of(vela))
    main = Sub()
    main.inputs = main.outputs = [main.tensor(16)]
    outside = model([RELU], main, buffers=[table(f1=("I", 4096), f2=("I", 4))])
    # A field of 64 bits of which the writer of the tests writes half: what follows is not 0 either.
    assert refusal(outside, plan_of(outside)) == "cannot_carry_plan"


def test_damaged_models_are_refused_or_right() -> None:
    rng = Random(7)
    data = random_model(3)
    plan = plan_of(data)
    done = 0
    for _ in range(300):
        mutated = bytearray(data)
        for _ in range(rng.choice((1, 2, 20))):
            at = rng.randrange(len(mutated) if rng.random() < 0.5 else 1000)
            mutated[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", bytes(4), rng.randbytes(4)))
        changed = bytes(mutated)
        try:
            written = planned_model(changed, plan)
        except InputError:
            continue
        done += 1
        assert written.endswith(changed)
        carried = carried_plan(written)
        assert carried is not None
        assert memstow.verify(memstow.read_graph(changed), carried.plan) == []
    assert done


def test_damaged_plans_are_refused_or_read() -> None:
    rng = Random(11)
    data = planned_model(random_model(4), plan_of(random_model(4)))
    front = len(data) - len(random_model(4))
    seen = set()
    messages = list[str]()
    for _ in range(300):
        mutated = bytearray(data)
        at = rng.randrange(front)
        noise = (b"\xff\xff\xff\xff", bytes(4), struct.pack("<i", -2), rng.randbytes(4))
        mutated[at : at + 4] = rng.choice(noise)
        try:
            carried = carried_plan(bytes(mutated))
        except InputError as error:
            messages += map(str, error.issues)
        else:
            seen.add(carried is None)
    assert seen >= {False}
    assert messages
    assert all(message.isprintable() for message in messages)


def test_real_models_stay_behind_their_plans(shared_data: Path) -> None:
    for path in sorted((shared_data / "tflite").glob("*.tflite")):
        data = path.read_bytes()
        assert planned_model(data, plan_of(data)).endswith(data)
