"""The cache of plans: by problem, options and version; and the best plan of each problem.

Plans are written in the background: many in one transaction, none when the store is too slow. A plan that is
lost with the process is only solved once more. The plans of each key are kept within a number of bytes.
"""

import hashlib
import json
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import structlog
from sqlalchemy import Connection, Table, delete, func, select, update

from memstow.api.operations.encoding import MARK_LENGTH, plan_from_bytes
from memstow.api.operations.request_types import SolveResult, encode
from memstow.api.process_memory import LruCache
from memstow.api.store.database import Database, StoreError, insert_or_update, now
from memstow.api.store.job_records import compress, decompress
from memstow.api.store.tables import best, plans
from memstow.planner.model import Status
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import MOVES, parse_term
from memstow.planner.solve.one_run import better
from memstow.records import replace

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

    def is_best(self, digest: str, result: SolveResult, stands_alone: bool) -> bool:
        """Whether no better plan is known for the problem.

        Large plans are not compared: one whose run began from the best that was known counts as the best.
        """
        if result.status == Status.INFEASIBLE.value:
            return True
        is_large = len(result.plan) >= LARGEST_COMPARED
        if is_large and not stands_alone:
            return True
        stored = self.best_of(digest)
        if stored is None or is_large:
            return stored is None
        return not better(_figures(stored), _figures(result.plan))

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
        self, cache_key: str, digest: str, plan: bytes, is_plan: bool, owner: str | None
    ) -> None:
        """Keep a proven answer in memory, and its plan, if there is one, as the best of the problem."""
        self._proven_answers.put(cache_key, plan, owner)
        if is_plan:
            self._proven_plans.put(digest, plan, owner)

    def proven_answer(self, cache_key: str) -> bytes | None:
        """The proven answer to this request, if it is in memory."""
        return self._proven_answers.get(cache_key)

    def store(self, added: Sequence[CachedPlan]) -> None:
        """Write these plans; of equal keys the last wins, and of a problem's best the better."""
        # The same order everywhere, so that two replicas never wait for each other.
        ordered = sorted(added, key=lambda entry: (entry.cache_key or "", entry.digest))
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
                    figures = encode(one.result)
                    del figures["plan"], figures["known"]
                    answer = {"cache_key": one.cache_key, "said": json.dumps(figures), **row}
                    insert_or_update(connection, plans, answer, answer)
                if id(one) in best_ones:
                    insert_or_update(connection, best, row, row)


@lru_cache(maxsize=8)
def _figures(plan: bytes) -> Plan:
    """What the plan is compared by, all but its places; each job compares a few plans several times."""
    return replace(plan_from_bytes(plan), placements=())


def _is_better(known: bytes, cached: bytes) -> bool:
    plan = _figures(cached)
    # Moves count from the hint of each request: plans of two requests cannot be compared by them.
    return all(parse_term(term.term) != MOVES for term in plan.objective) and better(_figures(known), plan)


_MOST_WAITING: Final = 2_000
_MOST_AT_ONCE: Final = 200
_PAUSE_SECONDS: Final = 0.1

log = structlog.get_logger("memstow.jobs")


class CacheWriter:
    """One thread that writes the plans of all others."""

    def __init__(self, cache: PlanCache) -> None:
        self._cache = cache
        self._waiting: queue.Queue[CachedPlan] = queue.Queue(_MOST_WAITING)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="memstow cache writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def write(self, plan: CachedPlan) -> None:
        """Write a plan soon, or drop it when too many wait. The best of a problem is known at once."""
        if plan.best:
            self._cache.remember_best(plan.digest, plan.result.plan, plan.owner)
        try:
            self._waiting.put_nowait(plan)
        except queue.Full:
            return

    def close(self) -> None:
        """Write the plans that wait, and end."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(5.0)

    def _serve(self) -> None:
        while not self._stopped.wait(_PAUSE_SECONDS) or not self._waiting.empty():
            plans: list[CachedPlan] = []
            while len(plans) < _MOST_AT_ONCE and not self._waiting.empty():
                plans.append(self._waiting.get_nowait())
            if not plans:
                continue
            try:
                self._cache.store(plans)
            except StoreError as error:
                log.warning("store_error", during="keep", error=str(error))
                if self._stopped.is_set():
                    return


_AT_ONCE: Final = 200


def bound_cache_of_keys(database: Database, most_bytes: int) -> int:
    """Remove what the plans of a key take beyond this; the number of removed plans."""
    removed = 0
    for table in (plans, best):
        size = func.sum(func.length(table.c.body))
        with database.read() as connection:
            surplus = {
                str(row.key_id): int(row.size) - most_bytes
                for row in connection.execute(
                    select(table.c.key_id, size.label("size"))
                    .where(table.c.key_id.is_not(None))
                    .group_by(table.c.key_id)
                    .having(size > most_bytes)
                )
            }
        for key, left in surplus.items():
            while left > 0:
                with database.write() as connection:
                    count, freed = _remove_oldest(connection, table, key, left)
                if not count:
                    break
                removed += count
                left -= freed
    return removed


def _remove_oldest(connection: Connection, table: Table, key: str, wanted: int) -> tuple[int, int]:
    """Remove the least recently used plans of a key, up to a number of bytes or of plans."""
    name = table.c.cache_key if table is plans else table.c.digest
    rows = connection.execute(
        select(name, func.length(table.c.body))
        .where(table.c.key_id == key)
        .order_by(table.c.used, name)
        .limit(_AT_ONCE)
    ).all()
    chosen: list[str] = []
    freed = 0
    for oldest, size in rows:
        if freed >= wanted:
            break
        chosen.append(oldest)
        freed += size
    connection.execute(delete(table).where(name.in_(chosen)))
    return len(chosen), freed
