"""Dumps of XLA: what is to be planned, what stays together, and XLA's own plan."""

from pathlib import Path
from random import Random

import pytest

from memstow.planner import formats
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Buffer, Problem, Relative
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.planner.refusal import refusal, told

# A program of ours: tanh and sine in place, one block after the other, and a result of the caller's.
SIZES = """BufferAssignment:
allocation 0: size 49152, parameter 1, shape |f32[128,96]| at ShapeIndex {}:
 value: <21 w.1 @0> (size=49152,offset=0): f32[128,96]{1,0}
allocation 1: size 384, output shape is |f32[96]|, maybe-live-out:
 value: <26 sums @0> (size=384,offset=0): f32[96]{0}
allocation 2: size 4, thread-local:
 value: <2 add.5 @0> (size=4,offset=0): f32[]
allocation 3: size 57408, preallocated-temp:
 value: <22 product @0> (size=24576,offset=32768): f32[64,96]{1,0}
 value: <23 wrapped_tanh @0> (size=24576,offset=32768): f32[64,96]{1,0}
 value: <24 other_product @0> (size=32768,offset=0): f32[64,128]{1,0}
 value: <25 pair{} @0> (size=16,offset=57344): (f32[64,96]{1,0}, f32[64,128]{1,0})
 value: <27 late @0> (size=100,offset=0): f32[25]{0}
"""
TIMES = """HloLiveRange (max 7):
  InstructionSequence:
    0:x.1
    1:w.1
  BufferLiveRange:
    w.1{}:0-7
    product{}:2-3
    wrapped_tanh{}:3-6
    other_product{}:4-5
    pair{}:5-6
    late{}:6-6
    sums{}:6-7
  Live ranges at 6 (peak):
    w.1{}: 49152 bytes (cumulative: 49152 bytes)
  Stack trace breakdown for peak usage: 139 648 bytes
    main.2 (100.0%, total: 139 648 bytes, current: 0 bytes, remaining: 139 648 bytes)
"""
LOOP_SIZES = """BufferAssignment:
allocation 7: size 1216, color 1, preallocated-temp:
 value: <1 start @1> (size=1000,offset=0): f32[250]{0}
 value: <2 body_in{0} (phi) @1> (size=1000,offset=0): f32[250]{0}
 value: <3 body_out @1> (size=1000,offset=0): f32[250]{0}
 value: <4 while.1{0} (phi) @1> (size=1000,offset=0): f32[250]{0}
 value: <5 scratch @1> (size=100,offset=0): f32[25]{0}
 value: <6 in_between @1> (size=192,offset=1024): f32[48]{0}
allocation 8: size 64, preallocated-temp:
 value: <9 counter @0> (size=4,offset=0): s32[]
"""
LOOP_TIMES = """HloLiveRange (max 12):
  BufferLiveRange:
    start{}:0-2
    body_in{0}:2-3
    in_between{}:3-6
    scratch{}:4-5
    body_out{}:6-8
    while.1{0}:8-12
    counter{}:0-8
"""


def read(sizes: str = SIZES, times: str = TIMES) -> Problem:
    return formats.read_problem((sizes + times).encode())


def test_the_temporaries_are_planned_and_nothing_else() -> None:
    problem = read()
    assert problem.buffers == (
        Buffer(id="product{}", size=24576, lifetime=(2, 4), alignment=256, group="product"),
        Buffer(id="wrapped_tanh{}", size=24576, lifetime=(3, 7), alignment=256, group="wrapped_tanh"),
        Buffer(id="other_product{}", size=32768, lifetime=(4, 6), alignment=256, group="other_product"),
        Buffer(id="pair{}", size=16, lifetime=(5, 7), alignment=256, group="pair"),
        Buffer(id="late{}", size=100, lifetime=(6, 7), alignment=256, group="late"),
    )
    assert [pool.id for pool in problem.pools] == ["memory"]


def test_what_is_written_in_place_stays_together() -> None:
    assert read().relative == (Relative(buffer="wrapped_tanh{}", base="product{}", offset=0),)


def test_the_order_of_the_texts_and_their_line_ends_do_not_matter() -> None:
    assert formats.read_problem((TIMES + SIZES).encode()) == read()
    assert formats.read_problem((SIZES + TIMES).replace("\n", "\r\n").encode()) == read()


def test_the_plan_of_xla_is_valid_and_ours_is_no_larger() -> None:
    for sizes, times, peak in ((SIZES, TIMES, 57360), (LOOP_SIZES, LOOP_TIMES, None)):
        problem = read(sizes, times)
        theirs = formats.read_plan(sizes.encode(), problem)
        assert verify(problem, theirs) == []
        ends = {one.buffer: one.offset for one in theirs.placements}
        reached = max(ends[buffer.id] + buffer.size for buffer in problem.buffers)
        assert peak in (None, reached)
        assert sum(use.peak for use in plan(problem).pools) <= (peak or reached + 4)


def test_what_a_loop_hands_on_stays_together_although_it_rests_in_between() -> None:
    problem = read(LOOP_SIZES, LOOP_TIMES)
    assert {tie.buffer for tie in problem.relative} == {"body_in{0}", "body_out{}", "while.1{0}"}
    assert {(tie.base, tie.offset) for tie in problem.relative} == {("start{}", 0)}
    assert [pool.id for pool in problem.pools] == ["allocation 7", "allocation 8"]
    assert {buffer.pool for buffer in problem.buffers} == {"allocation 7", "allocation 8"}


@pytest.mark.parametrize(("offset", "alignment"), [(32768, 256), (64, 64), (16, 16), (24, 8), (0, 256)])
def test_the_alignment_is_what_all_offsets_have(offset: int, alignment: int) -> None:
    value = f" value: <1 a @0> (size=8,offset={offset}): f32[2]"
    sizes = f"BufferAssignment:\nallocation 0: size 99999, preallocated-temp:\n{value}\n"
    (buffer,) = read(sizes, "HloLiveRange (max 3):\n  BufferLiveRange:\n    a{}:1-2\n").buffers
    assert buffer.alignment == alignment


@pytest.mark.parametrize(
    ("sizes", "times", "code"),
    [
        (SIZES, "", "half_a_dump"),
        ("", TIMES, "half_a_dump"),
        (SIZES, TIMES.replace("    pair{}:5-6\n", ""), "no_live_range"),
        (SIZES, TIMES.replace("5-6", "6-5"), "damaged"),
        (SIZES, TIMES.replace("5-6", "5"), "damaged"),
        (SIZES.replace("size=16,offset=57344", "size=16,offset=57400"), TIMES, "damaged"),
        (SIZES.replace("size=16,", ""), TIMES, "damaged"),
        (SIZES.replace("preallocated-temp", "thread-local"), TIMES, "no_temporaries"),
        (SIZES.replace("<25 pair{}", "<25 late"), TIMES, "duplicate_buffer"),
        (SIZES.replace("57408", "9" * 19), TIMES, "damaged"),
    ],
)
def test_what_is_wrong_is_said(sizes: str, times: str, code: str) -> None:
    assert code in {entry for entry, _ in told(lambda: read(sizes, times))}


def test_damaged_dumps_are_refused_or_read() -> None:
    rng, read_ones, refused = Random(4), 0, 0
    for _ in range(500):
        text = list(SIZES + TIMES)
        for _ in range(rng.choice((1, 2, 9))):
            text[rng.randrange(30, len(text))] = rng.choice("0129{}:-\n @<>(=,x")
        try:
            formats.read_problem("".join(text).encode())
            read_ones += 1
        except InputError:
            refused += 1
    assert read_ones
    assert refused


def test_it_is_read_only() -> None:
    assert refusal(lambda: formats.write_problem(read(), "xla"))[0].code == "read_only_format"


def test_many_values_take_time_in_proportion() -> None:
    # All at one offset, one after the other: the worst for what stays together.
    count = 30_000
    values = "\n".join(
        f" value: <{i} v{i} (phi) @0> (size={i % 50 + 1},offset=0): f32[]" for i in range(count)
    )
    sizes = f"BufferAssignment:\nallocation 0: size 64, preallocated-temp:\n{values}\n"
    times = "\n".join(f"    v{i}{{}}:{2 * i}-{2 * i}" for i in range(count))
    problem = read(sizes, f"HloLiveRange (max 1):\n  BufferLiveRange:\n{times}\n")
    assert len(problem.buffers) == count
    assert len(problem.relative) == count - 50


def test_problems_of_real_programs_have_the_same_form(shared_data: Path) -> None:
    for path in sorted((shared_data / "xla").glob("*.json")):
        problem = formats.read_problem(path.read_bytes())
        life = {buffer.id: buffer.lifetime for buffer in problem.buffers}
        for tie in problem.relative:
            later, earlier = life[tie.buffer], life[tie.base]
            assert isinstance(later, tuple)
            assert isinstance(earlier, tuple)
            assert (later[0], tie.offset) == (earlier[1] - 1, 0)
        assert all(buffer.id.endswith("}") for buffer in problem.buffers)


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("dot.12{}", "dot"),
        ("fusion.3.2{1,0}", "fusion"),
        ("wrapped_tanh{}", "wrapped_tanh"),
        ("v1.2x{}", "v1.2x"),
        (".7{}", ".7"),
    ],
)
def test_a_value_is_in_the_group_of_its_instruction(name: str, group: str) -> None:
    text = f"""BufferAssignment:
allocation 0: size 64, preallocated-temp:
 value: <1 {name.removesuffix("{}")} @0> (size=64,offset=0): f32[16]
HloLiveRange (max 2):
  BufferLiveRange:
    {name}:0-1
"""
    (buffer,) = formats.read_problem(text.encode()).buffers
    assert (buffer.id, buffer.group) == (name, group)
