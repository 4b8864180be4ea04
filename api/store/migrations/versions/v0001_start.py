"""The first shape of the store."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "batches",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=True),
        sa.Column("name", sa.String(length=200), nullable=True),
        sa.Column("created", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
    )
    op.create_table(
        "best",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("used", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_best")),
    )
    op.create_index(op.f("ix_best_used"), "best", ["used"], unique=False)
    op.create_table(
        "idempotency",
        sa.Column("owner", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(length=40), nullable=False),
        sa.Column("created", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("owner", "name", name=op.f("pk_idempotency")),
    )
    op.create_index(op.f("ix_idempotency_created"), "idempotency", ["created"], unique=False)
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.String(length=200), nullable=False),
        sa.Column("created", sa.Float(precision=53), nullable=False),
        sa.Column("revoked", sa.Float(precision=53), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    op.create_table(
        "plans",
        sa.Column("cache_key", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("used", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("cache_key", name=op.f("pk_plans")),
    )
    op.create_index(op.f("ix_plans_used"), "plans", ["used"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=True),
        sa.Column("batch_id", sa.String(length=32), nullable=True),
        sa.Column("name", sa.String(length=1024), nullable=True),
        sa.Column("setting", sa.String(length=200), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("cache_key", sa.String(length=64), nullable=False),
        sa.Column("buffers", sa.Integer(), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("fresh", sa.Integer(), nullable=False),
        sa.Column("term", sa.String(length=1100), nullable=True),
        sa.Column("value", sa.String(64), nullable=True),
        sa.Column("bound", sa.String(64), nullable=True),
        sa.Column("peak", sa.String(64), nullable=True),
        sa.Column("solver", sa.String(length=200), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created", sa.Float(precision=53), nullable=False),
        sa.Column("started", sa.Float(precision=53), nullable=True),
        sa.Column("improved", sa.Float(precision=53), nullable=True),
        sa.Column("finished", sa.Float(precision=53), nullable=True),
        sa.Column("expires", sa.Float(precision=53), nullable=True),
        sa.Column("owner", sa.String(length=32), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("beat", sa.Integer(), nullable=False),
        sa.Column("stop", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batches.id"], name=op.f("fk_jobs_batch_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_batch_id"), "jobs", ["batch_id"], unique=False)
    op.create_index(op.f("ix_jobs_cache_key_state"), "jobs", ["cache_key", "state"], unique=False)
    op.create_index(op.f("ix_jobs_created"), "jobs", ["created"], unique=False)
    op.create_index(op.f("ix_jobs_expires"), "jobs", ["expires"], unique=False)
    op.create_index(op.f("ix_jobs_key_id_state"), "jobs", ["key_id", "state"], unique=False)
    op.create_index(
        op.f("ix_jobs_state_priority_created"), "jobs", ["state", "priority", "created"], unique=False
    )
    op.create_table(
        "documents",
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_documents_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "kind", name=op.f("pk_documents")),
    )
    op.create_table(
        "events",
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_events_job_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_events")),
    )
