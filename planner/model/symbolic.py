"""Problems and graphs whose sizes are formulas of symbols, and plans, which lay out every value of them.

The fields have the meaning of those of `Problem`, `Plan` and `Graph`; what is new is said here.
docs/shapes.md explains how a plan of orders becomes offsets.

The identity of a symbolic problem is the SHA-256, in lower-case hex, of its canonical form, which is made
of lines like that of an ordinary problem (planner/model/digest.py):

1. `memstow-symbolic 1`
2. For each symbol, in the order of the ids: `symbol`, id, min, max, step.
3. `aim` and the aim.
4. For each point, in order: `point`, the values in the order of the ids of the symbols, and the weight (1
   unless the aim is `sum`). Where the problem has no points, those that the values of its symbols make.
5. For each buffer whose size is a formula, in the order of the ids: `size`, id, the formula without blanks.
6. The canonical form of the ordinary problem in which each formula is 0.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from math import prod
from operator import attrgetter
from typing import Annotated, Final, Literal, SupportsIndex, TypeVar

from memstow.planner.model import Status
from memstow.planner.model.digest import canonical_with, counted, sha256_of
from memstow.planner.model.graph import (
    AnyGraph,
    AnyOperator,
    AnyTemporary,
    AnyTensor,
    ElementType,
    Graph,
    Operator,
    Temporary,
    Tensor,
    TensorKind,
    View,
    element_bits,
)
from memstow.planner.model.model_class import (
    NAME,
    Field,
    fields_of,
    instances_of,
    model_class,
    shared_fields,
)
from memstow.planner.model.plan import Cut, Explanation, Placement, RefutedOrders, Schedule
from memstow.planner.model.problem import (
    LIMIT,
    ONE_MEMORY,
    RARE_FIELDS,
    AnyBuffer,
    AnyProblem,
    Buffer,
    Count,
    Document,
    Formula,
    Id,
    InPlace,
    Pinned,
    Pool,
    Problem,
    Referable,
    Relative,
    Size,
    Version,
)
from memstow.records import Remembered, collector_at_rest

MOST_SYMBOLS: Final = 16
MOST_POINTS: Final = 64
"""Values at which a plan is made as good as possible."""
MOST_ORDERS: Final = 16
DEFAULT_ORDERS: Final = 2
"""Of a plan in pieces."""

SymbolName = Annotated[str, Field(strict=True, pattern=NAME, max_length=64)]
Value = Annotated[int, Field(strict=True, ge=-LIMIT, le=LIMIT)]
Weight = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Shapes = Literal["fixed", "order", "pieces"]
Aim = Literal["worst", "sum", "first"]
OperatorOrder = Literal["given", "free"]

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
class SymbolicBuffer(Pinned, AnyBuffer):
    """A buffer whose size is a number of bytes or a formula."""

    size: Size = Field(
        description="Bytes, or a formula: whole numbers, symbols, + - * // %, parentheses, ceil_div(a, b), "
        "align(a, b), min(...), max(...)."
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


@shared_fields
class Symbols:
    """The symbols of formulas, and the values of them at which a plan must be good."""

    __slots__ = ()

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


@model_class
class SymbolicProblem(Referable, AnyProblem, Symbols, Document):
    """Buffers whose sizes are formulas, pools, what must hold between them, and where a plan must be good."""

    version: Version = 1
    buffers: tuple[SymbolicBuffer, ...]
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
        pools: "Iterable[Pool]" = ONE_MEMORY,
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
        description="No layout made for this value alone has less; of a graph, in the order of the plan."
    )
    bound: Annotated[int, Field(strict=True, ge=0)] | None = Field(
        default=None,
        description="Of a graph: no layout made for this value alone has less, in whatever order the "
        "operators run.",
    )
    certificate: Annotated[Cut | RefutedOrders, Field(discriminator="kind")] | None = Field(
        default=None, description="Why each order needs as much as `bound` says."
    )

    def __init__(
        self,
        *,
        at: "Mapping[str, int]",
        peak: "SupportsIndex",
        least: "SupportsIndex",
        bound: "SupportsIndex | None" = None,
        certificate: "Cut | RefutedOrders | None" = None,
    ) -> None: ...


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
    schedule: Schedule | None = Field(
        default=None, description="Of a graph: the order in which its operators run, at every value."
    )
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
        schedule: "Schedule | None" = None,
        solver: "str | None" = None,
        prover: "str | None" = None,
        seconds: "float" = 0.0,
        work: "SupportsIndex" = 0,
        digest: "str | None" = None,
        version: "str | None" = None,
    ) -> None: ...


def values_of(symbol: Symbol) -> tuple[int, ...]:
    """The values of the symbol that matter: those given, or its ends and the powers of two between."""
    return symbol.values or tuple(sorted({symbol.min, symbol.max, *_powers(symbol)}))


def count_of(symbol: Symbol) -> int:
    """How many values the symbol takes."""
    return (symbol.max - symbol.min) // symbol.step + 1


def takes(symbol: Symbol, value: int) -> bool:
    """Whether the symbol takes this value."""
    return symbol.min <= value <= symbol.max and (value - symbol.min) % symbol.step == 0


def combination_count(problem: Symbols) -> int:
    """How many combinations the symbols' values have."""
    return prod(len(values_of(symbol)) for symbol in problem.symbols)


def points_of(problem: Symbols) -> tuple[Point, ...]:
    """The points of the problem, or the combinations of its symbols' values; it has to be valid."""
    if problem.points:
        return problem.points
    names = [symbol.id for symbol in problem.symbols]
    rows = product(*(values_of(symbol) for symbol in problem.symbols))
    return tuple(Point(at=dict(zip(names, row, strict=True))) for row in rows)


def unused_pieces(shapes: Shapes) -> str:
    """What is wrong with a number of orders for a plan that does not consist of several."""
    return (
        f"it is how many orders a plan of `pieces` may have, and this asks for `{shapes}`; leave it out, or "
        "ask for shapes=pieces"
    )


def _powers(symbol: Symbol) -> Iterator[int]:
    power = 1
    while power <= symbol.max:
        if takes(symbol, power):
            yield power
        power *= 2


_COPIED: Final = tuple(name for name in fields_of(SymbolicBuffer) if name != "size")
_LEFT_OUT: Final = dict.fromkeys(name for name in fields_of(Buffer) if name not in fields_of(SymbolicBuffer))
"""What only a buffer has whose size is a number: none of it means nothing."""
_RARE: Final = [name for name in RARE_FIELDS if name not in _LEFT_OUT]
_P = TypeVar("_P")


def _plainly(kind: type[_P], symbolic: object, **changes: object) -> _P:
    """The same where sizes are numbers: what both kinds have, with these fields instead."""
    ours = {name: getattr(symbolic, name) for name in fields_of(kind) if hasattr(symbolic, name)}
    return kind(**{**ours, **changes})


def with_sizes(problem: SymbolicProblem, sizes: Sequence[int]) -> Problem:
    """The ordinary problem whose buffers have these sizes."""
    return _plainly(Problem, problem, buffers=_buffers(problem.buffers, sizes))


def graph_with_sizes(graph: "SymbolicGraph", sizes: Mapping[str, int]) -> Graph:
    """The ordinary graph whose tensors and temporaries have these sizes, by id; others have no bytes."""

    def operator(symbolic: SymbolicOperator) -> Operator:
        temporaries = [
            _plainly(Temporary, temporary, size=sizes.get(temporary.id, 0))
            for temporary in symbolic.temporaries
        ]
        return _plainly(Operator, symbolic, temporaries=temporaries)

    return _plainly(
        Graph,
        graph,
        # A size is enough: shapes may be formulas.
        tensors=[
            _plainly(Tensor, tensor, size=sizes.get(tensor.id, 0), shape=None, type=None)
            for tensor in graph.tensors
        ],
        operators=list(map(operator, graph.operators)),
    )


def _buffers(buffers: Sequence[SymbolicBuffer], sizes: Sequence[int]) -> tuple[Buffer, ...]:
    """Buffers of these sizes, made without checks, which would take most of the time: all else is checked."""
    if len(sizes) != len(buffers) or not all(type(size) is int and 0 <= size <= LIMIT for size in sizes):
        raise ValueError("sizes are whole numbers from 0 to 2^62, one for each buffer")
    with collector_at_rest():
        copied = {name: list(map(attrgetter(name), buffers)) for name in _COPIED}
        return instances_of(Buffer, len(buffers), size=list(sizes), **copied, **_LEFT_OUT)


@Remembered
def digest_symbolic(problem: SymbolicProblem) -> str:
    """SHA-256 of the canonical form, in hex; the problem has to be valid."""
    return sha256_of(canonical_symbolic(problem)).hexdigest()


def canonical_symbolic(problem: SymbolicProblem) -> bytes:
    """The canonical form itself, for those who compare or debug."""
    head = head_of_canonical(problem) + "".join(f"{line}\n" for line in _lines_of_sizes(problem))
    rest = canonical_with(_plainly(Problem, problem, buffers=()), problem.buffers, _without_formula, _RARE)
    return head.encode("utf-8", "surrogatepass") + rest


def _without_formula(buffer: SymbolicBuffer) -> Buffer:
    return _buffers([buffer], [0 if isinstance(buffer.size, str) else buffer.size])[0]


def head_of_canonical(problem: SymbolicProblem) -> str:
    """Its lines before those of buffers."""
    symbols = sorted(problem.symbols, key=lambda symbol: symbol.id)
    lines = [f"symbol {counted(symbol.id)} {symbol.min} {symbol.max} {symbol.step}" for symbol in symbols]
    lines.append(f"aim {problem.aim}")
    for point in points_of(problem):
        values = " ".join(str(point.at[symbol.id]) for symbol in symbols)
        lines.append(f"point {values} {point.weight if problem.aim == 'sum' else 1}")
    return "\n".join(("memstow-symbolic 1", *lines, ""))


def _lines_of_sizes(problem: SymbolicProblem) -> Iterator[str]:
    formulas = {buffer.id: buffer.size for buffer in problem.buffers if isinstance(buffer.size, str)}
    written = {text: counted("".join(text.split())) for text in set(formulas.values())}
    for name in sorted(formulas):
        yield f"size {counted(name)} {written[formulas[name]]}"


@model_class
class SymbolicTensor(AnyTensor):
    """A tensor whose size or shape may be formulas."""

    size: Size | None = Field(
        default=None, description="Bytes, or a formula; default: as shape and type say."
    )
    shape: Annotated[tuple[Count | Formula, ...], Field(max_length=64)] | None = Field(
        default=None, description="Elements in each dimension: numbers or formulas."
    )

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        size: "SupportsIndex | str | None" = None,
        shape: "Sequence[SupportsIndex | str] | None" = None,
        type: "ElementType | None" = None,  # noqa: A002
        kind: "TensorKind" = "data",
        alignment: "SupportsIndex" = 1,
        pools: "list[str] | tuple[str, ...] | None" = None,
    ) -> None: ...


@model_class
class SymbolicTemporary(AnyTemporary):
    """Memory that an operator needs only while it runs; its size may be a formula."""

    size: Size = Field(description="Bytes, or a formula.")

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        size: "SupportsIndex | str",
        phases: "Sequence[SupportsIndex] | None" = None,
        alignment: "SupportsIndex" = 1,
        pools: "list[str] | tuple[str, ...] | None" = None,
    ) -> None: ...


@model_class
class SymbolicOperator(AnyOperator):
    """A step of the program: it reads its inputs and makes its outputs."""

    temporaries: tuple[SymbolicTemporary, ...] = ()

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        type: "str | None" = None,  # noqa: A002
        inputs: "list[str] | tuple[str, ...]" = (),
        outputs: "list[str] | tuple[str, ...]" = (),
        temporaries: "Iterable[SymbolicTemporary]" = (),
        in_place: "Iterable[tuple[str, str] | list[str]]" = (),
    ) -> None: ...


@model_class
class SymbolicGraph(Referable, AnyGraph, Symbols, Document):
    """A program whose sizes are formulas: operators, and the tensors between them."""

    version: Version = 1
    tensors: tuple[SymbolicTensor, ...]
    operators: tuple[SymbolicOperator, ...]
    views: tuple[View, ...] = ()
    order: OperatorOrder = Field(
        default="given",
        description="given: operators run as listed; free: in any order that the graph allows, one for all "
        "values, and the best is looked for.",
    )
    objective: Annotated[tuple[str, ...], Field(min_length=1, max_length=1)] = Field(
        default=("peak",), description="What is the peak: peak, peak:POOL or max_peak."
    )

    def __init__(
        self,
        *,
        symbols: "Iterable[Symbol]",
        tensors: "Iterable[SymbolicTensor]",
        operators: "Iterable[SymbolicOperator]",
        inputs: "list[str] | tuple[str, ...]" = (),
        outputs: "list[str] | tuple[str, ...]" = (),
        points: "Iterable[Point]" = (),
        aim: "Aim" = "worst",
        name: "str | None" = None,
        pools: "Iterable[Pool]" = (),
        views: "Iterable[View]" = (),
        order: "OperatorOrder" = "given",
        objective: "list[str] | tuple[str, ...]" = ("peak",),
        version: "SupportsIndex" = 1,
    ) -> None: ...


SymbolicDocument = SymbolicProblem | SymbolicGraph
"""What a symbolic plan is of."""


_NUMBER: Final = re.compile(r"\s*[0-9]+\s*")
_NAME: Final = re.compile(NAME)
_CALLED: Final = re.compile(r"[a-z_]+\(")


def shape_size(tensor: SymbolicTensor) -> int | str | None:
    """The bytes of the tensor's elements, packed; None where shape or type is missing."""
    if tensor.shape is None or tensor.type is None:
        return None
    bits = element_bits(tensor.type)
    number, is_packed = (bits // 8, False) if bits % 8 == 0 else (bits, True)
    extents: list[str] = []
    for extent in tensor.shape:
        if isinstance(extent, int) or _NUMBER.fullmatch(extent):
            number *= int(extent)
        else:
            extents.append(extent)
    if not extents:
        return -(-number // 8) if is_packed else number
    if number == 1 and len(extents) == 1:
        (total,) = extents
    else:
        total = "*".join([*([str(number)] if number != 1 else []), *map(_as_factor, extents)])
    return f"ceil_div({total}, 8)" if is_packed else total


def _as_factor(extent: str) -> str:
    """The formula as it may stand in a product: a name or a call needs no parentheses."""
    if _NAME.fullmatch(extent):
        return extent
    if _CALLED.match(extent):
        depth = list(accumulate((sign == "(") - (sign == ")") for sign in extent))
        # Outside of parentheses are the name and the last of all signs.
        if depth[-1] == 0 and depth.count(0) == extent.index("(") + 1:
            return extent
    return f"({extent})"


def size_formula(tensor: SymbolicTensor) -> int | str | None:
    """The bytes of the tensor: its size, else those of its elements; None where neither is known."""
    return tensor.size if tensor.size is not None else shape_size(tensor)
