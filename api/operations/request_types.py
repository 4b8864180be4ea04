"""The requests of operations and their results, as types, and as messages between processes.

Documents in them are bytes, as they came. Messages go through pipes to children, and to workers of Dask.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, NoReturn, TypeVar, Union, cast, get_args, get_origin

from memstow.api.options import RECORDED
from memstow.planner.formats import is_ours
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Order
from memstow.planner.model.options import Bound, Event, Incumbent, Phase
from memstow.planner.processes.frames import Message
from memstow.records import as_dict, field, fields, has_fields, record

MODEL_FORMATS: Final = ("tflite", "onnx")
QueryValue = bool | int | float | str
FrontValue = QueryValue | list[str]


@record
class Limits:
    """The most that the settings of the server allow in one request."""

    max_buffers: int
    max_values: int
    max_time_limit: float
    max_workers: int
    solve_memory: int
    max_batch: int
    time_setting: str = "max_time_limit"  # the setting that `max_time_limit` comes from
    plugins: tuple[str, ...] = ()  # solvers of other packages that may be named


@record
class BodyForm:
    """The form of a body: a problem or a model alone in a format, or JSON; and what the query adds."""

    format: str | None = None  # None: an envelope, or a problem alone in JSON
    options: Mapping[str, QueryValue] = field(default_factory=dict)
    changes: Mapping[str, QueryValue] = field(default_factory=dict)
    """What changes the document: `target`, `order`, `in_place`."""
    dims: Mapping[str, int] = field(default_factory=dict)
    """Values for the dimensions that an ONNX model leaves open."""
    device: str | None = None
    """Which device of a recording."""
    front: Mapping[str, FrontValue] | None = None  # what the query asks of a front; None: it is for a plan
    targets: list[str] | None = None  # names of targets that the query wants to compare
    shapes: Mapping[str, QueryValue] | None = None
    """What the query says of the plan of a problem with symbols; None: such a problem is not taken."""
    plan_form: str = "json"  # the form in which the plan is to come
    members: tuple[str, ...] = ()  # further members that the envelope may have
    rewrites_model: bool = False  # the model is to be written again, as its plan says
    model_flags: tuple[str, ...] = ()  # how
    proof: bool = False  # a proof is to be written as well

    @property
    def is_model(self) -> bool:
        """Whether only a process of its own reads it: a model, a recording, or what a plug-in reads."""
        of_plugin = self.format is not None and not is_ours(self.format)
        return of_plugin or self.format in (*MODEL_FORMATS, *RECORDED)


@record
class SolveRequest:
    """Solve a problem; problem, options and plans are in the form that the store keeps."""

    problem: bytes
    options: str
    hint: bytes | None = None
    known_plan: bytes | None = None  # the best plan so far; the result is never worse


@record
class SolveFrontRequest(SolveRequest):
    """Find a front; `known_plan` is the front so far, whose points need not be found again."""


@record
class SolveSymbolicRequest(SolveRequest):
    """Plan a problem with symbols; `known_plan` is the best plan so far."""


@record
class BodyRequest:
    """A request about a body, in a form, within limits."""

    body: bytes
    form: BodyForm
    limits: Limits


@record
class ReadRequest(BodyRequest):
    """Read and check a request to solve."""


@record
class ReadBatchRequest:
    """Read and check a batch."""

    body: bytes
    limits: Limits


@record
class VerifyRequest(BodyRequest):
    """Judge a plan."""

    recheck_seconds: float | None = None  # None: solvers are not asked
    for_page: bool = False
    """Whether the verdict is written for the page: a view document."""


@record
class InspectRequest(BodyRequest):
    """Describe a problem."""

    rows: int
    without: tuple[str, ...] = ()
    """Buffers that are left out first."""
    needs_seconds: float | None = None  # None: solvers are not asked


@record
class ConvertRequest(BodyRequest):
    """Write a problem in another format."""

    to: str
    channels: bool = False


@record
class WriteFrontRequest:
    """Write a front from the store in another format; for the page, with what its plans are for."""

    front: bytes
    to: str
    problem: bytes | None = None
    options: str | None = None


@record
class WriteSymbolicPlanRequest:
    """Write a plan of a problem with symbols, from the store, in another form."""

    problem: bytes
    plan: bytes
    to: str


@record
class TileRequest(BodyRequest):
    """Find tiles for operators of a graph; options are texts, as a query has them."""

    operator: str | None = None  # None: all
    pool: str | None = None
    home: str | None = None
    capacity: int | None = None
    objective: str | None = None
    multiple: str | None = None
    im2col: str | None = None
    double_buffer: bool = True
    front: bool = False


@record
class BuildRequest(BodyRequest):
    """Build a program from a model."""

    name: str
    capacity: int | None = None
    point: int | None = None
    target: str | None = None
    generators: list[str] | None = None
    external: list[str] | None = None
    kernels: Literal["own", "cmsis-nn"] = "own"
    order: Order = "free"
    deterministic: bool = False
    seed: int = 0
    build_seconds: float = 10.0


@record
class EvaluateRequest:
    """Lay out a symbolic plan at values of the symbols; all of it is in the body."""

    body: bytes
    limits: Limits


@record
class RewritePlanRequest:
    """Write a plan from the store in another format."""

    problem: bytes
    plan: bytes
    to: str
    model: bytes | None = None  # what the problem was read from, to be written again


@record
class SolveResult:
    """A plan as native JSON, with the figures that the job table has of it."""

    plan: bytes
    status: str
    value: int | None
    bound: int | None
    peak: int | None
    solver: str | None
    known: bytes | None = None
    """What the run has proven, where a proof is wanted."""


@record
class ProveRequest:
    """Write a proof of a plan from the store, within seconds or steps of work."""

    problem: bytes
    plan: bytes
    options: str
    seconds: float | None
    work: int | None
    most_bytes: int
    hint: bytes | None = None
    known: bytes | None = None


@record
class ProveResult:
    """The plan, which names its proof, and the proof; or the plan as it was, and none."""

    plan: bytes
    proof: bytes | None


@record
class PointUpdate:
    """A point of a front was found, or more was proven of it."""

    values: dict[str, int]
    bounds: dict[str, int]
    proven: bool
    seconds: float
    target: str | None = None  # where the fronts of several are looked for


@record
class FrontUpdate:
    """The front so far, with what is new in it: stored together, neither is ever without the other."""

    front: SolveResult
    points: tuple[PointUpdate, ...]


SolveUpdate = SolveResult | FrontUpdate | Event
"""Reported while a solve goes on: a better plan, the front so far, or an event."""


@record
class ValidatedRequest:
    """A request to solve that was read and found correct, in the form that the store keeps."""

    problem: bytes
    options: str
    hint: bytes | None
    digest: str
    cache_key: str
    buffers: int
    name: str | None
    term: str | None  # the first term of the objective
    priority: int = 0
    hint_job: object = None  # as it came: looked up by the service
    setting: str | None = None
    plan: bytes | None = None  # the best plan of the quick attempt

    @property
    def size(self) -> int:
        """The bytes of its documents."""
        return sum(len(entry) for entry in (self.problem, self.hint, self.plan) if entry is not None)


@record
class BatchProblem:
    """One problem of a batch, in the form that the store keeps."""

    request: ValidatedRequest  # without options
    key: str
    """What of the problem is part of the cache key."""
    ordered_key: str
    """The same for a deterministic run, which may depend on the order of the buffers."""


@record
class BatchSetting:
    """One setting of a batch, in the form that the store keeps."""

    name: str
    options: str
    hint: bytes | None
    deterministic: bool


@record
class ValidatedBatch:
    """A batch that was read and found correct: each problem and each setting once, however many pairs."""

    name: str | None
    priority: int
    problems: tuple[BatchProblem, ...]
    settings: tuple[BatchSetting, ...]

    @property
    def size(self) -> int:
        """The bytes of its documents."""
        hints = sum(len(setting.hint) for setting in self.settings if setting.hint is not None)
        return hints + sum(problem.request.size for problem in self.problems)


@record
class Document:
    """A response body and its format."""

    body: bytes
    format: str


T = TypeVar("T")


def encode(value: Any) -> Message:
    """A request or a result as a message."""
    return as_dict(value)


def decode(kind: type[T], message: Message) -> T:
    """The request or the result that a message holds; TypeError where it holds something else.

    Without pydantic, which takes a process of its own longer to load than many a request takes.
    """
    read: Callable[[Message], T] = _reader(cast(Hashable, kind))
    return read(message)


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """What reads a value as a field of this type holds it. What the type does not have is left out."""
    origin, arguments = get_origin(kind), get_args(kind)

    def refuse(value: Any) -> NoReturn:
        raise TypeError(f"{value!r:.80} is no {kind}")

    if has_fields(kind):
        readers = {entry.name: _reader(entry.type) for entry in fields(kind)}

        def read_record(value: Any) -> Any:
            if not isinstance(value, dict):
                refuse(value)
            return kind(**{name: readers[name](entry) for name, entry in value.items() if name in readers})

        return read_record
    if origin in (Union, UnionType):
        either = [_reader(argument) for argument in arguments]

        def read_one_of(value: Any) -> Any:
            if type(value) in arguments:
                return value
            for read in either:
                try:
                    return read(value)
                except TypeError:
                    continue
            refuse(value)

        return read_one_of
    if origin in (tuple, list):
        read_entry = _reader(arguments[0])
        return lambda value: origin(map(read_entry, value)) if isinstance(value, list) else refuse(value)
    if origin in (Mapping, dict):
        read_value = _reader(arguments[1])

        def read_mapping(value: Any) -> Any:
            if not isinstance(value, dict):
                refuse(value)
            return {name: read_value(entry) for name, entry in value.items()}

        return read_mapping
    if origin is Literal:
        return lambda value: value if value in arguments else refuse(value)

    def read_plain(value: Any) -> Any:
        if kind is float and type(value) is int:
            return float(value)
        if not isinstance(value, kind) or (kind is int and type(value) is bool):
            refuse(value)
        return value

    return read_plain


def encode_update(update: SolveUpdate) -> Message:
    """An update as a message."""
    if isinstance(update, SolveResult):
        return {"kind": "plan", **encode(update)}
    if isinstance(update, FrontUpdate):
        return {"kind": "front", **encode(update)}
    return {"kind": "event", "event": event_name(update), "data": event_data(update)}


def decode_update(message: Message) -> SolveUpdate:
    """The update that a message holds."""
    if message["kind"] == "plan":
        return decode(SolveResult, message)
    if message["kind"] == "front":
        return decode(FrontUpdate, message)
    return _EVENTS[message["event"]](**message["data"])


_EVENTS: Final[Mapping[str, Callable[..., Event]]] = {"phase": Phase, "incumbent": Incumbent, "bound": Bound}


def event_name(event: Event) -> str:
    """The name of an event in streams and messages."""
    match event:
        case Phase():
            return "phase"
        case Incumbent():
            return "incumbent"
        case Bound():
            return "bound"


def event_data(event: Event) -> dict[str, int | float | str | None]:
    """The data of an event as JSON."""
    seconds = round(event.seconds, 6)
    if isinstance(event, Phase):
        return {"name": event.name, "seconds": seconds}
    return {"value": event.value, "solver": event.solver, "seconds": seconds}


def point_data(update: PointUpdate) -> dict[str, object]:
    """The data of a point as JSON: a field for each term, as in the front."""
    of_target: dict[str, object] = {} if update.target is None else {"target": update.target}
    return {
        **of_target,
        **update.values,
        "bounds": update.bounds,
        "proven": update.proven,
        "seconds": round(update.seconds, 6),
    }


def encode_issues(error: InputError) -> list[list[str]]:
    """The issues of an input error, for a message."""
    return [[issue.code, issue.path, issue.message] for issue in error.issues]


def decode_issues(issues: Sequence[Sequence[str]]) -> InputError:
    """The input error with these issues."""
    return InputError(Issue(code, path, message) for code, path, message in issues)
