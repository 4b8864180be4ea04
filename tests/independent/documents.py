"""A problem and a plan as the JSON that travels, field by field as `docs/problem.md` has them."""

from typing import Literal, NotRequired, TypedDict

Pair = list[str]
Range = list[int]


class ReservedDocument(TypedDict):
    offset: int
    size: int


class PoolDocument(TypedDict):
    id: str
    capacity: NotRequired[int | None]
    alignment: NotRequired[int]
    reserved: NotRequired[list[ReservedDocument]]
    base: NotRequired[int]
    cost: NotRequired[int]


class BufferDocument(TypedDict):
    id: str
    size: int
    lifetime: NotRequired[Range | Literal["always"]]
    lifetimes: NotRequired[list[Range]]
    alignment: NotRequired[int]
    pools: NotRequired[list[str]]
    accesses: NotRequired[int]
    pool: NotRequired[str]
    offset: NotRequired[int]


class RelativeDocument(TypedDict):
    buffer: str
    base: str
    offset: int


class InPlaceDocument(TypedDict):
    input: str
    output: str


class ReuseDocument(TypedDict):
    buffers: Pair
    cost: int


class ProblemDocument(TypedDict):
    version: int
    name: NotRequired[str]
    pools: NotRequired[list[PoolDocument]]
    buffers: list[BufferDocument]
    conflicts: NotRequired[list[Pair]]
    exclusive: NotRequired[list[Pair]]
    relative: NotRequired[list[RelativeDocument]]
    in_place: NotRequired[list[InPlaceDocument]]
    reuse_costs: NotRequired[list[ReuseDocument]]
    objective: NotRequired[list[str]]


class PlacementDocument(TypedDict):
    buffer: str
    pool: str
    offset: int


class RefutedDocument(TypedDict):
    height: int
    nodes: int


class CertificateDocument(TypedDict):
    kind: str
    pool: NotRequired[str | None]
    time: NotRequired[int | None]
    buffers: NotRequired[list[str]]
    parts: NotRequired[list["CertificateDocument"]]
    solver: NotRequired[str]
    refuted: NotRequired[list[RefutedDocument]]


class LiveDocument(TypedDict):
    bytes: int
    time: NotRequired[int | None]


class PoolUseDocument(TypedDict):
    pool: str
    capacity: int | None
    peak: int
    bound: int
    live: LiveDocument
    certificate: NotRequired[CertificateDocument | None]


class TermDocument(TypedDict):
    term: str
    value: int
    bound: int
    gap: float
    certificate: NotRequired[CertificateDocument | None]


class ExplanationDocument(TypedDict):
    code: str
    message: str
    pool: NotRequired[str | None]
    time: NotRequired[int | None]
    needed: NotRequired[int | None]
    capacity: NotRequired[int | None]
    reserved: NotRequired[int | None]
    buffers: NotRequired[list[str]]


class OverflowDocument(TypedDict):
    pool: str
    peak: int
    capacity: int


class PlanDocument(TypedDict):
    status: str
    placements: NotRequired[list[PlacementDocument]]
    pools: NotRequired[list[PoolUseDocument]]
    objective: NotRequired[list[TermDocument]]
    explanation: NotRequired[ExplanationDocument | None]
    closest: NotRequired[list[OverflowDocument]]
    solver: NotRequired[str | None]
    prover: NotRequired[str | None]
    seconds: NotRequired[float]
    work: NotRequired[int]
    digest: NotRequired[str | None]
    version: NotRequired[str | None]
