"""The log of a server in its two forms: a line a request, the ids that belong together, nothing private."""

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from memstow.api.http import logs
from memstow.api.store.database import Database, url_of
from memstow.api.store.keys import Keys, Role
from memstow.api.store.maintenance import upgrade
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
    _, text = Keys(database).create(PRIVATE, Role.ADMIN)
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
    request = [
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
        for number, (method, path, headers, body, status, _) in enumerate(request):
            headers = {**headers, "x-request-id": f"asked-{number}", "idempotency-key": PRIVATE}
            answer = client.request(method, path, headers=headers, json=body)
            assert answer.status_code == status, answer.text
            assert answer.headers["x-request-id"] == f"asked-{number}"
    wait_for(lambda: len(requests_in(server)) >= before + len(request), "the lines")
    lines = requests_in(server)[before:]
    assert len(lines) == len(request)
    for number, (line, (method, _, _, _, status, route)) in enumerate(zip(lines, request, strict=True)):
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
    wait_for(lambda: any(event["event"] == "job_finished" for event in server.events()), "the line")
    lines = [event for event in server.events() if event.get("job") == job]
    # Of the request and of its job, whichever writes first.
    assert sorted(line["event"] for line in lines) == ["audit", "job_finished", "job_started"]
    assert next(line for line in lines if line["event"] == "job_finished")["state"] == "done"
    assert PRIVATE not in server.log()


def test_every_line_is_json(keyed: tuple[Server, str]) -> None:
    server, _ = keyed
    for line in server.log().splitlines():
        assert {"event", "level", "timestamp"} <= json.loads(line).keys()


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def logged(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, form: str) -> list[str]:
    """What an event, one with a name from outside, and a library's warning look like."""
    monkeypatch.setattr("sys.stderr", stream)
    logs.set_up("info", form)
    log = structlog.get_logger("test")
    log.info("listening", url="http://127.0.0.1:8080")
    log.info("\x1b[2Jodd\n")
    logging.getLogger("library").warning("of a library")
    return stream.getvalue().splitlines()


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize(
    ("stream", "form", "text"),
    [
        (_Terminal, "auto", True),
        (io.StringIO, "auto", False),
        (_Terminal, "json", False),
        (io.StringIO, "text", True),
    ],
)
def test_a_terminal_gets_lines_for_people_and_a_file_gets_json_unless_told(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], form: str, text: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    lines = logged(monkeypatch, stream(), form)
    assert len(lines) == 3, "a line an event, whatever is in it"
    assert "\x1b" not in "".join(lines)
    if not text:
        assert [json.loads(line)["level"] for line in lines] == ["info", "info", "warning"]
        assert json.loads(lines[0])["url"] == "http://127.0.0.1:8080"
        return
    assert re.fullmatch(r"\d\d:\d\d:\d\d \[info *\] listening +url=http://127\.0\.0\.1:8080", lines[0])
    assert "of a library" in lines[2]


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, no_color: str, coloured: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    assert ("\x1b[" in logged(monkeypatch, _Terminal(), "auto")[0]) == coloured
    assert "\x1b[" not in logged(monkeypatch, io.StringIO(), "text")[0]


@pytest.mark.usefixtures("logging_as_before")
def test_a_defect_is_logged_with_its_traceback_in_both_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("text", "json"):
        stream = io.StringIO()
        monkeypatch.setattr("sys.stderr", stream)
        logs.set_up("info", form)
        try:
            raise ValueError("of a test")
        except ValueError:
            structlog.get_logger("test").exception("defect")
        assert "Traceback (most recent call last)" in stream.getvalue()
        assert "ValueError: of a test" in stream.getvalue()
