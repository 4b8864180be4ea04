"""Programs in which wide tensors are there in parts of their channels make what those without make."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

import memstow
from memstow.planner.firmware import Built, build
from memstow.planner.formats import read_graph, read_plan
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Generator
from memstow.planner.model.options import Options
from tests.planner.firmware.campaign import points, try_models
from tests.planner.firmware.random_models import KINDS, model_of
from tests.planner.firmware.running import (
    SANITIZERS,
    Program,
    by_caller,
    compile_programs,
    needs_compiler,
    needs_runtime,
    run_programs,
    write,
)

_WAYS: Sequence[tuple[str, tuple[Generator, ...]]] = (
    ("channels", ("channels",)),
    ("parts", ("stripes", "channels")),
)


def in_parts(model: bytes, *others: Generator) -> Built:
    options = Options(deterministic=True, work_limit=300_000)
    return build(model, generators=("channels", *others), options=options, with_check=False)


def _programs(kind: str, seed: int, folder: Path) -> Iterator[Program]:
    """A network as a whole, and at each point of its fronts with parts of channels."""
    made = model_of("wide", kind, seed)
    built = points(made.model, made.name, (), most=1)
    for way, generators in _WAYS:
        built += points(made.model, f"{made.name}_{way}", generators, most=5)
    for label, program in built:
        yield replace(write(program, label, made.model, folder), model=made.name)


@needs_compiler
@pytest.mark.parametrize("sanitized", [False, True])
def test_programs_make_what_those_without_parts_make(tmp_path: Path, sanitized: bool) -> None:
    seeds = range(3, 4) if sanitized else range(3)
    programs: list[Program] = []
    for kind in (*KINDS, "uint8"):
        for seed in seeds:
            # Some have scales that are too small to be computed with.
            with suppress(InputError):
                programs += _programs(kind, seed, tmp_path)
    names = [program.name for program in programs]
    flags = ["-O1", *(SANITIZERS if sanitized else ()), *by_caller(programs)]
    library = compile_programs(names, tmp_path, *flags)
    ran = run_programs(programs, library, 2, sanitized, reference="first")
    assert [entry.name for entry in ran] == names
    assert not [entry for entry in ran if entry.trouble]
    assert sum(program.in_parts for program in programs) > len(programs) // 5


@needs_compiler
@needs_runtime
def test_programs_make_what_the_runtime_makes(tmp_path: Path) -> None:
    models = [model_of("wide", kind, seed) for kind in (*KINDS, "uint8") for seed in range(10, 12)]
    tally = try_models(models, tmp_path, "-O1")
    assert not tally.wrong
    assert tally.in_parts > tally.same // 5
    assert {"channels", "parts", "all"} <= {*tally.ways}


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_counts_what_the_program_works_in(kind: str) -> None:
    model = model_of("wide", kind, 0).model
    built = in_parts(model)
    assert built.point is not None
    assert built.arena == built.point.values["peak"]
    whole = build(model, generators=(), with_check=False)
    assert built.arena < whole.arena
    graph = read_graph(built.files["model.graph.json"])
    plan = read_plan(built.files["model.plan.json"], problem_of(graph, built.plan))
    assert not memstow.verify(graph, plan)
    # The file has those alternatives that were chosen, and no others.
    assert plan.schedule is not None
    assert [entry.id for entry in graph.alternatives] == list(plan.schedule.alternatives)
    assert len(built.graph.alternatives) > len(graph.alternatives)
    sums = {tensor.type for other in graph.alternatives for tensor in other.tensors if ".sums." in tensor.id}
    assert sums == {{"int8": "int32", "int16": "int64", "float32": "float32"}[kind]}


def test_outputs_that_lie_with_the_caller_take_no_place_of_sums() -> None:
    model = model_of("wide", "int8", 3).model
    built = build(model, generators=("channels",), external=("inputs", "outputs"), with_check=False)
    outside = {tensor.id for tensor in built.graph.tensors if tensor.kind == "external"}
    assert outside
    for other in built.graph.alternatives:
        for operator in other.operators:
            assert not outside & {name for pair in operator.in_place for name in pair}


def test_what_has_no_kernels_for_its_sums_is_not_offered() -> None:
    from memstow.planner.firmware.channels import with_parts
    from memstow.planner.firmware.layers import Call, Layer

    built = in_parts(model_of("wide", "int8", 3).model)
    plain = replace(built.graph, alternatives=())
    call = Call("another", "rows", (), cast("object", None), cast("object", None))  # type: ignore[arg-type]
    layers = {operator.id: Layer((call,), is_row_wise=True) for operator in plain.operators}
    graph, parts = with_parts(plain, layers)
    assert not graph.alternatives
    assert not parts
