"""A problem whose sizes are formulas of symbols, and its plan, which lays out every value of them.

The fields have the meaning of those of `Problem` and `Plan`; what is new is said here. docs/shapes.md
explains how a plan of orders becomes offsets.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, SupportsIndex

from memstow.planner.model.fields import Field
from memstow.planner.model.model_class import model_class
from memstow.planner.model.plan import Explanation, Placement, Status
from memstow.planner.model.problem import (
    DEFAULT_POOL,
    LIMIT,
    Alignment,
    Bytes,
    Count,
    Id,
    InPlace,
    Interval,
    Pair,
    Pool,
    Referable,
    Relative,
)

MOST_SYMBOLS: Final = 16
MOST_POINTS: Final = 64
"""Values at which a plan is made as good as possible."""
LONGEST_FORMULA: Final = 2_000
MOST_ORDERS: Final = 16

SymbolName = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
Value = Annotated[int, Field(strict=True, ge=-LIMIT, le=LIMIT)]
Formula = Annotated[str, Field(strict=True, min_length=1, max_length=LONGEST_FORMULA)]
Weight = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Shapes = Literal["fixed", "order", "pieces"]
Aim = Literal["worst", "sum", "first"]

SHAPES: Final[tuple[Shapes, ...]] = ("fixed", "order", "pieces")


@model_class
class Symbol:
    """A whole number that is known only at run time."""

    id: SymbolName
    min: Value = Field(description="The least value that it takes.")
    max: Value = Field(description="The largest value that it takes.")
    step: Annotated[int, Field(strict=True, ge=1, le=LIMIT)] = Field(
        default=1, description="It takes min, min + step, and so on, up to max."
    )
    values: tuple[Value, ...] = Field(
        default=(),
        description="Values that matter; those of several symbols are combined. Default: min, max and powers "
        "of two between.",
    )

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        min: "SupportsIndex",  # noqa: A002
        max: "SupportsIndex",  # noqa: A002
        step: "SupportsIndex" = 1,
        values: "Iterable[SupportsIndex]" = (),
    ) -> None: ...


@model_class
class Point:
    """A value of every symbol."""

    at: dict[SymbolName, Value] = Field(description="The value of each symbol.")
    weight: Weight = Field(default=1, description="How much it counts where the aim is `sum`.")

    def __init__(self, *, at: "Mapping[str, int]", weight: "SupportsIndex" = 1) -> None: ...


@model_class
class SymbolicBuffer:
    """A buffer whose size is a number of bytes or a formula."""

    id: Id
    size: Bytes | Formula = Field(
        description="Bytes, or a formula: whole numbers, symbols, + - * // %, parentheses, ceil_div(a, b), "
        "align(a, b), min(...), max(...)."
    )
    lifetime: Interval | Literal["always"] | None = Field(
        default=None, description='Half-open [begin, end) in any unit of time, or "always".'
    )
    lifetimes: tuple[Interval, ...] | None = Field(
        default=None, description="Several half-open live ranges, instead of `lifetime`."
    )
    alignment: Alignment = Field(
        default=1, description="The effective alignment is the least common multiple with the pool's."
    )
    pools: tuple[Id, ...] | None = Field(default=None, description="Allowed pools; default: all.")
    pool: Id | None = Field(default=None, description="Pin: the pool it must be in.")
    offset: Bytes | None = Field(default=None, description="Pin: the offset it must have; needs `pool`.")
    group: Id | None = Field(
        default=None,
        description="The operator, layer or module that it belongs to: a label, which no plan depends on.",
    )

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        size: "SupportsIndex | str",
        lifetime: "Sequence[SupportsIndex] | Literal['always'] | None" = None,
        lifetimes: "Iterable[Sequence[SupportsIndex]] | None" = None,
        alignment: "SupportsIndex" = 1,
        pools: "list[str] | tuple[str, ...] | None" = None,
        pool: "str | None" = None,
        offset: "SupportsIndex | None" = None,
        group: "str | None" = None,
    ) -> None: ...


_ONE_MEMORY: Final = (Pool(id=DEFAULT_POOL),)


@model_class
class SymbolicProblem(Referable):
    """Buffers whose sizes are formulas, pools, what must hold between them, and where a plan must be good."""

    version: Annotated[int, Field(strict=True, ge=1, le=1)] = Field(
        default=1, description="Version of this schema."
    )
    name: str | None = Field(default=None, max_length=1024)
    symbols: Annotated[tuple[Symbol, ...], Field(min_length=1, max_length=MOST_SYMBOLS)]
    points: Annotated[tuple[Point, ...], Field(max_length=MOST_POINTS)] = Field(
        default=(), description="Values that matter, the main one first. Default: the symbols' `values`."
    )
    aim: Aim = Field(
        default="worst",
        description="What is made small: the largest ratio of a point's peak to the least possible (worst), "
        "the weighted sum of the peaks (sum), or the ratio at the first point and then the largest of the "
        "others (first).",
    )
    pools: Annotated[tuple[Pool, ...], Field(min_length=1)] = Field(
        default=_ONE_MEMORY, description="Default: one unbounded pool called `memory`."
    )
    buffers: tuple[SymbolicBuffer, ...]
    conflicts: tuple[Pair, ...] = Field(
        default=(), description="Pairs that may not overlap in memory, whatever their lifetimes."
    )
    exclusive: tuple[Pair, ...] = Field(
        default=(), description="Pairs that are never live together, whatever their lifetimes say."
    )
    relative: tuple[Relative, ...] = ()
    in_place: tuple[InPlace, ...] = ()
    objective: Annotated[tuple[str, ...], Field(min_length=1, max_length=1)] = Field(
        default=("peak",), description="What is the peak: peak, peak:POOL or max_peak."
    )

    def __init__(
        self,
        *,
        symbols: "Iterable[Symbol]",
        buffers: "Iterable[SymbolicBuffer]",
        points: "Iterable[Point]" = (),
        aim: "Aim" = "worst",
        pools: "Iterable[Pool]" = _ONE_MEMORY,
        name: "str | None" = None,
        conflicts: "Iterable[tuple[str, str] | list[str]]" = (),
        exclusive: "Iterable[tuple[str, str] | list[str]]" = (),
        relative: "Iterable[Relative]" = (),
        in_place: "Iterable[InPlace]" = (),
        objective: "list[str] | tuple[str, ...]" = ("peak",),
        version: "SupportsIndex" = 1,
    ) -> None: ...


@model_class
class OrderedPlacement:
    """Where a buffer is: above others."""

    buffer: Id
    pool: Id
    above: tuple[Id, ...] = Field(
        default=(), description="It begins at or after the end of each of these, at every value."
    )
    shares: Id | None = Field(
        default=None, description="Of a pair in place: it begins where this one begins, at every value."
    )
    empty: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="It has no bytes at any value, so `relative` does not hold it."
    )

    def __init__(
        self,
        *,
        buffer: "str",
        pool: "str",
        above: "Iterable[str]" = (),
        shares: "str | None" = None,
        empty: "bool" = False,
    ) -> None: ...


@model_class
class Order:
    """Which buffer is above which: offsets follow from the sizes."""

    placements: tuple[OrderedPlacement, ...]

    def __init__(self, *, placements: "Iterable[OrderedPlacement]") -> None: ...


@model_class
class PointPeak:
    """What the plan needs at one value."""

    at: dict[SymbolName, Value]
    peak: Annotated[int, Field(strict=True, ge=0)] = Field(description="The objective at this value.")
    least: Annotated[int, Field(strict=True, ge=0)] = Field(
        description="No layout made for this value alone has less."
    )

    def __init__(self, *, at: "Mapping[str, int]", peak: "SupportsIndex", least: "SupportsIndex") -> None: ...


@model_class
class SymbolicPlan:
    """The answer to a symbolic problem."""

    status: Status
    shapes: Shapes = Field(description="What the plan consists of.")
    placements: tuple[Placement, ...] = Field(default=(), description="Of `fixed`: offsets for every value.")
    orders: Annotated[tuple[Order, ...], Field(max_length=MOST_ORDERS)] = Field(
        default=(),
        description="Of `order` one, of `pieces` several: at each value the one with the least peak is used, "
        "the first of equals.",
    )
    points: tuple[PointPeak, ...] = Field(default=(), description="What it needs at the points.")
    worst: Annotated[float, Field(strict=True, ge=1)] | None = Field(
        default=None, description="The largest ratio of peak to least at a point."
    )
    bound: Annotated[float, Field(strict=True, ge=1)] | None = Field(
        default=None, description="No plan of this kind has a smaller largest ratio to these least peaks."
    )
    explanation: Explanation | None = Field(default=None, description="Why nothing fits.")
    solver: str | None = Field(default=None, description="Who found the plan.")
    prover: str | None = Field(default=None, description="Who proved the bound.")
    seconds: Annotated[float, Field(strict=True, ge=0)] = 0.0
    work: Count = Field(default=0, description="Steps of work, the same on every machine.")
    digest: str | None = Field(default=None, description="SHA-256 of the canonical problem.")
    version: str | None = Field(default=None, description="Version of memstow.")

    def __init__(
        self,
        *,
        status: "Status",
        shapes: "Shapes",
        placements: "Iterable[Placement]" = (),
        orders: "Iterable[Order]" = (),
        points: "Iterable[PointPeak]" = (),
        worst: "float | None" = None,
        bound: "float | None" = None,
        explanation: "Explanation | None" = None,
        solver: "str | None" = None,
        prover: "str | None" = None,
        seconds: "float" = 0.0,
        work: "SupportsIndex" = 0,
        digest: "str | None" = None,
        version: "str | None" = None,
    ) -> None: ...
