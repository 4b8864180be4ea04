"""Plans of jobs in the store; and how all documents there are compressed."""

import zlib
from typing import Final

from sqlalchemy import Connection, and_, insert, select, update

from memstow.api.store.tables import documents

PLAN: Final = "plan"
# The fastest level: JSON shrinks to a fifth already, and problems come by the hundred a second.
_LEVEL: Final = 1


def compress(document: bytes) -> bytes:
    """A document as the store keeps it."""
    return zlib.compress(document, _LEVEL)


def decompress(body: bytes | memoryview) -> bytes:
    """A document from the store."""
    return zlib.decompress(body)


def read_plan(connection: Connection, job: str) -> bytes | None:
    """The plan of a job."""
    wanted = select(documents.c.body).where(documents.c.job_id == job, documents.c.kind == PLAN)
    body = connection.execute(wanted).scalar()
    return None if body is None else decompress(body)


def save_plan(connection: Connection, job: str, plan: bytes) -> None:
    """Write the plan of a job, in place of the one before."""
    where = and_(documents.c.job_id == job, documents.c.kind == PLAN)
    body = compress(plan)
    if not connection.execute(update(documents).where(where).values(body=body)).rowcount:
        connection.execute(insert(documents).values(job_id=job, kind=PLAN, body=body))
