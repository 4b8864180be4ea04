"""The service with a certificate of its own."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from memstow.api.http.samples import PROBLEM
from memstow.api.http.settings import Settings, require_certificate
from memstow.planner.model.errors import InputError
from tests.api.asking import read_events, submit
from tests.api.http.conftest import hard, problem_document
from tests.api.serving import Server
from tests.waiting import PATIENCE

MAX_BODY = 1 << 20


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[Server]:
    """A server with a certificate."""
    server = Server(tmp_path_factory.mktemp("https") / "data", max_body=MAX_BODY)
    yield server.start(tls_cert=certificate / "chain.pem", tls_key=certificate / "key.pem")
    server.kill()


def test_a_server_with_a_certificate_speaks_https(encrypted: Server, certificate: Path) -> None:
    assert encrypted.url.startswith("https://")
    context = ssl.create_default_context(cafile=str(certificate / "chain.pem"))
    with httpx2.Client(base_url=encrypted.url, verify=context, timeout=PATIENCE) as client:
        assert client.post("/v1/plan", json=PROBLEM).json()["status"] == "optimal"
        problem_document(client.post("/v1/plan", json={"x": "y" * MAX_BODY}), 413, "body_too_large")
        job = submit(client, hard(600, 41), time_limit=600.0)
        with client.stream("GET", f"/v1/jobs/{job}/events") as stream:
            lines = stream.iter_lines()
            assert next(read_events(lines)).kind
            client.delete(f"/v1/jobs/{job}")
            assert [event.kind for event in read_events(lines)][-1] == "done"


def test_a_broken_request_over_https_gets_its_response(encrypted: Server, certificate: Path) -> None:
    context = ssl.create_default_context(cafile=str(certificate / "chain.pem"))
    port = int(encrypted.url.rsplit(":", 1)[1])
    with (
        socket.create_connection(("127.0.0.1", port), PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nbroken\r\n\r\n")
        received = b""
        while piece := connection.recv(1 << 16):
            received += piece
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"malformed_request" in received
    assert "Traceback" not in encrypted.log()


def test_a_certificate_that_is_none_is_one_line_at_the_start(server: Server, certificate: Path) -> None:
    with pytest.raises(AssertionError, match="not a certificate and its key"):
        server.start(tls_cert=certificate / "key.pem", tls_key=certificate / "chain.pem")
    assert server.wait() == 2
    assert not server.data.exists(), "no folder is made for a server that cannot start"


def test_a_key_that_is_not_there_is_named(certificate: Path) -> None:
    settings = Settings(tls_cert=certificate / "chain.pem", tls_key=certificate / "kye.pem")
    with pytest.raises(InputError) as refused:
        require_certificate(settings)
    (issue,) = refused.value.issues
    assert (issue.code, issue.path) == ("not_found", str(certificate / "kye.pem"))
