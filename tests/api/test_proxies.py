"""The service behind the proxies of deploy/, run as they are shipped, and whom it believes."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import httpx2
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from benchmarks.servers import free_port
from memstow.api.http.connections import Connections, limits_of
from memstow.api.http.samples import PROBLEM
from memstow.api.http.server import server_config
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics
from tests.api.asking import job_of, over, read_events, submit
from tests.api.conftest import NAME_ON_CERTIFICATE as NAME
from tests.api.http.conftest import hard, problem_document
from tests.api.proxies import PROXIES, Proxy, caddy, client_of
from tests.api.serving import Server

MAX_BODY = 1 << 20


@pytest.fixture(scope="module")
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, stack: ExitStack) -> Server:
    """A server that believes a proxy on this machine."""
    server = Server(tmp_path_factory.mktemp("proxied") / "data", max_body=MAX_BODY, anonymous="everyone")
    stack.callback(server.kill)
    return server.start(trusted_proxies="127.0.0.1")


@pytest.fixture(scope="module", params=PROXIES, ids=lambda entry: entry.__name__)
def proxied(
    request: pytest.FixtureRequest,
    service: Server,
    certificate: Path,
    tmp_path_factory: pytest.TempPathFactory,
    stack: ExitStack,
) -> httpx2.Client:
    """A client of the service through a proxy."""
    folder = tmp_path_factory.mktemp(request.param.__name__)
    port = request.param(stack, folder, certificate, service.url.removeprefix("http://"))
    return stack.enter_context(client_of(port, certificate))


def test_a_plan_comes_through(proxied: httpx2.Client) -> None:
    assert proxied.post("/v1/plan", json=PROBLEM).json()["status"] == "optimal"


def test_events_come_one_by_one_while_the_job_runs(proxied: httpx2.Client) -> None:
    job = submit(proxied, hard(600, 41), time_limit=600.0)
    with proxied.stream("GET", f"/v1/jobs/{job}/events") as stream:
        assert stream.status_code == 200
        lines = stream.iter_lines()
        kinds = [next(read_events(lines)).kind]
        assert job_of(proxied, job)["state"] == "running", "the stream would have come at its end"
        assert proxied.delete(f"/v1/jobs/{job}").status_code == 200
        kinds += [event.kind for event in read_events(lines)]
    assert kinds[-1] == "done"
    assert over(proxied, job)["state"] == "cancelled"


def test_a_body_too_large_is_a_problem_document(
    proxied: httpx2.Client, request: pytest.FixtureRequest
) -> None:
    # Caddy closes the body that it still passes on when the head of an early answer comes, and by that loses
    # the rest of the answer now and then. nginx promises to keep the connection, and closes it where the
    # answer came before the end of the body: nothing else may be asked on it. That the service itself waits
    # until its answer is read: tests/api/test_faults.py.
    wanted = 5 if request.node.callspec.params["proxied"] is caddy else 1
    for left in reversed(range(wanted)):
        try:
            answer = proxied.post("/v1/plan", json={"x": "y" * MAX_BODY}, headers={"connection": "close"})
        except httpx2.RemoteProtocolError:
            if not left:
                raise
        else:
            break
    document = problem_document(answer, 413, "body_too_large")
    assert "max_body" in document["detail"]


def test_a_page_of_the_same_host_may_call_and_another_may_not(proxied: httpx2.Client) -> None:
    own = proxied.post("/v1/plan", json=PROBLEM, headers={"origin": f"https://{NAME}"})
    assert own.status_code == 200
    foreign = proxied.post("/v1/plan", json=PROBLEM, headers={"origin": "https://elsewhere.example"})
    problem_document(foreign, 403, "foreign_origin")


@pytest.mark.parametrize("proxy", PROXIES, ids=lambda entry: entry.__name__)
def test_a_service_that_is_away_is_a_problem_document(
    proxy: Proxy, certificate: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        port = proxy(stack, tmp_path, certificate, f"127.0.0.1:{free_port()}")
        answer = stack.enter_context(client_of(port, certificate)).get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "service_away")
    assert answer.headers["content-type"] == "application/problem+json"
    assert "retry-after" in answer.headers


# Whom a proxy speaks for


def seen_address(trusted: tuple[str, ...], peer: str, forwarded: str) -> str:
    """The address of a client as the service sees it."""
    seen: list[str] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope["client"][0])

    settings = Settings(trusted_proxies=trusted)
    config = server_config(cast(FastAPI, app), settings, Connections(limits_of(settings), Metrics()))
    config.load()
    headers = [(b"x-forwarded-for", forwarded.encode())]
    scope = {"type": "http", "client": (peer, 1), "headers": headers, "scheme": "http"}
    asyncio.run(config.loaded_app(scope, None, None))
    return seen[0]


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "expected"),
    [
        ((), "127.0.0.1", "203.0.113.9", "127.0.0.1"),
        (("10.0.0.0/8",), "10.1.2.3", "203.0.113.9", "203.0.113.9"),
        (("10.0.0.0/8",), "192.0.2.1", "203.0.113.9", "192.0.2.1"),
        # What the client has said itself comes before what the proxy has added.
        (("10.0.0.0/8",), "10.1.2.3", "198.51.100.7, 203.0.113.9, 10.9.9.9", "203.0.113.9"),
        (("::1",), "::1", "2001:db8::1", "2001:db8::1"),
    ],
)
def test_only_a_trusted_proxy_says_who_the_client_is(
    trusted: tuple[str, ...], peer: str, forwarded: str, expected: str
) -> None:
    assert seen_address(trusted, peer, forwarded) == expected


@pytest.mark.campaign
def test_a_trusted_proxy_may_open_more_connections_than_one_client(server: Server) -> None:
    server.start(max_connections_per_address=2, trusted_proxies="127.0.0.0/8")
    with ExitStack() as stack:
        # Each client has a connection of its own, which stays open.
        clients = [stack.enter_context(server.client()) for _ in range(5)]
        assert [client.get("/livez").status_code for client in clients] == [200] * 5
