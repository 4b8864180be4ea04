"""Operating a server: what waits and runs is shown, claims pause, a server drains, a job is kicked."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM
from memstow.api.http.service import Service
from memstow.api.http.settings import Settings
from memstow.api.store.administration import Administration
from memstow.api.store.database import Database
from memstow.api.store.keys import Role
from memstow.api.store.maintenance import upgrade
from memstow.api.store.queue import Claims, Queue
from memstow.api.store.tables import State
from tests.api.asking import has_plan, job_of, over, submit
from tests.api.http.callers import Callers
from tests.api.http.conftest import hard, problem_document
from tests.waiting import wait_for

LONG = 300.0


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return create_app(Settings(data=tmp_path, slots=1, anonymous="never", lease_seconds=0.5, short_seconds=0))


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def callers(client: TestClient, app: FastAPI) -> Callers:
    return Callers(client, app.state.service)


@pytest.fixture
def admin(callers: Callers) -> httpx2.Client:
    return callers("operator", Role.ADMIN)


def asked(admin: httpx2.Client, what: str) -> dict[str, Any]:
    answer = admin.get(f"/v1/admin/{what}")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def test_it_is_for_admins_only(callers: Callers) -> None:
    one = callers("one")
    for method, path in (
        ("GET", "queue"),
        ("GET", "running"),
        ("GET", "usage"),
        ("POST", "pause"),
        ("POST", "resume"),
        ("POST", "drain"),
        ("POST", f"jobs/{'0' * 32}/kick"),
    ):
        problem_document(one.request(method, f"/v1/admin/{path}"), 403, "missing_role")


def test_a_paused_server_accepts_jobs_and_begins_none(callers: Callers, admin: httpx2.Client) -> None:
    one = callers("one")
    since = admin.post("/v1/admin/pause").json()["paused"]
    assert since is not None
    assert admin.post("/v1/admin/pause").json()["paused"] == since
    job = submit(one)
    time.sleep(1.0)
    assert job_of(one, job)["state"] == "queued"
    queue = asked(admin, "queue")
    assert (queue["paused"], queue["queued"], queue["running"]) == (since, 1, 0)
    (entry,) = queue["keys"]
    assert (entry["name"], entry["queued"]) == ("one", 1)
    assert entry["oldest"] == job_of(one, job)["created"]
    assert one.get("/readyz").status_code == 200
    assert admin.post("/v1/admin/resume").json() == {"paused": None}
    assert over(one, job)["state"] == "done"
    assert asked(admin, "queue") == {"paused": None, "queued": 0, "running": 0, "keys": []}


def test_to_pause_does_not_take_longer_with_a_long_queue(
    admin: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: Administration) -> None:
        raise AssertionError("the whole queue is not asked for")

    monkeypatch.setattr(Administration, "queue", fail)
    since = admin.post("/v1/admin/pause").json()["paused"]
    assert since is not None
    assert admin.post("/v1/admin/pause").json() == {"paused": since}
    assert admin.post("/v1/admin/resume").json() == {"paused": None}


def test_what_runs_and_what_keys_use_is_shown(callers: Callers, admin: httpx2.Client, app: FastAPI) -> None:
    one = callers("one")
    over(one, submit(one))
    job = submit(one, hard(600, 91), time_limit=LONG)
    wait_for(lambda: job_of(one, job)["state"] == "running", "the job to run")
    (running,) = asked(admin, "running")["jobs"]
    service: Service = app.state.service
    assert (running["id"], running["server"], running["attempt"]) == (job, service.runner.name, 1)
    assert one.delete(f"/v1/jobs/{job}").status_code == 200
    over(one, job)
    (used,) = asked(admin, "usage")["keys"]
    assert (used["name"], used["jobs"]) == ("one", 2)
    assert used["seconds"] > 0
    assert used["bytes"] > 0


def test_a_kicked_job_runs_again_and_keeps_its_plan(
    callers: Callers, admin: httpx2.Client, app: FastAPI
) -> None:
    one = callers("one")
    job = submit(one, hard(600, 92), time_limit=LONG)
    wait_for(lambda: has_plan(one, job), "a plan")
    assert admin.post(f"/v1/admin/jobs/{job}/kick").status_code == 200
    assert has_plan(one, job)
    wait_for(lambda: [job["attempt"] for job in asked(admin, "running")["jobs"]] == [2], "the second attempt")
    service: Service = app.state.service
    wait_for(lambda: service.runner.running() == 1, "the first run to end")
    assert one.delete(f"/v1/jobs/{job}").status_code == 200
    assert over(one, job)["state"] == "cancelled"
    assert has_plan(one, job)
    problem_document(admin.post(f"/v1/admin/jobs/{job}/kick"), 409, "not_running")
    problem_document(admin.post(f"/v1/admin/jobs/{'0' * 32}/kick"), 404, "no_such_job")
    wait_for(lambda: service.runner.running() == 0, "the runs to end")


def test_a_drained_server_accepts_nothing_and_ends_its_jobs(callers: Callers, admin: httpx2.Client) -> None:
    one = callers("one")
    answer = admin.post("/v1/admin/drain").json()
    assert (answer["draining"], answer["running"]) == (True, 0)
    problem_document(one.post("/v1/jobs", json={"problem": PROBLEM}), 503, "draining")
    problem_document(one.get("/readyz"), 503, "draining")
    assert one.get("/livez").status_code == 200
    assert one.get("/v1/jobs").status_code == 200, "what there is can be had"


def test_a_full_queue_is_ready_and_refuses_who_fills_it(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path, slots=0, anonymous="never", max_queued=3, key_queued=2))
    with TestClient(app, base_url="http://localhost") as client:
        callers = Callers(client, app.state.service)
        one, two = callers("one"), callers("two")
        _, text = app.state.service.keys.create("small", more={"max_queued": 0})
        for _ in range(2):
            submit(one)
        refused = problem_document(one.post("/v1/jobs", json={"problem": PROBLEM}), 429, "key_queue_full")
        assert "max_queued" in refused["detail"]
        small = callers.with_key(text)
        problem_document(small.post("/v1/jobs", json={"problem": PROBLEM}), 429, "key_queue_full")
        submit(two)
        problem_document(two.post("/v1/jobs", json={"problem": PROBLEM}), 429, "queue_full")
        assert client.get("/readyz").status_code == 200


def test_pause_holds_for_every_server_of_a_store(store_url: str) -> None:
    from tests.api.store.drafts import draft

    database = Database(store_url)
    upgrade(database)
    store = Administration(database)
    job, _ = Queue(database, Settings().quotas()).submit(draft())
    store.pause()
    assert Claims(database).claim("server", 1) is None
    store.resume()
    claimed = Claims(database).claim("server", 1)
    assert claimed is not None
    assert store.kick(job, 60.0)
    assert not store.kick(job, 60.0), "it does not run any more"
    result = Queue(database, Settings().quotas()).get(job)
    assert result is not None
    assert result.state is State.QUEUED
    assert [key.queued for key in store.queue().keys] == [1]
    assert store.usage()[0].jobs == 1
    assert store.running() == ()
    database.close()
