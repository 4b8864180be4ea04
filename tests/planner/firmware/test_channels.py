"""Programs in which wide tensors are there in parts of their channels make what those without make."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import cast

import pytest

import memstow
from memstow.planner.firmware import Built, build
from memstow.planner.formats import read_graph, read_plan
from memstow.planner.graph.documents import problem_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import Generator
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool, Target
from tests.campaign import gate_first
from tests.planner.firmware.campaign import points, try_models
from tests.planner.firmware.random_models import KINDS, Network, model_of
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


def _programs(kind: str, seed: int, most: int, folder: Path) -> Iterator[Program]:
    """A network as a whole, and at some points of its fronts with parts of channels."""
    made = model_of("wide", kind, seed)
    built = points(made.model, made.name, (), most=1)
    for way, generators in _WAYS:
        built += points(made.model, f"{made.name}_{way}", generators, most=most)
    for label, program in built:
        yield replace(write(program, label, made.model, folder), model=made.name)


@needs_compiler
@pytest.mark.parametrize("way", gate_first([(True, 2), (True, 5), (False, 5)], 1))
def test_programs_make_what_those_without_parts_make(tmp_path: Path, way: tuple[bool, int]) -> None:
    """Sanitized or not, at the most points of a front."""
    sanitized, most = way
    seeds = range(3, 4) if sanitized else range(3)
    programs: list[Program] = []
    for kind in (*KINDS, "uint8"):
        for seed in seeds:
            # Some have scales that are too small to be computed with.
            with suppress(InputError):
                programs += _programs(kind, seed, most, tmp_path)
    names = [program.name for program in programs]
    flags = ["-O0" if sanitized else "-O1", *(SANITIZERS if sanitized else ()), *by_caller(programs)]
    library = compile_programs(names, tmp_path, *flags)
    ran = run_programs(programs, library, 2, sanitized, reference="first")
    assert [entry.name for entry in ran] == names
    assert not [entry for entry in ran if entry.trouble]
    assert sum(program.in_parts for program in programs) > len(programs) // 5


@needs_compiler
@needs_runtime
@pytest.mark.parametrize("network", gate_first([(10, 2), (10, None), (11, None)], 1))
def test_programs_make_what_the_runtime_makes(tmp_path: Path, network: tuple[int, int | None]) -> None:
    """A seed, and the most points of a front."""
    seed, most = network
    models = [model_of("wide", kind, seed) for kind in (*KINDS, "uint8")]
    tally = try_models(models, tmp_path, "-O1", most=most)
    assert not tally.wrong
    assert tally.in_parts > tally.same // 5
    assert {"channels", "parts", "all"} <= {*tally.ways}


def waiting() -> bytes:
    """A wide image waits for what reads all of it, while another becomes wide and narrow again."""
    net = Network(Random(4))
    x = net.tensor((1, 8, 8, 2))
    waits = net.plain_convolution(x, 24)
    y = net.plain_convolution(waits, 2, kernel=3)
    y = net.plain_convolution(y, 40, kernel=3)
    y = net.plain_convolution(y, 2, kernel=3)
    part = [waits, net.integers((0, 1, 1, 0)), net.integers((1, 2, 2, 24))]
    net.main.inputs = [x]
    net.main.outputs = [y, net.one("SLICE", part, net.alike(waits, (1, 2, 2, 24)))]
    return net.file()


@pytest.mark.campaign
@needs_compiler
def test_what_is_in_stripes_or_parts_may_wait_elsewhere(tmp_path: Path) -> None:
    model = waiting()
    pools = [Pool(id="small", capacity=8000, cost=1), Pool(id="large", capacity=8000, cost=3)]
    target = Target(name="two", pools=pools)

    def built(*generators: Generator, name: str = "net", point: int | None = None) -> Built:
        return build(
            model,
            name=name,
            generators=generators,
            point=point,
            target=target if "spill" in generators else None,
            order="given",
            options=Options(deterministic=True, work_limit=300_000),
            with_check=False,
        )

    def least(*generators: Generator) -> int:
        front = built(*generators).front
        assert front is not None
        return min(point.values[front.terms[0]] for point in front.points)

    programs = [replace(write(built(name="whole"), "whole", model, tmp_path), model="waiting")]
    kinds: tuple[Generator, ...] = ("stripes", "channels")
    for kind in kinds:
        assert least(kind, "spill") < min(least(kind), least("spill"))
        front = built(kind, "spill").front
        assert front is not None
        for number, point in enumerate(front.points, start=1):
            schedule = point.plan.schedule
            if schedule is not None and schedule.spills:
                program = built(kind, "spill", name=f"{kind}_{number}", point=number)
                assert not memstow.verify(program.graph, program.plan)
                written = write(program, f"{kind}_{number}", model, tmp_path)
                assert written.is_striped or written.in_parts
                programs.append(replace(written, model="waiting"))
    assert len(programs) > len(kinds)
    library = compile_programs([entry.name for entry in programs], tmp_path, "-O1", *by_caller(programs))
    assert not [entry for entry in run_programs(programs, library, reference="first") if entry.trouble]


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
