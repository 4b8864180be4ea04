"""Keys over HTTP, their roles, and their end: nothing of a key that is over goes on."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import update
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM
from memstow.api.http.service import Service
from memstow.api.http.settings import Settings
from memstow.api.store.keys import Key, Keys, RefusedKey, Role, WhyRefused
from memstow.api.store.tables import keys as key_table
from tests.api.asking import has_plan, job_of, over, submit
from tests.api.http.callers import Callers
from tests.api.http.conftest import hard, problem_document
from tests.waiting import wait_for

LONG = 300.0


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(
        Settings(data=tmp_path_factory.mktemp("data"), slots=1, anonymous="never", lease_seconds=0.5)
    )


@pytest.fixture(scope="module")
def callers(client: TestClient, app: FastAPI) -> Callers:
    return Callers(client, app.state.service)


@pytest.fixture(scope="module")
def admin(callers: Callers) -> httpx2.Client:
    return callers("operator", Role.ADMIN)


@pytest.fixture
def unremembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request asks the store for its key."""
    monkeypatch.setattr("memstow.api.http.callers._CACHE_SECONDS", 0.0)


def create(admin: httpx2.Client, **values: Any) -> dict[str, Any]:
    answer = admin.post("/v1/keys", json={"name": "made", **values})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_the_text_of_a_key_is_in_one_answer_only(callers: Callers, admin: httpx2.Client) -> None:
    made = create(admin, name="ci", expires="30d", max_priority=7)
    assert made["key"].startswith(f"msk_{made['id']}_")
    assert (made["role"], made["state"], made["max_priority"]) == ("solve", "valid", 7)
    assert callers.with_key(made["key"]).get("/v1/solvers").status_code == 200
    (listed,) = (key for key in admin.get("/v1/keys").json()["keys"] if key["id"] == made["id"])
    assert made["key"].split("_", 2)[2] not in str(listed)
    assert {**listed, "key": made["key"], "used": None} == made


def test_keys_are_for_admin_keys_only(callers: Callers) -> None:
    one = callers("one")
    problem_document(one.post("/v1/keys", json={"name": "mine", "role": "admin"}), 403, "missing_role")
    problem_document(one.get("/v1/keys"), 403, "missing_role")


def test_who_needs_no_key_makes_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever makes the first key closes the service for everyone else."""
    app = create_app(Settings(data=tmp_path_factory.mktemp("open"), slots=0, anonymous="everyone"))
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/v1/jobs").status_code == 200
        for method, path in (
            ("POST", "/v1/keys"),
            ("GET", "/v1/keys"),
            ("POST", "/v1/admin/pause"),
            ("POST", "/v1/admin/drain"),
        ):
            problem_document(client.request(method, path, json={"name": "x"}), 401, "unauthorized")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.name"),
        ({"name": ""}, "$.name"),
        ({"name": "x" * 201}, "$.name"),
        ({"name": "x", "role": "root"}, "$.role"),
        ({"name": "x", "role": None}, "$.role"),
        ({"name": "x", "expires": "soon"}, "$.expires"),
        ({"name": "x", "expires": "2001-01-01"}, "$.expires"),
        ({"name": "x", "max_priority": 101}, "$.max_priority"),
        ({"name": "x", "max_queued": True}, "$.max_queued"),
        ({"name": "x", "max_running": -1}, "$.max_running"),
        ({"name": "x", "colour": "red"}, "$.colour"),
        ({"name": "x", "reads": "nobody", "role": "read"}, "reads"),
        ({"name": "x", "reads": "nobody"}, "reads"),
    ],
)
def test_what_is_wrong_with_a_key_is_told(admin: httpx2.Client, body: dict[str, Any], path: str) -> None:
    answer = admin.post("/v1/keys", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, path), answer.text


def test_a_key_is_changed(admin: httpx2.Client) -> None:
    made = create(admin, expires="1h", max_queued=1)
    path = f"/v1/keys/{made['id']}"
    changed = admin.patch(path, json={"expires": None, "max_running": 3}).json()
    assert (changed["expires"], changed["max_queued"], changed["max_running"]) == (None, 1, 3)
    assert admin.patch(path, json={"max_queued": None}).json()["max_queued"] is None
    problem_document(admin.patch("/v1/keys/nobody", json={}), 404, "no_such_key")


@pytest.mark.usefixtures("unremembered")
def test_both_secrets_of_a_rotated_key_work_until_the_old_one_ends(
    callers: Callers, admin: httpx2.Client, app: FastAPI
) -> None:
    made = create(admin)
    before = callers.with_key(made["key"])
    job = submit(before)
    rotated = admin.post(f"/v1/keys/{made['id']}/rotate", json={"overlap": "7d"}).json()
    after = callers.with_key(rotated["key"])
    assert (rotated["id"], rotated["key"] != made["key"]) == (made["id"], True)
    for client in (before, after):
        assert client.get(f"/v1/jobs/{job}").status_code == 200
    service: Service = app.state.service
    with service._store.database.write() as connection:
        connection.execute(
            update(key_table).where(key_table.c.id == made["id"]).values(previous_until=time.time() - 1)
        )
    problem_document(before.get(f"/v1/jobs/{job}"), 401, "unauthorized")
    assert after.get(f"/v1/jobs/{job}").status_code == 200
    again = admin.post(f"/v1/keys/{made['id']}/rotate", json={}).json()
    problem_document(after.get("/v1/jobs"), 401, "unauthorized")
    assert callers.with_key(again["key"]).get("/v1/jobs").status_code == 200


def expire(app: FastAPI, identity: str) -> None:
    keys: Keys = app.state.service.keys
    assert keys.change(identity, {"expires": time.time() - 1})


@pytest.mark.usefixtures("unremembered")
def test_an_expired_key_opens_nothing(callers: Callers, admin: httpx2.Client, app: FastAPI) -> None:
    made = create(admin, expires="1h")
    holder = callers.with_key(made["key"])
    assert holder.get("/v1/jobs").status_code == 200
    expire(app, made["id"])
    problem_document(holder.get("/v1/jobs"), 401, "unauthorized")
    states = {key["id"]: key["state"] for key in admin.get("/v1/keys").json()["keys"]}
    assert states[made["id"]] == "expired"
    problem_document(admin.post(f"/v1/keys/{made['id']}/rotate", json={}), 404, "no_such_key")


@contextmanager
def following(client: httpx2.Client, job: str, app: FastAPI) -> Iterator[Future[bytes]]:
    """The stream of a job, read in a thread; its end is the result."""
    service: Service = app.state.service
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(lambda: client.get(f"/v1/jobs/{job}/events").content)
        wait_for(lambda: service.callers.open_streams, "the stream to begin")
        yield read


@pytest.mark.parametrize("end", ["revoke", "expire"])
def test_jobs_and_streams_of_a_key_end_with_it(
    callers: Callers, admin: httpx2.Client, app: FastAPI, end: str
) -> None:
    """And what they have found is kept, for who may still see it."""
    made = create(admin)
    holder = callers.with_key(made["key"])
    running = submit(holder, hard(600, 71), time_limit=LONG)
    waiting = submit(holder, hard(600, 72), time_limit=LONG)
    wait_for(lambda: has_plan(holder, running), "a plan of the job")
    with following(holder, waiting, app) as stream:
        if end == "revoke":
            assert admin.delete(f"/v1/keys/{made['id']}").json()["state"] == "revoked"
        else:
            expire(app, made["id"])
        # With or without the last event.
        assert b"incumbent" not in stream.result()
    for job in (running, waiting):
        assert over(admin, job)["state"] == "cancelled"
    assert has_plan(admin, running)


def test_a_stream_of_a_job_that_goes_on_ends_with_the_key_that_reads_it(
    callers: Callers, admin: httpx2.Client, app: FastAPI
) -> None:
    owner = create(admin, name="owner")
    reader = create(admin, name="reader", role="read", reads=owner["id"])
    job = submit(callers.with_key(owner["key"]), hard(600, 73), time_limit=LONG)
    with following(callers.with_key(reader["key"]), job, app) as stream:
        admin.delete(f"/v1/keys/{reader['id']}")
        assert b"event: done" not in stream.result()
    assert job_of(admin, job)["state"] in ("queued", "running")
    admin.delete(f"/v1/jobs/{job}?discard=true")


def test_a_read_key_sees_the_jobs_of_another_key_and_starts_nothing(
    callers: Callers, admin: httpx2.Client, app: FastAPI
) -> None:
    owner = create(admin, name="owner")
    holder = callers.with_key(owner["key"])
    given = {"idempotency-key": "once"}
    job = holder.post("/v1/jobs", json={"problem": PROBLEM}, headers=given).json()["id"]
    over(holder, job)
    reader = callers.with_key(create(admin, name="reader", role="read", reads=owner["id"])["key"])
    for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/plan", f"/v1/jobs/{job}/problem", "/v1/solvers"):
        assert reader.get(path).status_code == 200, path
    assert [job["id"] for job in reader.get("/v1/jobs").json()["jobs"]] == [job]
    problem_document(reader.get("/metrics"), 403, "missing_role")
    for path, operations in app.openapi()["paths"].items():
        for method in operations.keys() - {"get"}:
            place = path.replace("{job}", job).replace("{batch}", job).replace("{key}", owner["id"])
            body = {"problem": PROBLEM, "plan": {}, "problems": [{"problem": PROBLEM}]}
            answer = reader.request(method.upper(), place, json=body, headers=given)
            problem_document(answer, 403, "missing_role")
    stranger = callers.with_key(create(admin, name="stranger", role="read")["key"])
    problem_document(stranger.get(f"/v1/jobs/{job}"), 404, "no_such_job")


def test_a_reader_gets_no_more_than_reading(admin: httpx2.Client) -> None:
    owner = create(admin, name="owner")
    reader = create(admin, name="reader", role="read", reads=owner["id"])
    refused = admin.patch(f"/v1/keys/{reader['id']}", json={"role": "solve"})
    problem_document(refused, 422, "not_a_reader")
    assert create(admin, name="second", role="read", reads=reader["id"])["reads"] == owner["id"]


def test_the_last_use_of_a_key_is_shown(
    client: TestClient, callers: Callers, admin: httpx2.Client, app: FastAPI
) -> None:
    made = create(admin)
    callers.with_key(made["key"]).get("/v1/solvers")
    service: Service = app.state.service
    assert client.portal is not None
    client.portal.call(service.callers.write_last_use)
    (listed,) = (key for key in admin.get("/v1/keys").json()["keys"] if key["id"] == made["id"])
    assert listed["used"] is not None


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("stored", "role"), [("plan", "solve"), ("admin", "admin"), ("admin plan", "admin"), ("read", "read")]
)
def test_keys_of_earlier_versions_have_roles(app: FastAPI, stored: str, role: str) -> None:
    service: Service = app.state.service
    made, text = service.keys.create("old")
    with service._store.database.write() as connection:
        connection.execute(update(key_table).where(key_table.c.id == made.id).values(scopes=stored))
    result = service.keys.find(text)
    assert isinstance(result, Key)
    assert result.role.value == role


@pytest.mark.usefixtures("client")
def test_a_key_with_a_role_that_is_none_opens_nothing(app: FastAPI) -> None:
    service: Service = app.state.service
    made, text = service.keys.create("odd")
    with service._store.database.write() as connection:
        connection.execute(update(key_table).where(key_table.c.id == made.id).values(scopes=""))
    assert service.keys.find(text) == RefusedKey(WhyRefused.UNKNOWN)
