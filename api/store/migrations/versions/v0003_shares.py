"""Limits of each key."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    for name, kind in (
        ("max_queued", sa.Integer()),
        ("max_running", sa.Integer()),
        ("max_stored_bytes", sa.BigInteger()),
        ("max_priority", sa.Integer()),
    ):
        op.add_column("keys", sa.Column(name, kind, nullable=True))
