"""A store of each kind, with its parts."""

from collections.abc import Iterator

import pytest

from memstow.api.store import migrate
from memstow.api.store.accounts import Quotas
from memstow.api.store.claims import Claims
from memstow.api.store.database import Database
from memstow.api.store.job_events import JobEvents
from memstow.api.store.queue import Queue


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    database = Database(store_url)
    migrate.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def jobs(database: Database) -> Queue:
    return Queue(database, Quotas(max_queued=100))


@pytest.fixture
def claims(database: Database) -> Claims:
    return Claims(database)


@pytest.fixture
def events(database: Database) -> JobEvents:
    return JobEvents(database)
