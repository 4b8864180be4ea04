"""What a key, and all keys together, may have in the store."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.settings import Settings
from memstow.api.store import database, maintenance
from memstow.api.store.keys import Keys
from tests.api.http.conftest import problem_document


@contextmanager
def service(folder: Path, **settings: int) -> Iterator[tuple[TestClient, list[dict[str, str]]]]:
    """A service that solves nothing, and the headers of two keys."""
    store = database.Database(database.url_of(folder))
    maintenance.upgrade(store)
    texts = [Keys(store).create(name)[1] for name in ("one", "two")]
    store.close()
    app = create_app(Settings(data=folder, slots=0, **settings))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client, [{"authorization": f"Bearer {text}"} for text in texts]


def large() -> dict[str, object]:
    """A problem of which some 10 kB are stored: it does not shrink much."""
    buffers = [{"id": os.urandom(500).hex(), "size": 1, "lifetime": [0, 1]} for _ in range(20)]
    return {"problem": {"version": 1, "buffers": buffers}}


def test_a_key_with_too_many_jobs_waiting_is_refused_and_others_are_not(tmp_path: Path) -> None:
    with service(tmp_path, key_queued=2, max_queued=3) as (client, (one, two)):
        for _ in range(2):
            assert client.post("/v1/jobs", json=large(), headers=one).status_code == 202
        refused = client.post("/v1/jobs", json=large(), headers=one)
        document = problem_document(refused, 429, "key_queue_full")
        assert "`key_queued`" in document["detail"]
        assert refused.headers["retry-after"]
        assert client.post("/v1/jobs", json=large(), headers=two).status_code == 202
        problem_document(client.post("/v1/jobs", json=large(), headers=two), 429, "queue_full")


def test_a_key_with_too_many_bytes_is_refused_until_it_removes_some(tmp_path: Path) -> None:
    with service(tmp_path, key_stored_bytes=30_000, max_stored_bytes=35_000) as (client, (one, two)):
        made = []
        while (answer := client.post("/v1/jobs", json=large(), headers=one)).status_code == 202:
            made.append(answer.headers["location"])
        document = problem_document(answer, 429, "key_store_full")
        assert "`key_stored_bytes`" in document["detail"]
        while (answer := client.post("/v1/jobs", json=large(), headers=two)).status_code == 202:
            pass
        document = problem_document(answer, 507, "store_full")
        assert "`max_stored_bytes`" in document["detail"]
        assert client.delete(f"{made[0]}?discard=true", headers=one).status_code == 204
        assert client.post("/v1/jobs", json=large(), headers=one).status_code == 202
