"""Alembic runs this: the steps, in the one transaction that `api.store.maintenance` hands over."""

from alembic import context

from memstow.api.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
