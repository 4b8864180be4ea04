"""Branches in time, without ExecuTorch: whatever branches are taken, what is read is what was written."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from memstow.api.plugins.executorch.algorithm import Solver
from memstow.api.plugins.executorch.tensors import (
    Call,
    Frame,
    Place,
    Spec,
    Timeline,
    frame_alone,
    groups_of,
    objects_of,
    places_of,
)
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool


@dataclass(eq=False)
class Tensor:
    """As ExecuTorch has them."""

    allocated_memory: int
    lifetime: Sequence[int]
    alignment: int = 1
    mem_id: int | None = None
    mem_offset: int | None = None
    storage_base: Spec | None = None
    storage_base_offset: int = 0

    def realign(self, new_alignment: int) -> int:
        self.alignment = new_alignment
        return self.allocated_memory


def frame(rng: Random, depth: int, results: list[int]) -> Frame:
    """A graph of up to eight nodes that returns tensors of these sizes; some of its nodes call branches."""
    length = rng.randint(2, 8)
    specs: list[Spec] = []
    calls: list[Call] = []
    for index in range(length - 1):
        if depth and rng.random() < 0.4:
            sizes = [rng.randint(1, 9) for _ in range(rng.randint(1, 2))]
            made: list[Spec] = [Tensor(size, [index, rng.randint(index, length - 1)]) for size in sizes]
            branches = tuple(frame(rng, depth - 1, sizes) for _ in range(2))
            calls.append(Call(index, branches, tuple(made), (), is_moved=True))
        else:
            made = [Tensor(rng.randint(0, 9), [index, rng.randint(index, length - 1)])]
        specs += made
    outputs: list[Spec] = []
    for size in results:
        fitting = [spec for spec in specs if spec.allocated_memory == size]
        # Now and then something old, or the result of a branch, or the same tensor twice.
        chosen: Spec = (
            rng.choice(fitting) if fitting and rng.random() < 0.5 else Tensor(size, [length - 2, length - 1])
        )
        chosen.lifetime = [chosen.lifetime[0], length - 1]
        specs += [] if chosen in specs else [chosen]
        outputs.append(chosen)
    return Frame(tuple(specs), {}, tuple(calls), tuple(outputs), length)


@dataclass
class Machine:
    """Runs a graph: a tensor is a token in all of its bytes, and a result points to what was returned."""

    rng: Random
    places: dict[Spec, Place]
    shared: int = 0
    _tokens: "count[int]" = field(default_factory=count)
    _memory: dict[int, int] = field(default_factory=dict)
    _held: dict[Spec, tuple[Spec, int]] = field(default_factory=dict)

    def run(self, frame: Frame) -> None:
        calls = {call.index: call for call in frame.calls}
        for index in range(frame.length):
            called = calls.get(index)
            results = called.results if called else ()
            if called is not None:
                self._call(called)
            for spec in frame.specs:
                if spec.lifetime[0] == index and spec not in results:
                    self._write(spec)
            for spec in frame.specs:
                if spec.lifetime[0] <= index <= spec.lifetime[1]:
                    self._read(spec)

    def _call(self, call: Call) -> None:
        taken = self.rng.choice(call.branches)
        self.run(taken)
        for result, returned in zip(call.results, taken.outputs, strict=True):
            self._held[result] = self._held[returned]
            self.shared += self.places[result] == self.places[self._held[returned][0]]

    def _write(self, spec: Spec) -> None:
        token = next(self._tokens)
        self._held[spec] = (spec, token)
        self._memory |= dict.fromkeys(self._bytes(spec), token)

    def _read(self, spec: Spec) -> None:
        where, token = self._held[spec]
        assert {self._memory[at] for at in self._bytes(where)} <= {token}

    def _bytes(self, spec: Spec) -> range:
        begin = self.places[spec].offset
        return range(begin, begin + spec.allocated_memory)


def placed(whole: Frame) -> dict[Spec, Place]:
    timeline = Timeline(lambda _: 1)
    timeline.add(whole, 0)
    groups = groups_of(timeline)
    solver = Solver(Options(deterministic=True, work_limit=10_000))
    solver.solve(list(groups.values()), {1: Pool(id="1")}, ("peak",))
    return places_of(timeline, groups, solver.places)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_read_is_what_was_written(seed: int) -> None:
    rng = Random(seed)
    whole = frame(rng, 2, [])
    places = placed(whole)
    for run in range(8):
        Machine(Random(run), places).run(whole)


def test_results_have_the_place_of_what_is_returned_for_them() -> None:
    machines = []
    for seed in range(40):
        whole = frame(Random(seed), 1, [])
        machines.append(Machine(Random(seed), placed(whole)))
        machines[-1].run(whole)
    assert sum(machine.shared for machine in machines) > 20


def test_objects_are_equal_where_bytes_are_shared() -> None:
    rng = Random(3)
    places: dict[Spec, Place] = {
        Tensor(rng.randint(0, 9), [0, 0]): Place(rng.randint(1, 2), rng.randint(0, 60)) for _ in range(60)
    }
    objects = objects_of(places)
    assert len(set(objects.values())) > 2
    for one, here in places.items():
        for other, there in places.items():
            end = min(here.offset + one.allocated_memory, there.offset + other.allocated_memory)
            if here.memory == there.memory and max(here.offset, there.offset) < end:
                assert objects[one] == objects[other]


def test_a_tensor_may_live_beyond_the_nodes_of_its_graph() -> None:
    specs: list[Spec] = [Tensor(4, [0, 40]), Tensor(2, [3, 90]), Tensor(4, [41, 99])]
    empty: Any = SimpleNamespace(graph=SimpleNamespace(nodes=[]))
    timeline = Timeline(lambda _: 1)
    timeline.add(frame_alone(empty, specs), 0)
    assert [timeline.lives[spec] for spec in specs] == [[(0, 41)], [(3, 91)], [(41, 100)]]
