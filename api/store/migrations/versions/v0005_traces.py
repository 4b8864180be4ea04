"""Keeps the trace of the request that made a job, which the runs of the job continue."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("jobs", sa.Column("trace", sa.String(64), nullable=True))
