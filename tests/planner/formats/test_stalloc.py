"""STAlloc's log as a recording, and the plan file as its allocator runs it: written here from its rules."""

from dataclasses import dataclass, field, replace
from random import Random

import pytest

from memstow.planner import formats
from memstow.planner.check import find_issues
from memstow.planner.formats import read_problem, write_plan
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Problem, profile
from memstow.planner.recorded.recording import STALLOC_LOG, format_of, read_recording
from memstow.planner.solve.engine import plan as solved
from memstow.planner.verify import verify
from tests.planner.refusal import refusal
from tests.stalloc_logs import Log, training, with_experts

DYNAMIC = ("MoELayer", "ParallelMLP")


@dataclass
class Allocator:
    """STAlloc's allocator with a plan file: it counts allocations, and takes the place of each number."""

    text: str
    before: int = 0
    arena: int = 0
    rows: list[tuple[int, int]] = field(default_factory=list)
    number: int = -1
    live: dict[int, tuple[int, int]] = field(default_factory=dict)
    placed: int = 0
    missed: int = 0
    small: int = 0
    most_small: int = 0

    def __post_init__(self) -> None:
        unreleased, heading, *rows = self.text.splitlines()
        assert unreleased == ""
        self.allocated, self.arena, self.before, repeated, self.room = map(int, heading.split())
        self.rows = [(int(offset), int(size)) for offset, size in (row.split() for row in rows)]
        assert len(self.rows) == self.before + repeated

    def malloc(self, address: int, size: int, dynamic: bool) -> None:
        if size <= 512:
            self.small += 1
            self.most_small = max(self.most_small, self.small)
            return
        if dynamic:
            return
        self.number += 1
        if self.number == len(self.rows):
            self.number = self.before
        offset, planned = self.rows[self.number]
        if offset == -1 or planned != size:
            self.missed += 1
            return
        end = offset + -(-size // 512) * 512
        assert offset % 512 == 0
        assert end <= self.arena
        assert all(end <= other or top <= offset for other, top in self.live.values())
        self.live[address] = (offset, end)
        self.placed += 1

    def free(self, address: int, size: int) -> None:
        if size <= 512:
            self.small -= 1
        self.live.pop(address, None)


def run(log: Log, text: bytes) -> Allocator:
    """The training once more, up to its end, with this plan."""
    allocator = Allocator(text.decode())
    layers: list[bool] = []
    for line in log.lines:
        if line == "Iteration Index : end":
            break
        if line[:2] in ("0 ", "1 "):
            kind, address, size, _ = line.split()
            if kind == "1":
                allocator.malloc(int(address, 16), int(size), bool(layers) and layers[-1])
            else:
                allocator.free(int(address, 16), int(size))
        elif " Layer : " in line:
            if line.endswith("start"):
                layers.append(any(f"->{name} " in line for name in DYNAMIC))
            else:
                layers.pop()
    return allocator


def plan_file(log: Log) -> bytes:
    problem = read_problem(log.data())
    plan = solved(problem, Options(deterministic=True, work_limit=3_000_000))
    return write_plan(problem, plan, "stalloc")


@pytest.mark.parametrize("seed", range(6))
def test_its_allocator_places_every_allocation_of_a_training_that_repeats(seed: int) -> None:
    log = training(seed, iterations=4, streams=1 + seed % 3)
    allocator = run(log, plan_file(log))
    large = sum(line.startswith("1 ") and int(line.split()[2]) > 512 for line in log.lines)
    assert (allocator.placed, allocator.missed) == (large, 0)
    assert allocator.room >= 512
    assert allocator.most_small * 512 <= allocator.room
    peak = profile(
        [
            replace(buffer, size=-(-buffer.size // 512) * 512 if buffer.size > 512 else 0)
            for buffer in read_problem(log.data()).buffers
            if buffer.id.split("/")[0] in ("head", "0", "1")
        ]
    ).peak
    assert allocator.allocated == peak
    assert allocator.arena >= peak


@pytest.mark.parametrize("iterations", [2, 3, 4])
def test_what_outlives_its_iteration_never_takes_the_place_of_the_next(iterations: int) -> None:
    for seed in range(10):
        log = training(seed, carried=2, iterations=iterations)
        longer = training(seed, carried=2, iterations=6)
        allocator = run(longer, plan_file(log))
        # Nothing else is left out than what is carried, where the log says how long that is.
        assert iterations == 2 or allocator.missed <= 2 * 6
        assert allocator.placed > 6 * allocator.missed


def test_an_allocation_that_is_never_freed_has_no_place_where_it_comes_again() -> None:
    log = Log()
    for iteration in range(3):
        log.mark(f"Iteration Index : {iteration}")
        log.alloc(4_000)
        log.free(log.alloc(9_000))
    rows = plan_file(log).decode().splitlines()[2:]
    assert rows[2:] == ["-1 4000", rows[3]]
    assert run(log, plan_file(log)).placed == 4


def test_layers_that_differ_from_step_to_step_are_no_part_of_the_plan() -> None:
    log = with_experts()
    recording = read_recording(log.data())
    assert {pool.id for pool in recording.problem.pools} == {"stream 0", "stream 0, dynamic layers"}
    of_experts = [
        (buffer.size, buffer.group)
        for buffer in recording.problem.buffers
        if buffer.pool == "stream 0, dynamic layers"
    ]
    assert of_experts[:2] == [(4_000, "layers.0.mlp"), (8_000, "layers.0.mlp.experts.0")]
    assert len(of_experts) == 6
    allocator = run(log, plan_file(log))
    assert (allocator.placed, allocator.missed) == (1 + 3 * 3, 0)
    assert allocator.arena == 70_144 + 9_216 + 1_536 + 2_560


def test_a_log_is_read_as_what_it_says() -> None:
    text = (
        b"1 0x7f0000000000 2000 0\r\n1 0 0 0\nIteration Index : 0\nmicro-batch : F\n"
        b"1 0x7f0000001000 700 0x1f\n0 0x7f0000000000 2000 0\nIteration Index : end\nmicro-batch : ?\n"
        b"whatever\n0 0x7f0000001000 700 0x1f"
    )
    assert format_of(text) == STALLOC_LOG
    recording = read_recording(text)
    assert [
        (buffer.id, buffer.size, buffer.lifetime, buffer.alignment, buffer.pool, buffer.group)
        for buffer in recording.problem.buffers
    ] == [
        ("head/a1", 2000, (1, 3), 512, "stream 0", None),
        ("0/a2", 700, (2, 4), 512, "stream 31", "micro-batch 0 F"),
    ]
    assert not verify(recording.problem, recording.plan)
    usage = recording.usage
    assert (usage.allocated, usage.least, usage.reserved, usage.unpaired) == (2700, 2700, None, 0)


@pytest.mark.parametrize(
    "begin",
    [
        b"1 0x7f0000000000 2000 7\n",
        b"1 0x7f0000000000 2000\n",
        b"0 0 0 0\n",
        b"Iteration Index : 0\n",
        b"\xef\xbb\xbf1 0x7f0000000000 2000 0\n",
    ],
)
def test_a_log_is_known_by_how_it_begins(begin: bytes) -> None:
    """Also where its first line is damaged, which is then said of that line."""
    assert format_of(begin) == STALLOC_LOG
    if begin.startswith(b"\xef"):
        assert [buffer.size for buffer in read_problem(begin).buffers] == [2000]


def test_a_log_without_iterations_is_a_recording_like_any_other() -> None:
    log = Log()
    log.free(log.alloc(1_000))
    problem = read_problem(log.data())
    assert [buffer.id for buffer in problem.buffers] == ["a1"]
    (issue,) = refusal(lambda: write_plan(problem, solved(problem), "stalloc"))
    assert (issue.code, issue.path) == ("not_expressible", "$.buffers[0].id")


def test_a_log_that_records_nothing_names_the_mode_that_does() -> None:
    (issue,) = refusal(lambda: read_recording(b"Iteration Index : 0\n"))
    assert issue.code == "no_events"
    assert "STAlloc in its mode Trace" in issue.message


@pytest.mark.parametrize("seed", range(4))
def test_the_places_of_the_process_itself_are_a_plan(seed: int) -> None:
    data = training(seed, carried=1).data()
    problem = read_problem(data)
    assert not verify(problem, formats.read_plan(data, problem))


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_problem_that_was_written_in_between_has_the_same_plan_file(form: str) -> None:
    problem = read_problem(training(5).data())
    again = read_problem(formats.write_problem(problem, form), form)
    plan = solved(problem)
    assert write_plan(again, plan, "stalloc") == write_plan(problem, plan, "stalloc")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1 0x7f00 20", "the stream"),
        (b"1 0x7f00 twenty 0", "the size is no number"),
        (b"1 0x7f00 -20 0", "the size is no number"),
        (b"1 7f00 20 0", "the pointer should be 0 or begin with 0x"),
        (b"1 0x 20 0", "the pointer"),
        (b"1 0x11112222333344445 20 0", "the pointer"),
        (b"1 0x7f00 99999999999999999999 0", "the size"),
        (b"1 0x7f00 9223372036854775807 0", "larger than any memory"),
        (b"0 0x7f00 20 0 5", "more than"),
        (b"2 0x7f00 20 0", "neither an allocation nor a free"),
        (b"Iteration Index : soon", "an iteration has a number"),
        (b"micro-batch : X", "a micro-batch has the pass"),
        (b"a.mlp->MLP Layer : F-begin", "a layer is marked"),
        (b"a.mlp->MoELayer Layer : F-end", "the layer ends that did not begin last"),
    ],
)
def test_what_is_wrong_is_said_with_the_number_of_its_line(line: bytes, reason: str) -> None:
    log = training(2).data()
    place = log.index(b"\n", log.index(b"micro-batch")) + 1
    number = log[:place].count(b"\n") + 1
    (issue,) = refusal(lambda: read_recording(log[:place] + line + b"\n" + log[place:], STALLOC_LOG))
    assert issue.code == "damaged"
    assert f"line {number}: " in issue.message
    assert reason in issue.message


def test_a_place_between_two_blocks_is_refused() -> None:
    problem = Problem(buffers=(Buffer(id="head/a1", size=1000, lifetime=(1, 2)),))
    plan = Plan(status=Status.FEASIBLE, placements=(Placement(buffer="head/a1", pool="memory", offset=256),))
    (issue,) = refusal(lambda: write_plan(problem, plan, "stalloc"))
    assert issue.code == "not_expressible"
    assert "512" in issue.message


def test_wrong_places_are_not_written() -> None:
    problem = read_problem(training(1).data())
    places = [replace(place, offset=0) for place in solved(problem).placements]
    plan = Plan(status=Status.FEASIBLE, placements=tuple(places))
    assert {issue.code for issue in refusal(lambda: write_plan(problem, plan, "stalloc"))} == {"overlap"}


def test_accidents_in_a_log_are_read_or_refused_with_a_line() -> None:
    rng = Random(8)
    lines = training(3).data().splitlines()
    messages: list[str] = []
    for _ in range(300):
        damaged = list(lines)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(damaged))
            if rng.random() < 0.5:
                del damaged[place]
            else:
                text = bytearray(damaged[place])
                text[rng.randrange(len(text))] = rng.randrange(32, 127)
                damaged[place] = bytes(text)
        try:
            assert not find_issues(read_recording(b"\n".join(damaged), STALLOC_LOG).problem)
        except InputError as error:
            messages += [issue.message for issue in error.issues]
    assert messages
    assert all(message.startswith("line ") for message in messages)
