"""A store of the version before is migrated with all that is in it."""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from memstow.api.store import maintenance
from memstow.api.store.database import Database, read_time
from memstow.api.store.job_records import IdempotencyKey
from memstow.api.store.keys import Quotas
from memstow.api.store.queue import Claims, Filter, Queue
from memstow.api.store.tables import bodies, metadata
from memstow.planner.model.errors import InputError
from tests.api.store.recount import recount

MADE = 1_700_000_000.0
"""Seconds since 1970 at which the old store was written."""
SHARED = os.urandom(20_000)


@pytest.fixture
def old(store_url: str) -> Iterator[Database]:
    """A store of schema 0002, as its servers left it."""
    database = Database(store_url)
    with database.write() as connection:
        maintenance.migrate(connection, "0002")
    with database.write() as connection:
        fill(connection)
    yield database
    database.close()


def fill(connection: sa.Connection) -> None:
    """A batch of 250 queued jobs about one problem, and jobs of other keys in each other state."""
    insert(connection, "keys", id="k1", name="ci", hash="h", scopes="plan", created=MADE)
    insert(connection, "batches", id="b" * 32, key_id="k1", name="nightly", created=MADE)
    for number in range(250):
        add_job(connection, f"{number:032x}", "queued", "k1", SHARED, batch_id="b" * 32)
    add_job(connection, "c" * 32, "queued", None, SHARED, hint=b"hint", plan=b"best so far")
    add_job(connection, "d" * 32, "running", "k2", b"running", plan=b"saved", attempt=1, owner="gone")
    add_job(connection, "e" * 32, "done", "k1", SHARED, plan=b"plan", finished=MADE, expires=MADE + 604_800)
    add_job(connection, "f" * 32, "failed", None, b"failed", error="declined: no", expires=MADE + 604_800)
    for number, kind in enumerate(("incumbent", "done"), 1):
        insert(connection, "events", job_id="e" * 32, number=number, kind=kind, data=json.dumps({"value": 1}))
    insert(connection, "idempotency", owner="k1", name="once", fingerprint="p", target="e" * 32, created=MADE)


def insert(connection: sa.Connection, table: str, **values: object) -> None:
    columns = sa.table(table, *map(sa.column, values))
    connection.execute(sa.insert(columns).values(values))


def add_job(
    connection: sa.Connection,
    name: str,
    state: str,
    key: str | None,
    problem: bytes,
    *,
    hint: bytes | None = None,
    plan: bytes | None = None,
    **values: object,
) -> None:
    given = {
        "id": name,
        "state": state,
        "key_id": key,
        "priority": 0,
        "digest": "d",
        "cache_key": name,
        "buffers": 1,
        "options": "{}",
        "fresh": 0,
        "created": MADE,
        "attempt": 0,
        "beat": 0,
        "stop": 0,
        **values,
    }
    insert(connection, "jobs", **given)
    for kind, body in (("problem", problem), ("hint", hint), ("plan", plan)):
        if body is not None:
            insert(connection, "documents", job_id=name, kind=kind, body=zlib.compress(body, 1))


def test_nothing_is_lost_and_each_problem_is_stored_once(old: Database) -> None:
    assert maintenance.upgrade(old) == ("0002", maintenance.newest())
    with old.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        stored = connection.execute(sa.select(sa.func.count()).select_from(bodies)).scalar_one()
    assert stored == 5, "one problem of k1, another of k2, and two with a hint without a key"
    recount(old)
    jobs = Queue(old, Quotas(max_queued=1000))
    assert (jobs.totals().queued, jobs.totals().running) == (251, 1)
    assert 40_000 < jobs.totals().bytes < 60_000
    for name, kind, body in (
        (f"{7:032x}", "problem", SHARED),
        (f"{249:032x}", "problem", SHARED),
        ("c" * 32, "problem", SHARED),
        ("c" * 32, "hint", b"hint"),
        ("c" * 32, "plan", b"best so far"),
        ("d" * 32, "problem", b"running"),
        ("d" * 32, "plan", b"saved"),
        ("e" * 32, "problem", SHARED),
        ("e" * 32, "plan", b"plan"),
        ("f" * 32, "problem", b"failed"),
        ("f" * 32, "plan", None),
    ):
        assert jobs.document(name, kind) == body, (name, kind)


def test_the_jobs_go_on_where_they_were(old: Database) -> None:
    maintenance.upgrade(old)
    jobs, claims = Queue(old, Quotas(max_queued=1000)), Claims(old)
    assert claims.requeue_all(60) == 1
    claimed = [claims.claim("me", 2) for _ in range(6)]
    result = {claimed_job.job.id: claimed_job for claimed_job in claimed if claimed_job is not None}
    assert result["d" * 32].plan == b"saved"
    assert result["c" * 32].hint == b"hint"
    assert len(result) == 4, "two of k1, which has a share of two"
    jobs.stop_batch("b" * 32, discard=True, keep_seconds=60)
    claims.requeue_all(60)
    assert {job.id[0] for job in jobs.page(Filter(), 300)} == set("cdef")
    recount(old)


def test_what_is_kept_is_kept_as_long_as_it_was_said(old: Database) -> None:
    maintenance.upgrade(old)
    with old.read() as connection:
        assert read_time(connection) > MADE
        kept = connection.execute(
            sa.text("SELECT kept_until - expires FROM jobs WHERE expires IS NOT NULL")
        ).scalars()
        assert set(kept) == {0.0}
        until = connection.execute(sa.text("SELECT kept_until FROM idempotency")).scalar_one()
    assert until == MADE + 86_400
    key = IdempotencyKey("k1", "once", "p")
    assert Queue(old, Quotas(max_queued=9)).find_submitted(key) == "e" * 32


def test_files_of_migrations_are_called_by_their_revisions() -> None:
    folder = Path(maintenance.__file__).parent / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    for revision in scripts.walk_revisions():
        maintenance.require_known(revision.revision)
    assert maintenance.newest() == scripts.get_current_head()
    with pytest.raises(InputError, match="newer version"):
        maintenance.require_known("9999")


def test_a_store_that_is_at_the_newest_version_needs_no_alembic(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'memstow.sqlite'}")
    assert maintenance.upgrade(database) == (None, maintenance.newest())
    database.close()
    code = """
import sys
from memstow.api.store import maintenance
from memstow.api.store.database import Database

database = Database(sys.argv[1])
print(*maintenance.upgrade(database), "alembic" in sys.modules)
database.close()
"""
    ran = subprocess.run(
        [sys.executable, "-c", code, f"sqlite:///{tmp_path / 'memstow.sqlite'}"],
        capture_output=True,
        text=True,
        check=True,
    )
    newest = maintenance.newest()
    assert ran.stdout.split() == [newest, newest, "False"]
