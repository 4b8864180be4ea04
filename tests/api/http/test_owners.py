"""What belongs to one key is not another's: jobs to start from, promises, batches; and what an admin may."""

from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM
from memstow.api.http.settings import Settings
from memstow.api.store.keys import Role
from tests.api.asking import over
from tests.api.http.callers import Callers
from tests.api.http.conftest import problem_document

SOLVE, ADMIN = Role.SOLVE, Role.ADMIN


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(Settings(data=tmp_path_factory.mktemp("data"), slots=1, anonymous="never"))


@pytest.fixture(scope="module")
def callers(client: TestClient, app: FastAPI) -> Callers:
    return Callers(client, app.state.service)


def put_in(
    client: httpx2.Client, key: str | None = None, path: str = "/v1/jobs", **body: Any
) -> httpx2.Response:
    headers = {} if key is None else {"idempotency-key": key}
    return client.post(path, json={"problem": PROBLEM, **body}, headers=headers)


def test_the_plan_of_another_key_is_no_hint(callers: Callers) -> None:
    one, two, admin = callers("one"), callers("two"), callers("admin", ADMIN)
    job = put_in(one).json()["id"]
    over(one, job)
    document = problem_document(put_in(two, hint_job=job), 422, "no_such_job")
    assert document["errors"][0]["path"] == "$.hint_job"
    for client in (one, admin):
        assert put_in(client, hint_job=job).status_code == 202


def test_one_idempotency_key_of_two_callers_is_two_promises(callers: Callers) -> None:
    one, two = callers("one"), callers("two")
    mine, theirs = put_in(one, "same"), put_in(two, "same")
    assert (mine.status_code, theirs.status_code) == (202, 202)
    assert mine.json()["id"] != theirs.json()["id"]
    assert put_in(one, "same").json()["id"] == mine.json()["id"]
    assert put_in(two, "same").json()["id"] == theirs.json()["id"]


@pytest.mark.parametrize(
    "again", ["/v1/jobs?seed=2", "/v1/jobs", "/v1/plan?seed=1"], ids=["other query", "no query", "other path"]
)
def test_a_promise_is_of_the_whole_request(callers: Callers, again: str) -> None:
    one = callers("one")
    headers = {"prefer": "respond-async", "idempotency-key": "whole"}
    body = {"problem": PROBLEM}
    assert one.post("/v1/jobs?seed=1", json=body, headers=headers).status_code == 202
    problem_document(one.post(again, json=body, headers=headers), 422, "idempotency_key_reused")


def test_an_admin_needs_no_other_role(callers: Callers) -> None:
    """Not even that to plan: it holds for everything."""
    admin = callers("admin", ADMIN)
    assert admin.post("/v1/plan", json={"problem": PROBLEM}).status_code == 200
    assert admin.get("/metrics").status_code == 200


def test_nobody_ends_several_jobs_of_others(callers: Callers) -> None:
    one, two, admin = callers("one"), callers("two"), callers("admin", ADMIN)
    mine, theirs = (
        client.post("/v1/jobs?name=of several", json={"problem": PROBLEM}).json()["id"]
        for client in (one, two)
    )
    for client, job in ((one, mine), (two, theirs)):
        over(client, job)
    assert one.delete(f"/v1/jobs?ids={mine},{theirs}&discard=true").json()["jobs"] == [mine]
    assert one.delete("/v1/jobs?search=of several&discard=true").json()["jobs"] == []
    assert two.get(f"/v1/jobs/{theirs}").status_code == 200
    assert admin.delete("/v1/jobs?search=of several&discard=true").json()["jobs"] == [theirs]
    reader = callers("reader", Role.READ)
    problem_document(reader.delete("/v1/jobs?state=done"), 403, "missing_role")


def test_an_admin_sees_and_ends_what_is_everyones(callers: Callers) -> None:
    one, two, admin = callers("one"), callers("two"), callers("admin", ADMIN)
    job = put_in(one).json()["id"]
    batch = one.post("/v1/batches", json={"problems": [{"problem": PROBLEM}]}).headers["location"]
    for client, sees in ((one, True), (two, False), (admin, True)):
        listed = [job["id"] for job in client.get("/v1/jobs?limit=500").json()["jobs"]]
        assert (job in listed) is sees
        assert client.get(batch).status_code == (200 if sees else 404)
        assert client.get(f"{batch}/results").status_code == (200 if sees else 404)
    problem_document(two.delete(batch), 404, "no_such_batch")
    over(one, job)
    assert admin.delete(f"/v1/jobs/{job}?discard=true").status_code == 204
    problem_document(one.get(f"/v1/jobs/{job}"), 404, "no_such_job")
