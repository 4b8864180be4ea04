"""Offsets for buffers that are given as arrays: no ids, no classes, an answer in microseconds.

In: sizes, begins, ends. Out: `Places`. One pool is placed by the native greedy and judged by a native judge,
which shares no code with it. Where that is not proven optimal and there is time, or where there are several
pools, the engine takes over.
"""

import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from math import inf
from operator import index
from typing import TYPE_CHECKING, Final, SupportsFloat, SupportsIndex, TypeAlias

from memstow.planner.judge._judge import Defect, check_columns, judge_places
from memstow.planner.model import LONGEST_RUN, PLANNED, Status
from memstow.planner.model.errors import InputError, RefusedPlanError
from memstow.planner.model.printable import as_integer, shown
from memstow.solvers import core

Integers: TypeAlias = Iterable[SupportsIndex]
"""Any sequence of integers; those that hold 64-bit integers in one block are read in place."""


def column(values: Integers, name: str) -> "array[int]":
    """The integers in one block: the object itself if it is one, else a copy.

    Whatever object it is, native code reads it like an array.
    """
    if isinstance(values, array) and values.typecode == "q":
        return values
    if _is_block(values):
        return values  # type: ignore[return-value]
    try:
        listed = values if isinstance(values, list | tuple) else list(values)
        if bool in map(type, listed):
            # Python takes them for 1 and 0: as a size that is a mistake, here as in a problem.
            raise TypeError("true and false are not integers")
        return array("q", listed)
    except (TypeError, NotImplementedError) as error:  # a view of two dimensions implements no iteration
        raise InputError.single("not_integers", name, f"must hold integers only: {error}") from None
    except OverflowError:
        message = "holds an integer beyond 2^63 - 1, or below -2^63; use a smaller unit"
        raise InputError.single("out_of_range", name, message) from None


def integer(value: SupportsIndex, name: str) -> int:
    """A single integer."""
    whole = as_integer(value)
    if whole is None:
        raise InputError.single("not_an_integer", name, f"expected an integer, given {shown(value)}")
    return whole


def _is_block(values: object) -> bool:
    """Whether native code can read it in place."""
    if isinstance(values, list | tuple):
        return False
    try:
        with memoryview(values) as view:  # type: ignore[arg-type]
            whole = view.format in ("q", "l") and view.itemsize == 8
            return whole and view.ndim == 1 and view.c_contiguous
    except (TypeError, BufferError, ValueError):
        return False


if TYPE_CHECKING:
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Pool, Problem

_NO_END: Final = 1 << 62
# Placements that greedy tries, by number of buffers: with few of them more passes cost nothing.
_FEW: Final = 256
_PASSES_OF_FEW: Final = 10
_PASSES: Final = 1
# What making a problem of the columns takes for each buffer, so that the engine is not begun too late.
_SECONDS_PER_BUFFER: Final = 50e-6


@dataclass(frozen=True, slots=True)
class Places:
    """Where every buffer is. Without a plan that fits there are no offsets."""

    status: Status
    offsets: "array[int]"
    """By buffer."""
    peak: int
    """The end of the last buffer, 0 without a plan; with several pools the sum over them."""
    bound: int
    """No layout has a lower peak."""
    pools: "array[int]"
    """By buffer, the number of its pool."""
    _make_plan: "Callable[[], Plan]" = field(repr=False, compare=False)

    def plan(self) -> "Plan":
        """The same as a plan, with certificates; buffers are called by their numbers, from "0".

        Without offsets greedy passes look once more, and say why there is no plan if they find none.
        """
        return self._make_plan()


@dataclass(frozen=True, slots=True)
class Arrays:
    """The arguments of `place`."""

    sizes: "array[int]"
    begins: "array[int]"
    ends: "array[int]"
    alignments: "array[int]"
    capacity: int

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def columns(self) -> "tuple[array[int], array[int], array[int], array[int]]":
        """Without the capacity, as native code takes them."""
        return self.sizes, self.begins, self.ends, self.alignments


def place(
    sizes: Integers,
    begins: Integers,
    ends: Integers,
    *,
    alignment: SupportsIndex | Integers = 1,
    capacity: SupportsIndex | None = None,
    pools: "Sequence[Pool] | None" = None,
    time_limit: float = 0.0,
    deterministic: bool = False,
) -> Places:
    """Places for buffers of these sizes, live from their begin up to, but not including, their end.

    With the default time limit only greedy placements are tried, which is the same every time. Otherwise
    solvers search for up to `time_limit` seconds, or by work where `deterministic`, if those are not proven
    optimal. `pools` takes the place of `capacity`.
    """
    began = time.monotonic()
    time_limit = _seconds_of(time_limit)
    arrays = _arrays(sizes, begins, ends, alignment, capacity)
    if pools is not None:
        if capacity is not None:
            message = "is given with `pools`; give the capacity of each pool there"
            raise InputError.single("capacity_and_pools", "capacity", message)
        return _searched(arrays, _pools_of(pools), time_limit, deterministic)
    places = _placed(arrays)
    left = time_limit - (time.monotonic() - began)
    searchable = places.status not in (Status.OPTIMAL, Status.INFEASIBLE) and time_limit > 0.0
    if not searchable or (not deterministic and left <= _SECONDS_PER_BUFFER * len(arrays)):
        return places
    searched = _searched(arrays, None, left, deterministic)
    is_better = searched.status in PLANNED and (places.status not in PLANNED or searched.peak <= places.peak)
    return searched if is_better or searched.status is Status.INFEASIBLE else places


def _seconds_of(value: object) -> float:
    """The time limit as a float, whatever kind of number it is."""
    if isinstance(value, bool | str | bytes | bytearray) or not isinstance(value, SupportsFloat):
        raise InputError.single("not_a_number", "time_limit", f"expected a number, given {shown(value)}")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = inf
    except (TypeError, ValueError, ArithmeticError):
        message = f"expected a number, given {shown(value)}"
        raise InputError.single("not_a_number", "time_limit", message) from None
    if not 0.0 <= seconds <= LONGEST_RUN:
        message = f"must be from 0 to {LONGEST_RUN:,.0f}; it is {shown(value)}"
        raise InputError.single("out_of_range", "time_limit", message)
    return seconds


def _pools_of(values: "Sequence[Pool]") -> "tuple[Pool, ...]":
    from memstow.planner.model.problem import Pool

    try:
        pools = tuple(values)
    except TypeError:
        pools = ()
    if not pools or not all(isinstance(pool, Pool) for pool in pools):
        wrong = next((entry for entry in pools if not isinstance(entry, Pool)), values)
        message = f"must hold one Pool or more, such as Pool(id='tcm', capacity=65536), given {shown(wrong)}"
        raise InputError.single("not_pools", "pools", message)
    return pools


def _arrays(
    sizes: Integers,
    begins: Integers,
    ends: Integers,
    alignment: SupportsIndex | Integers,
    capacity: SupportsIndex | None,
) -> Arrays:
    alignments, is_list = _alignments(alignment)
    arrays = Arrays(
        column(sizes, "sizes"),
        column(begins, "begins"),
        column(ends, "ends"),
        alignments,
        _NO_END if capacity is None else integer(capacity, "capacity"),
    )
    if is_list and len(alignments) == 1 != len(arrays):
        message = (
            f"is a list of one for {len(arrays):,} buffers; give a number for all, or one for each buffer"
        )
        raise InputError.single("lengths_differ", "alignment", message)
    if not 0 <= arrays.capacity <= _NO_END:
        message = f"must be from 0 to 2^62; it is {shown(arrays.capacity)}"
        raise InputError.single("out_of_range", "capacity", message)
    defect, buffer, _ = check_columns(*arrays.columns)
    if defect is not Defect.NONE:
        raise _invalid(arrays, defect, buffer)
    return arrays


def _alignments(alignment: SupportsIndex | Integers) -> "tuple[array[int], bool]":
    """The alignments, and whether each buffer is given its own."""
    try:
        # An array of NumPy has `__index__` as well: only calling it tells.
        one = alignment if isinstance(alignment, bool) else index(alignment)  # type: ignore[arg-type]
    except TypeError:
        # What is neither an integer nor holds any is refused like a list of it.
        many = alignment if isinstance(alignment, Iterable) else [alignment]
        return column(many, "alignment"), True
    return column([one], "alignment"), False


def _invalid(arrays: Arrays, defect: Defect, buffer: int) -> InputError:
    """The error of a column that is no problem."""
    match defect:
        case Defect.SIZE:
            what = f"must be from 0 to 2^62; it is {arrays.sizes[buffer]:,}"
            return InputError.single("out_of_range", f"sizes[{buffer}]", what)
        case Defect.ALIGNMENT:
            what = f"must be from 1 to 2^62; it is {arrays.alignments[buffer]:,}"
            return InputError.single("out_of_range", f"alignment[{buffer}]", what)
        case Defect.LIFETIME:
            begin, end = arrays.begins[buffer], arrays.ends[buffer]
            what = f"[{begin:,}, {end:,}) holds no moment; a buffer ends after it begins"
            return InputError.single("empty_lifetime", f"ends[{buffer}]", what)
    lengths = (len(arrays.sizes), len(arrays.begins), len(arrays.ends), len(arrays.alignments))
    message = "sizes, begins and ends must be equally long, and alignment a number or as long; they have "
    return InputError.single("lengths_differ", "sizes", message + ", ".join(map(str, lengths)))


def _placed(arrays: Arrays) -> Places:
    """The places of the native greedy, judged."""
    columns, count = arrays.columns, len(arrays)
    placements = count * (_PASSES_OF_FEW if count <= _FEW else _PASSES)
    offsets = array("q")
    offsets.frombytes(core.place_columns(*columns, placements))
    (defect, first, second), peak, bound = judge_places(*columns, offsets, _NO_END)
    # Greedy leaves out what has no place below 2^62, or puts it above.
    complete = defect is not Defect.PLACE
    if complete and defect is not Defect.NONE:
        message = f"{defect.name.lower()} of buffers {first} and {second}"
        raise RefusedPlanError(f"the places of greedy were refused; please report it: {message}")
    if complete and peak <= arrays.capacity:
        status = Status.OPTIMAL if peak == bound else Status.FEASIBLE
    else:
        status = Status.INFEASIBLE if bound > arrays.capacity else Status.UNKNOWN
        offsets, peak = array("q"), 0

    return Places(
        status,
        offsets,
        peak,
        bound,
        array("q", bytes(8 * len(offsets))),
        lambda: _plan_of_offsets(problem_of(arrays, None), offsets),
    )


def problem_of(arrays: Arrays, pools: "Sequence[Pool] | None") -> "Problem":
    """The problem of valid arrays; a buffer's id is its number."""
    from memstow.planner.model.problem import Buffer, Pool, Problem

    rows = zip(arrays.sizes, arrays.begins, arrays.ends, cycle(arrays.alignments), strict=False)
    buffers = tuple(
        Buffer(id=str(number), size=int(size), lifetime=(int(begin), int(end)), alignment=int(alignment))
        for number, (size, begin, end, alignment) in enumerate(rows)
    )
    if pools is None:
        pools = (Pool(id="memory", capacity=None if arrays.capacity == _NO_END else arrays.capacity),)
    return Problem(buffers=buffers, pools=tuple(pools))


def _plan_of_offsets(problem: "Problem", offsets: "array[int]") -> "Plan":
    """The plan with these offsets; without offsets the engine says why there is none."""
    from memstow.planner.model.options import Options
    from memstow.planner.model.plan import make_placement
    from memstow.planner.solve.one_run import NO_TIME
    from memstow.planner.solve.problem_plans import assembled

    if not offsets:
        return _plan_by_engine(problem, 0.0, deterministic=False)
    pool = problem.pools[0].id
    places = zip(problem.buffers, offsets, strict=True)
    placements = tuple(make_placement(buffer.id, pool, int(offset)) for buffer, offset in places)
    try:
        return assembled(problem, Options(deterministic=True), placements, "greedy", None, NO_TIME)
    except RefusedPlanError:
        # The offsets were judged when they were found, and arrays of the caller are read in place.
        message = "the arrays are no longer those that were placed; ask for the plan before they change"
        raise InputError.single("arrays_changed", "sizes", message) from None


def _plan_by_engine(problem: "Problem", time_limit: float, deterministic: bool) -> "Plan":
    """The engine's plan; without time the greedy one, which is the same every time."""
    from memstow.planner.model.options import Options
    from memstow.planner.solve.engine import plan

    if deterministic:
        return plan(problem, Options(deterministic=True))
    if time_limit <= 0.0:
        return plan(problem, Options(solver="greedy", deterministic=True))
    return plan(problem, Options(time_limit=time_limit))


def _searched(
    arrays: Arrays, pools: "Sequence[Pool] | None", time_limit: float, deterministic: bool
) -> Places:
    """The places that the engine finds."""
    problem = problem_of(arrays, pools)
    plan = _plan_by_engine(problem, time_limit, deterministic)
    number_of = {pool.id: number for number, pool in enumerate(problem.pools)}
    return Places(
        status=plan.status,
        offsets=array("q", (placement.offset for placement in plan.placements)),
        peak=sum(use.peak for use in plan.pools),
        bound=_bound_of(plan, pools is None),
        pools=array("q", (number_of[placement.pool] for placement in plan.placements)),
        _make_plan=lambda: plan,
    )


def _bound_of(plan: "Plan", one_pool: bool) -> int:
    """The bound on the peak; with several pools that of the term `peak` holds at the least cost only."""
    if one_pool and plan.objective:
        return plan.objective[0].bound
    return sum(use.bound for use in plan.pools)
