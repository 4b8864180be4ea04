"""Recordings as problems and plans, against a simulated allocator that knows what is right."""

import gzip
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstow.planner import formats
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem, profile
from memstow.planner.recorded.recording import SNAPSHOT, TRACE, Recording, read_recording
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.campaign import rounds
from tests.planner.refusal import refusal
from tests.torch_recordings import (
    MIB,
    Block,
    CachingAllocator,
    Segment,
    pickled,
    rounded,
    sample,
    snapshot_of,
    trace_of,
    training_step,
)


def recorded(allocator: CachingAllocator, **settings: bool) -> Recording:
    return read_recording(pickled(snapshot_of(allocator, **settings)), SNAPSHOT)


def peak_of(recording: Recording) -> int:
    sizes = {buffer.id: buffer.size for buffer in recording.problem.buffers}
    return max(place.offset + sizes[place.buffer] for place in recording.plan.placements)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_all_protocols_of_pickle_say_the_same(protocol: int) -> None:
    snapshot = snapshot_of(sample(steps=2))
    assert read_recording(pickled(snapshot, protocol), SNAPSHOT) == read_recording(
        pickled(snapshot), SNAPSHOT
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_recording_has_what_the_allocator_counted(seed: int) -> None:
    allocator = sample(seed, steps=3)
    recording = recorded(allocator)
    usage = recording.usage
    assert (usage.reserved, usage.allocated) == (allocator.most_reserved, allocator.most_allocated)
    assert usage.lost == allocator.most_reserved - allocator.most_allocated
    assert usage.allocations == sum(event["action"] == "alloc" for event in allocator.events)
    assert profile(recording.problem.buffers).peak == usage.allocated == usage.least
    assert sum(user.bytes for user in usage.users) == usage.allocated
    assert not verify(recording.problem, recording.plan)
    assert usage.allocated <= peak_of(recording) <= allocator.most_reserved
    planned = plan(recording.problem)
    assert planned.status is Status.OPTIMAL
    assert planned.pools[0].peak == usage.allocated


def test_buffers_are_in_the_order_of_their_allocation_and_called_after_it() -> None:
    allocator = CachingAllocator()
    first = allocator.alloc(700, who="train.py:3")
    allocator.alloc(5000, who="train.py:4")
    allocator.free(first)
    recording = recorded(allocator)
    assert [
        (buffer.id, buffer.size, buffer.lifetime, buffer.alignment, buffer.group)
        for buffer in recording.problem.buffers
    ] == [
        ("a2", 1024, (2, 5), 512, "project/train.py:3 forward"),
        ("a3", 5120, (3, 6), 512, "project/train.py:4 forward"),
    ]
    assert recording.usage.requested == 5700
    assert [user.who for user in recording.usage.users] == [
        "project/train.py:4 forward",
        "project/train.py:3 forward",
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_recording_may_begin_in_the_middle(seed: int) -> None:
    rng = random.Random(seed)
    allocator = CachingAllocator()
    training_step(allocator, rng)
    held = [allocator.alloc(rng.randrange(1, 4 * MIB)) for _ in range(20)]
    allocator.forget()
    before = allocator.allocated
    for address in held[::2]:
        allocator.free(address)
    training_step(allocator, rng, layers=3)
    recording = recorded(allocator)
    early = [buffer for buffer in recording.problem.buffers if buffer.id.startswith("s")]
    assert recording.usage.at_start == len(early)
    assert sum(buffer.size for buffer in early) == before
    assert recording.usage.reserved == allocator.most_reserved
    assert recording.usage.allocated == allocator.most_allocated
    assert not recording.usage.unpaired
    assert not verify(recording.problem, recording.plan)


def test_memory_that_is_given_back_to_the_device_is_used_again_by_the_own_plan() -> None:
    allocator = CachingAllocator()
    for size in (30, 50, 40):
        allocator.free(allocator.alloc(size * MIB))
        allocator.empty_cache()
    recording = recorded(allocator)
    assert recording.usage.reserved == 50 * MIB
    assert peak_of(recording) == 50 * MIB


def test_streams_and_pools_of_graphs_share_no_memory() -> None:
    allocator = CachingAllocator()
    for stream, pool in ((0, (0, 0)), (7, (0, 0)), (7, (0, 1))):
        allocator.free(allocator.alloc(4000, stream, pool=pool))
    recording = recorded(allocator)
    assert [pool.id for pool in recording.problem.pools] == ["stream 0", "stream 7", "stream 7, pool 0.1"]
    assert [buffer.pool for buffer in recording.problem.buffers] == [p.id for p in recording.problem.pools]
    assert (recording.usage.allocated, recording.usage.least) == (4096, 3 * 4096)
    assert recording.problem.terms() == ("peak",)
    assert sum(user.bytes for user in recording.usage.users) == recording.usage.least
    assert not verify(recording.problem, recording.plan)


def test_lives_end_when_a_free_is_completed() -> None:
    allocator = CachingAllocator()
    allocator.alloc(600)
    address = allocator.events[-1]["addr"]
    request = {"action": "free_requested", "addr": address, "size": 600, "stream": 0}
    allocator.events += [request, dict(request, action="snapshot"), dict(request, action="free_completed")]
    snapshot = snapshot_of(allocator) | {"segments": []}
    (buffer,) = read_recording(pickled(snapshot), SNAPSHOT).problem.buffers
    assert buffer.lifetime == (2, 5)
    del allocator.events[-1]
    (buffer,) = read_recording(pickled(snapshot), SNAPSHOT).problem.buffers
    assert buffer.lifetime == (2, 5), "until the end, as it has not been completed"


def test_segments_that_grow_are_counted_and_hold_blocks_across_their_parts() -> None:
    allocator = CachingAllocator()
    base = 0x7F00_0000_0000

    def event(action: str, at: int, size: int) -> dict[str, Any]:
        return {"action": action, "addr": base + at * MIB, "size": size * MIB, "stream": 0, "time_us": 1}

    allocator.events = [
        event("segment_map", 0, 2),
        event("segment_map", 2, 2),
        event("alloc", 1, 2),
        event("segment_map", 4, 4),
        event("alloc", 4, 3),
        event("free_completed", 1, 2),
        event("segment_unmap", 0, 4),
    ]
    blocks = [Block(base + 4 * MIB, 3 * MIB, 3 * MIB, True), Block(base + 7 * MIB, MIB)]
    allocator.segments = [Segment(base + 4 * MIB, 4 * MIB, 0, blocks)]
    recording = recorded(allocator, expandable=True)
    assert recording.usage.expandable_segments
    assert recording.usage.reserved == 8 * MIB
    assert [place.offset for place in recording.plan.placements] == [MIB, 4 * MIB]
    assert not verify(recording.problem, recording.plan)


def test_sizes_are_rounded_as_the_settings_say() -> None:
    allocator = CachingAllocator()
    allocator.alloc(1200 << 10)
    snapshot = snapshot_of(allocator)
    snapshot["allocator_settings"]["roundup_power2_divisions"] |= {"1": 4, "2": 2}
    (buffer,) = read_recording(pickled(snapshot), SNAPSHOT).problem.buffers
    assert buffer.size == 1280 << 10


def test_old_snapshots_say_neither_addresses_of_blocks_nor_what_was_asked_for() -> None:
    allocator = CachingAllocator()
    allocator.alloc(100)
    allocator.alloc(5000)
    allocator.forget()
    allocator.free(allocator.alloc(300))
    snapshot = snapshot_of(allocator)
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            block["history"] = [{"addr": block.pop("address"), "real_size": block.pop("requested_size")}]
            block["history"][0]["frames"] = block.pop("frames")
    del snapshot["allocator_settings"]
    recording = read_recording(pickled(snapshot), SNAPSHOT)
    assert [buffer.size for buffer in recording.problem.buffers] == [512, 5120, 512]
    assert recording.usage.expandable_segments is None


def test_events_that_are_missing_are_counted() -> None:
    allocator = CachingAllocator()
    address = allocator.alloc(512)
    allocator.free(address)
    allocator.alloc(512)
    del allocator.events[2:4]
    recording = recorded(allocator)
    assert recording.usage.unpaired == 1
    assert [buffer.lifetime for buffer in recording.problem.buffers] == [(2, 3), (3, 4)]


def test_a_device_is_named_where_there_are_several() -> None:
    first, second = sample(1), CachingAllocator(1)
    training_step(second, random.Random(2))
    data = pickled(snapshot_of(first, second))
    (issue,) = refusal(lambda: read_recording(data, SNAPSHOT))
    assert issue.code == "several_devices"
    assert "0 (" in issue.message
    assert "1 (" in issue.message
    assert read_recording(data, SNAPSHOT, "0").problem == recorded(first).problem
    assert read_recording(data, SNAPSHOT, "cuda:1").usage.device == "1"
    assert refusal(lambda: read_recording(data, SNAPSHOT, "2"))[0].code == "unknown_device"
    problem = read_recording(data, SNAPSHOT, "1").problem
    assert not verify(problem, formats.read_plan(data, problem))
    assert refusal(lambda: formats.read_plan(data, Problem(buffers=())))[0].code == "other_problem"


def test_the_only_device_with_events_needs_no_name() -> None:
    assert read_recording(pickled(snapshot_of(CachingAllocator(), sample())), SNAPSHOT).usage.device == "1"


def test_a_recording_without_events_says_how_to_record() -> None:
    (issue,) = refusal(lambda: recorded(CachingAllocator()))
    assert issue.code == "no_events"
    assert "_record_memory_history" in issue.message


class _Evil:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return print, ("this must not run",)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("value", [_Evil(), object(), sample, {1: random.Random}])
def test_what_would_run_code_is_refused(
    protocol: int, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    data = pickle.dumps({"device_traces": [], "segments": value}, protocol)
    (issue,) = refusal(lambda: formats.read_problem(data))
    assert issue.code == "runs_code"
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    "value", [None, [], 3, {"segments": []}, {"device_traces": 3}, {"device_traces": {}}]
)
def test_another_pickle_is_no_snapshot(value: object) -> None:
    assert refusal(lambda: formats.read_problem(pickle.dumps(value)))[0].code == "not_a_snapshot"


@pytest.mark.parametrize(
    "change",
    [{"addr": "x"}, {"addr": 1 << 80}, {"size": -5}, {"size": 2.5}, {"action": 4}, {"stream": None}],
)
def test_an_event_with_odd_values_is_refused(change: dict[str, object]) -> None:
    allocator = sample()
    allocator.events[5] |= change
    assert refusal(lambda: recorded(allocator))[0].code == "damaged"


def test_a_pickle_that_goes_on_forever_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert (
        refusal(lambda: read_recording(pickle.dumps({"device_traces": loop}), SNAPSHOT))[0].code == "damaged"
    )
    events: list[Any] = [{"action": "oom"}] * 5000
    bomb = pickle.dumps({"device_traces": [events] * 5000})
    assert refusal(lambda: read_recording(bomb, SNAPSHOT))[0].code == "damaged"


_SAMPLES = [pickled(snapshot_of(sample(layers=2)), protocol) for protocol in (2, 4)]
_TRACE = trace_of(sample(layers=2))


def _came_out(data: bytes, name: str) -> None:
    try:
        recording = read_recording(data, name)
    except InputError:
        return
    for buffer in recording.problem.buffers:
        assert type(buffer.lifetime) is tuple
        assert 0 <= buffer.lifetime[0] < buffer.lifetime[1]
    formats.write_problem(recording.problem)


@given(st.sampled_from(_SAMPLES), st.data())
@pytest.mark.rounds
@settings(max_examples=rounds(300))
def test_damaged_pickles_are_refused_or_read(data: bytes, choose: st.DataObject) -> None:
    at = choose.draw(st.integers(0, len(data)))
    gone = choose.draw(st.integers(0, 9))
    added = choose.draw(st.binary(max_size=9))
    _came_out(data[:at] + added + data[at + gone :], SNAPSHOT)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    _came_out(b"\x80\x04" + data, SNAPSHOT)
    _came_out(data, SNAPSHOT)
    _came_out(data, TRACE)


@given(st.data())
@pytest.mark.rounds
@settings(max_examples=rounds(200))
def test_damaged_traces_are_refused_or_read(choose: st.DataObject) -> None:
    at = choose.draw(st.integers(0, len(_TRACE)))
    gone = choose.draw(st.integers(0, 9))
    added = choose.draw(st.binary(max_size=9))
    _came_out(_TRACE[:at] + added + _TRACE[at + gone :], TRACE)


def test_a_trace_says_the_same_as_a_snapshot() -> None:
    allocator = sample(steps=2)
    trace, snapshot = read_recording(trace_of(allocator), TRACE), recorded(allocator)
    assert trace.usage.reserved == snapshot.usage.reserved
    assert trace.usage.allocated == snapshot.usage.allocated
    assert [b.size for b in trace.problem.buffers] == [b.size for b in snapshot.problem.buffers]
    assert {b.group for b in trace.problem.buffers} == {"model.py", "train.py"}
    assert not verify(trace.problem, trace.plan)
    assert read_recording(gzip.compress(trace_of(allocator)), TRACE) == trace


def test_what_was_there_before_a_trace_is_told_apart() -> None:
    allocator = CachingAllocator()
    weights = allocator.alloc(40 * MIB)
    allocator.forget()
    for size in (3 * MIB, 5 * MIB):
        allocator.free(allocator.alloc(size))
    trace = trace_of(allocator).replace(b'"Total Allocated": ', b'"Total Allocated": 4')
    # A digit before what was counted: no total is below the forty millions that this makes of the smallest.
    recording = read_recording(trace, TRACE)
    assert weights
    assert recording.usage.unseen > 0
    assert recording.usage.lost is not None
    assert recording.usage.reserved is not None
    assert recording.usage.lost <= recording.usage.reserved - recording.usage.allocated


def test_processors_are_devices_of_a_trace_and_their_blocks_keep_their_sizes() -> None:
    both = (
        trace_of(sample(), kind=0, number=-1)[:-2]
        + b", "
        + trace_of(sample(2))[:-2].split(b"[", 2)[2]
        + b"]}"
    )
    (issue,) = refusal(lambda: read_recording(both, TRACE))
    assert "cpu (" in issue.message
    assert "0 (" in issue.message
    recording = read_recording(both, TRACE, "cpu")
    assert recording.usage.device == "cpu"
    assert recording.problem.buffers[0].alignment == 64
    assert not verify(recording.problem, recording.plan)


def test_a_bomb_of_gzip_is_refused() -> None:
    bomb = gzip.compress(b" " * (80 << 20))
    assert refusal(lambda: read_recording(bomb, TRACE))[0].code == "too_large"
    assert refusal(lambda: read_recording(gzip.compress(_TRACE)[:-20], TRACE))[0].code == "damaged"
    assert refusal(lambda: read_recording(b"\x1f\x8bnothing", TRACE))[0].code == "damaged"


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", "", '{"traceEvents": [}', '{"traceEvents": [{"name": "[memory]"}]}', '{"traceEvents": []} x']
    + [
        f'{{"traceEvents": [{{"name": "[memory]", "ts": {ts}, "args": {{"Addr": 1, "Bytes": 2}}}}]}}'
        for ts in ("NaN", '"1"')
    ],
)
def test_another_text_is_no_trace(text: str) -> None:
    assert refusal(lambda: read_recording(text.encode(), TRACE))[0].code in ("damaged", "not_a_trace")


def test_recordings_are_told_by_their_content() -> None:
    allocator = sample()
    problem = recorded(allocator).problem
    assert formats.read_problem(pickled(snapshot_of(allocator))) == problem
    trace = trace_of(allocator)
    assert (
        formats.read_problem(trace)
        == formats.read_problem(gzip.compress(trace))
        == read_recording(trace, TRACE).problem
    )
    native = formats.write_problem(problem).replace(b"project/model.py:10 forward", b'\\"traceEvents\\"')
    assert formats.read_problem(native).buffers[0].group == '"traceEvents"'
    assert refusal(lambda: formats.read_document(native, device="0"))[0].code == "no_devices"
    assert formats.read_problem(bytearray(trace)) == formats.read_problem(trace)  # type: ignore[arg-type]
    assert refusal(lambda: read_recording(native))[0].code == "not_a_recording"
    assert refusal(lambda: formats.write_problem(problem, SNAPSHOT))[0].code == "read_only_format"


def test_sizes_of_the_simulated_allocator_are_rounded_as_the_readers_do() -> None:
    allocator = CachingAllocator()
    for size in (1, 511, 512, 513, MIB, MIB + 1):
        allocator.alloc(size)
    assert [b.size for b in recorded(allocator).problem.buffers] == [
        rounded(size) for size in (1, 511, 512, 513, MIB, MIB + 1)
    ]
