"""A plan in the place of an allocator, on a processor: steps that repeat, and steps that differ."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import NamedTuple

import pytest

import memstow
import memstow.torch
from memstow.api.plugins.torch import replay as plugin
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.recorded.recording import read_recording
from memstow.planner.replay import library_path
from tests.torch_recordings import CachingAllocator, pickled, snapshot_of, training_step


class Event(NamedTuple):
    """An allocation of `size` bytes, or the free of one."""

    number: int
    size: int
    is_free: bool


def events_of(problem: Problem) -> list[Event]:
    """What the step allocates and frees, in its order."""
    timed = []
    for number, buffer in enumerate(problem.buffers):
        assert isinstance(buffer.lifetime, tuple)
        timed.append((buffer.lifetime[0], 1, Event(number, buffer.size, False)))
        timed.append((buffer.lifetime[1], 0, Event(number, buffer.size, True)))
    return [event for _, _, event in sorted(timed)]


def changed(events: list[Event], random: Random, share: float) -> list[Event]:
    """The step with this share of its allocations left out, added, resized or made later."""
    sizes = [event.size for event in events]
    size_of: dict[int, int] = {}
    left_out: set[int] = set()
    result: list[Event] = []
    later: list[Event] = []
    for event in events:
        if event.is_free:
            if event.number not in left_out:
                result.append(event._replace(size=size_of[event.number]))
            continue
        size_of[event.number] = event.size
        if random.random() >= share:
            result.append(event)
        elif (kind := random.randrange(4)) == 0:
            left_out.add(event.number)
        elif kind == 1:
            extra = Event(len(events) + len(result), random.choice(sizes), False)
            result += [event, extra]
            later.append(extra._replace(is_free=True))
        elif kind == 2:
            size_of[event.number] = random.randrange(1, 2 * event.size)
            result.append(event._replace(size=size_of[event.number]))
        else:
            # Before the last one, which is not its own free.
            result.insert(max(len(result) - 1, 0), event)
        if later and random.random() < 0.3:
            result.append(later.pop(0))
    return result + later


class Program:
    """Runs steps, and writes into all memory what has to be there when it is freed."""

    def __init__(self) -> None:
        self.streams: dict[int, int] = {}
        self.library = plugin._library()
        self.live: dict[int, tuple[int, int, int]] = {}
        self.mark = 0

    def run(self, events: list[Event]) -> None:
        """Allocate and free."""
        for event in events:
            if event.is_free:
                self.free(event.number)
                continue
            address = self.library.memstow_malloc(event.size, 0, self.streams.get(event.number))
            assert address
            self.mark = self.mark % 255 + 1
            ctypes.memset(address, self.mark, event.size)
            self.live[event.number] = (address, event.size, self.mark)

    def free(self, number: int) -> None:
        """Free one, if it is live."""
        if number not in self.live:
            return
        address, size, mark = self.live.pop(number)
        assert ctypes.string_at(address, size) == bytes([mark]) * size
        self.library.memstow_free(address, size, 0, self.streams.get(number))

    def free_all(self) -> None:
        """Free what outlives the step."""
        for number in list(self.live):
            self.free(number)


def random_step(seed: int) -> Problem:
    """Temporaries, and what is kept from the first half to the second."""
    random = Random(seed)
    sizes = [512 * random.randrange(1, 40) for _ in range(8)]
    buffers = []
    for number in range(400):
        begin = number * 4
        far = random.random() < 0.3 and number < 200
        end = 1600 - begin + random.randrange(2) if far else begin + 1 + random.randrange(30)
        life = (begin, max(end, begin + 1))
        buffers.append(Buffer(id=f"b{number}", size=random.choice(sizes), lifetime=life, alignment=512))
    return Problem(buffers=tuple(buffers))


@pytest.fixture(scope="module")
def planned() -> tuple[Problem, Plan]:
    problem = random_step(1)
    return problem, memstow.plan(problem)


@pytest.fixture
def program() -> Iterator[Program]:
    one = Program()
    yield one
    one.free_all()


def test_a_step_that_repeats_needs_the_peak_of_the_plan(
    planned: tuple[Problem, Plan], program: Program
) -> None:
    problem, plan = planned
    with memstow.torch.replay(plan, problem, on_processor=True) as replay:
        # What went elsewhere is counted for the process: other tests may have been here before.
        before = replay.statistics().other_peak
        for _ in range(3):
            with replay.step():
                program.run(events_of(problem))
            program.free_all()
        counts = replay.statistics()
    (pool,) = plan.pools
    assert counts.high_water == counts.arena == pool.peak
    assert (counts.planned, counts.unplanned, counts.taken) == (3 * len(problem.buffers), 0, 0)
    assert (counts.steps, counts.live, counts.other_bytes, counts.other_peak) == (3, 0, 0, before)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_that_differs_keeps_what_is_written_and_most_places(seed: int, program: Program) -> None:
    problem = random_step(seed)
    random = Random(seed)
    with memstow.torch.replay(memstow.plan(problem), problem, on_processor=True) as replay:
        allocated = 0
        for _ in range(3):
            events = changed(events_of(problem), random, 0.02)
            allocated += sum(not event.is_free for event in events)
            with replay.step():
                program.run(events)
            program.free_all()
        counts = replay.statistics()
    assert counts.planned + counts.unplanned == allocated
    assert 0 < counts.unplanned < 0.1 * allocated
    assert counts.other_bytes == 0


@pytest.mark.parametrize("seed", range(4))
def test_each_stream_of_a_recording_has_its_arena(seed: int, program: Program) -> None:
    allocator = CachingAllocator()
    random = Random(seed)
    for _ in range(3):
        training_step(allocator, random, layers=4, stream=0)
        training_step(allocator, random, layers=2, stream=7)
        training_step(allocator, random, layers=1, stream=8)
    problem = read_recording(pickled(snapshot_of(allocator))).problem
    assert [pool.id for pool in problem.pools] == ["stream 0", "stream 7", "stream 8"]
    plan = memstow.plan(problem)
    # Streams have other names when the step runs again.
    names = {"stream 0": 0, "stream 7": 21, "stream 8": 7}
    program.streams = {number: names[str(buffer.pool)] for number, buffer in enumerate(problem.buffers)}
    events = events_of(problem)
    with memstow.torch.replay(plan, problem, on_processor=True) as replay:
        for _ in range(2):
            with replay.step(0):
                program.run(events)
            program.free_all()
        counts = replay.statistics()
        assert counts.high_water == counts.arena == sum(use.peak for use in plan.pools)
        assert (counts.planned, counts.unplanned) == (2 * len(problem.buffers), 0)
        for _ in range(3):
            with replay.step(0):
                program.run(changed(events, random, 0.1))
            program.free_all()
        assert replay.statistics().planned - counts.planned > 2 * len(problem.buffers)


@pytest.mark.parametrize("name", ["training_128", "training_1024", "fullstep_ctx256"])
def test_recorded_steps_repeat_in_the_peak_of_their_plan_and_may_differ(
    name: str, shared_data: Path, program: Program
) -> None:
    recorded = memstow.read_problem((shared_data / "torch" / f"{name}.csv").read_bytes())
    # A byte for 512, so that all of them can be written to.
    small = tuple(replace(buffer, size=buffer.size // 512, alignment=1) for buffer in recorded.buffers)
    problem = replace(recorded, buffers=small)
    plan = memstow.plan(problem, memstow.Options(time_limit=1))
    with memstow.torch.replay(plan, problem, on_processor=True) as replay:
        with replay.step():
            program.run(events_of(problem))
        program.free_all()
        counts = replay.statistics()
        assert counts.high_water == plan.pools[0].peak
        assert counts.planned == len(problem.buffers)
        events = changed(events_of(problem), Random(name), 0.01)
        with replay.step():
            program.run(events)
        program.free_all()
        differing = replay.statistics()
    planned = differing.planned - counts.planned
    assert planned > 0.97 * sum(not event.is_free for event in events)
    assert differing.high_water <= plan.pools[0].peak


def test_a_plan_stays_while_allocations_are_live(planned: tuple[Problem, Plan], program: Program) -> None:
    problem, plan = planned
    replay = memstow.torch.replay(plan, problem, on_processor=True)
    with replay.step():
        program.run(events_of(problem)[:1])
    with pytest.raises(memstow.torch.ReplayError, match="are live; free them"):
        replay.close()
    program.free_all()
    replay.close()
    with pytest.raises(memstow.torch.ReplayError, match="has no plan"), replay.step():
        pass


def test_tables_and_devices_that_cannot_be_are_refused() -> None:
    with pytest.raises(memstow.torch.ReplayError, match="line 1: a step table begins with"):
        memstow.torch.Replay(b"{}", on_processor=True)
    with pytest.raises(memstow.torch.ReplayError, match="there is no device 64"):
        memstow.torch.Replay(b"memstow-replay 1 1 0 0\n", 64, on_processor=True)


def test_an_error_in_a_step_ends_the_step(planned: tuple[Problem, Plan], program: Program) -> None:
    problem, plan = planned
    with memstow.torch.replay(plan, problem, on_processor=True) as replay:
        with pytest.raises(ZeroDivisionError), replay.step():
            raise ZeroDivisionError
        program.run(events_of(problem)[:1])
        assert (replay.statistics().planned, replay.statistics().other_bytes) == (0, problem.buffers[0].size)
        program.free_all()


# PyTorch


class Allocators:
    """What PyTorch with CUDA has for allocators."""

    def __init__(self, *, tells_of_streams: bool = True, stream: int = 7) -> None:
        self.stream = SimpleNamespace(cuda_stream=stream)
        self.names: tuple[str, ...] = ()
        self.current: object = None
        self.record_stream: int | None = None
        own = SimpleNamespace(set_record_stream_fn=self._set) if tells_of_streams else SimpleNamespace()
        self.one = SimpleNamespace(allocator=lambda: own)
        memory = SimpleNamespace(CUDAPluggableAllocator=self._make, change_current_allocator=self._change)
        self.cuda = SimpleNamespace(memory=memory, current_stream=self._stream)
        self._C = SimpleNamespace(_cuda_customAllocator=None)

    def _set(self, function: int) -> None:
        self.record_stream = function

    def _make(self, *names: str) -> object:
        self.names = names
        return self.one

    def _stream(self, _device: int) -> object:
        return self.stream

    def _change(self, allocator: object) -> None:
        self.current = allocator


def test_pytorch_gets_the_functions_of_the_library(
    planned: tuple[Problem, Plan], program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, plan = planned
    torch = Allocators()
    monkeypatch.setitem(sys.modules, "torch", torch)
    with memstow.torch.replay(plan, problem, on_processor=True) as replay:
        replay.install()
        assert torch.names == (str(library_path()), "memstow_malloc", "memstow_free")
        assert torch.current is torch.one
        assert torch.record_stream
        with replay.step():
            # Steps are on the current stream of PyTorch, and this is another.
            program.run(events_of(problem)[:1])
            assert replay.statistics().planned == 0
            address = program.library.memstow_malloc(problem.buffers[0].size, 0, 7)
            assert replay.statistics().planned == 1
            program.library.memstow_free(address, problem.buffers[0].size, 0, 7)
        program.free_all()


@pytest.mark.parametrize(
    ("torch", "message"),
    [
        (None, "PyTorch is not installed"),
        (SimpleNamespace(_C=SimpleNamespace()), "without CUDA"),
        (Allocators(tells_of_streams=False), "does not tell an allocator of streams"),
    ],
)
def test_a_pytorch_that_cannot_be_is_refused(
    torch: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    with memstow.torch.Replay(b"memstow-replay 1 1 0 0\n", on_processor=True) as replay:
        with pytest.raises(memstow.torch.ReplayError, match=message):
            replay.install()
        with replay.step():
            pass


def test_the_example_of_the_page_works(
    planned: tuple[Problem, Plan], program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text(encoding="utf-8")
    example = page.split("## Replay a recorded step")[1].split("```python\n")[1].split("```")[0]
    problem, _ = planned
    (tmp_path / "step.csv").write_bytes(memstow.write_problem(problem, "csv"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", Allocators(stream=0))
    monkeypatch.setattr(plugin, "replay", partial(plugin.replay, on_processor=True))
    counts: list[memstow.torch.ReplayStatistics] = []

    def train(_batch: int) -> None:
        program.run(events_of(problem))
        program.free_all()

    names = {"batches": range(3), "train": train, "print": counts.append}
    exec(compile(example, "docs/pytorch.md", "exec"), names)
    names["replay"].close()  # type: ignore[attr-defined]
    assert counts[0].planned == 3 * len(problem.buffers)


# CUDA

# Counts what is allocated on two devices, of which the second is full.
CUDA = """
#include <stdio.h>
#include <stdlib.h>
static int device, live, waits, errors;
int cudaGetDevice(int *which) { *which = device; return 0; }
int cudaSetDevice(int which) { device = which; return 0; }
int cudaDeviceSynchronize(void) { ++waits; return 0; }
int cudaGetLastError(void) { ++errors; return 0; }
int cudaMalloc(void **memory, size_t size) {
  if (device == 1) return 2;
  *memory = malloc(size);
  ++live;
  return 0;
}
int cudaFree(void *memory) { free(memory); --live; return 0; }
void report(void) {
  printf("device %d live %d waits %d errors %d\\n", device, live, waits, errors);
  fflush(stdout);
}
"""

USE = """
import ctypes, sys
import memstow.torch
from memstow.api.plugins.torch.replay import _library
cuda = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL if sys.argv[2] == "loaded" else ctypes.DEFAULT_MODE)
with memstow.torch.Replay(b"memstow-replay 1 512 512 2\\n+ 512 0\\n- 0\\n") as replay:
    library = _library()
    with replay.step():
        planned = library.memstow_malloc(512, 0, None)
        other = library.memstow_malloc(4096, 0, None)
        assert planned and other and library.memstow_malloc(512, 1, None) is None
    cuda.report()
    library.memstow_record_stream(planned, 1)
    library.memstow_free(planned, 512, 0, None)
    library.memstow_free(other, 4096, 0, None)
    with replay.step():
        pass
    cuda.report()
cuda.report()
"""


@pytest.mark.parametrize("way", ["loaded", "found"])
def test_memory_comes_from_the_cuda_runtime_that_the_process_has(way: str, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "cuda.c").write_text(CUDA)
    library = tmp_path / "libcudart.so"
    command = [compiler, "-shared", "-fPIC", str(tmp_path / "cuda.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    environment = os.environ | ({"LD_LIBRARY_PATH": str(tmp_path)} if way == "found" else {})
    command = [sys.executable, "-c", USE, str(library), way]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.stderr == "memstow_replay: there are not 512 bytes on device 1\n"
    assert ran.stdout.splitlines() == [
        "device 0 live 2 waits 0 errors 1",
        "device 0 live 1 waits 1 errors 1",
        "device 0 live 0 waits 2 errors 1",
    ]


def test_without_a_cuda_runtime_or_a_device_a_plan_is_refused() -> None:
    script = "import memstow.torch\nmemstow.torch.Replay(b'memstow-replay 1 1 1 0\\n')"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        pytest.skip("there is a device here")
    error = ran.stderr.splitlines()[-1].partition("ReplayError: ")[2]
    no_device = "there are not 1 bytes for the arena on device 0: there is no such device, or "
    assert error in ("there is no CUDA runtime", f"{no_device}less of its memory is free")


def test_plans_of_several_devices_may_use_the_processor() -> None:
    table = b"memstow-replay 1 1 1 0\n"
    with (
        memstow.torch.Replay(table, on_processor=True) as first,
        memstow.torch.Replay(table, 1, on_processor=True) as second,
    ):
        assert first.statistics().arena == second.statistics().arena == 1
