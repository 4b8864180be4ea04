"""A job: its request, its state and its result so far."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any, Final

from sqlalchemy import RowMapping

from memstow.api.operations.encoding import FRONT, SHAPES_KEY
from memstow.api.store.tables import jobs
from memstow.planner.model.plan import gap_of


class State(StrEnum):
    """Where a job is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OVER: Final = (State.DONE, State.FAILED, State.CANCELLED)


class Stop(IntEnum):
    """Whether the owner of a job asked for its end. A higher one overrides a lower."""

    NO = 0
    KEEP = 1
    """End, and keep the best plan."""
    DISCARD = 2
    """End, and remove the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job that is not in the store yet."""

    problem: bytes
    digest: str
    cache_key: str
    buffers: int
    options: str
    hint: bytes | None = None
    model: bytes | None = None  # what the problem was read from, if its plan is wanted as one
    plan: bytes | None = None  # the best so far
    priority: int = 0
    time_limit: float | None = None  # None: its run ends by its work
    key_id: str | None = None
    batch_id: str | None = None
    name: str | None = None
    setting: str | None = None
    term: str | None = None
    fresh: bool = False  # must not be answered from the cache
    trace: str | None = None  # the span of the request, as W3C writes it
    callback: str | None = None  # the URL that is told when it has ended


@dataclass(frozen=True, slots=True)
class Callback:
    """Who is told of the end of a job, and how far that is."""

    to: str
    state: str
    attempts: int
    error: str | None
    delivered: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A row of the job table."""

    id: str
    state: State
    priority: int
    key_id: str | None
    batch_id: str | None
    name: str | None
    setting: str | None
    digest: str
    cache_key: str
    buffers: int
    options: str
    fresh: bool
    term: str | None
    value: int | None
    bound: int | None
    peak: int | None
    solver: str | None
    status: str | None
    error: str | None
    created: float
    started: float | None
    improved: float | None
    finished: float | None
    expires: float | None
    attempt: int
    losses: int
    stop: Stop
    trace: str | None
    callback: Callback | None = None  # of another table; only where it was looked up

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in OVER

    @property
    def is_front(self) -> bool:
        """Whether it is for a front: its document is the front so far, and no plan."""
        return FRONT in json.loads(self.options)

    @property
    def is_symbolic(self) -> bool:
        """Whether its problem has symbols, and its plan lays out every value of them."""
        return SHAPES_KEY in json.loads(self.options)

    @property
    def gap(self) -> float | None:
        """The gap of the first term of the objective."""
        if self.value is None or self.bound is None:
            return None
        return gap_of(self.value, self.bound)

    @property
    def plan_peak(self) -> int | None:
        """The peak of the plan; the column is empty where the peak is what was minimised."""
        return self.value if self.term == "peak" else self.peak


@dataclass(frozen=True, slots=True)
class Progress:
    """The result of a job so far; None: nothing new."""

    value: int | None = None
    bound: int | None = None
    peak: int | None = None
    solver: str | None = None
    status: str | None = None
    plan: bytes | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """A row of the batch table."""

    id: str
    key_id: str | None
    name: str | None
    created: float


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of a job, not yet numbered: its kind, and its data as JSON."""

    kind: str
    data: str


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of a job in the store. Numbers count up from 1."""

    number: int
    kind: str
    data: str


_OF_ROW: Final = [name for name in Job.__dataclass_fields__ if name in jobs.c]
JOB_COLUMNS: Final = [jobs.c[name] for name in _OF_ROW]


def job_from_row(row: RowMapping | Mapping[str, Any]) -> Job:
    """A job from its row."""
    values = {name: row[name] for name in _OF_ROW}
    values |= {"state": State(row["state"]), "fresh": bool(row["fresh"]), "stop": Stop(row["stop"])}
    return Job(**values)


def timestamp(seconds: float | None) -> str | None:
    """A time as RFC 3339 writes it."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
