"""Who may ask for what: keys, roles, rates, and the rule about this machine."""

from pathlib import Path
from typing import Literal

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from memstow.api.http.app import create_app
from memstow.api.http.callers import RateLimit, is_loopback
from memstow.api.http.errors import ApiError
from memstow.api.http.samples import PROBLEM
from memstow.api.http.service import Service
from memstow.api.http.settings import Settings
from memstow.api.store.keys import Keys, Role
from tests.api.http.conftest import problem_document


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(
        Settings(data=tmp_path_factory.mktemp("data"), slots=1, key_time_limit=5.0, anonymous="never")
    )


@pytest.fixture(scope="module")
def keys(client: TestClient, app: FastAPI) -> Keys:
    service: Service = app.state.service
    assert client is not None
    return service.keys


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


@pytest.fixture(scope="module")
def texts(keys: Keys) -> dict[str, str]:
    return {
        name: keys.create(name, role)[1]
        for name, role in (("one", Role.SOLVE), ("two", Role.SOLVE), ("admin", Role.ADMIN))
    }


def test_without_a_key_only_health_and_the_version_are_told(client: TestClient) -> None:
    for path in ("/livez", "/readyz", "/version", "/openapi.json", "/", "/compare?a=x"):
        assert client.get(path).status_code == 200
    for path in ("/v1/jobs", "/v1/solvers", "/metrics", "/v1/examples"):
        answer = client.get(path)
        problem_document(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith("Bearer")
    problem_document(client.post("/v1/plan", json={"problem": PROBLEM}), 401, "unauthorized")


def test_a_key_opens_and_a_wrong_one_does_not(client: TestClient, texts: dict[str, str]) -> None:
    assert client.get("/v1/solvers", headers=bearer(texts["one"])).status_code == 200
    assert client.get("/v1/solvers", headers={"x-api-key": texts["one"]}).status_code == 200
    for wrong in (bearer(texts["one"] + "x"), bearer(""), {"authorization": "Basic abc"}, bearer("msk_a_b")):
        problem_document(client.get("/v1/solvers", headers=wrong), 401, "unauthorized")


def test_a_job_is_seen_by_its_owner_and_by_admins(client: TestClient, texts: dict[str, str]) -> None:
    job = client.post("/v1/jobs", json={"problem": PROBLEM}, headers=bearer(texts["one"])).json()["id"]
    for name, status in (("one", 200), ("two", 404), ("admin", 200)):
        assert client.get(f"/v1/jobs/{job}", headers=bearer(texts[name])).status_code == status
    problem_document(client.delete(f"/v1/jobs/{job}", headers=bearer(texts["two"])), 404, "no_such_job")
    listed = client.get("/v1/jobs", headers=bearer(texts["two"])).json()["jobs"]
    assert job not in [entry["id"] for entry in listed]


def test_figures_are_for_admins(client: TestClient, texts: dict[str, str]) -> None:
    problem_document(client.get("/metrics", headers=bearer(texts["one"])), 403, "missing_role")
    assert client.get("/metrics", headers=bearer(texts["admin"])).status_code == 200


def test_a_key_may_not_ask_for_more_time_than_its_limit(client: TestClient, texts: dict[str, str]) -> None:
    body = {"problem": PROBLEM, "options": {"time_limit": 6.0}}
    refused = client.post("/v1/plan", json=body, headers=bearer(texts["one"]))
    assert "key_time_limit" in problem_document(refused, 422, "over_limit")["detail"]
    assert client.post("/v1/plan", json=body, headers=bearer(texts["admin"])).status_code == 200


def test_a_revoked_key_is_worthless_soon(
    client: TestClient, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, text = keys.create("brief", Role.SOLVE)
    assert client.get("/v1/solvers", headers=bearer(text)).status_code == 200
    keys.revoke(key.id)
    monkeypatch.setattr("memstow.api.http.callers._CACHE_SECONDS", 0.0)
    problem_document(client.get("/v1/solvers", headers=bearer(text)), 401, "unauthorized")


def test_too_many_requests_are_told_when_to_come_again() -> None:
    now = 0.0
    rate = RateLimit(2.0, 3, lambda: now)
    for _ in range(3):
        rate.count("a")
    with pytest.raises(ApiError) as refused:
        rate.count("a")
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "1")
    rate.count("b")
    now = 1.0
    rate.count("a")
    now = 1000.0
    for _ in range(3):
        rate.count("a")
    with pytest.raises(ApiError):
        # Who has not asked for long has no more at once than anybody.
        rate.count("a")


def test_who_asked_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks again and again stays limited, however many others ask once."""
    monkeypatch.setattr("memstow.api.http.callers._MOST_BUCKETS", 2)
    rate = RateLimit(0.001, 2, lambda: 0.0)
    for other in ("b", "c"):
        rate.count("a")
        rate.count(other)
    with pytest.raises(ApiError):
        rate.count("a")
    rate.count("c")
    with pytest.raises(ApiError):
        rate.count("c")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
    ],
)
def test_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_server_that_others_reach_gives_nothing_away_once_its_keys_are_gone(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path, host="0.0.0.0", slots=0))
    with TestClient(app, base_url="http://localhost") as client:
        problem_document(client.get("/v1/jobs"), 401, "unauthorized")


@pytest.mark.parametrize("anonymous", ["loopback", "everyone"])
def test_revoking_the_last_key_does_not_open_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anonymous: Literal["loopback", "everyone"]
) -> None:
    monkeypatch.setattr("memstow.api.http.callers._CACHE_SECONDS", 0.0)
    app = create_app(Settings(data=tmp_path, slots=0, anonymous=anonymous))
    with TestClient(app, base_url="http://localhost") as client:
        keys: Keys = app.state.service.keys
        assert client.get("/v1/jobs").status_code == 200, "no key was ever made"
        key, text = keys.create("last", Role.SOLVE)
        problem_document(client.get("/v1/jobs"), 401, "unauthorized")
        keys.revoke(key.id)
        problem_document(client.get("/v1/jobs"), 401, "unauthorized")
        problem_document(client.get("/v1/jobs", headers=bearer(text)), 401, "unauthorized")
        assert keys.reset()
        assert client.get("/v1/jobs").status_code == 200


def test_everyone_may_ask_where_the_operator_says_so(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path, host="0.0.0.0", slots=0, anonymous="everyone"))
    with TestClient(app, base_url="http://anything.example") as client:
        assert client.get("/v1/jobs").status_code == 200


def test_origins_that_are_allowed_may_call(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path, slots=0, cors_origins=("https://ours.example",)))
    headers = {"origin": "https://ours.example"}
    with TestClient(app, base_url="http://localhost") as client:
        answer = client.post("/v1/plan", json={"problem": PROBLEM}, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://ours.example"
        request = client.options("/v1/plan", headers={**headers, "access-control-request-method": "POST"})
        assert request.status_code == 200
