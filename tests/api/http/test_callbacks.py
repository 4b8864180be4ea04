"""The end of a job is told to whom the request names, as far as the operator allows it."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from memstow import FrontOptions, Options, read_problem
from memstow.api import webhooks
from memstow.api.client import Client
from memstow.api.http.app import create_app
from memstow.api.http.samples import PROBLEM, TWO_POOLS
from memstow.api.http.settings import Settings
from memstow.api.webhooks import message_headers, read_secrets
from memstow.api.workers import callbacks
from tests.api.http.conftest import hard, problem_document
from tests.api.serving import Server
from tests.waiting import wait_for

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Receiver(ThreadingHTTPServer):
    """Notes what it is told, and answers with the statuses that it is given, then with 204."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.statuses: list[int] = []
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        receiver = self.server
        assert isinstance(receiver, Receiver)
        body = self.rfile.read(int(self.headers["content-length"]))
        receiver.got.append((self.path, {name.lower(): entry for name, entry in self.headers.items()}, body))
        self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
        self.send_header("location", f"{receiver.url}/elsewhere")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        yield made
        made.shutdown()


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(callbacks, "_LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(callbacks, "_POLL_SECONDS", 0.02)


Open = Callable[..., TestClient]


@pytest.fixture
def open_app(tmp_path: Path) -> Iterator[Open]:
    """Opens an app on the same folder each time; ends the one before."""
    (tmp_path / "secret").write_text(SECRET)
    opened: list[TestClient] = []

    def end() -> None:
        while opened:
            opened.pop().__exit__(None, None, None)

    def start(*allow: str, **settings: Any) -> TestClient:
        end()
        given = {"callback_networks": ("127.0.0.1",), "lease_seconds": 2.0, **settings}
        made = Settings(
            data=tmp_path / "data",
            slots=1,
            callback_allow=allow,
            callback_secret=tmp_path / "secret",
            **given,
        )
        client = TestClient(create_app(made), base_url="http://localhost", raise_server_exceptions=False)
        opened.append(client.__enter__())
        return client

    yield start
    end()


def submitted(client: httpx2.Client, url: str, path: str = "/v1/jobs", body: Any = PROBLEM) -> str:
    answer = client.post(path, params={"callback": url}, json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def told(client: httpx2.Client, job: str, state: str) -> dict[str, Any]:
    """What the job says of its callback, once that is in this state."""

    def found() -> dict[str, Any]:
        document: dict[str, Any] = client.get(f"/v1/jobs/{job}").json()["callback"]
        return document

    wait_for(lambda: found()["state"] == state, f"the callback to be {state}")
    return found()


def test_the_end_of_a_job_is_told_once_and_signed(open_app: Open, receiver: Receiver, tmp_path: Path) -> None:
    client = open_app(receiver.url)
    job = submitted(client, f"{receiver.url}/hook?token=1")
    result = told(client, job, "delivered")
    assert (result["to"], result["attempts"], result["error"]) == (receiver.url, 1, None)
    assert result["delivered"] is not None
    ((path, headers, body),) = receiver.got
    assert path == "/hook?token=1"
    secrets = read_secrets(tmp_path / "secret")
    signed = message_headers(job, int(headers["webhook-timestamp"]), body, secrets)
    assert signed.items() <= headers.items()
    message = json.loads(body)
    assert (message["type"], message["data"]["id"]) == ("job.done", job)
    assert message["data"]["status"] == "optimal"
    metrics = client.get("/metrics").text
    assert 'memstow_callbacks_total{outcome="delivered"} 1.0' in metrics


def test_a_front_and_a_problem_with_symbols_have_them_too(open_app: Open, receiver: Receiver) -> None:
    client = open_app(receiver.url)
    # Deterministic: no back end starts to prove what nobody reads here.
    front = {
        "problem": TWO_POOLS,
        "front": {"terms": ["peak:fast", "placement_cost"]},
        "options": {"deterministic": True},
    }
    symbolic = {
        "symbols": [{"id": "s", "min": 1, "max": 8}],
        "buffers": [{"id": "x", "size": "4*s", "lifetime": [0, 2]}],
    }
    for path, body in (("/v1/fronts", front), ("/v1/jobs", symbolic)):
        told(client, submitted(client, receiver.url, path, body), "delivered")
    assert [json.loads(body)["type"] for _, _, body in receiver.got] == ["job.done"] * 2


def test_a_job_that_is_stopped_is_told_as_well(open_app: Open, receiver: Receiver) -> None:
    client = open_app(receiver.url)
    running, waiting = (submitted(client, receiver.url, body=hard(600, seed)) for seed in (95, 96))
    for job in (waiting, running):
        client.delete(f"/v1/jobs/{job}")
        told(client, job, "delivered")
    assert [json.loads(body)["type"] for _, _, body in receiver.got] == ["job.cancelled"] * 2
    assert [headers["webhook-id"] for _, headers, _ in receiver.got] == [waiting, running]


def test_what_fails_is_tried_again_and_redirects_are_not_followed(open_app: Open, receiver: Receiver) -> None:
    client = open_app(receiver.url)
    receiver.statuses = [500, 302, 429]
    job = submitted(client, f"{receiver.url}/hook")
    assert told(client, job, "delivered")["attempts"] == 4
    assert [path for path, _, _ in receiver.got] == ["/hook"] * 4
    assert {headers["webhook-id"] for _, headers, _ in receiver.got} == {job}
    assert len({body for _, _, body in receiver.got}) == 1
    assert 'memstow_callbacks_total{outcome="retried"} 3.0' in client.get("/metrics").text


def test_who_is_gone_is_not_tried_again(open_app: Open, receiver: Receiver) -> None:
    client = open_app(receiver.url)
    receiver.statuses = [410]
    result = told(client, submitted(client, receiver.url), "failed")
    assert (result["attempts"], result["error"], result["delivered"]) == (1, "http_410", None)


def test_the_time_for_trying_is_bounded(open_app: Open, receiver: Receiver) -> None:
    client = open_app(receiver.url, callback_seconds=0.5)
    receiver.statuses = [500] * 1000
    result = told(client, submitted(client, receiver.url), "failed")
    assert result["error"] == "http_500"
    assert result["attempts"] < 1000
    assert 'memstow_callbacks_total{outcome="given_up"} 1.0' in client.get("/metrics").text


def test_a_callback_survives_the_end_of_its_server(open_app: Open, receiver: Receiver) -> None:
    client = open_app(receiver.url)
    receiver.statuses = [503] * 100_000
    job = submitted(client, receiver.url)
    told(client, job, "pending")
    wait_for(lambda: receiver.got, "an attempt")
    client = open_app(receiver.url)
    receiver.statuses = []
    result = told(client, job, "delivered")
    assert result["attempts"] > 1


def test_what_is_no_longer_allowed_is_not_sent(open_app: Open, receiver: Receiver) -> None:
    client = open_app(receiver.url)
    receiver.statuses = [503] * 100_000
    job = submitted(client, receiver.url)
    told(client, job, "pending")
    client = open_app(f"{receiver.url}/other")
    assert told(client, job, "failed")["error"] == "not_allowed"


def test_a_name_that_stands_for_this_machine_is_not_called(open_app: Open, receiver: Receiver) -> None:
    client = open_app(receiver.url, callback_networks=(), callback_seconds=0.2)
    assert told(client, submitted(client, receiver.url), "failed")["error"] == "address_refused"
    assert receiver.got == []


def test_a_receiver_that_hangs_does_not_hold_up_others(
    open_app: Open, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    send = webhooks.send

    def hanging(place: Any, *rest: Any) -> int:
        if place.path == "/hang":
            ended.wait()
        return send(place, *rest)

    monkeypatch.setattr(callbacks, "send", hanging)
    other = receiver.url.replace("127.0.0.1", "localhost")
    client = open_app(receiver.url, other, callback_networks=("127.0.0.1", "::1"))
    hanging_jobs = [submitted(client, f"{other}/hang") for _ in range(5)]
    try:
        told(client, submitted(client, receiver.url), "delivered")
        assert {client.get(f"/v1/jobs/{job}").json()["callback"]["state"] for job in hanging_jobs} <= {
            "pending",
            "waiting",
        }
    finally:
        ended.set()
    for job in hanging_jobs:
        told(client, job, "delivered")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:1/", "callback_not_allowed"),
        ("http://builds.example.com/other", "callback_not_allowed"),
        ("builds.example.com", "bad_callback"),
        ("http://builds.example.com/memstow/../x", "bad_callback"),
        ("", "bad_callback"),
        ("http://builds.example.com/memstow/%00", "bad_callback"),
    ],
)
def test_what_the_operator_does_not_allow_is_refused(open_app: Open, url: str, code: str) -> None:
    client = open_app("http://builds.example.com/memstow")
    front = {"problem": TWO_POOLS, "front": {"terms": ["peak:fast", "placement_cost"]}}
    for path, body in (("/v1/jobs", PROBLEM), ("/v1/fronts", front)):
        answer = client.post(f"{path}?callback={url}", json=body)
        problem_document(answer, 422, code)
    assert client.get("/v1/jobs").json()["jobs"] == []


def test_there_are_none_by_default(client: TestClient) -> None:
    answer = client.post("/v1/jobs", params={"callback": "https://builds.example.com/"}, json=PROBLEM)
    assert "callback_allow" in problem_document(answer, 422, "callback_not_allowed")["detail"]
    assert client.get("/v1/capabilities").json()["callbacks"] is False
    answer = client.post("/v1/plan", params={"callback": "https://builds.example.com/"}, json=PROBLEM)
    problem_document(answer, 422, "unknown_parameter")


def test_the_python_client_asks_for_them(server: Server, receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    server.start(
        callback_allow=receiver.url, callback_secret=tmp_path / "secret", callback_networks="127.0.0.1,::1"
    )
    problem = read_problem(json.dumps(PROBLEM).encode(), "json")
    two_pools = read_problem(json.dumps(TWO_POOLS).encode(), "json")
    with Client(server.url) as client, server.client() as plain:
        told(plain, client.submit(problem, callback=f"{receiver.url}/x?y=1&z=%20"), "delivered")
        told(
            plain,
            client.submit_front(
                two_pools,
                FrontOptions(terms=("peak:fast", "placement_cost")),
                Options(deterministic=True),
                callback=f"{receiver.url}/front",
            ),
            "delivered",
        )
    assert [path for path, _, _ in receiver.got] == ["/x?y=1&z=%20", "/front"]
    events = [event["event"] for event in server.events() if event["event"].startswith("callback")]
    assert events == ["callback_delivered"] * 2
    assert "y=1" not in server.log(), "a query may hold a secret"
