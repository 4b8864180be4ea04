"""The tables of the store, the same on SQLite and on PostgreSQL.

Values of an objective can be above 2^63, so they are kept as text. Times are seconds since 1970 by the clock
of the server that wrote them, for people only. What is removed when is decided by the table `clock`, and who
owns a job by heartbeats.
"""

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
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator

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
    Column("kind", String(16), primary_key=True),  # plan
    Column("body", LargeBinary, nullable=False),  # JSON, deflated
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
