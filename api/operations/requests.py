"""The requests that the service carries out, as types. Documents in them are bytes, as they came."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

MODEL_FORMATS: Final = ("tflite", "onnx")
QueryValue = bool | int | float | str
FrontValue = QueryValue | list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that the settings of the server allow in one request."""

    max_buffers: int
    max_values: int
    max_time_limit: float
    max_workers: int
    solve_memory: int
    max_batch: int
    max_members: int = 1
    time_setting: str = "max_time_limit"  # the setting that `max_time_limit` comes from


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyForm:
    """The form of a body: a problem or a model alone in a format, or JSON; and what the query adds."""

    format: str | None = None  # None: an envelope, or a problem alone in JSON
    options: Mapping[str, QueryValue] = field(default_factory=dict)
    changes: Mapping[str, QueryValue] = field(default_factory=dict)
    """What changes the document: `target`, `order`, `in_place`."""
    dims: Mapping[str, int] = field(default_factory=dict)
    """Values for the dimensions that an ONNX model leaves open."""
    front: Mapping[str, FrontValue] | None = None  # what the query asks of a front; None: it is for a plan
    targets: list[str] | None = None  # names of targets that the query wants to compare
    shapes: Mapping[str, QueryValue] | None = None
    """What the query says of the plan of a problem with symbols; None: such a problem is not taken."""
    plan_form: str = "json"  # the form in which the plan is to come
    members: tuple[str, ...] = ()  # further members that the envelope may have
    rewrites_model: bool = False  # the model is to be written again, as its plan says
    model_flags: tuple[str, ...] = ()  # how

    @property
    def is_model(self) -> bool:
        """Whether it is a model: bytes that only a process of their own reads."""
        return self.format in MODEL_FORMATS


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRequest:
    """Solve a problem; problem, options and plans are in the form that the store keeps."""

    problem: bytes
    options: str
    hint: bytes | None = None
    known_plan: bytes | None = None  # the best plan so far; the result is never worse
    rank: int | None = None  # of this member of a team; None: it solves alone


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveFrontRequest(SolveRequest):
    """Find a front; `known_plan` is the front so far, whose points need not be found again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveSymbolicRequest(SolveRequest):
    """Plan a problem with symbols; `known_plan` is the best plan so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Read and check a request to solve."""

    body: bytes
    form: BodyForm
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBatchRequest:
    """Read and check a batch."""

    body: bytes
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """Judge a plan."""

    body: bytes
    form: BodyForm
    limits: Limits
    recheck_seconds: float | None = None  # None: solvers are not asked


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectRequest:
    """Describe a problem."""

    body: bytes
    form: BodyForm
    limits: Limits
    rows: int
    without: tuple[str, ...] = ()
    """Buffers that are left out first."""
    needs_seconds: float | None = None  # None: solvers are not asked


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertRequest:
    """Write a problem in another format."""

    body: bytes
    form: BodyForm
    limits: Limits
    to: str
    channels: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFrontRequest:
    """Write a front from the store in another format; for the page, with what its plans are for."""

    front: bytes
    to: str
    problem: bytes | None = None
    options: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSymbolicPlanRequest:
    """Write a plan of a problem with symbols, from the store, in another form."""

    problem: bytes
    plan: bytes
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TileRequest:
    """Find tiles for operators of a graph; options are texts, as a query has them."""

    body: bytes
    form: BodyForm
    limits: Limits
    operator: str | None = None  # None: all
    pool: str | None = None
    home: str | None = None
    capacity: int | None = None
    objective: str | None = None
    multiple: str | None = None
    im2col: str | None = None
    double_buffer: bool = True
    front: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateRequest:
    """Lay out a symbolic plan at values of the symbols; all of it is in the body."""

    body: bytes
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePlanRequest:
    """Write a plan from the store in another format."""

    problem: bytes
    plan: bytes
    to: str
    model: bytes | None = None  # what the problem was read from, to be written again
