"""Keys that expire and are rotated, plans of one key apart from those of others, and what operators say."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, and the table of what holds for all servers."""
    op.add_column("keys", sa.Column("reads", sa.String(length=32), nullable=True))
    op.add_column("keys", sa.Column("used", sa.Float(precision=53), nullable=True))
    op.add_column("keys", sa.Column("expires", sa.Float(precision=53), nullable=True))
    op.add_column("keys", sa.Column("previous_hash", sa.String(length=64), nullable=True))
    op.add_column("keys", sa.Column("previous_until", sa.Float(precision=53), nullable=True))
    op.add_column("plans", sa.Column("key_id", sa.String(length=32), nullable=True))
    op.add_column("best", sa.Column("key_id", sa.String(length=32), nullable=True))
    op.create_table(
        "control",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("created", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_control")),
    )
