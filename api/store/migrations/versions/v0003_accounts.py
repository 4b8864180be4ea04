"""Counts of each key, problems stored once, a clock of the store, and limits of each key."""

import hashlib
import time
import zlib
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_AT_ONCE: Final = 100
_JOBS_INDEXES: Final = (
    ["state", "account", "priority", "created", "id"],
    ["state", "short", "account", "priority", "created", "id"],
    ["key_id", "created"],
    ["kept_until"],
)

_jobs = sa.table(
    "jobs",
    *map(
        sa.column, ("id", "state", "key_id", "account", "problem", "hint", "bytes", "expires", "kept_until")
    ),
)
_documents = sa.table("documents", *map(sa.column, ("job_id", "kind", "body")))
_events = sa.table("events", *map(sa.column, ("job_id", "data")))
_bodies = sa.table("bodies", *map(sa.column, ("account", "digest", "body", "size", "uses")))
_accounts = sa.table("accounts", *map(sa.column, ("id", "queued", "running", "bytes", "seconds", "turn")))
_clock = sa.table("clock", *map(sa.column, ("id", "seconds")))


def upgrade() -> None:
    """Add the tables and columns, and move what is there."""
    _add_tables()
    _add_columns()
    connection = op.get_bind()
    connection.execute(
        sa.update(_jobs).values(account=sa.func.coalesce(_jobs.c.key_id, ""), kept_until=_jobs.c.expires)
    )
    _move_bodies(connection)
    _count(connection)
    connection.execute(sa.insert(_clock).values(id=1, seconds=time.time()))
    op.execute("UPDATE idempotency SET kept_until = kept_until + 86400")


def _add_tables() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("queued", sa.Integer(), nullable=False),
        sa.Column("running", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.Column("turn", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
    )
    op.create_table(
        "bodies",
        sa.Column("account", sa.String(32), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("account", "digest", name=op.f("pk_bodies")),
    )
    op.create_table(
        "clock",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clock")),
    )


def _add_columns() -> None:
    for column in (
        sa.Column("account", sa.String(32), nullable=False, server_default=""),
        sa.Column("short", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("problem", sa.String(64), nullable=True),
        sa.Column("hint", sa.String(64), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("kept_until", sa.Float(53), nullable=True),
    ):
        op.add_column("jobs", column)
    for name in ("state_priority_created", "key_id_state", "expires"):
        op.drop_index(op.f(f"ix_jobs_{name}"), "jobs")
    for names in _JOBS_INDEXES:
        op.create_index(op.f(f"ix_jobs_{'_'.join(names)}"), "jobs", names)
    # Not by a copy of the table, which would remove what refers to it on SQLite.
    op.drop_index(op.f("ix_idempotency_created"), "idempotency")
    op.execute("ALTER TABLE idempotency RENAME COLUMN created TO kept_until")
    op.create_index(op.f("ix_idempotency_kept_until"), "idempotency", ["kept_until"])
    for name, kind in (
        ("max_queued", sa.Integer()),
        ("max_running", sa.Integer()),
        ("max_stored_bytes", sa.BigInteger()),
        ("max_priority", sa.Integer()),
    ):
        op.add_column("keys", sa.Column(name, kind, nullable=True))


def _move_bodies(connection: sa.Connection) -> None:
    """Store each problem and each hint once for each account."""
    for job, rows in groupby(_bodies_of_jobs(connection), key=lambda row: (row.id, row.account)):
        name, account = job
        digests = {}
        for row in rows:
            body = bytes(row.body)
            digests[row.kind] = hashlib.sha256(zlib.decompress(body)).hexdigest()
            where = (_bodies.c.account == account, _bodies.c.digest == digests[row.kind])
            again = sa.update(_bodies).where(*where).values(uses=_bodies.c.uses + 1)
            if not connection.execute(again).rowcount:
                connection.execute(
                    sa.insert(_bodies).values(
                        account=account, digest=digests[row.kind], body=body, size=len(body), uses=1
                    )
                )
        connection.execute(sa.update(_jobs).where(_jobs.c.id == name).values(digests))
    connection.execute(sa.delete(_documents).where(_documents.c.kind.in_(("problem", "hint"))))


def _bodies_of_jobs(connection: sa.Connection) -> Iterator[sa.Row[Any, Any, Any, Any]]:
    """The problems and hints by job, a few at a time: together they may not fit into memory."""
    last = ""
    while True:
        names = list(
            connection.execute(
                sa.select(_jobs.c.id).where(_jobs.c.id > last).order_by(_jobs.c.id).limit(_AT_ONCE)
            ).scalars()
        )
        if not names:
            return
        last = names[-1]
        yield from connection.execute(
            sa.select(_jobs.c.id, _jobs.c.account, _documents.c.kind, _documents.c.body)
            .join(_documents, _documents.c.job_id == _jobs.c.id)
            .where(_jobs.c.id.in_(names), _documents.c.kind.in_(("problem", "hint")))
            .order_by(_jobs.c.id)
        ).all()


def _count(connection: sa.Connection) -> None:
    """Count the jobs and the bytes of each account."""
    own = (
        sa.select(sa.func.coalesce(sa.func.sum(sa.func.length(table.c[column])), 0))
        .where(table.c.job_id == _jobs.c.id)
        .scalar_subquery()
        for table, column in ((_documents, "body"), (_events, "data"))
    )
    connection.execute(sa.update(_jobs).values(bytes=sum(own)))
    shared = (
        sa.select(sa.func.coalesce(sa.func.sum(_bodies.c.size), 0))
        .where(_bodies.c.account == _jobs.c.account)
        .scalar_subquery()
    )
    zero = sa.literal(0.0)
    queued, running = (
        sa.func.sum(sa.case((_jobs.c.state == state, 1), else_=0)) for state in ("queued", "running")
    )
    size = sa.func.sum(_jobs.c.bytes) + shared
    counted = sa.select(_jobs.c.account, queued, running, size, zero, zero).group_by(_jobs.c.account)
    names = ["id", "queued", "running", "bytes", "seconds", "turn"]
    connection.execute(sa.insert(_accounts).from_select(names, counted))
