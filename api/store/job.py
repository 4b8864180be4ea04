"""One job: what was asked, how far it is, and how it travels."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any, Final

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
    """What a job was told by its owner."""

    NO = 0
    KEEP = 1
    """End, and keep the best plan."""
    DISCARD = 2
    """End, and remove all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job that is not in the store yet."""

    problem: bytes
    digest: str
    cache_key: str
    buffers: int
    options: str
    hint: bytes | None = None
    plan: bytes | None = None  # the best known so far
    priority: int = 0
    key_id: str | None = None
    batch_id: str | None = None
    name: str | None = None
    setting: str | None = None
    term: str | None = None
    fresh: bool = False  # must not be answered from the cache


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
    stop: Stop

    @property
    def over(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in OVER

    @property
    def gap(self) -> float | None:
        """How far the first term of the objective can be from its optimum."""
        if self.value is None or self.bound is None:
            return None
        return gap_of(self.value, self.bound)


def job_of(row: Any) -> Job:
    """A job from a row."""
    values = {name: row[name] for name in Job.__dataclass_fields__}
    values |= {"state": State(row["state"]), "fresh": bool(row["fresh"]), "stop": Stop(row["stop"])}
    return Job(**values)


def moment(seconds: float | None) -> str | None:
    """A time as RFC 3339 writes it."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
