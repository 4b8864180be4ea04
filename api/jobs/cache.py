"""Plans that were made before: by problem, options and version; and the best one of each problem."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select, update

from api.jobs.database import Database, now
from api.jobs.packed import packed, unpacked
from api.jobs.tables import best, plans

# Reading writes only that often that a plan is in use.
_TOUCH_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Found:
    """A plan to keep: as the answer to a question, as the best of its problem, or as both."""

    digest: str
    plan: bytes
    said: Mapping[str, Any]
    cache_key: str | None
    best: bool


class PlanCache:
    """The cached plans of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, cache_key: str) -> tuple[bytes, dict[str, Any]] | None:
        """The plan, as native JSON, and what the job table says of it."""
        with self._database.read() as connection:
            row = connection.execute(
                select(plans.c.body, plans.c.said, plans.c.used).where(plans.c.cache_key == cache_key)
            ).first()
        if row is None:
            return None
        if row.used < now() - _TOUCH_SECONDS:
            with self._database.write() as connection:
                connection.execute(update(plans).where(plans.c.cache_key == cache_key).values(used=now()))
        return unpacked(row.body), json.loads(row.said)

    def best_of(self, digest: str) -> bytes | None:
        """The best plan known for a problem."""
        with self._database.read() as connection:
            body = connection.execute(select(best.c.body).where(best.c.digest == digest)).scalar()
        return None if body is None else unpacked(body)

    def keep(self, found: Sequence[Found]) -> None:
        """Keep these plans; the later ones of equal keys win."""
        with self._database.write() as connection:
            # In one order everywhere, so that two replicas never wait for each other.
            for one in sorted(found, key=lambda it: (it.cache_key or "", it.digest)):
                row = {"digest": one.digest, "body": packed(one.plan), "used": now()}
                if one.cache_key is not None:
                    connection.execute(delete(plans).where(plans.c.cache_key == one.cache_key))
                    said = json.dumps(one.said)
                    connection.execute(insert(plans).values(cache_key=one.cache_key, said=said, **row))
                if one.best:
                    connection.execute(delete(best).where(best.c.digest == one.digest))
                    connection.execute(insert(best).values(**row))
