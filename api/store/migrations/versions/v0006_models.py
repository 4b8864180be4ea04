"""Keeps the models of jobs whose plan is wanted as one."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("jobs", sa.Column("model", sa.String(64), nullable=True))
