"""Problems, hints and models of jobs: each is stored once for all jobs of an account, and goes with the last.

Not once for all accounts: who has a quota must not find out by it what others have in the store.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, update

from memstow.api.store.database import insert_or_update
from memstow.api.store.documents import compress, decompress
from memstow.api.store.tables import bodies


@dataclass(frozen=True, slots=True)
class StoredBodies:
    """The digest of each document, and the bytes that the store has grown by."""

    digests: dict[bytes, str]
    size: int


def store_bodies(connection: Connection, account: str, documents: Sequence[bytes]) -> StoredBodies:
    """Store documents, one use of each for every time it is given."""
    uses = Counter(documents)
    digests = {document: hashlib.sha256(document).hexdigest() for document in uses}
    grown = 0
    # In the same order everywhere, so that no two servers wait for each other.
    for document, digest in sorted(digests.items(), key=lambda it: it[1]):
        where = (bodies.c.account == account, bodies.c.digest == digest)
        used_again = update(bodies).where(*where).values(uses=bodies.c.uses + uses[document])
        if connection.execute(used_again).rowcount:
            continue
        body = compress(document)
        row = {"account": account, "digest": digest, "body": body, "size": len(body), "uses": uses[document]}
        # Another server may have stored it in the meantime.
        insert_or_update(connection, bodies, row, {"uses": bodies.c.uses + uses[document]})
        if connection.execute(select(bodies.c.uses).where(*where)).scalar_one() == uses[document]:
            grown += len(body)
    return StoredBodies(digests, grown)


def read_body(connection: Connection, account: str, digest: str | None) -> bytes | None:
    """A document by its digest."""
    if digest is None:
        return None
    where = (bodies.c.account == account, bodies.c.digest == digest)
    body = connection.execute(select(bodies.c.body).where(*where)).scalar()
    return None if body is None else decompress(body)


def release_bodies(connection: Connection, account: str, digests: Iterable[str | None]) -> int:
    """Take back one use of each of these; returns the bytes of those that were removed."""
    freed = 0
    uses = Counter(digest for digest in digests if digest is not None)
    for digest, count in sorted(uses.items()):
        where = (bodies.c.account == account, bodies.c.digest == digest)
        connection.execute(update(bodies).where(*where).values(uses=bodies.c.uses - count))
        size = connection.execute(select(bodies.c.size).where(*where, bodies.c.uses <= 0)).scalar()
        if size is not None:
            connection.execute(delete(bodies).where(*where))
            freed += size
    return freed
