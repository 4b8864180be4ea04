"""The structured JSON as it travels, version 1 of tonibohnlein/dsa-solver: its fields and their ranges.

It refers to buffers and pools by number: numbers for names, and names for numbers.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

from memstow.planner.model.model_class import WITHOUT_NUL, Field, model_class
from memstow.planner.model.problem import Alignment, Bytes, Count, Time, Version

Number = Annotated[int, Field(strict=True, ge=0, lt=1 << 32)]
# Together with its number a name must be a valid id.
Name = Annotated[str, Field(strict=True, max_length=1000, pattern=WITHOUT_NUL)]
Text = Annotated[str, Field(strict=True, max_length=1024)]
Metric = Literal["capacity_overflow", "total_peak", "max_peak", "reuse_cost", "bank_cost"]
Profile = Literal[
    "standard_dsa",
    "dsa_rp_v1",
    "pypto_structured",
    "pypto_hard_v1",
    "pypto_research_v1",
    "pypto_core_relaxation",
]


@model_class
class AddressRange:
    """Bytes [begin, end)."""

    begin: Bytes
    end: Bytes


@model_class
class BankGeometry:
    """How a pool is divided into banks; only `bank_cost` would ask."""

    bank_size: Bytes
    num_banks: Number


@model_class
class StructuredPool:
    """A memory."""

    id: Number
    name: Name
    capacity: Bytes | None
    reserved_ranges: tuple[AddressRange, ...]
    bank_geometry: BankGeometry | None = None


@model_class
class LiveInterval:
    """Live in [lower, upper)."""

    lower: Time
    upper: Time


@model_class
class StructuredBuffer:
    """A buffer."""

    id: Number
    name: Name
    size: Bytes
    alignment: Alignment
    live_intervals: Annotated[tuple[LiveInterval, ...], Field(min_length=1)]
    allowed_pools: Annotated[tuple[Number, ...], Field(min_length=1)]


@model_class
class NumberPair:
    """Two buffers."""

    first: Number
    second: Number


@model_class
class Separation:
    """Two buffers that may not overlap, and why."""

    first: Number
    second: Number
    reasons: tuple[Text, ...] = ()


@model_class
class Pinned:
    """A fixed place; when exclusive, no other buffer may ever use its bytes."""

    buffer: Number
    pool: Number
    offset: Bytes
    exclusive_for_all_time: Annotated[bool, Field(strict=True)]


@model_class
class Constraints:
    """Constraints."""

    colocations: tuple[NumberPair, ...]
    separations: tuple[Separation, ...]
    temporal_exclusions: tuple[NumberPair, ...]
    pinned_allocations: tuple[Pinned, ...]


@model_class
class ReusePenalty:
    """The cost of two buffers sharing bytes, with its reason."""

    first: Number
    second: Number
    cost: Count
    reason: Text


@model_class
class CostModel:
    """Costs."""

    reuse_penalties: tuple[ReusePenalty, ...]


@model_class
class AliasClass:
    """Names of the values that a buffer stands for: a note, without effect."""

    buffer: Number
    members: tuple[Text, ...]


@model_class
class PipelineMember:
    """A stage of a pipeline: a note, without effect."""

    buffer: Number
    stage: Annotated[int, Field(strict=True)]
    residue: Number


@model_class
class PipelineGroup:
    """A pipeline; a note, since its requirements are in the separations."""

    group: Annotated[int, Field(strict=True)]
    pool: Number
    slot_size: Bytes
    depth: Number
    effective_depth: Number
    members: tuple[PipelineMember, ...]


@model_class
class CompilerStructure:
    """Where the problem comes from."""

    alias_classes: tuple[AliasClass, ...]
    pipeline_groups: tuple[PipelineGroup, ...]
    whole_slot_reuse: Annotated[bool, Field(strict=True)] = False


@model_class
class StructuredObjective:
    """The terms to minimise, in lexicographic order."""

    aggregation: Literal["lexicographic"]
    terms: Annotated[tuple[Metric, ...], Field(min_length=1)]


@model_class
class StructuredProblem:
    """The problem proper."""

    pools: Annotated[tuple[StructuredPool, ...], Field(min_length=1)]
    buffers: tuple[StructuredBuffer, ...]
    constraints: Constraints
    objective: StructuredObjective
    cost_model: CostModel | None = None
    pypto_structure: CompilerStructure | None = None


@model_class
class Document:
    """The envelope; only `instance` and `problem` say something of the problem."""

    schema_version: Version
    profile: Profile
    instance: Annotated[str, Field(strict=True, min_length=1, max_length=1024)]
    problem: StructuredProblem
    metadata: dict[str, Any] = Field(default_factory=dict)
    relaxed_from: str | None = None
    relaxed_features: tuple[Text, ...] = ()


@model_class
class NumberPlacement:
    """Where a buffer is."""

    buffer: Number
    pool: Number
    offset: Bytes


@model_class
class Solution:
    """Where the buffers are."""

    placements: tuple[NumberPlacement, ...]


_NUMBERED: Final = re.compile(r"(0|[1-9][0-9]{0,9})(?::(.+))?", re.ASCII | re.DOTALL)
_MOST: Final = (1 << 32) - 1


class NumberedName(NamedTuple):
    """A number and the name that goes with it."""

    number: int
    name: str


def id_of(number: int, name: str) -> str:
    """The id of a number with a name."""
    return f"{number}:{name}" if name else str(number)


def number_ids(ids: Sequence[str]) -> list[NumberedName]:
    """A number for each of these ids: their own where all have one, their place in the list otherwise."""
    own = [_own(name) for name in ids]
    if len({one.number for one in own if one is not None}) == len(ids):
        return [one for one in own if one is not None]
    return [NumberedName(index, name) for index, name in enumerate(ids)]


def _own(identity: str) -> NumberedName | None:
    match = _NUMBERED.fullmatch(identity)
    if match is None or int(match[1]) > _MOST:
        return None
    return NumberedName(int(match[1]), match[2] or "")
