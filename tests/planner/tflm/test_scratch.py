"""Scratch memory: from the log of a device, and measured with the runtime."""

from pathlib import Path

import pytest

import memstow
from memstow.planner.model.errors import InputError
from memstow.planner.tflm import measure
from memstow.planner.tflm.measure import measure_arena, measure_scratch, read_log
from memstow.planner.tflm.runtime_model import (
    WORKSTATION,
    arena_of,
    listed,
    runtime_model,
    scratch_in_order,
    with_scratch,
)
from tests.planner.tflm.campaign import scratch_of
from tests.planner.tflm.device import device_log
from tests.planner.tflm.random_models import random_model
from tests.planner.tflm.running import needs_runtime, run_models
from tests.tflite_models import branching_model, small_model

STATEFUL = next(model for model in map(random_model, range(100)) if any(key[0] for key in scratch_of(model)))


def test_a_log_tells_what_each_kernel_asks_for() -> None:
    scratch = {(0, 2): [100, 20], (0, 3): [5]}
    log = device_log(branching_model(), scratch, tail=4321)
    result = read_log(branching_model(), log)
    assert (result.scratch, result.tail) == ({(0, 2): [112, 32], (0, 3): [16]}, 4321)
    nested = read_log(STATEFUL, device_log(STATEFUL, scratch_of(STATEFUL)))
    assert nested.scratch.keys() == scratch_of(STATEFUL).keys()
    assert nested.tail is None


def test_the_last_start_of_this_model_counts() -> None:
    logs = (
        device_log(small_model(), {(0, 0): [64]}),
        device_log(branching_model(), {(0, 1): [16]}),
        device_log(branching_model(), {(0, 1): [48]}),
        device_log(small_model(), {}),
    )
    assert read_log(branching_model(), b"boot\r\n".join(logs)).scratch == {(0, 1): [48]}


@pytest.mark.parametrize(
    ("log", "code"),
    [
        (b"", "no_memory_plan"),
        (b"\xff\x00 nothing here", "no_memory_plan"),
        (device_log(small_model(), {}), "other_model"),
        (
            device_log(branching_model(), {}) + b"5 (id=5): size=16, offset=0, first_used=1 last_used=3",
            "other_model",
        ),
    ],
)
def test_a_log_of_something_else_is_refused(log: bytes, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_log(branching_model(), log)
    assert caught.value.issues[0].code == code


def test_a_kernel_has_one_block_while_it_runs() -> None:
    graph = with_scratch(memstow.read_graph(branching_model()), branching_model(), {(0, 2): [100, 20]})
    (block,) = graph.operators[2].temporaries
    assert (block.id, block.size, block.phases) == ("scratch/2", 144, None)
    assert scratch_in_order({(0, 2): [9], (1, 0): [5]}, ("2", "0", "1")) == {(0, 0): [9], (1, 0): [5]}
    inner = with_scratch(memstow.read_graph(STATEFUL), STATEFUL, scratch_of(STATEFUL))
    spans = runtime_model(STATEFUL, inner, listed(inner)).operators
    lives = {buffer.id: buffer.lifetime for buffer in memstow.lower_graph(inner).buffers}
    for (subgraph, operator), _ in scratch_of(STATEFUL).items():
        name = f"scratch/{subgraph}/{operator}" if subgraph else f"scratch/{operator}"
        assert lives[name] == spans[subgraph, operator]


def test_planning_counts_records_and_requests() -> None:
    device = arena_of(branching_model(), {(0, 1): [16]}, tail=1000)
    assert device.planning == 12 * 13 + 4 + 24 * 6 + 40 * 6 - 2 * 40
    assert device.least == 1000 + device.head if device.head is not None else None
    assert arena_of(branching_model()).least is None


@needs_runtime
def test_what_is_measured_is_what_kernels_ask_for(tmp_path: Path) -> None:
    result = measure_scratch(STATEFUL)
    assert result == {key: [-(-size[0] // 16) * 16] for key, size in scratch_of(STATEFUL).items()}
    arena = measure_arena(STATEFUL)
    (ran,) = run_models([STATEFUL], tmp_path, runs=1)
    assert (arena.head, arena.tail) == (ran.head, ran.tail)
    assert arena.least is not None
    assert arena.least >= ran.head + ran.tail
    run_models([STATEFUL], tmp_path, runs=1, arena=arena.least)


@needs_runtime
@pytest.mark.parametrize("seed", [0, 5, 9])
def test_the_arena_that_is_told_is_enough_and_not_much_more(seed: int) -> None:
    model = random_model(seed)
    real = measure_arena(model)
    arena = arena_of(model, scratch_of(model), word=WORKSTATION, tail=real.tail)
    assert real.least is not None
    assert arena.least is not None
    assert real.least <= arena.least <= real.least + 256


@needs_runtime
def test_a_model_that_the_runtime_cannot_run_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot run this model: .*Node ADD .*; leave out --scratch, and"):
        measure_scratch(branching_model())


def test_without_the_package_a_log_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install --pre tflite-micro, or give a log"):
        measure_scratch(small_model())
