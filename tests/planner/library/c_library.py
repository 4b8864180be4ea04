"""libmemstow by ctypes, as a program in another language would call the library."""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.library import library_path
from memstow.planner.model import Status
from memstow.planner.model.problem import Problem, end_of, spans

OK, INVALID, OUT_OF_MEMORY, TOO_LARGE, INTERNAL = range(5)
DETERMINISTIC, FIT_ONLY, FEW_MOVES = 1, 2, 4
STATUSES: Final = (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE, Status.UNKNOWN)
BETTER: Final = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)
BOUND: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)


class RawOptions(ctypes.Structure):
    """`memstow_options`."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("time_limit", ctypes.c_double),
        ("work_limit", ctypes.c_int64),
        ("gap", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("workers", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("start", ctypes.POINTER(ctypes.c_int64)),
        ("stop", ctypes.c_void_p),
        ("on_better", BETTER),
        ("on_bound", BOUND),
        ("context", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("message_size", ctypes.c_size_t),
    )


@dataclass(frozen=True)
class Solved:
    """What a run of the library says."""

    status: Status
    offsets: tuple[int, ...] | None
    peak: int
    moves: int
    bound: int
    solver: str
    work: int
    members: tuple[int, ...]


class LibraryError(Exception):
    """A call that failed: its code, and what the library says of why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def load() -> ctypes.CDLL:
    """The library of this installation, with the types of its calls."""
    library = ctypes.CDLL(str(library_path()))
    number, pointer, size = ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t
    integers = ctypes.POINTER(number)
    text, code = ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("version", text, ()),
        ("abi_version", code, ()),
        ("code_text", text, (code,)),
        ("status_text", text, (code,)),
        ("problem_create", code, (pointer,)),
        ("problem_destroy", None, (pointer,)),
        ("problem_error", text, (pointer,)),
        ("buffer_count", size, (pointer,)),
        ("add_buffers", code, (pointer, size, integers, integers, integers, integers)),
        ("set_capacity", code, (pointer, number)),
        ("reserve", code, (pointer, number, number)),
        ("add_lifetime", code, (pointer, size, number, number)),
        ("pin", code, (pointer, size, number)),
        ("tie", code, (pointer, size, size, number)),
        ("keep_apart", code, (pointer, size, size)),
        ("never_together", code, (pointer, size, size)),
        ("allow_in_place", code, (pointer, size, size)),
        ("options_init", None, (pointer,)),
        ("solve", code, (pointer, pointer, pointer)),
        ("plan_destroy", None, (pointer,)),
        ("plan_status", code, (pointer,)),
        ("plan_offsets", integers, (pointer,)),
        ("plan_peak", number, (pointer,)),
        ("plan_moves", size, (pointer,)),
        ("plan_bound", number, (pointer,)),
        ("plan_proof", code, (pointer,)),
        ("plan_proof_buffers", size, (pointer, pointer)),
        ("plan_proof_time", code, (pointer, integers)),
        ("plan_proof_window", code, (pointer, integers, integers)),
        ("plan_searches", size, (pointer, pointer, pointer)),
        ("plan_solver", text, (pointer,)),
        ("plan_work", number, (pointer,)),
        ("stop_create", code, (pointer,)),
        ("stop_pull", None, (pointer,)),
        ("stop_destroy", None, (pointer,)),
        ("judge", code, (pointer, integers, integers, ctypes.c_char_p, size)),
    ):
        function = getattr(library, f"memstow_{name}")
        function.restype = result
        function.argtypes = arguments
    return library


LIBRARY: Final = load()


def integers(values: Sequence[int]) -> "ctypes.Array[ctypes.c_int64]":
    """An array of 64-bit integers."""
    return (ctypes.c_int64 * len(values))(*values)


class Native:
    """A problem of the library."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()
        assert LIBRARY.memstow_problem_create(ctypes.byref(self.handle)) == OK

    def __del__(self) -> None:
        LIBRARY.memstow_problem_destroy(self.handle)

    def call(self, name: str, *arguments: int) -> None:
        """A call that changes the problem; LibraryError where it fails."""
        self._check(getattr(LIBRARY, f"memstow_{name}")(self.handle, *arguments))

    def add(self, buffers: Sequence[tuple[int, int, int, int]]) -> None:
        """Buffers as size, begin, end and alignment."""
        columns = [integers([buffer[field] for buffer in buffers]) for field in range(4)]
        self._check(LIBRARY.memstow_add_buffers(self.handle, len(buffers), *columns))

    def _check(self, code: int) -> None:
        if code != OK:
            raise LibraryError(code, LIBRARY.memstow_problem_error(self.handle).decode())

    def solve(
        self,
        *,
        flags: int = DETERMINISTIC,
        work_limit: int = 1_000_000,
        time_limit: float = 10.0,
        gap: float = 0.0,
        seed: int = 0,
        workers: int = 1,
        start: Sequence[int] | None = None,
        stop: ctypes.c_void_p | None = None,
        on_better: Callable[[int, list[int]], bool] | None = None,
        on_bound: Callable[[int], bool] | None = None,
    ) -> Solved:
        """The plan of a run; LibraryError where the call fails."""
        count = LIBRARY.memstow_buffer_count(self.handle)
        message = ctypes.create_string_buffer(200)
        options = RawOptions()
        LIBRARY.memstow_options_init(ctypes.byref(options))
        options.flags, options.work_limit, options.time_limit = flags, work_limit, time_limit
        options.gap, options.seed, options.workers = gap, seed, workers
        if start is not None:
            options.start = integers(start)
        if stop is not None:
            options.stop = stop
        if on_better is not None:
            heard = on_better
            options.on_better = BETTER(lambda _, peak, places: int(not heard(peak, places[:count])))
        if on_bound is not None:
            bounded = on_bound
            options.on_bound = BOUND(lambda _, bound: int(not bounded(bound)))
        options.message, options.message_size = ctypes.addressof(message), len(message)
        plan = ctypes.c_void_p()
        code = LIBRARY.memstow_solve(self.handle, ctypes.byref(options), ctypes.byref(plan))
        if code != OK:
            raise LibraryError(code, message.value.decode())
        try:
            places = LIBRARY.memstow_plan_offsets(plan)
            members = ctypes.POINTER(ctypes.c_size_t)()
            named = LIBRARY.memstow_plan_proof_buffers(plan, ctypes.byref(members))
            return Solved(
                STATUSES[LIBRARY.memstow_plan_status(plan)],
                tuple(places[:count]) if places else None,
                LIBRARY.memstow_plan_peak(plan),
                LIBRARY.memstow_plan_moves(plan),
                LIBRARY.memstow_plan_bound(plan),
                LIBRARY.memstow_plan_solver(plan).decode(),
                LIBRARY.memstow_plan_work(plan),
                tuple(members[:named]),
            )
        finally:
            LIBRARY.memstow_plan_destroy(plan)

    def judge(self, offsets: Sequence[int]) -> int:
        """The peak of offsets; LibraryError where the judge refuses them."""
        message = ctypes.create_string_buffer(200)
        peak = ctypes.c_int64()
        code = LIBRARY.memstow_judge(
            self.handle, integers(offsets), ctypes.byref(peak), message, len(message)
        )
        if code != OK:
            raise LibraryError(code, message.value.decode())
        return peak.value


def native_of(problem: Problem) -> Native:
    """The same problem, of one memory without a base, in the library."""
    (pool,) = problem.pools
    native = Native()
    lives = [spans(buffer) for buffer in problem.buffers]
    native.add(
        [(buffer.size, *lives[number][0], buffer.alignment) for number, buffer in enumerate(problem.buffers)]
    )
    for number, ranges in enumerate(lives):
        for begin, end in ranges[1:]:
            native.call("add_lifetime", number, begin, end)
    if pool.capacity is not None:
        native.call("set_capacity", end_of(pool))
    for reserved in pool.reserved:
        native.call("reserve", reserved.offset, reserved.size)
    number_of = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
    for number, buffer in enumerate(problem.buffers):
        if buffer.offset is not None:
            native.call("pin", number, buffer.offset)
    for tie in problem.relative:
        native.call("tie", number_of[tie.buffer], number_of[tie.base], tie.offset)
    for one, other in problem.conflicts:
        native.call("keep_apart", number_of[one], number_of[other])
    for one, other in problem.exclusive:
        native.call("never_together", number_of[one], number_of[other])
    for pair in problem.in_place:
        native.call("allow_in_place", number_of[pair.input], number_of[pair.output])
    return native
