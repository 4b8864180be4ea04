"""libmemstow by ctypes, as a program in another language would call the library."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.library import library_path
from memstow.planner.model import Status
from memstow.planner.model.problem import ALWAYS, Kind, Problem, allowed_pools, end_of, spans, terms_of

OK, INVALID, OUT_OF_MEMORY, TOO_LARGE, INTERNAL = range(5)
DETERMINISTIC, FIT_ONLY, FEW_MOVES = 1, 2, 4
STATUSES: Final = (Status.OPTIMAL, Status.FEASIBLE, Status.INFEASIBLE, Status.UNKNOWN)
BETTER: Final = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)
BETTER_IN: Final = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_int64),
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
        ("start_pools", ctypes.POINTER(ctypes.c_size_t)),
        ("on_better_in", BETTER_IN),
    )


ALLOCATE: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
RELEASE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class RawAllocator(ctypes.Structure):
    """`memstow_allocator`."""

    _fields_ = (("allocate", ALLOCATE), ("release", RELEASE), ("context", ctypes.c_void_p))


TERMS: Final = (
    Kind.PEAK,
    Kind.POOL_PEAK,
    Kind.MAX_PEAK,
    Kind.PLACEMENT_COST,
    Kind.REUSE_COST,
    Kind.MOVES,
    Kind.PREFERENCE,
    Kind.BANK_COST,
)
NEVER: Final = -1
LIVE, SEARCH, WINDOW, SUM, LEAST, ADDRESSES, CROWDS = range(7)


@dataclass(frozen=True)
class SolvedTerm:
    """What a run says of a term."""

    kind: Kind
    pool: int
    value: int
    bound: int
    proof: int
    searches: int


@dataclass(frozen=True)
class SolvedPool:
    """What a run says of a pool."""

    peak: int
    bound: int
    members: tuple[int, ...]
    time: int | None


@dataclass(frozen=True)
class Solved:
    """What a run of the library says."""

    status: Status
    offsets: tuple[int, ...] | None
    pool_of: tuple[int, ...] | None
    peak: int
    moves: int
    bound: int
    solver: str
    work: int
    members: tuple[int, ...]
    proof: int
    pools: tuple[SolvedPool, ...]
    terms: tuple[SolvedTerm, ...]
    crowds: tuple[tuple[tuple[int, ...], int], ...]


class LibraryError(Exception):
    """A call that failed: its code, and what the library says of why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def load() -> ctypes.CDLL:
    """The library of this installation, with the types of its calls."""
    library = ctypes.CDLL(str(library_path()))
    number, pointer, size = ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t
    integers, sizes = ctypes.POINTER(number), ctypes.POINTER(size)
    text, code = ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("version", text, ()),
        ("abi_version", code, ()),
        ("code_text", text, (code,)),
        ("status_text", text, (code,)),
        ("problem_create", code, (pointer,)),
        ("problem_create_in", code, (pointer, pointer)),
        ("problem_destroy", None, (pointer,)),
        ("problem_error", text, (pointer,)),
        ("buffer_count", size, (pointer,)),
        ("pool_count", size, (pointer,)),
        ("add_buffers", code, (pointer, size, integers, integers, integers, integers)),
        ("set_capacity", code, (pointer, number)),
        ("add_pools", code, (pointer, size, integers, integers)),
        ("set_cost", code, (pointer, size, number)),
        ("set_addresses", code, (pointer, size, number, number)),
        ("reserve", code, (pointer, number, number)),
        ("reserve_in", code, (pointer, size, number, number)),
        ("allow_pools", code, (pointer, size, size, sizes)),
        ("set_accesses", code, (pointer, size, number)),
        ("add_lifetime", code, (pointer, size, number, number)),
        ("pin", code, (pointer, size, number)),
        ("tie", code, (pointer, size, size, number)),
        ("keep_apart", code, (pointer, size, size)),
        ("never_together", code, (pointer, size, size)),
        ("allow_in_place", code, (pointer, size, size)),
        ("add_reuse_cost", code, (pointer, size, size, number)),
        ("add_banks", code, (pointer, size, number, number, size)),
        ("keep_within_bank", code, (pointer, size)),
        ("allow_banks", code, (pointer, size, size, sizes)),
        ("add_bank_conflict", code, (pointer, size, sizes, number)),
        ("add_term", code, (pointer, code, size)),
        ("options_init", None, (pointer,)),
        ("solve", code, (pointer, pointer, pointer)),
        ("plan_destroy", None, (pointer,)),
        ("plan_status", code, (pointer,)),
        ("plan_offsets", integers, (pointer,)),
        ("plan_pools", sizes, (pointer,)),
        ("plan_peak", number, (pointer,)),
        ("plan_moves", size, (pointer,)),
        ("plan_bound", number, (pointer,)),
        ("plan_proof", code, (pointer,)),
        ("plan_proof_buffers", size, (pointer, pointer)),
        ("plan_proof_pools", size, (pointer, pointer)),
        ("plan_pool", code, (pointer, size, pointer, pointer)),
        ("plan_pool_proof", size, (pointer, size, pointer)),
        ("plan_pool_proof_time", code, (pointer, size, pointer)),
        ("plan_terms", size, (pointer,)),
        ("plan_term", code, (pointer, size, *(pointer,) * 6)),
        ("plan_crowds", size, (pointer,)),
        ("plan_crowd", size, (pointer, size, pointer, pointer)),
        ("plan_proof_time", code, (pointer, integers)),
        ("plan_proof_window", code, (pointer, integers, integers)),
        ("plan_searches", size, (pointer, pointer, pointer)),
        ("plan_solver", text, (pointer,)),
        ("plan_work", number, (pointer,)),
        ("stop_create", code, (pointer,)),
        ("stop_pull", None, (pointer,)),
        ("stop_destroy", None, (pointer,)),
        ("judge", code, (pointer, integers, integers, ctypes.c_char_p, size)),
        ("judge_in", code, (pointer, sizes, integers, integers, ctypes.c_char_p, size)),
    ):
        function = getattr(library, f"memstow_{name}")
        function.restype = result
        function.argtypes = arguments
    return library


LIBRARY: Final = load()


def integers(values: Sequence[int]) -> "ctypes.Array[ctypes.c_int64]":
    """An array of 64-bit integers."""
    return (ctypes.c_int64 * len(values))(*values)


def numbers(values: Sequence[int]) -> "ctypes.Array[ctypes.c_size_t]":
    """An array of numbers of pools."""
    return (ctypes.c_size_t * len(values))(*values)


class Native:
    """A problem of the library."""

    def __init__(self, allocator: RawAllocator | None = None) -> None:
        self.handle = ctypes.c_void_p()
        self._allocator = allocator  # its functions are called as long as the problem is there
        where = None if allocator is None else ctypes.byref(allocator)
        code = LIBRARY.memstow_problem_create_in(where, ctypes.byref(self.handle))
        if code != OK:
            raise LibraryError(code, "")

    def __del__(self) -> None:
        LIBRARY.memstow_problem_destroy(self.handle)

    def call(self, name: str, *arguments: int) -> None:
        """A call that changes the problem; LibraryError where it fails."""
        self._check(getattr(LIBRARY, f"memstow_{name}")(self.handle, *arguments))

    def add(self, buffers: Sequence[tuple[int, int, int, int]]) -> None:
        """Buffers as size, begin, end and alignment."""
        columns = [integers([buffer[field] for buffer in buffers]) for field in range(4)]
        self._check(LIBRARY.memstow_add_buffers(self.handle, len(buffers), *columns))

    def add_pools(self, capacities: Sequence[int], costs: Sequence[int]) -> None:
        """Further pools."""
        self._check(
            LIBRARY.memstow_add_pools(self.handle, len(capacities), integers(capacities), integers(costs))
        )

    def allow(self, buffer: int, pools: Sequence[int]) -> None:
        """Where a buffer may be."""
        self._check(LIBRARY.memstow_allow_pools(self.handle, buffer, len(pools), numbers(pools)))

    def allow_banks(self, buffer: int, banks: Sequence[int]) -> None:
        """In which banks a buffer may be."""
        self._check(LIBRARY.memstow_allow_banks(self.handle, buffer, len(banks), numbers(banks)))

    def conflict(self, buffers: Sequence[int], cost: int | None) -> None:
        """Buffers that should share no bank, or must not."""
        paid = NEVER if cost is None else cost
        self._check(LIBRARY.memstow_add_bank_conflict(self.handle, len(buffers), numbers(buffers), paid))

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
        start_pools: Sequence[int] | None = None,
        stop: ctypes.c_void_p | None = None,
        on_better: Callable[[int, list[int]], bool] | None = None,
        on_bound: Callable[[int], bool] | None = None,
        on_better_in: Callable[[int, list[int], list[int]], bool] | None = None,
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
        if start_pools is not None:
            options.start_pools = numbers(start_pools)
        if stop is not None:
            options.stop = stop
        if on_better is not None:
            heard = on_better
            options.on_better = BETTER(lambda _, peak, places: int(not heard(peak, places[:count])))
        if on_bound is not None:
            bounded = on_bound
            options.on_bound = BOUND(lambda _, bound: int(not bounded(bound)))
        if on_better_in is not None:
            placed = on_better_in
            options.on_better_in = BETTER_IN(
                lambda _, peak, pools, places: int(not placed(peak, pools[:count], places[:count]))
            )
        options.message, options.message_size = ctypes.addressof(message), len(message)
        plan = ctypes.c_void_p()
        code = LIBRARY.memstow_solve(self.handle, ctypes.byref(options), ctypes.byref(plan))
        if code != OK:
            raise LibraryError(code, message.value.decode())
        try:
            places = LIBRARY.memstow_plan_offsets(plan)
            pools = LIBRARY.memstow_plan_pools(plan)
            members = ctypes.POINTER(ctypes.c_size_t)()
            named = LIBRARY.memstow_plan_proof_buffers(plan, ctypes.byref(members))
            return Solved(
                STATUSES[LIBRARY.memstow_plan_status(plan)],
                tuple(places[:count]) if places else None,
                tuple(pools[:count]) if pools else None,
                LIBRARY.memstow_plan_peak(plan),
                LIBRARY.memstow_plan_moves(plan),
                LIBRARY.memstow_plan_bound(plan),
                LIBRARY.memstow_plan_solver(plan).decode(),
                LIBRARY.memstow_plan_work(plan),
                tuple(members[:named]),
                LIBRARY.memstow_plan_proof(plan),
                tuple(_pools_of(plan, LIBRARY.memstow_pool_count(self.handle))),
                tuple(_terms_of(plan)),
                tuple(_crowds_of(plan)),
            )
        finally:
            LIBRARY.memstow_plan_destroy(plan)

    def judge(self, offsets: Sequence[int], pools: Sequence[int] | None = None) -> int:
        """The peak of offsets; LibraryError where the judge refuses them."""
        message = ctypes.create_string_buffer(200)
        peak = ctypes.c_int64()
        code = LIBRARY.memstow_judge_in(
            self.handle,
            None if pools is None else numbers(pools),
            integers(offsets),
            ctypes.byref(peak),
            message,
            len(message),
        )
        if code != OK:
            raise LibraryError(code, message.value.decode())
        return peak.value


def _pools_of(plan: ctypes.c_void_p, count: int) -> Iterator[SolvedPool]:
    peak, bound, time = ctypes.c_int64(), ctypes.c_int64(), ctypes.c_int64()
    members = ctypes.POINTER(ctypes.c_size_t)()
    for pool in range(count):
        if not LIBRARY.memstow_plan_pool(plan, pool, ctypes.byref(peak), ctypes.byref(bound)):
            return
        named = LIBRARY.memstow_plan_pool_proof(plan, pool, ctypes.byref(members))
        timed = LIBRARY.memstow_plan_pool_proof_time(plan, pool, ctypes.byref(time))
        yield SolvedPool(peak.value, bound.value, tuple(members[:named]), time.value if timed else None)


def _terms_of(plan: ctypes.c_void_p) -> Iterator[SolvedTerm]:
    term, proof, pool = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    value, bound, searches = ctypes.c_int64(), ctypes.c_int64(), ctypes.c_int64()
    out = (term, pool, value, bound, proof, searches)
    for index in range(LIBRARY.memstow_plan_terms(plan)):
        assert LIBRARY.memstow_plan_term(plan, index, *map(ctypes.byref, out)) == 1
        kind = TERMS[term.value]
        yield SolvedTerm(kind, pool.value, value.value, bound.value, proof.value, searches.value)


def _crowds_of(plan: ctypes.c_void_p) -> Iterator[tuple[tuple[int, ...], int]]:
    members, cost = ctypes.POINTER(ctypes.c_size_t)(), ctypes.c_int64()
    for index in range(LIBRARY.memstow_plan_crowds(plan)):
        named = LIBRARY.memstow_plan_crowd(plan, index, ctypes.byref(members), ctypes.byref(cost))
        yield tuple(members[:named]), cost.value


def native_of(problem: Problem) -> Native:
    """The same problem in the library; every buffer has a lifetime."""
    native = Native()
    _add_pools(problem, native)
    lives = [_lives_of(problem, number) for number in range(len(problem.buffers))]
    native.add(
        [(buffer.size, *lives[number][0], buffer.alignment) for number, buffer in enumerate(problem.buffers)]
    )
    for number, ranges in enumerate(lives):
        for begin, end in ranges[1:]:
            native.call("add_lifetime", number, begin, end)
    number_of = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
    pool_of = {pool.id: number for number, pool in enumerate(problem.pools)}
    for number, buffer in enumerate(problem.buffers):
        if buffer.offset is not None:
            native.call("pin", number, buffer.offset)
        if buffer.pool is not None or buffer.pools is not None:
            native.allow(number, [pool_of[name] for name in allowed_pools(problem, buffer)])
        if buffer.accesses is not None:
            native.call("set_accesses", number, buffer.accesses)
    for tie in problem.relative:
        native.call("tie", number_of[tie.buffer], number_of[tie.base], tie.offset)
    for one, other in problem.conflicts:
        native.call("keep_apart", number_of[one], number_of[other])
    for one, other in problem.exclusive:
        native.call("never_together", number_of[one], number_of[other])
    for pair in problem.in_place:
        native.call("allow_in_place", number_of[pair.input], number_of[pair.output])
    for cost in problem.reuse_costs:
        native.call("add_reuse_cost", *(number_of[name] for name in cost.buffers), cost.cost)
    _add_bank_rules(problem, native, number_of)
    for term in terms_of(problem):
        native.call("add_term", TERMS.index(term.kind), 0 if term.pool is None else pool_of[term.pool])
    return native


def _add_pools(problem: Problem, native: Native) -> None:
    first, *others = problem.pools
    native.call("set_capacity", end_of(first))
    native.call("set_cost", 0, first.cost)
    native.add_pools([end_of(pool) for pool in others], [pool.cost for pool in others])
    for number, pool in enumerate(problem.pools):
        native.call("set_addresses", number, pool.base or 0, pool.alignment)
        for reserved in pool.reserved:
            native.call("reserve_in", number, reserved.offset, reserved.size)
        for run in pool.banks:
            native.call("add_banks", number, run.offset, run.size, run.count)


def _add_bank_rules(problem: Problem, native: Native, number_of: dict[str, int]) -> None:
    for number, buffer in enumerate(problem.buffers):
        if buffer.within_bank:
            native.call("keep_within_bank", number)
        if buffer.banks is not None:
            native.allow_banks(number, sorted(set(buffer.banks)))
    for entry in problem.bank_conflicts:
        native.conflict([number_of[name] for name in entry.buffers], entry.cost)


def _lives_of(problem: Problem, number: int) -> Sequence[tuple[int, int]]:
    buffer = problem.buffers[number]
    if buffer.lifetime != ALWAYS:
        return spans(buffer)
    all_spans = [span for other in problem.buffers if other.lifetime != ALWAYS for span in spans(other)]
    least = min((begin for begin, _ in all_spans), default=0)
    return [(least, max((end for _, end in all_spans), default=1))]
