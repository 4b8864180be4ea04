"""Counts the lost runs of a job apart from its attempts, which restarts of servers raise too."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("jobs", sa.Column("losses", sa.Integer(), nullable=False, server_default="0"))
