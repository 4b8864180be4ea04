"""Problems, hints and plans of jobs in the store, compressed."""

import zlib
from typing import Final

from sqlalchemy import Connection, and_, insert, select, update

from memstow.api.store.tables import documents

# The fastest level: JSON shrinks to a fifth already, and problems come by the hundred a second.
_LEVEL: Final = 1


def compress(document: bytes) -> bytes:
    """A document as the store keeps it."""
    return zlib.compress(document, _LEVEL)


def decompress(body: bytes | memoryview) -> bytes:
    """A document from the store."""
    return zlib.decompress(body)


def read_documents(connection: Connection, job: str, *kinds: str) -> dict[str, bytes]:
    """The documents of a job by kind: all, or those of some kinds."""
    wanted = select(documents.c.kind, documents.c.body).where(documents.c.job_id == job)
    if kinds:
        wanted = wanted.where(documents.c.kind.in_(kinds))
    return {row.kind: decompress(row.body) for row in connection.execute(wanted)}


def save_document(connection: Connection, job: str, kind: str, body: bytes) -> None:
    """Write a document of a job, in place of the one before."""
    where = and_(documents.c.job_id == job, documents.c.kind == kind)
    if not connection.execute(update(documents).where(where).values(body=compress(body))).rowcount:
        connection.execute(insert(documents).values(job_id=job, kind=kind, body=compress(body)))
