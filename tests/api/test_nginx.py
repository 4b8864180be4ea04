"""What nginx of deploy/ says by itself: problem documents, as the service does."""

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path

import httpx2
import pytest

from memstow.api.http.settings import Settings
from tests.api.conftest import NAME_ON_CERTIFICATE as NAME
from tests.api.proxies import client_of, nginx
from tests.api.serving import ROOT, Server
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


HEAD = f"POST /v1/plan HTTP/1.1\r\nHost: {NAME}\r\n"
REFUSED = {
    "a long URL": (f"GET /{'x' * 70_000} HTTP/1.1\r\nHost: {NAME}\r\n\r\n", 414, "uri_too_long"),
    "a long header": (f"{HEAD}X: {'x' * 70_000}\r\n\r\n", 431, "headers_too_large"),
    "long headers": (f"{HEAD}X: {'x' * 40_000}\r\nY: {'y' * 40_000}\r\n\r\n", 431, "headers_too_large"),
    "TRACE": (f"TRACE / HTTP/1.1\r\nHost: {NAME}\r\n\r\n", 405, "method_not_allowed"),
    "two hosts": (f"{HEAD}Host: {NAME}\r\n\r\n", 400, "malformed_request"),
    "no host": ("GET / HTTP/1.1\r\n\r\n", 400, "malformed_request"),
    "no HTTP": ("!\r\n\r\n", 400, "malformed_request"),
    "HTTP/3.0": (f"GET / HTTP/3.0\r\nHost: {NAME}\r\n\r\n", 400, "malformed_request"),
    "an unknown coding": (f"{HEAD}Transfer-Encoding: x\r\n\r\n", 400, "malformed_request"),
    "the page of errors": (f"GET /problem-of-the-proxy HTTP/1.1\r\nHost: {NAME}\r\n\r\n", 404, "not_found"),
    "a body that stalls": (
        f"{HEAD}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{",
        408,
        "body_too_slow",
    ),
}


@pytest.fixture(scope="module")
def behind_nginx(
    certificate: Path, tmp_path_factory: pytest.TempPathFactory, stack: ExitStack
) -> tuple[int, Path]:
    """The port of nginx before a service that does not wait long for a body, and where its log is."""
    server = Server(tmp_path_factory.mktemp("impatient") / "data", anonymous="everyone", body_seconds=1)
    stack.callback(server.kill)
    server.start(trusted_proxies="127.0.0.1")
    folder = tmp_path_factory.mktemp("nginx")
    return nginx(stack, folder, certificate, server.url.removeprefix("http://")), folder


def answer_to(text: str, port: int, tls: ssl.SSLContext | None) -> httpx2.Response:
    """What comes back for these bytes; the connection stays open until then."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    with tls.wrap_socket(connection, server_hostname=NAME) if tls else connection as stream:
        stream.sendall(text.encode())
        response = HTTPResponse(stream)
        response.begin()
        return httpx2.Response(response.status, headers=response.getheaders(), content=response.read())


@pytest.mark.parametrize("name", REFUSED)
def test_every_refusal_behind_nginx_is_a_problem_document(
    name: str, behind_nginx: tuple[int, Path], certificate: Path
) -> None:
    text, status, code = REFUSED[name]
    context = ssl.create_default_context(cafile=str(certificate / "chain.pem"))
    answer = answer_to(text, behind_nginx[0], context)
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert (answer.status_code, document["status"], document["code"]) == (status, status, code)
    assert document["type"] == f"urn:memstow:problem:{code}"
    assert "Allow" in answer.headers or status != 405


@pytest.mark.parametrize("name", ["a long URL", "a long header", "TRACE", "no host", "no HTTP"])
def test_the_unencrypted_port_of_nginx_says_to_use_https(name: str, behind_nginx: tuple[int, Path]) -> None:
    (plain,) = re.findall(r"listen 127\.0\.0\.1:(\d+);", (behind_nginx[1] / "site.conf").read_text())
    answer = answer_to(REFUSED[name][0], int(plain), None)
    assert (answer.status_code, answer.json()["code"]) == (403, "https_only")
    assert answer.headers["content-type"] == "application/problem+json"


def test_plain_http_on_the_port_for_tls_says_to_use_https(behind_nginx: tuple[int, Path]) -> None:
    answer = answer_to(f"GET /livez HTTP/1.1\r\nHost: {NAME}\r\n\r\n", behind_nginx[0], None)
    assert (answer.status_code, answer.json()["code"]) == (403, "https_only")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_long_head_that_the_service_takes_comes_through_nginx(
    behind_nginx: tuple[int, Path], certificate: Path
) -> None:
    with client_of(behind_nginx[0], certificate) as client:
        assert client.get("/livez", headers={"x-long": "x" * 60_000}).status_code == 200


def test_nginx_keeps_connections_for_less_time_than_the_service_and_takes_as_much() -> None:
    text, settings = (ROOT / "deploy" / "nginx.conf").read_text(), Settings()
    given = dict(re.findall(r"^ *(\w+) ([^;]+);", text, re.MULTILINE))
    assert float(given["keepalive_timeout"].removesuffix("s")) < settings.idle_seconds
    assert float(given["client_header_timeout"].removesuffix("s")) == settings.head_seconds
    assert float(given["client_body_timeout"].removesuffix("s")) > settings.body_seconds
    assert float(given["proxy_read_timeout"].removesuffix("s")) > settings.sync_seconds
    assert int(given["client_max_body_size"].removesuffix("m")) << 20 == settings.max_body
    assert int(given["large_client_header_buffers"].split()[1].removesuffix("k")) << 10 == settings.max_head


def test_a_body_beyond_the_limit_of_nginx_is_a_problem_document_too(
    behind_nginx: tuple[int, Path], certificate: Path
) -> None:
    with client_of(behind_nginx[0], certificate) as client:
        answer = client.post("/v1/plan", content=b"x" * ((32 << 20) + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert "the proxy" in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"
