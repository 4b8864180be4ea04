"""A plan in the place of PyTorch's allocator, for steps that repeat: `libmemstow_replay` by ctypes.

The library has one plan for each device of the process. This module works without PyTorch, too: only
`Replay.install` imports it.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from types import TracebackType
from typing import Any, Final

from memstow.planner.formats import write_plan
from memstow.planner.model.errors import MemstowError, require_kind
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.replay import library_path
from memstow.records import record

_COUNTS: Final = (
    "arena",
    "high_water",
    "live",
    "steps",
    "planned",
    "taken",
    "unplanned",
    "other_bytes",
    "other_peak",
)


class ReplayError(MemstowError):
    """The library refused: it has no memory for an arena, allocations are live, PyTorch is not as needed."""


@record
class ReplayStatistics:
    """What the library counted since the plan was loaded."""

    arena: int
    """Bytes of the plan: of the arenas of all streams."""
    high_water: int
    """The ends of the highest allocation within each arena, added up."""
    live: int
    """Allocations within arenas that are live."""
    steps: int
    planned: int
    """Allocations that got a place within an arena."""
    taken: int
    """Allocations of the recorded step for which there was no place any more."""
    unplanned: int
    """All allocations within steps that got other memory."""
    other_bytes: int
    """Other memory that is live, from within steps and outside of them, and..."""
    other_peak: int
    """...at most."""


class _Statistics(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in _COUNTS)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path()))
    size, number, pointer = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
    for name, result, arguments in (
        ("memstow_malloc", pointer, (size, number, pointer)),
        ("memstow_free", None, (pointer, size, number, pointer)),
        ("memstow_record_stream", None, (pointer, pointer)),
        ("memstow_replay_use_processor", number, ()),
        ("memstow_replay_load", number, (ctypes.c_char_p, size, number)),
        ("memstow_replay_unload", number, (number,)),
        ("memstow_replay_begin", number, (number, pointer)),
        ("memstow_replay_end", number, (number,)),
        ("memstow_replay_read", number, (number, ctypes.POINTER(_Statistics))),
        ("memstow_replay_error", ctypes.c_char_p, ()),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _call(name: str, *arguments: object) -> None:
    if getattr(_library(), name)(*arguments) != 0:
        raise ReplayError(_library().memstow_replay_error().decode())


class Replay:
    """The plan of the steps of a device. Its arenas are there from the beginning until `close`."""

    def __init__(self, table: bytes, device: int = 0, *, on_processor: bool = False) -> None:
        """Load a step table. `on_processor`: memory is the processor's, to try a plan without a device."""
        require_kind(table, bytes, "Replay takes the bytes of a step table (Path(...).read_bytes())")
        self._device = device
        self._torch: Any = None
        if on_processor:
            _call("memstow_replay_use_processor")
        else:
            # It loads the CUDA runtime that it was built for; another one may be installed beside it.
            with suppress(ImportError):
                import_module("torch")
        _call("memstow_replay_load", table, len(table), device)

    def install(self) -> None:
        """Make PyTorch allocate the memory of all devices by the library; before it allocates any."""
        try:
            torch = import_module("torch")
        except ImportError as error:
            raise ReplayError("PyTorch is not installed: pip install torch") from error
        if not hasattr(torch._C, "_cuda_customAllocator"):
            raise ReplayError("this PyTorch is built without CUDA, whose allocator would be replaced")
        memory = torch.cuda.memory
        allocator = memory.CUDAPluggableAllocator(str(library_path()), "memstow_malloc", "memstow_free")
        # Without this function PyTorch does not say that a tensor is in use on another stream.
        record_stream = ctypes.cast(_library().memstow_record_stream, ctypes.c_void_p).value
        set_record_stream = getattr(allocator.allocator(), "set_record_stream_fn", None)
        if set_record_stream is None:
            raise ReplayError("this PyTorch does not tell an allocator of streams (set_record_stream_fn)")
        set_record_stream(record_stream)
        memory.change_current_allocator(allocator)
        self._torch = torch

    @contextmanager
    def step(self, stream: int | None = None) -> Iterator[None]:
        """Allocations in the `with` block are those of a step, which begins on this stream.

        It is a `cudaStream_t` as a number; on other streams each has the arena that fits what it allocates.
        Default: the current stream of PyTorch where it is installed there, else the default stream.
        """
        if stream is None:
            stream = 0
            if self._torch is not None:
                stream = int(self._torch.cuda.current_stream(self._device).cuda_stream)
        _call("memstow_replay_begin", self._device, stream)
        try:
            yield
        finally:
            _call("memstow_replay_end", self._device)

    def statistics(self) -> ReplayStatistics:
        """What was counted until now."""
        counts = _Statistics()
        _call("memstow_replay_read", self._device, ctypes.byref(counts))
        return ReplayStatistics(*(getattr(counts, name) for name in _COUNTS))

    def close(self) -> None:
        """Drop the plan and its arenas; a ReplayError while allocations within them are live."""
        _call("memstow_replay_unload", self._device)

    def __enter__(self) -> "Replay":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def replay(plan: Plan, problem: Problem, *, device: int = 0, on_processor: bool = False) -> Replay:
    """Load a plan of the recorded allocations of a step, and allocate an arena for each of its streams.

    The buffers of the problem are the allocations, with the indices of events as times. An InputError if the
    plan is not valid, or the problem has what a step table cannot say.
    """
    return Replay(write_plan(problem, plan, "replay"), device, on_processor=on_processor)
