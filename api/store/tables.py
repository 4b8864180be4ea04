"""The tables of the store, the same on SQLite and on PostgreSQL; and a job as they hold it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    RowMapping,
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator

from memstow.api.operations.encoding import FRONT, PROOF, SHAPES_KEY
from memstow.planner.model.plan import gap_of

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)


LONGEST_NAME: Final = 1024
"""Characters of the name of a job."""


class Whole(TypeDecorator[int]):
    """An integer of any size."""

    impl = String(64)
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else str(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ARG002
        return None if value is None else int(value)


keys = Table(
    "keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("scopes", String(200), nullable=False),  # its role
    Column("created", Float(53), nullable=False),
    Column("revoked", Float(53)),
    # Limits of this key; none: those of the settings.
    Column("max_queued", Integer),
    Column("max_running", Integer),
    Column("max_stored_bytes", BigInteger),
    Column("max_priority", Integer),
    Column("reads", String(32)),  # the key whose jobs it sees; null: its own
    Column("used", Float(53)),
    Column("expires", Float(53)),
    # The secret before a rotation, and until when it works.
    Column("previous_hash", String(64)),
    Column("previous_until", Float(53)),
)

# What an operator has said for all servers, while it holds: `paused`.
control = Table(
    "control",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("created", Float(53), nullable=False),
)

# What the command line has changed, until a server has logged it.
changes = Table(
    "changes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("operation", String(40), nullable=False),
    Column("affected", Text, nullable=False),
    Column("created", Float(53), nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("key_id", String(32)),
    Column("name", String(200)),
    Column("created", Float(53), nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("state", String(16), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("key_id", String(32)),
    # The account that it counts in, and whether it may use the slots for short jobs.
    Column("account", String(32), nullable=False, server_default=""),
    Column("short", Integer, nullable=False, server_default="0"),
    Column("batch_id", String(32), ForeignKey("batches.id", ondelete="CASCADE")),
    Column("name", String(LONGEST_NAME)),
    Column("setting", String(200)),
    Column("digest", String(64), nullable=False),
    Column("cache_key", String(64), nullable=False),
    Column("buffers", Integer, nullable=False),
    Column("options", Text, nullable=False),
    Column("fresh", Integer, nullable=False),
    # Digests of documents in the table `bodies`; and the bytes of its own documents that are counted by now.
    Column("problem", String(64)),
    Column("hint", String(64)),
    Column("model", String(64)),
    Column("bytes", BigInteger, nullable=False, server_default="0"),
    # The result so far.
    Column("term", String(1100)),
    Column("value", Whole),
    Column("bound", Whole),
    Column("peak", Whole),
    Column("solver", String(200)),
    Column("status", String(16)),
    Column("error", Text),
    # Seconds since 1970.
    Column("created", Float(53), nullable=False),
    Column("started", Float(53)),
    Column("improved", Float(53)),
    Column("finished", Float(53)),
    Column("expires", Float(53)),
    # When it is removed, by the clock of the store.
    Column("kept_until", Float(53)),
    # The server that runs it. Only the current `attempt` may write; `beat` counts the owner's heartbeats, and
    # other servers take over when it stands still.
    Column("owner", String(32)),
    Column("attempt", Integer, nullable=False),
    # Attempts whose process was lost, and not because the server ended or lacked something.
    Column("losses", Integer, nullable=False, server_default="0"),
    Column("beat", Integer, nullable=False),
    Column("stop", Integer, nullable=False),
    # The span of the request that made it: its runs continue the trace.
    Column("trace", String(64)),
)
# The next job of an account, and its next short one.
Index(None, jobs.c.state, jobs.c.account, jobs.c.priority, jobs.c.created, jobs.c.id)
Index(None, jobs.c.state, jobs.c.short, jobs.c.account, jobs.c.priority, jobs.c.created, jobs.c.id)
Index(None, jobs.c.key_id, jobs.c.created)
Index(None, jobs.c.batch_id)
Index(None, jobs.c.cache_key, jobs.c.state)
Index(None, jobs.c.created)
Index(None, jobs.c.kept_until)

accounts = Table(
    "accounts",
    metadata,
    Column("id", String(32), primary_key=True),  # the id of a key; empty for all requests without one
    Column("queued", Integer, nullable=False),
    Column("running", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    # Seconds its jobs have run; and the same, raised after idle times, for deciding whose turn it is.
    Column("seconds", Float(53), nullable=False),
    Column("turn", Float(53), nullable=False),
)

bodies = Table(
    "bodies",
    metadata,
    Column("account", String(32), primary_key=True),
    Column("digest", String(64), primary_key=True),  # SHA-256 of the document
    Column("body", LargeBinary, nullable=False),  # JSON or a model, deflated
    Column("size", Integer, nullable=False),
    Column("uses", Integer, nullable=False),
)

documents = Table(
    "documents",
    metadata,
    Column("job_id", String(32), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String(16), primary_key=True),  # plan or proof
    Column("body", LargeBinary, nullable=False),  # deflated
)

events = Table(
    "events",
    metadata,
    Column("job_id", String(32), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("data", Text, nullable=False),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("owner", String(32), primary_key=True),  # the key's id; empty without keys
    Column("name", String(200), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("target", String(40), nullable=False),  # the id of the job or the batch
    Column("kept_until", Float(53), nullable=False),  # by the clock of the store
)
Index(None, idempotency.c.kept_until)

# Where the end of a job is to be told.
callbacks = Table(
    "callbacks",
    metadata,
    Column("job_id", String(32), ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("url", Text, nullable=False),
    Column("origin", String(300), nullable=False),  # of the URL, without what may be a secret
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", String(40)),
    Column("delivered", Float(53)),  # seconds since 1970
    # By the clock of the store: when the job has ended, and when the next attempt is due, if there is one.
    Column("ended", Float(53)),
    Column("due", Float(53)),
)
Index(None, callbacks.c.due)

# One row: about the seconds since 1970, less those in which no server ran.
clock = Table(
    "clock",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seconds", Float(53), nullable=False),
)

plans = Table(
    "plans",
    metadata,
    Column("cache_key", String(64), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("said", Text, nullable=False),  # the figures of the job table, as JSON
    Column("body", LargeBinary, nullable=False),
    Column("used", Float(53), nullable=False),
    Column("key_id", String(32)),  # whose plan it is; null: everyone's
)
Index(None, plans.c.used)

best = Table(
    "best",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("used", Float(53), nullable=False),
    Column("key_id", String(32)),
)
Index(None, best.c.used)


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
    def wants_proof(self) -> bool:
        """Whether a proof of its plan is to be written."""
        return PROOF in json.loads(self.options)

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
