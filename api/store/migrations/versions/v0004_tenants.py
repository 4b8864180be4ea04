"""Keys that expire and rotate, plans of one key apart from others', and what operators say and change."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and the tables."""
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
    op.create_table(
        "changes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("operation", sa.String(length=40), nullable=False),
        sa.Column("affected", sa.Text(), nullable=False),
        sa.Column("created", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
    )
