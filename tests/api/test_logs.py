"""The log of a server: JSON, a line a request, with the ids that belong together, and nothing private."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memstow.api.jobs.database import Database, url_of
from memstow.api.jobs.keys import Keys, Scope
from memstow.api.jobs.migrate import upgrade
from tests.api.http.conftest import hard
from tests.api.serving import Server
from tests.waiting import wait_for

PRIVATE = "blueprint-of-the-next-chip"
PROBLEM = {
    "version": 1,
    "name": PRIVATE,
    "buffers": [{"id": PRIVATE, "size": 64, "lifetime": [0, 2]}],
}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    server = Server(tmp_path_factory.mktemp("logs") / "data")
    key = make_key(server.data)
    server.start(anonymous="never")
    yield server, key
    server.kill()


def make_key(data: Path) -> str:
    data.mkdir()
    database = Database(url_of(data))
    upgrade(database)
    _, text = Keys(database).create(PRIVATE, frozenset(Scope))
    database.close()
    return text


def requests_in(server: Server) -> list[dict[str, Any]]:
    return [event for event in server.events() if event["event"] == "request"]


def test_every_request_is_one_line_and_nothing_private_is_in_any(keyed: tuple[Server, str]) -> None:
    server, key = keyed
    before = len(requests_in(server))
    given = {"authorization": f"Bearer {key}"}
    wrong = {"authorization": f"Bearer {PRIVATE}"}
    broken = {**PROBLEM, PRIVATE: 1}
    asked = [
        ("POST", "/v1/plan", given, {"problem": PROBLEM}, 200, "/v1/plan"),
        ("POST", "/v1/plan", wrong, {"problem": PROBLEM}, 401, "/v1/plan"),
        ("POST", "/v1/plan", given, {"problem": broken}, 422, "/v1/plan"),
        ("POST", f"/v1/plan?format={PRIVATE}", given, {"problem": PROBLEM}, 422, "/v1/plan"),
        ("POST", "/v1/verify", given, {"problem": PROBLEM, "plan": {PRIVATE: 1}}, 422, "/v1/verify"),
        ("GET", f"/v1/jobs/{PRIVATE}", given, None, 404, "/v1/jobs/{job}"),
        ("GET", f"/{PRIVATE}", given, None, 404, "none"),
        ("DELETE", "/livez", given, None, 405, "/livez"),
        ("GET", "/livez", {}, None, 200, "/livez"),
    ]
    with server.client() as client:
        for number, (method, path, headers, body, status, _) in enumerate(asked):
            headers = {**headers, "x-request-id": f"asked-{number}", "idempotency-key": PRIVATE}
            answer = client.request(method, path, headers=headers, json=body)
            assert answer.status_code == status, answer.text
            assert answer.headers["x-request-id"] == f"asked-{number}"
    wait_for(lambda: len(requests_in(server)) >= before + len(asked), "the lines")
    lines = requests_in(server)[before:]
    assert len(lines) == len(asked)
    for number, (line, (method, _, _, _, status, route)) in enumerate(zip(lines, asked, strict=True)):
        assert (line["request"], line["method"], line["status"]) == (f"asked-{number}", method, status)
        assert line["route"] == route
        assert line["seconds"] >= 0
        assert line["timestamp"]
        assert line["level"] == "info"
    assert PRIVATE not in server.log()
    assert key not in server.log()


def test_an_id_that_is_none_is_replaced(keyed: tuple[Server, str]) -> None:
    server, _ = keyed
    with server.client() as client:
        answer = client.get("/livez", headers={"x-request-id": 'x" , "level": "forged'})
    assert len(answer.headers["x-request-id"]) == 32
    assert "forged" not in server.log()


def test_what_happens_to_a_job_carries_its_id(keyed: tuple[Server, str]) -> None:
    server, key = keyed
    given = {"authorization": f"Bearer {key}"}
    body = {"problem": {**hard(200, 5), "name": PRIVATE}, "options": {"time_limit": 1.0}}
    with server.client(headers=given) as client:
        job = client.post("/v1/jobs", json=body).json()["id"]
        wait_for(lambda: client.get(f"/v1/jobs/{job}").json()["state"] == "done", "the job to end")
    wait_for(lambda: any(it["event"] == "job_finished" for it in server.events()), "the line")
    lines = [event for event in server.events() if event.get("job") == job]
    assert [line["event"] for line in lines] == ["job_started", "job_finished"]
    assert lines[-1]["state"] == "done"
    assert PRIVATE not in server.log()


def test_every_line_is_json(keyed: tuple[Server, str]) -> None:
    server, _ = keyed
    for line in server.log().splitlines():
        assert {"event", "level", "timestamp"} <= json.loads(line).keys()
