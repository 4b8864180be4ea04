"""A store of each kind, with its parts."""

from collections.abc import Iterator

import pytest

from memstow.api.store import maintenance
from memstow.api.store.database import Database
from memstow.api.store.job_records import JobEvents
from memstow.api.store.keys import Quotas
from memstow.api.store.queue import Claims, Queue


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    database = Database(store_url)
    maintenance.upgrade(database)
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
