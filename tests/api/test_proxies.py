"""The service behind the proxies of deploy/, run as they are shipped, and whom it believes."""

import asyncio
import getpass
import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from http.client import HTTPResponse
from pathlib import Path
from typing import cast

import httpx2
import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from benchmarks.service.servers import free_port
from memstow.api.http.connections import Connections, limits_of
from memstow.api.http.schemas import PROBLEM
from memstow.api.http.server import server_config
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics
from tests.api.asking import job_of, over, read_events, submit
from tests.api.conftest import NAME_ON_CERTIFICATE as NAME
from tests.api.http.conftest import hard, problem_document
from tests.api.serving import ROOT, Server
from tests.waiting import PATIENCE, wait_for

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


def started(stack: ExitStack, command: list[str], folder: Path, port: int) -> None:
    """Run a proxy until the tests are over."""
    log = (folder / "log").open("wb")
    stack.callback(log.close)
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | home, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    stack.callback(process.wait, PATIENCE)
    stack.callback(process.terminate)

    def listens() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens, f"{command[0]} to listen")


def replaced(text: str, *changes: tuple[str, str]) -> str:
    """The shipped file with the addresses and files of this test; each must be in it."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def nginx(stack: ExitStack, folder: Path, tls: Path, upstream: str) -> int:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not here (Debian: apt-get install nginx-light)")
    port = free_port()
    site = replaced(
        (ROOT / "deploy" / "nginx.conf").read_text(),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("/etc/ssl/memstow/", f"{tls}/"),
        ("127.0.0.1:8080", upstream),
    )
    (folder / "site.conf").write_text(site)
    places = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # Other users cannot get into the folders of the tests.
    user = f"user {getpass.getuser()}; " if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"daemon off; {user}pid {folder}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off;\n{places}include {folder}/site.conf; }}\n"
    )
    started(stack, [program, "-p", str(folder), "-c", str(folder / "nginx.conf")], folder, port)
    return port


def caddy(stack: ExitStack, folder: Path, tls: Path, upstream: str) -> int:
    if shutil.which("caddy") is None:
        pytest.skip("Caddy is not here (Debian: apt-get install caddy)")
    port = free_port()
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    text = replaced(
        text,
        (
            "{\n\tservers {",
            f"{{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port {port}\n\tservers {{",
        ),
        (f"\n{NAME} {{", f"\n{NAME} {{\n\ttls {tls}/chain.pem {tls}/key.pem"),
        ("127.0.0.1:8080", upstream),
    )
    (folder / "Caddyfile").write_text(text)
    started(stack, ["caddy", "run", "--config", "Caddyfile"], folder, port)
    return port


Proxy = Callable[[ExitStack, Path, Path, str], int]
PROXIES: list[Proxy] = [nginx, caddy]


class SniTransport(httpx2.HTTPTransport):
    """Names the host of the examples in the handshake, too: proxies choose the site by it."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "sni_hostname": NAME}
        return super().handle_request(request)


def client_of(port: int, tls: Path) -> httpx2.Client:
    """A client of what listens there, by the name in the examples; it checks the certificate."""
    context = ssl.create_default_context(cafile=str(tls / "chain.pem"))
    return httpx2.Client(
        base_url=f"https://127.0.0.1:{port}",
        transport=SniTransport(verify=context),
        timeout=PATIENCE,
        headers={"host": NAME},
    )


@pytest.fixture(scope="module", params=PROXIES, ids=lambda it: it.__name__)
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


def test_a_body_too_large_is_a_problem_document(proxied: httpx2.Client) -> None:
    document = problem_document(proxied.post("/v1/plan", json={"x": "y" * MAX_BODY}), 413, "body_too_large")
    assert "max_body" in document["detail"]


def test_a_page_of_the_same_host_may_call_and_another_may_not(proxied: httpx2.Client) -> None:
    own = proxied.post("/v1/plan", json=PROBLEM, headers={"origin": f"https://{NAME}"})
    assert own.status_code == 200
    foreign = proxied.post("/v1/plan", json=PROBLEM, headers={"origin": "https://elsewhere.example"})
    problem_document(foreign, 403, "foreign_origin")


def test_a_body_beyond_the_limit_of_nginx_is_a_problem_document_too(
    service: Server, certificate: Path, tmp_path: Path, stack: ExitStack
) -> None:
    port = nginx(stack, tmp_path, certificate, service.url.removeprefix("http://"))
    with client_of(port, certificate) as client:
        answer = client.post("/v1/plan", content=b"x" * ((32 << 20) + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("proxy", PROXIES, ids=lambda it: it.__name__)
def test_a_service_that_is_away_is_a_problem_document(
    proxy: Proxy, certificate: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        port = proxy(stack, tmp_path, certificate, f"127.0.0.1:{free_port()}")
        answer = stack.enter_context(client_of(port, certificate)).get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "service_away")
    assert answer.headers["content-type"] == "application/problem+json"
    assert "retry-after" in answer.headers


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


def test_a_trusted_proxy_may_open_more_connections_than_one_client(server: Server) -> None:
    server.start(max_connections_per_address=2, trusted_proxies="127.0.0.0/8")
    with ExitStack() as stack:
        # Each client has a connection of its own, which stays open.
        clients = [stack.enter_context(server.client()) for _ in range(5)]
        assert [client.get("/livez").status_code for client in clients] == [200] * 5
