"""The results of operations, as types."""

from dataclasses import dataclass

from memstow.planner.model.options import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveResult:
    """A plan as native JSON, with the figures that the job table has of it."""

    plan: bytes
    status: str
    value: int | None
    bound: int | None
    peak: int | None
    solver: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PointUpdate:
    """A point of a front was found, or more was proven of it."""

    values: dict[str, int]
    bounds: dict[str, int]
    proven: bool
    seconds: float
    target: str | None = None  # where the fronts of several are looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontUpdate:
    """The front so far, with what is new in it: stored together, neither is ever without the other."""

    front: SolveResult
    points: tuple[PointUpdate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What other members of a team have found: a verified plan, a proven bound of the first term."""

    plan: bytes | None = None
    bound: int | None = None


SolveUpdate = SolveResult | FrontUpdate | Event
"""Reported while a solve goes on: a better plan, the front so far, or an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return sum(len(it) for it in (self.problem, self.hint, self.plan) if it is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProblem:
    """One problem of a batch, in the form that the store keeps."""

    request: ValidatedRequest  # without options
    key: str
    """What of the problem is part of the cache key."""
    ordered_key: str
    """The same for a deterministic run, which may depend on the order of the buffers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSetting:
    """One setting of a batch, in the form that the store keeps."""

    name: str
    options: str
    hint: bytes | None
    deterministic: bool


@dataclass(frozen=True, slots=True)
class ValidatedBatch:
    """A batch that was read and found correct: each problem and each setting once, however many pairs."""

    name: str | None
    priority: int
    problems: tuple[BatchProblem, ...]
    settings: tuple[BatchSetting, ...]

    @property
    def size(self) -> int:
        """The bytes of its documents."""
        hints = sum(len(it.hint) for it in self.settings if it.hint is not None)
        return hints + sum(it.request.size for it in self.problems)


@dataclass(frozen=True, slots=True)
class Document:
    """A response body and its format."""

    body: bytes
    format: str
