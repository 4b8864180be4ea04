"""What a program does, step by step, to run a graph as a plan says: the wire schema, version 1.

Segments run one after the other. A stripe is a nest of loops: its strips of columns, and in each strip the
same steps, each of which makes one row of one tensor (docs/loops.md)."""

from typing import Annotated, Literal

from memstow.planner.model.graph import ElementType
from memstow.planner.model.model_class import Field, model_class
from memstow.planner.model.problem import Bytes, Count, Id, Version

_Numbers = tuple[Annotated[int, Field(strict=True, ge=0)], ...]


@model_class
class UsedPool:
    """One memory."""

    id: Id
    size: Bytes = Field(description="The bytes of it that the plan uses, from its begin.")


@model_class
class WholeTensor:
    """A tensor that is there as a whole: rows x columns x channels, one after the other."""

    id: Id
    of: Id | None = Field(
        default=None, description="The tensor of the graph of which this is another version; null: itself."
    )
    pool: Id
    offset: Bytes
    size: Bytes
    shape: tuple[Count, ...] | None = None
    type: ElementType | None = None
    first: Annotated[int, Field(strict=True, ge=-1)] = Field(
        description="The segment that makes it; -1: it is there before the first."
    )
    last: Annotated[int, Field(strict=True, ge=-1)] = Field(
        description="The last segment that needs it; the number of segments: it is kept."
    )


@model_class
class Scratch:
    """Bytes that an operator needs only while it runs."""

    id: Id
    pool: Id
    offset: Bytes
    size: Bytes
    phases: tuple[Count, Count] | None = Field(
        default=None, description="The phases of the operator in which it has them; null: all."
    )


@model_class
class WholeOperator:
    """An operator that makes its whole outputs from its whole inputs."""

    kind: Literal["operator"] = "operator"
    id: Id
    runs: Id | None = Field(default=None, description="The operator of the graph that this is; null: itself.")
    inputs: tuple[Id, ...] = Field(
        description="In the order of the graph; those that are no tensors of this table lie elsewhere."
    )
    outputs: tuple[Id, ...]
    temporaries: tuple[Scratch, ...] = ()


@model_class
class Copy:
    """The bytes of a tensor, copied."""

    kind: Literal["copy"] = "copy"
    id: Id
    source: Id
    target: Id


@model_class
class StripeMember:
    """An operator of a stripe, which makes a row of its output at a time."""

    id: Id
    runs: Id | None = Field(default=None, description="The operator of the graph that this is; null: itself.")
    inputs: tuple[Id, ...] = Field(description="In the order of the graph.")
    reads: tuple[Id, ...] = Field(description="Those of its inputs that are read row by row, each once.")
    makes: Id
    rows: Count = Field(description="Of what it makes; of what it reads, where it adds up.")
    columns: Count
    again: Count = Field(default=0, description="Columns that it makes in a strip although another had them.")
    sums: Scratch | None = Field(
        default=None,
        description="It adds up: a step adds one row of what it reads to these sums, which begin "
        "before the first strip, at zero or, of a largest, at the least. After the last strip they become "
        "what it makes.",
    )
    temporaries: tuple[Scratch, ...] = ()


@model_class
class RowRing:
    """The rows of a tensor that are kept at a time: row r is at offset + (r mod rows) * pitch."""

    tensor: Id
    pool: Id
    offset: Bytes
    rows: Annotated[int, Field(strict=True, ge=1)]
    pitch: Bytes = Field(description="Bytes from one row to the next.")
    pixel: Bytes = Field(
        description="Bytes from one column to the next; the first column of the strip begins the row."
    )


@model_class
class StripeLoops:
    """Operators that run together: for each strip, all steps."""

    kind: Literal["stripe"] = "stripe"
    id: Id = Field(description="Of the last operator.")
    columns: Annotated[int, Field(strict=True, ge=1)]
    operators: tuple[StripeMember, ...]
    rings: tuple[RowRing, ...]
    strips: tuple[tuple[_Numbers, ...], ...] = Field(
        description="By strip and operator: the first and the end of the columns that it makes, then of "
        "those that it reads of each image in `reads`. None to make: its steps are left out in this strip."
    )
    steps: tuple[_Numbers, ...] = Field(
        description="Of each strip: the operator, the row that it makes, then the first and the end of the "
        "rows that it reads of each image in `reads`."
    )
    frees: tuple[_Numbers, ...] = Field(
        description="By step, what is free after it: pairs of a ring and a row, before which nobody needs "
        "rows."
    )


@model_class
class Loops:
    """The whole program."""

    version: Version = Field(description="Version of this schema.")
    name: str | None = None
    digest: str = Field(description="SHA-256 of the canonical problem that the plan is for.")
    pools: tuple[UsedPool, ...]
    tensors: tuple[WholeTensor, ...]
    segments: tuple[Annotated[WholeOperator | Copy | StripeLoops, Field(discriminator="kind")], ...]
