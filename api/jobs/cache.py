"""Plans that were made before: by problem, options and version; and the best one of each problem."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select, update

from api.jobs.database import Database, now
from api.jobs.packed import packed, unpacked
from api.jobs.tables import best, plans

# Reading writes that often only that a plan is in use.
_TOUCH_SECONDS = 3600.0


class PlanCache:
    """The cached plans of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, cache_key: str) -> bytes | None:
        """The plan, as native JSON."""
        with self._database.read() as connection:
            row = connection.execute(
                select(plans.c.body, plans.c.used).where(plans.c.cache_key == cache_key)
            ).first()
        if row is None:
            return None
        if row.used < now() - _TOUCH_SECONDS:
            with self._database.write() as connection:
                connection.execute(update(plans).where(plans.c.cache_key == cache_key).values(used=now()))
        return unpacked(row.body)

    def best_of(self, digest: str) -> bytes | None:
        """The best plan known for a problem."""
        with self._database.read() as connection:
            body = connection.execute(select(best.c.body).where(best.c.digest == digest)).scalar()
        return None if body is None else unpacked(body)

    def keep(self, found: "Sequence[Found]") -> None:
        """Keep these plans; the later ones of equal keys win."""
        with self._database.write() as connection:
            for one in found:
                row = {"body": packed(one.plan), "used": now()}
                if one.cache_key is not None:
                    connection.execute(delete(plans).where(plans.c.cache_key == one.cache_key))
                    connection.execute(
                        insert(plans).values(
                            cache_key=one.cache_key, digest=one.digest, status=one.status, **row
                        )
                    )
                if one.best:
                    connection.execute(delete(best).where(best.c.digest == one.digest))
                    connection.execute(insert(best).values(digest=one.digest, **row))


class Found:
    """A plan to keep."""

    __slots__ = ("best", "cache_key", "digest", "plan", "status")

    def __init__(self, digest: str, status: str, plan: bytes, *, cache_key: str | None, best: bool) -> None:
        self.digest = digest
        self.status = status
        self.plan = plan
        self.cache_key = cache_key
        self.best = best
