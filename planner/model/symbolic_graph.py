"""A graph in which sizes and shapes are formulas of symbols: it becomes a symbolic problem.

The fields have the meaning of those of `Graph`. Its operators run as they are listed.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, SupportsIndex

from memstow.planner.model.fields import Field
from memstow.planner.model.graph import ElementType, TensorKind, View
from memstow.planner.model.model_class import model_class
from memstow.planner.model.problem import Alignment, Bytes, Count, Id, Pair, Pool
from memstow.planner.model.symbolic import (
    MOST_POINTS,
    MOST_SYMBOLS,
    Aim,
    Formula,
    Point,
    Symbol,
)

_Phase = Annotated[int, Field(strict=True, ge=0, le=1 << 62)]


@model_class
class SymbolicTensor:
    """A tensor whose size or shape may be formulas."""

    id: Id
    size: Bytes | Formula | None = Field(
        default=None, description="Bytes, or a formula; default: as shape and type say."
    )
    shape: Annotated[tuple[Count | Formula, ...], Field(max_length=64)] | None = Field(
        default=None, description="Elements in each dimension: numbers or formulas."
    )
    type: ElementType | None = Field(default=None, description="Type of an element.")
    kind: TensorKind = Field(
        default="data",
        description="data; constant: weights, planned only where `pools` names a place; state: live always; "
        "external: lies elsewhere and is not planned.",
    )
    alignment: Alignment = Field(default=1, description="The address is a multiple of it.")
    pools: tuple[Id, ...] | None = Field(default=None, description="Allowed pools; default: all.")

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
class SymbolicTemporary:
    """Memory that an operator needs only while it runs; its size may be a formula."""

    id: Id
    size: Bytes | Formula = Field(description="Bytes, or a formula.")
    phases: tuple[_Phase, _Phase] | None = Field(
        default=None, description="Half-open range of the operator's phases; default: all of them."
    )
    alignment: Alignment = Field(default=1, description="The address is a multiple of it.")
    pools: tuple[Id, ...] | None = Field(default=None, description="Allowed pools; default: all.")

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
class SymbolicOperator:
    """A step of the program: it reads its inputs and makes its outputs."""

    id: Id
    type: str | None = Field(default=None, max_length=1024, description="What it computes; not interpreted.")
    inputs: tuple[Id, ...] = ()
    outputs: tuple[Id, ...] = ()
    temporaries: tuple[SymbolicTemporary, ...] = ()
    in_place: tuple[Pair, ...] = Field(
        default=(), description="Pairs (input, output) where the output may overwrite the input."
    )

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
class SymbolicGraph:
    """A program whose sizes are formulas: operators in the order in which they run, and their tensors."""

    version: Annotated[int, Field(strict=True, ge=1, le=1)] = Field(
        default=1, description="Version of this schema."
    )
    name: str | None = Field(default=None, max_length=1024)
    symbols: Annotated[tuple[Symbol, ...], Field(min_length=1, max_length=MOST_SYMBOLS)]
    points: Annotated[tuple[Point, ...], Field(max_length=MOST_POINTS)] = Field(
        default=(), description="Values that matter, the main one first. Default: the symbols' `values`."
    )
    aim: Aim = Field(default="worst", description="As in a symbolic problem.")
    pools: tuple[Pool, ...] = Field(
        default=(), description="As in a problem; empty: one unbounded pool called `memory`."
    )
    tensors: tuple[SymbolicTensor, ...]
    operators: tuple[SymbolicOperator, ...] = Field(
        description="In the order in which the program runs them."
    )
    inputs: tuple[Id, ...] = Field(
        default=(), description="Tensors that are there before the first operator."
    )
    outputs: tuple[Id, ...] = Field(default=(), description="Tensors that are kept after the last operator.")
    views: tuple[View, ...] = ()
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
        objective: "list[str] | tuple[str, ...]" = ("peak",),
        version: "SupportsIndex" = 1,
    ) -> None: ...
