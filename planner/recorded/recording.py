"""Reads what was recorded of PyTorch's allocators: which allocations there were, when, and where.

Native code reads the files: a memory snapshot is a pickle, of which only data is taken, a profiler's trace is
JSON, a log of STAlloc is text. What follows is about one device. Each allocation is a buffer, in the order in
which they were made; those of before the recording come first. Event number i happens at time i, from 1 on,
and what is there at the end lives until then.

The allocator gives freed memory to its own stream alone, since another may still run what uses it. So each
stream has a pool of its own, and so have the pools of CUDA graphs: no plan shares their bytes.
"""

import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.printable import printable
from memstow.planner.model.problem import DEFAULT_POOL, PEAK, Buffer, Pool, Problem
from memstow.planner.reading.json_text import require_bytes
from memstow.planner.recorded import _recordings
from memstow.records import collector_at_rest

SNAPSHOT: Final = "torch-snapshot"
TRACE: Final = "torch-trace"
STALLOC_LOG: Final = "stalloc"
BEFORE_ITERATIONS: Final = "head"
"""Where a log of STAlloc has steps of a training: what is allocated before them."""

_MARK: Final = b"\xef\xbb\xbf"
"""A byte order mark, which some editors put before a text."""
_GZIP: Final = b"\x1f\x8b"
_PICKLES: Final = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_BEGIN_OF_LOG: Final = re.compile(rb"[01] (0x[0-9a-f]|0 \d)|Iteration Index :")
"""Also of a log whose first line is damaged: no other format begins so."""
# A compressed trace may grow by this factor, ten times that of real ones; to these bytes in any case.
_MOST_TIMES: Final = 200
_FEW_BYTES: Final = 64 << 20
DYNAMIC_LAYERS: Final = "dynamic layers"
"""How the names of pools end that hold what differs from step to step."""
_DYNAMIC_LAYERS: Final = (-1, -1)
_OF_STREAM: Final = re.compile(r"stream -?\d+")
_PROCESSOR: Final = 0
_GRAPHICS: Final = 1


@dataclass(frozen=True, slots=True)
class User:
    """A line of a program or an operator, and what it held of `Usage.least`; `who` may be empty."""

    who: str
    bytes: int
    allocations: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What a device's memory was used for, in bytes where it does not say otherwise."""

    device: str
    events: int
    allocations: int
    at_start: int
    """Allocations that were made before the recording."""
    unpaired: int
    """Events without their counterpart: the recording lacks some."""
    reserved: int | None
    """The most that the allocator had reserved; None: not recorded."""
    allocated: int
    """The most that was allocated at a time, rounded as the allocator rounds."""
    requested: int
    """The same, as it was asked for."""
    least: int
    """What any plan needs: what is allocated at most of each pool, added up."""
    unseen: int
    """What was allocated all the time, and is in no event of a trace."""
    expandable_segments: bool | None
    """Whether segments could grow, which wastes less; None: not recorded."""
    users: tuple[User, ...]
    """Those of `least`: when most of each pool was allocated, the largest first."""

    @property
    def lost(self) -> int | None:
        """What was reserved and never of use, because it lay in pieces; None: not recorded."""
        return None if self.reserved is None else max(0, self.reserved - self.allocated - self.unseen)


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded of one device."""

    problem: Problem
    plan: Plan
    """Where the allocator put everything."""
    usage: Usage


def format_of(data: bytes) -> str | None:
    """The format of the recording that the bytes look like; None if they look like something else."""
    data = data.removeprefix(_MARK)
    if data[:2] in _PICKLES:
        return SNAPSHOT
    if data[:2] == _GZIP or (b'"traceEvents"' in data and _recordings.is_trace(bytes(data))):
        return TRACE
    return STALLOC_LOG if _BEGIN_OF_LOG.match(data) else None


def read_recording(data: bytes, name: str | None = None, device: str | None = None) -> Recording:
    """The recording in the bytes, in the named format or in the one they look like.

    `device`: whose, such as `0` or `cpu`; it may be left out where there is only one.
    """
    require_bytes(data)
    name = name or format_of(data)
    if name is None:
        message = (
            "this is no recording of PyTorch: neither a snapshot of its memory, nor a trace of its profiler, "
            "nor a log of STAlloc"
        )
        raise InputError.single("not_a_recording", "$", message)
    recordings = _read(data, name)
    number, called = _chosen(recordings, device)
    return _recording(recordings, number, called)


def read_recorded_plan(data: bytes, name: str, problem: Problem) -> Plan:
    """Where the allocator put the buffers of this problem, whichever device of the recording it is of."""
    recordings = _read(data, name)
    devices = list(_devices(recordings))
    of_devices = [_recording(recordings, number, called) for number, called, _ in devices]
    for recording in of_devices:
        if recording.problem.buffers == problem.buffers:
            return recording.plan
    if len(of_devices) == 1:
        return of_devices[0].plan
    message = "none of its devices has the allocations of this problem; give the problem of one of them"
    raise InputError.single("other_problem", "$", message)


def _read(data: bytes, name: str) -> _recordings.Recordings:
    data = bytes(data).removeprefix(_MARK)
    try:
        if name == SNAPSHOT:
            return _recordings.read_snapshot(data)
        if name == STALLOC_LOG:
            return _recordings.read_stalloc_log(data)
        return _recordings.read_trace(_inflated(data) if data[:2] == _GZIP else data)
    except _recordings.RefusedError as error:
        raise _as_issue(error) from None


def _as_issue(error: Exception) -> InputError:
    code, message = error.args
    return InputError.single(code, "$", message)


def _inflated(data: bytes) -> bytes:
    """What a file of gzip holds, if that is not out of proportion."""
    most = max(_FEW_BYTES, len(data) * _MOST_TIMES)
    inflater = zlib.decompressobj(wbits=31)
    try:
        inflated = inflater.decompress(data, most)
    except zlib.error as error:
        raise InputError.single("damaged", "$", f"the gzip is damaged: {error}") from None
    if inflater.unconsumed_tail:
        message = f"it holds more than {most:,} bytes, far more than traces of its size do: unpack it first"
        raise InputError.single("too_large", "$", message)
    if not inflater.eof:
        raise InputError.single("damaged", "$", "the gzip ends too early")
    return inflated


def _devices(recordings: _recordings.Recordings) -> Iterator[tuple[int, str, int]]:
    """The number, the name and the events of each device that has some."""
    for number, (kind, index, events) in enumerate(recordings.devices):
        if events:
            named = "cpu" if kind == _PROCESSOR else str(index) if kind == _GRAPHICS else f"{kind}:{index}"
            yield number, named, events


def _chosen(recordings: _recordings.Recordings, device: str | None) -> tuple[int, str]:
    """The number and the name of the device."""
    devices = list(_devices(recordings))
    if not devices:
        message = (
            "no allocations are recorded in it: call torch.cuda.memory._record_memory_history() before "
            "what is to be recorded, give the profiler profile_memory=True, or run STAlloc in its mode Trace"
        )
        raise InputError.single("no_events", "$", message)
    wanted = None if device is None else device.removeprefix("cuda:")
    for number, named, _ in devices:
        if wanted == named or (wanted is None and len(devices) == 1):
            return number, named
    listed = ", ".join(f"{named} ({events:,} events)" for _, named, events in devices)
    if device is None:
        raise InputError.single("several_devices", "device", f"name one of its devices: {listed}")
    message = f"nothing is recorded of device {printable(device, 40)!r}; there is {listed}"
    raise InputError.single("unknown_device", "device", message)


def _recording(recordings: _recordings.Recordings, number: int, called: str) -> Recording:
    try:
        lives = recordings.lives(number)
    except _recordings.RefusedError as error:
        raise _as_issue(error) from None
    with collector_at_rest():
        begins, ends, sizes = lives.begins, lives.ends, lives.sizes
        count = len(sizes)
        # An allocation is called after the event that made it.
        ids = [f"s{index + 1}" if index < lives.at_start else f"a{begins[index]}" for index in range(count)]
        iterations = recordings.iterations(number)
        if iterations:
            firsts = [first for first, _ in iterations]
            called_so = [BEFORE_ITERATIONS, *(name for _, name in iterations)]
            ids = [
                f"{called_so[bisect_right(firsts, begin - 1)]}/{buffer}"
                for buffer, begin in zip(ids, begins, strict=True)
            ]
        texts = {label: _text(recordings, label) for label in set(lives.labels)}
        groups = [texts[label] or None for label in lives.labels]
        several = len(lives.stream_pools) > 1
        names = [_pool_name(*pool) for pool in lives.stream_pools] if several else [DEFAULT_POOL]
        pools = [names[pool] for pool in lives.pools]
        buffers = instances_of(
            Buffer,
            count,
            id=ids,
            size=list(sizes),
            lifetime=list(zip(begins, ends, strict=True)),
            alignment=lives.alignment,
            pool=pools if several else None,
            group=groups,
        )
        places = instances_of(Placement, count, buffer=ids, pool=pools, offset=list(lives.offsets))
    usage = Usage(
        device=called,
        events=lives.end - 1,
        allocations=count,
        at_start=lives.at_start,
        unpaired=lives.unpaired,
        reserved=None if lives.reserved < 0 else lives.reserved,
        allocated=lives.allocated,
        requested=lives.requested_most,
        least=lives.least,
        unseen=lives.unseen,
        expandable_segments=recordings.expandable_segments if recordings.has_settings else None,
        users=tuple(User(texts[label], held, allocations) for label, held, allocations in lives.users),
    )
    problem = Problem(
        version=1,
        pools=tuple(Pool(id=pool) for pool in names),
        buffers=buffers,
        # No stream is better than another: what they need together counts.
        objective=(str(PEAK),) if several else None,
    )
    return Recording(problem, Plan(status=Status.FEASIBLE, placements=places), usage)


def is_of_stream(pool: str) -> bool:
    """Whether a pool of a recording is what one stream allocates, and neither of a graph nor of layers."""
    return _OF_STREAM.fullmatch(pool) is not None


def _text(recordings: _recordings.Recordings, label: int) -> str:
    return recordings.label(label).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _pool_name(stream: int, first: int, second: int) -> str:
    if (first, second) == _DYNAMIC_LAYERS:
        return f"stream {stream}, {DYNAMIC_LAYERS}"
    return f"stream {stream}" + (f", pool {first}.{second}" if (first, second) != (0, 0) else "")
