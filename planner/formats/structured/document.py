"""The structured JSON as it travels, version 1 of tonibohnlein/dsa-solver: its fields and their ranges."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from memstow.planner.model.problem import Alignment, Bytes, Count, Time

Number = Annotated[int, Field(strict=True, ge=0, lt=1 << 32)]
# Together with its number a name must be a valid id.
Name = Annotated[str, Field(strict=True, max_length=1000)]
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

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class AddressRange:
    """Bytes [begin, end)."""

    begin: Bytes
    end: Bytes


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class BankGeometry:
    """How a pool is divided into banks; only `bank_cost` would ask."""

    bank_size: Bytes
    num_banks: Number


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class StructuredPool:
    """A memory."""

    id: Number
    name: Name
    capacity: Bytes | None
    reserved_ranges: tuple[AddressRange, ...]
    bank_geometry: BankGeometry | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class LiveInterval:
    """Live in [lower, upper)."""

    lower: Time
    upper: Time


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class StructuredBuffer:
    """A buffer."""

    id: Number
    name: Name
    size: Bytes
    alignment: Alignment
    live_intervals: Annotated[tuple[LiveInterval, ...], Field(min_length=1)]
    allowed_pools: Annotated[tuple[Number, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class NumberPair:
    """Two buffers."""

    first: Number
    second: Number


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Separation:
    """Two buffers that may not overlap, and why."""

    first: Number
    second: Number
    reasons: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Pinned:
    """A fixed place; when exclusive, no other buffer may ever use its bytes."""

    buffer: Number
    pool: Number
    offset: Bytes
    exclusive_for_all_time: Annotated[bool, Field(strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Constraints:
    """Constraints."""

    colocations: tuple[NumberPair, ...]
    separations: tuple[Separation, ...]
    temporal_exclusions: tuple[NumberPair, ...]
    pinned_allocations: tuple[Pinned, ...]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ReusePenalty:
    """The cost of two buffers sharing bytes, with its reason."""

    first: Number
    second: Number
    cost: Count
    reason: Text


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class CostModel:
    """Costs."""

    reuse_penalties: tuple[ReusePenalty, ...]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class AliasClass:
    """Names of the values that a buffer stands for: a note, without effect."""

    buffer: Number
    members: tuple[Text, ...]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class PipelineMember:
    """A stage of a pipeline: a note, without effect."""

    buffer: Number
    stage: Annotated[int, Field(strict=True)]
    residue: Number


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class PipelineGroup:
    """A pipeline; a note, since its requirements are in the separations."""

    group: Annotated[int, Field(strict=True)]
    pool: Number
    slot_size: Bytes
    depth: Number
    effective_depth: Number
    members: tuple[PipelineMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class CompilerStructure:
    """Where the problem comes from."""

    alias_classes: tuple[AliasClass, ...]
    pipeline_groups: tuple[PipelineGroup, ...]
    whole_slot_reuse: Annotated[bool, Field(strict=True)] = False


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class StructuredObjective:
    """The terms to minimise, in lexicographic order."""

    aggregation: Literal["lexicographic"]
    terms: Annotated[tuple[Metric, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class StructuredProblem:
    """The problem proper."""

    pools: Annotated[tuple[StructuredPool, ...], Field(min_length=1)]
    buffers: tuple[StructuredBuffer, ...]
    constraints: Constraints
    objective: StructuredObjective
    cost_model: CostModel | None = None
    pypto_structure: CompilerStructure | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Document:
    """The envelope; only `instance` and `problem` say something of the problem."""

    schema_version: Annotated[int, Field(strict=True, ge=1, le=1)]
    profile: Profile
    instance: Annotated[str, Field(strict=True, min_length=1, max_length=1024)]
    problem: StructuredProblem
    metadata: dict[str, Any] = Field(default_factory=dict)
    relaxed_from: str | None = None
    relaxed_features: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class NumberPlacement:
    """Where a buffer is."""

    buffer: Number
    pool: Number
    offset: Bytes


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Solution:
    """Where the buffers are."""

    placements: tuple[NumberPlacement, ...]
