"""Plans that were made before: by problem, options and version; and the best one of each problem."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, insert, select, update

from memstow.api.lru import Recent
from memstow.api.operations.body import plan_of
from memstow.api.operations.results import Solved, solved_of
from memstow.api.store.compression import packed, unpacked
from memstow.api.store.database import Database, now
from memstow.api.store.tables import best, plans
from memstow.planner.model.objective import MOVES, parse_term
from memstow.planner.model.plan import Status
from memstow.planner.solve.better_plan import better

# Reading writes only that often that a plan is in use.
_TOUCH_SECONDS: Final = 3600.0
# What was solved at a glance is not worth a place in the store, but it is remembered here for a while.
_GLIMPSED_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """A plan to keep: as the answer to a question, as the best of its problem, or as both."""

    digest: str
    solved: Solved
    cache_key: str | None
    best: bool


class PlanCache:
    """The cached plans of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._glimpsed: Recent[str, bytes] = Recent(_GLIMPSED_BYTES, lambda _digest, plan: len(plan))
        self._answers: Recent[str, bytes] = Recent(_GLIMPSED_BYTES, lambda _cache_key, plan: len(plan))

    def answer(self, cache_key: str, digest: str, deterministic: bool) -> Solved | None:
        """As `find`, unless another question about the problem has a better answer by now."""
        found = self.find(cache_key)
        if found is None or deterministic or found.status != Status.FEASIBLE.value:
            return found
        known = self.best_of(digest)
        return None if known is not None and known != found.plan and _outdone(found.plan, known) else found

    def find(self, cache_key: str) -> Solved | None:
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
        return solved_of({"plan": unpacked(row.body), **json.loads(row.said)})

    def best_of(self, digest: str) -> bytes | None:
        """The best plan known for a problem."""
        glimpsed = self._glimpsed.find(digest)
        if glimpsed is not None:
            return glimpsed
        with self._database.read() as connection:
            body = connection.execute(select(best.c.body).where(best.c.digest == digest)).scalar()
        return None if body is None else unpacked(body)

    def glimpse(self, cache_key: str, digest: str, plan: bytes, found: bool) -> None:
        """Remember a proven answer without the store; a plan of the problem too, so that a weaker solver
        does not answer with less.
        """
        self._answers.keep(cache_key, plan)
        if found:
            self._glimpsed.keep(digest, plan)

    def glimpsed(self, cache_key: str) -> bytes | None:
        """The proven answer to this question that is remembered without the store."""
        return self._answers.find(cache_key)

    def keep(self, found: Sequence[Found]) -> None:
        """Keep these plans; the later ones of equal keys win."""
        with self._database.write() as connection:
            # In one order everywhere, so that two replicas never wait for each other.
            for one in sorted(found, key=lambda it: (it.cache_key or "", it.digest)):
                row = {"digest": one.digest, "body": packed(one.solved.plan), "used": now()}
                if one.cache_key is not None:
                    connection.execute(delete(plans).where(plans.c.cache_key == one.cache_key))
                    said = json.dumps(one.solved.figures())
                    connection.execute(insert(plans).values(cache_key=one.cache_key, said=said, **row))
                if one.best:
                    connection.execute(delete(best).where(best.c.digest == one.digest))
                    connection.execute(insert(best).values(**row))


def _outdone(plan: bytes, known: bytes) -> bool:
    found = plan_of(plan)
    # Moves count from the hint of each question: plans of two questions cannot be compared by them.
    return all(parse_term(term.term) != MOVES for term in found.objective) and better(plan_of(known), found)
