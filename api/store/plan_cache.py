"""The cache of plans: by problem, options and version; and the best plan of each problem.

Entries of one owner, a key, are apart from those of others: what an answer is, and how soon it comes, must
not tell who asked the same before. Their names say whose they are, by a hash.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from sqlalchemy import select, update

from memstow.api.lru import LruCache
from memstow.api.operations.encoding import MARK_LENGTH, plan_from_bytes
from memstow.api.operations.request_types import SolveResult
from memstow.api.store.database import Database, insert_or_update, now
from memstow.api.store.documents import compress, decompress
from memstow.api.store.tables import best, plans
from memstow.planner.model import Status
from memstow.planner.model.problem import MOVES, parse_term
from memstow.planner.solve.run_state import better

# Reads update the time of the last use this often.
_TOUCH_SECONDS: Final = 3600.0
_MEMORY_BYTES: Final = 16 << 20
# Larger plans are not compared with others: reading both takes too long.
LARGEST_COMPARED: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class CachedPlan:
    """A plan for the cache: as the answer to a request, as the best of its problem, or as both."""

    digest: str
    result: SolveResult
    cache_key: str | None
    best: bool
    owner: str | None = None


def owned(name: str, owner: str | None) -> str:
    """The name of an entry for this owner; None: for whoever shares the cache.

    The beginning stays, since cache keys begin with the mark of the version that they are of.
    """
    if owner is None:
        return name
    hashed = hashlib.sha256(f"{owner}\n{name}".encode()).hexdigest()
    return name[:MARK_LENGTH] + hashed[MARK_LENGTH:]


class PlanCache:
    """The cached plans of one store, and those that were solved too fast to be worth a place in it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._proven_plans: LruCache[str, bytes] = LruCache(_MEMORY_BYTES, lambda _digest, plan: len(plan))
        self._proven_answers: LruCache[str, bytes] = LruCache(_MEMORY_BYTES, lambda _key, plan: len(plan))
        # The best plans that this process has met of late: those that wait to be written are among them.
        self._latest_best: LruCache[str, bytes] = LruCache(_MEMORY_BYTES, lambda _digest, plan: len(plan))
        self._comparing = threading.Lock()

    def answer(self, cache_key: str, digest: str, stands_alone: bool) -> SolveResult | None:
        """As `find`; None where a better plan was found by another request since, which may take part."""
        cached = self.find(cache_key)
        if cached is None or stands_alone or cached.status != Status.FEASIBLE.value:
            return cached
        known = self.best_of(digest)
        outdone = known is not None and known != cached.plan and _is_better(known, cached.plan)
        return None if outdone else cached

    def find(self, cache_key: str) -> SolveResult | None:
        """The cached result of a request."""
        with self._database.read() as connection:
            row = connection.execute(
                select(plans.c.body, plans.c.said, plans.c.used).where(plans.c.cache_key == cache_key)
            ).first()
        if row is None:
            return None
        if row.used < now() - _TOUCH_SECONDS:
            with self._database.write() as connection:
                connection.execute(update(plans).where(plans.c.cache_key == cache_key).values(used=now()))
        return SolveResult(plan=decompress(row.body), **json.loads(row.said))

    def best_of(self, digest: str) -> bytes | None:
        """The best plan known for a problem."""
        proven = self._proven_plans.get(digest)
        if proven is not None:
            return proven
        with self._database.read() as connection:
            body = connection.execute(select(best.c.body).where(best.c.digest == digest)).scalar()
        stored = None if body is None else decompress(body)
        latest = self._latest_best.get(digest)
        if stored is None or latest is None:
            return stored or latest
        return latest if _is_better(latest, stored) else stored

    def remember_best(self, digest: str, plan: bytes, owner: str | None) -> bool:
        """Keep this plan in memory as the best of its problem; False: a better one was there."""
        if len(plan) >= LARGEST_COMPARED:
            return True
        with self._comparing:
            latest = self._latest_best.get(digest)
            if latest is not None and latest != plan and _is_better(latest, plan):
                return False
            self._latest_best.put(digest, plan, owner)
        return True

    def remember_proven(
        self, cache_key: str, digest: str, plan: bytes, found: bool, owner: str | None
    ) -> None:
        """Keep a proven answer in memory, and its plan, if there is one, as the best of the problem."""
        self._proven_answers.put(cache_key, plan, owner)
        if found:
            self._proven_plans.put(digest, plan, owner)

    def proven_answer(self, cache_key: str) -> bytes | None:
        """The proven answer to this request, if it is in memory."""
        return self._proven_answers.get(cache_key)

    def store(self, added: Sequence[CachedPlan]) -> None:
        """Write these plans; of equal keys the last wins, and of a problem's best the better."""
        # The same order everywhere, so that two replicas never wait for each other.
        ordered = sorted(added, key=lambda it: (it.cache_key or "", it.digest))
        best_ones = {
            id(one)
            for one in ordered
            if one.best and self.remember_best(one.digest, one.result.plan, one.owner)
        }
        with self._database.write() as connection:
            for one in ordered:
                row = {
                    "digest": one.digest,
                    "body": compress(one.result.plan),
                    "used": now(),
                    "key_id": one.owner,
                }
                if one.cache_key is not None:
                    figures = asdict(one.result)
                    del figures["plan"]
                    answer = {"cache_key": one.cache_key, "said": json.dumps(figures), **row}
                    insert_or_update(connection, plans, answer, answer)
                if id(one) in best_ones:
                    insert_or_update(connection, best, row, row)


def _is_better(known: bytes, cached: bytes) -> bool:
    plan = plan_from_bytes(cached)
    # Moves count from the hint of each request: plans of two requests cannot be compared by them.
    return all(parse_term(term.term) != MOVES for term in plan.objective) and better(
        plan_from_bytes(known), plan
    )
