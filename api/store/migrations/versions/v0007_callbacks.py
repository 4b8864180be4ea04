"""Keeps where the end of a job is to be told, and whether it was."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "callbacks",
        sa.Column("job_id", sa.String(32), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("origin", sa.String(300), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(40), nullable=True),
        sa.Column("delivered", sa.Float(53), nullable=True),
        sa.Column("ended", sa.Float(53), nullable=True),
        sa.Column("due", sa.Float(53), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_callbacks_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", name="pk_callbacks"),
    )
    op.create_index("ix_callbacks_due", "callbacks", ["due"])
