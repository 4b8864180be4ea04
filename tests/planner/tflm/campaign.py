"""Plans random models, runs them in TensorFlow Lite Micro with and without their plans, and compares."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import memstow
from memstow.planner.formats.tflite_model import read_subgraphs
from memstow.planner.tflm.planned_model import WrittenModel, written_model
from memstow.planner.tflm.runtime_model import arena_of, with_scratch
from tests.planner.tflm.random_models import random_model
from tests.planner.tflm.running import run_models


def scratch_of(model: bytes) -> dict[tuple[int, int], list[int]]:
    """What the kernels of a random model ask for: SVDF alone does, a number for each filter."""
    return {
        (number, at): [4 * subgraph.tensors[operator.inputs[1]].shape[0]]
        for number, subgraph in enumerate(read_subgraphs(model))
        for at, operator in enumerate(subgraph.operators)
        if operator.name == "SVDF"
    }


def planned(model: bytes, free: bool) -> WrittenModel:
    """The model with its plan, if that saves anything."""
    graph = memstow.read_graph(model)
    scratch = scratch_of(model)
    if free:
        graph = replace(graph, order="free")
    options = memstow.Options(deterministic=True, work_limit=2_000_000)
    plan = memstow.plan(with_scratch(graph, model, scratch), options)
    return written_model(model, plan, scratch)


def compare(seeds: Sequence[int], folder: Path) -> tuple[int, int]:
    """How many of the models carry a plan, and how many bytes the heads of all of them became smaller."""
    models = [random_model(seed) for seed in seeds]
    written = [planned(model, free=seed % 2 == 1) for seed, model in zip(seeds, models, strict=True)]
    ran = run_models([*models, *(entry.model for entry in written)], folder)
    saved = 0
    for seed, model, made, before, after in zip(
        seeds, models, written, ran[: len(models)], ran[len(models) :], strict=True
    ):
        assert after.outputs == before.outputs, seed
        assert before.head == arena_of(model, scratch_of(model)).head == made.plain_head, seed
        assert after.head == arena_of(made.model, made.scratch).head, seed
        assert after.head <= before.head, seed
        # In another order, what stays may be aligned in another way.
        if made.model.endswith(model):
            assert after.tail <= before.tail, seed
        assert after.head + after.tail <= before.head + before.tail, seed
        saved += before.head - after.head
    return sum(entry.is_planned for entry in written), saved
