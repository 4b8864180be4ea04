"""A program's graph as it travels: operators, the tensors between them, and what may be chosen.

A graph becomes a problem when its operators have an order (`planner.graph`). These classes are the wire
schema, version 1; what the fields mean together is checked in `planner.graph`."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Annotated, Final, Literal, NamedTuple, SupportsIndex, get_args

from memstow.planner.model._instances import GraphColumns
from memstow.planner.model.model_class import WITHOUT_NUL, Field, model_class, shared_fields
from memstow.planner.model.problem import (
    Alignment,
    Bytes,
    Count,
    Document,
    Formula,
    Id,
    Pair,
    Pool,
    Referable,
    Size,
)
from memstow.records import Remembered

_BITS: Final = {
    "int2": 2,
    "uint2": 2,
    "int4": 4,
    "uint4": 4,
    "float4": 4,
    "bool": 8,
    "int8": 8,
    "uint8": 8,
    "float8": 8,
    "int16": 16,
    "uint16": 16,
    "float16": 16,
    "bfloat16": 16,
    "int32": 32,
    "uint32": 32,
    "float32": 32,
    "int64": 64,
    "uint64": 64,
    "float64": 64,
    "complex64": 64,
    "complex128": 128,
}
ElementType = Literal[
    "int2",
    "uint2",
    "int4",
    "uint4",
    "float4",
    "bool",
    "int8",
    "uint8",
    "float8",
    "int16",
    "uint16",
    "float16",
    "bfloat16",
    "int32",
    "uint32",
    "float32",
    "int64",
    "uint64",
    "float64",
    "complex64",
    "complex128",
]
TensorKind = Literal["data", "constant", "state", "external"]
Order = Literal["given", "free", "lpmf", "dfs"]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)
GIVEN: Final = "given"
FREE: Final = "free"

_Extent = Annotated[int, Field(strict=True, ge=1, le=1 << 31)]
_Margin = Annotated[int, Field(strict=True, ge=0, le=1 << 31)]
_Phase = Annotated[int, Field(strict=True, ge=0, le=1 << 62)]


@shared_fields
class AnyTensor:
    """What operators read and make."""

    __slots__ = ()

    id: Id
    size: Size | None
    shape: Annotated[tuple[Count | Formula, ...], Field(max_length=64)] | None
    type: ElementType | None = Field(default=None, description="Type of an element.")
    kind: TensorKind = Field(
        default="data",
        description="data; constant: weights, planned only where `pools` names a place; state: live always; "
        "external: lies elsewhere and is not planned.",
    )
    alignment: Alignment = Field(default=1, description="The address is a multiple of it.")
    pools: tuple[Id, ...] | None = Field(
        default=None, description="Allowed pools, preferred first; default: all, in order."
    )


@model_class
class Tensor(AnyTensor):
    """What operators read and make."""

    size: Bytes | None = Field(default=None, description="Bytes; default: as shape and type say.")
    shape: Annotated[tuple[Count, ...], Field(max_length=64)] | None = Field(
        default=None, description="Elements in each dimension; images are rows x columns x channels."
    )
    name: Annotated[str, Field(max_length=1024, pattern=WITHOUT_NUL)] | None = Field(
        default=None, description="What the program calls it: shown beside the id, and of no other meaning."
    )

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        size: "SupportsIndex | None" = None,
        shape: "Sequence[SupportsIndex] | None" = None,
        type: "ElementType | None" = None,  # noqa: A002
        kind: "TensorKind" = "data",
        alignment: "SupportsIndex" = 1,
        pools: "list[str] | tuple[str, ...] | None" = None,
        name: "str | None" = None,
    ) -> None: ...


@shared_fields
class AnyTemporary:
    """Memory that an operator needs only while it runs."""

    __slots__ = ()

    id: Id
    size: Size
    phases: tuple[_Phase, _Phase] | None = Field(
        default=None, description="Half-open range of the operator's phases; default: all of them."
    )
    alignment: Alignment = Field(default=1, description="The address is a multiple of it.")
    pools: tuple[Id, ...] | None = Field(
        default=None, description="Allowed pools, preferred first; default: all, in order."
    )


@model_class
class Temporary(AnyTemporary):
    """Memory that an operator needs only while it runs."""

    size: Bytes

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        size: "SupportsIndex",
        phases: "Sequence[SupportsIndex] | None" = None,
        alignment: "SupportsIndex" = 1,
        pools: "list[str] | tuple[str, ...] | None" = None,
    ) -> None: ...


@model_class
class Window:
    """The rows and columns of its first input that an element of its first output is made from."""

    kernel: tuple[_Extent, _Extent] = Field(description="Rows and columns.")
    stride: tuple[_Extent, _Extent] = (1, 1)
    padding: tuple[_Margin, _Margin, _Margin, _Margin] = Field(
        default=(0, 0, 0, 0), description="Top, left, bottom, right."
    )
    dilation: tuple[_Extent, _Extent] = (1, 1)

    def __init__(
        self,
        *,
        kernel: "Sequence[SupportsIndex]",
        stride: "Sequence[SupportsIndex]" = (1, 1),
        padding: "Sequence[SupportsIndex]" = (0, 0, 0, 0),
        dilation: "Sequence[SupportsIndex]" = (1, 1),
    ) -> None: ...


@shared_fields
class AnyOperator:
    """A step of the program: it reads its inputs and makes its outputs."""

    __slots__ = ()

    id: Id
    type: str | None = Field(default=None, max_length=1024, description="What it computes; not interpreted.")
    inputs: tuple[Id, ...] = ()
    outputs: tuple[Id, ...] = ()
    temporaries: tuple[AnyTemporary, ...] = ()
    in_place: tuple[Pair, ...] = Field(
        default=(), description="Pairs (input, output) where the output may overwrite the input."
    )


@model_class
class Operator(AnyOperator):
    """A step of the program: it reads its inputs and makes its outputs."""

    temporaries: tuple[Temporary, ...] = ()
    cost: Count | None = Field(default=None, description="Work of running it once, in any unit.")
    window: Window | None = None

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        type: "str | None" = None,  # noqa: A002
        inputs: "list[str] | tuple[str, ...]" = (),
        outputs: "list[str] | tuple[str, ...]" = (),
        temporaries: "Iterable[Temporary]" = (),
        in_place: "Iterable[tuple[str, str] | list[str]]" = (),
        cost: "SupportsIndex | None" = None,
        window: "Window | None" = None,
    ) -> None: ...


@model_class
class View:
    """A tensor that lies inside another, at a fixed distance from its begin."""

    tensor: Id
    of: Id
    offset: Bytes = Field(default=0, description="Bytes from the begin of `of` to the begin of `tensor`.")

    def __init__(self, *, tensor: "str", of: "str", offset: "SupportsIndex" = 0) -> None: ...


@model_class
class Alternative:
    """Operators that may take the place of others: stripes, tiles, computing again."""

    id: Id
    replaces: Annotated[tuple[Id, ...], Field(min_length=1)] = Field(
        description="Ids of the operators that go."
    )
    operators: tuple[Operator, ...] = Field(default=(), description="The operators that come.")
    tensors: tuple[Tensor, ...] = Field(default=(), description="Tensors that only these operators use.")
    cost: Count | None = Field(default=None, description="Work of all of its operators together.")

    def __init__(
        self,
        *,
        id: "str",  # noqa: A002
        replaces: "list[str] | tuple[str, ...]",
        operators: "Iterable[Operator]" = (),
        tensors: "Iterable[Tensor]" = (),
        cost: "SupportsIndex | None" = None,
    ) -> None: ...


@model_class
class Limits:
    """What may not be exceeded by choosing alternatives."""

    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None, description="The cost of all operators that run, as a multiple of the cost as given."
    )

    def __init__(self, *, cost: "float | None" = None) -> None: ...


@shared_fields
class AnyGraph:
    """Operators, the tensors between them, and the memories that these may go to."""

    __slots__ = ()

    pools: tuple[Pool, ...] = Field(
        default=(), description="As in a problem; empty: one unbounded pool called `memory`."
    )
    tensors: tuple[AnyTensor, ...]
    operators: tuple[AnyOperator, ...] = Field(description="In the order in which the program runs them.")
    inputs: tuple[Id, ...] = Field(
        default=(), description="Tensors that are there before the first operator."
    )
    outputs: tuple[Id, ...] = Field(default=(), description="Tensors that are kept after the last operator.")


@model_class
class Graph(Referable, AnyGraph, Document):
    """A program: operators, the tensors between them, and the memories that these may go to."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    before: tuple[Pair, ...] = Field(
        default=(), description="Pairs of operators: the first runs before the second."
    )
    views: tuple[View, ...] = ()
    order: Order = Field(
        default=GIVEN,
        description="given: operators run as listed; free: in any order that the graph allows, and the best "
        "is looked for; lpmf, dfs: the same, but in the order of this rule, to compare.",
    )
    alternatives: tuple[Alternative, ...] = ()
    objective: tuple[str, ...] | None = Field(
        default=None, description="As in a problem. Default: as for a problem with these pools."
    )
    limits: Limits | None = None

    def __init__(
        self,
        *,
        tensors: "Iterable[Tensor]",
        operators: "Iterable[Operator]",
        inputs: "list[str] | tuple[str, ...]" = (),
        outputs: "list[str] | tuple[str, ...]" = (),
        name: "str | None" = None,
        pools: "Iterable[Pool]" = (),
        before: "Iterable[tuple[str, str] | list[str]]" = (),
        views: "Iterable[View]" = (),
        order: "Order" = "given",
        alternatives: "Iterable[Alternative]" = (),
        objective: "list[str] | tuple[str, ...] | None" = None,
        limits: "Limits | None" = None,
        version: "SupportsIndex" = 1,
    ) -> None: ...

    def terms(self) -> tuple[str, ...]:
        """The objective in force."""
        if self.objective is not None:
            return self.objective
        return ("peak",) if len(self.pools) <= 1 else ("placement_cost", "peak")


def element_bits(element: ElementType) -> int:
    """The bits of an element; those of less than a byte are packed."""
    return _BITS[element]


def shape_bytes(tensor: Tensor) -> int | None:
    """The bytes of the tensor's elements, packed; None where shape or type is missing."""
    if tensor.shape is None or tensor.type is None:
        return None
    return -(-prod(tensor.shape) * element_bits(tensor.type) // 8)


def size_of(tensor: Tensor) -> int:
    """The bytes of the tensor: its size, else those of its elements; 0 where neither is known."""
    return tensor.size if tensor.size is not None else shape_bytes(tensor) or 0


def is_planned(tensor: Tensor) -> bool:
    """Whether the tensor is a buffer of the problem that a graph becomes."""
    return tensor.kind in ("data", "state") or (tensor.kind == "constant" and tensor.pools is not None)


def is_resident(tensor: Tensor) -> bool:
    """Whether the tensor is planned and always live, whatever the order of the operators."""
    return is_planned(tensor) and tensor.kind in ("state", "constant")


def names_in_views(graph: Graph) -> frozenset[str]:
    """The tensors that are views or have one."""
    return frozenset(name for view in graph.views for name in (view.tensor, view.of))


LONGEST_ID: Final = 1024
"""The most characters of an id."""


def free_id(wanted: str, taken: set[str]) -> str:
    """The id, with `#` behind it until no other has it; it is taken from then on.

    With so many signs it may be longer than an id can be (`LONGEST_ID`).
    """
    while wanted in taken:
        wanted += "#"
    taken.add(wanted)
    return wanted


def phase_count(operator: Operator) -> int:
    """The number of phases of an operator: at least one."""
    return (
        max(
            (temporary.phases[1] for temporary in operator.temporaries if temporary.phases is not None),
            default=1,
        )
        or 1
    )


class GraphIndex(NamedTuple):
    """What the ids of a graph stand for. Read-only: planner and judge use one and the same."""

    tensors: Mapping[str, Tensor]
    operators: Mapping[str, Operator]


@Remembered
def index_of(graph: Graph) -> GraphIndex:
    """The tensors and operators by id."""
    return GraphIndex(
        MappingProxyType({tensor.id: tensor for tensor in graph.tensors}),
        MappingProxyType({operator.id: operator for operator in graph.operators}),
    )


DATA: Final = ord("d")
STATE: Final = ord("s")
"""Kinds of tensors as columns have them."""


@Remembered
def columns_of(graph: Graph) -> GraphColumns:
    """Its tensors and operators by number. Read-only: planner and judge use one and the same."""
    return GraphColumns(graph)
