"""The server before strangers: what a connection may cost, whoever is behind it."""

import asyncio
import json
import re
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, cast

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from memstow.api.http.connections import ConnectionLimits, Connections, limits_of
from memstow.api.http.errors import ApiError
from memstow.api.http.protocol import LimitedProtocol
from memstow.api.http.settings import Settings
from memstow.api.metrics import Metrics
from tests.waiting import PATIENCE, wait_for

LIMITS = ConnectionLimits(
    max_connections=100,
    max_per_address=100,
    max_head=4096,
    head_seconds=PATIENCE,
    idle_seconds=PATIENCE,
    stall_seconds=PATIENCE,
    min_rate=1,
    linger_seconds=PATIENCE,
    max_dropped=1 << 30,
)
PIECE = bytes(1 << 16)
PIECES = 1000
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
CLOSING = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
POST = b"POST /%b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


class App:
    """Answers as its paths say."""

    def __init__(self) -> None:
        self.reading = threading.Event()
        self.disconnected = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b"served"
        match scope["path"]:
            case "/read" | "/livez":
                self.reading.set()
                while (message := await receive()).get("more_body"):
                    pass
                if message["type"] == "http.disconnect":
                    self.disconnected.set()
            case "/large":
                await self._large(send)
                self.disconnected.set()
                return
        close = [(b"connection", b"close")] if scope["path"] == "/close" else []
        headers = [(b"content-length", b"%d" % len(body)), *close]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _large(self, send: Send) -> None:
        length = str(PIECES * len(PIECE)).encode()
        head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]}
        await send(head)
        for number in range(PIECES):
            await send({"type": "http.response.body", "body": PIECE, "more_body": number < PIECES - 1})


class Running:
    """A server in a thread of this process."""

    def __init__(self, app: App, metrics: Metrics, port: int) -> None:
        self.app = app
        self.metrics = metrics
        self.port = port

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def answer_to(self, *data: bytes) -> bytes:
        """All that is answered to these bytes until the server closes the connection."""
        with self.connect() as client:
            for piece in data:
                client.sendall(piece)
            return received(client)

    def refused(self, reason: str) -> float:
        """How many connections the metrics count."""
        text = self.metrics.text().decode()
        match = re.search(rf'memstow_connections_refused_total{{reason="{reason}"}} (\S+)', text)
        return float(match[1]) if match else 0.0

    def open(self) -> float:
        """How many connections are open."""
        match = re.search(r"^memstow_connections (\S+)", self.metrics.text().decode(), re.MULTILINE)
        assert match
        return float(match[1])

    def has_open(self, count: int) -> bool:
        """Whether so many connections are open."""
        return self.open() == count


@contextmanager
def running(**changes: Any) -> Iterator[Running]:
    app, metrics = App(), Metrics()
    connections = Connections(replace(LIMITS, **changes), metrics)
    protocol = cast(type[asyncio.Protocol], partial(LimitedProtocol, connections=connections))
    config = uvicorn.Config(
        app, http=protocol, ws="none", lifespan="off", log_config=None, timeout_keep_alive=int(PATIENCE)
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        wait_for(lambda: server.started, "the server")
        try:
            yield Running(app, metrics, listener.getsockname()[1])
        finally:
            server.should_exit = server.force_exit = True
            thread.join(PATIENCE)


def received(client: socket.socket) -> bytes:
    """All that comes until the connection ends."""
    pieces = []
    with suppress(ConnectionError):
        while piece := client.recv(1 << 16):
            pieces.append(piece)
    return b"".join(pieces)


def problem(answer: bytes, status: int, code: str) -> dict[str, Any]:
    """The problem document that an answer ends with."""
    head, _, body = answer.rpartition(b"\r\n\r\n")
    head = head[head.rindex(b"HTTP/1.1 ") :]
    assert head.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    document: dict[str, Any] = json.loads(body)
    assert (document["status"], document["code"]) == (status, code)
    request_id = re.search(rb"x-request-id: (\w+)", head)
    assert request_id
    assert document["instance"] == f"urn:memstow:request:{request_id[1].decode()}"
    return document


def send_until_answered(client: socket.socket, piece: Callable[[int], bytes]) -> bytes:
    """Send pieces for as long as there is no answer, and receive it."""
    number = 0
    client.setblocking(False)
    answer = b""
    while not answer:
        with suppress(BlockingIOError, ConnectionError):
            client.sendall(piece(number))
        number += 1
        assert number < 1_000_000
        with suppress(BlockingIOError):
            answer = client.recv(1 << 16)
    client.settimeout(PATIENCE)
    return answer + received(client)


def test_what_is_within_the_limits_is_served() -> None:
    with running() as server:
        with server.connect() as client:
            for request in (GET, GET.replace(b"GET", b"HEAD"), GET, POST % b"read" + b"1\r\na\r\n0\r\n\r\n"):
                client.sendall(request)
                head = b""
                while b"\r\n\r\n" not in head:
                    head += client.recv(1)
                assert head.startswith(b"HTTP/1.1 200 ")
                if not request.startswith(b"HEAD"):
                    assert client.recv(6, socket.MSG_WAITALL) == b"served"
            assert server.open() == 1
        wait_for(lambda: server.open() == 0, "the connection to be forgotten")
        assert server.answer_to(b"GET / HTTP/1.0\r\n\r\n").endswith(b"served"), (
            "before HTTP/1.1 there was no Host"
        )


def test_headers_are_limited_by_size_and_by_number() -> None:
    longest = b"GET / HTTP/1.1\r\nHost: a\r\nX: %b\r\nConnection: close\r\n\r\n"
    fixed = len(b"/") + len(b"Host: a\r\nX: \r\nConnection: close\r\n")
    with running() as server:
        assert server.answer_to(longest % (b"x" * (4096 - fixed))).endswith(b"served")
        sample = problem(server.answer_to(longest % (b"x" * (4097 - fixed))), 431, "headers_too_large")
        assert "`max_head`" in sample["detail"]
        problem(
            server.answer_to(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"a:\r\n" * 256 + b"\r\n"),
            431,
            "headers_too_large",
        )
        assert server.refused("headers_too_large") == 2


ENDLESS = {
    "headers": (b"GET / HTTP/1.1\r\nHost: a\r\n", b"X-Header: %d\r\n"),
    "a header": (b"GET / HTTP/1.1\r\nHost: a\r\nX-Header: ", b"%d"),
    "a name of a header": (b"GET / HTTP/1.1\r\nHost: a\r\n", b"X%d"),
    "empty lines": (b"", b"\r\n"),
    "trailers": (POST % b"read" + b"0\r\n", b"X-Trailer: %d\r\n"),
    "a trailer": (POST % b"read" + b"0\r\nX-Trailer: ", b"%d"),
    "an extension of a chunk": (POST % b"read" + b"1;", b"x%d"),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_head_without_end_is_refused_while_it_comes(kind: str) -> None:
    begin, piece = ENDLESS[kind]
    with running() as server, server.connect() as client:
        client.sendall(begin)
        answer = send_until_answered(client, lambda n: piece % n if b"%d" in piece else piece)
        problem(answer, 431, "headers_too_large")


def test_a_url_is_limited() -> None:
    request = b"GET /%b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with running() as server:
        assert server.answer_to(request % (b"a" * 3000)).endswith(b"served")
        sample = problem(server.answer_to(request % (b"a" * 4096)), 414, "uri_too_long")
        assert "`max_head`" in sample["detail"]
        with server.connect() as client:
            client.sendall(b"GET /")
            problem(send_until_answered(client, lambda _: b"a"), 414, "uri_too_long")


def test_a_head_that_is_not_complete_in_time_is_refused() -> None:
    with running(head_seconds=0.2) as server:
        sample = problem(server.answer_to(GET[:-2]), 408, "head_too_slow")
        assert "`head_seconds`" in sample["detail"]
        assert server.refused("slow_head") == 1
        assert server.answer_to() == b"", "who says nothing is told nothing"


def test_an_idle_connection_is_closed() -> None:
    with running(idle_seconds=0.2) as server:
        assert server.answer_to(GET).endswith(b"served")
        # An answer before the end of the body, which comes later.
        assert server.answer_to(POST % b"", b"1\r\na\r\n", b"0\r\n\r\n").endswith(b"served")


def test_an_answer_before_the_end_of_the_body_arrives_and_the_connection_ends() -> None:
    body = b"".join(b"10000\r\n%b\r\n" % PIECE for _ in range(100)) + b"0\r\n\r\n"
    with running() as server:
        assert server.answer_to(POST % b"close" + body).endswith(b"served")
    with running(linger_seconds=0.2) as server:
        for path in (b"close", b""):
            assert server.answer_to(POST % path + b"1\r\na\r\n").endswith(b"served")
        wait_for(lambda: server.open() == 0, "connections whose clients do not go on to be closed")
    with running(max_dropped=1 << 20) as server:
        for path in (b"close", b""):
            with server.connect() as client, pytest.raises(ConnectionError):  # noqa: PT012
                client.sendall(POST % path)
                while True:
                    client.sendall(b"10000\r\n%b\r\n" % PIECE)


def test_connections_are_limited_by_address() -> None:
    with running(max_per_address=2) as server, ExitStack() as stack:
        first, _ = (stack.enter_context(server.connect()) for _ in range(2))
        wait_for(partial(server.has_open, 2), "two connections")
        answer = server.answer_to()
        assert problem(answer, 503, "too_many_from_address")["title"] == "Service Unavailable"
        assert b"retry-after: 1" in answer
        assert server.refused("too_many_from_address") == 1
        first.close()
        wait_for(partial(server.has_open, 1), "room")
        assert server.answer_to(CLOSING).endswith(b"served")


def test_who_sends_no_request_keeps_nobody_out() -> None:
    """Neither the new, nor those that dribble, nor those kept alive."""
    with running(max_connections=4) as server, ExitStack() as stack:
        clients = []
        for number, sent in enumerate((GET, b"", GET[:-2], *[GET[:-2]] * 17)):
            client = stack.enter_context(server.connect())
            clients.append(client)
            client.sendall(sent)
            if sent == GET:
                answer = b""
                while not answer.endswith(b"served"):
                    answer += client.recv(1 << 16)
                assert answer.startswith(b"HTTP/1.1 200 ")
            wait_for(partial(server.has_open, number + 1), "the connection")
        for _ in range(3):
            assert server.answer_to(CLOSING).endswith(b"served")
            # Its place is free again: take it.
            wait_for(partial(server.has_open, 19), "its end")
            clients.append(stack.enter_context(server.connect()))
            wait_for(partial(server.has_open, 20), "the connection")
        # Who waited longest went first, and only who had begun a request is told.
        assert received(clients[0]) == b""
        assert received(clients[1]) == b""
        problem(received(clients[2]), 503, "too_many_connections")
        assert server.refused("gave_way") == 3
        clients[3].sendall(b"Connection: close\r\n\r\n")
        assert received(clients[3]).endswith(b"served"), "the others go on"


def test_while_all_connections_are_busy_only_health_is_told() -> None:
    with running(max_connections=2) as server, ExitStack() as stack:
        busy = [stack.enter_context(server.connect()) for _ in range(2)]
        for client in busy:
            server.app.reading.clear()
            client.sendall(POST % b"read")
            wait_for(server.app.reading.is_set, "the app to read")
        silent = [stack.enter_context(server.connect()) for _ in range(30)]
        wait_for(partial(server.has_open, 18), "the limit and the reserve")
        answer = server.answer_to(CLOSING)
        assert b"retry-after: 1" in answer
        problem(answer, 503, "too_many_connections")
        assert server.refused("too_many_connections") == 1
        for path in (b"/livez ", b"/readyz?x=1 "):
            assert server.answer_to(CLOSING.replace(b"/ ", path)).endswith(b"served")
        busy[0].sendall(b"0\r\n\r\n")
        assert busy[0].recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        assert server.answer_to(CLOSING).endswith(b"served"), "there is room again"
        assert received(silent[0]) == b"", "it gave way"


def test_a_connection_is_refused_when_the_reserve_is_busy_too() -> None:
    with running(max_connections=1) as server, ExitStack() as stack:
        for number in range(17):
            client = stack.enter_context(server.connect())
            server.app.reading.clear()
            # This app reads the body before it tells its health.
            client.sendall(POST % (b"read" if not number else b"livez"))
            wait_for(server.app.reading.is_set, "the app to read")
        problem(server.answer_to(), 503, "too_many_connections")


def test_a_response_that_is_not_read_is_given_up() -> None:
    with running(stall_seconds=0.3, min_rate=1 << 20) as server, server.connect() as client:
        client.sendall(GET.replace(b"/ ", b"/large "))
        wait_for(server.app.disconnected.is_set, "the app to be told")
        wait_for(lambda: server.open() == 0, "the connection to be forgotten")
        assert server.refused("slow_reader") == 1
        assert len(received(client)) < PIECES * len(PIECE)


def test_a_response_that_is_read_is_complete() -> None:
    request = b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with running() as server:
        assert len(server.answer_to(request).partition(b"\r\n\r\n")[2]) == PIECES * len(PIECE)


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        POST % b"read" + b"no length\r\n",
        POST % b"read" + b"1\r\na\r\nno length\r\n",
        GET + POST % b"read" + b"no length\r\n",
        GET + b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_malformed_http_is_answered_with_a_problem_and_what_came_before_it_as_ever(request_: bytes) -> None:
    with running() as server:
        answer = server.answer_to(request_)
        problem(answer, 400, "malformed_request")
        assert answer.count(b"HTTP/1.1 ") == 1 + request_.startswith(GET)
        assert server.refused("malformed_request") == 1


def test_an_app_that_waits_for_a_body_learns_that_it_is_malformed() -> None:
    with running() as server, server.connect() as client:
        client.sendall(POST % b"read" + b"1\r\na\r\n")
        wait_for(server.app.reading.is_set, "the app to read")
        client.sendall(b"no length\r\n")
        problem(received(client), 400, "malformed_request")
        wait_for(server.app.disconnected.is_set, "the app to be told")


def test_few_requests_may_wait_on_one_connection() -> None:
    with running() as server:
        answer = server.answer_to(GET * 50 + GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert answer.count(b"HTTP/1.1 200 ") == 51
        answer = server.answer_to(GET * 1000)
        problem(answer, 429, "too_many_pipelined")
        assert 1 < answer.count(b"HTTP/1.1 200 ") < 1000


def test_an_upgrade_that_is_not_offered_is_not_made() -> None:
    request = GET.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    with running(idle_seconds=0.2) as server:
        assert server.answer_to(request).endswith(b"served")


def test_addresses_of_one_ipv6_network_are_one() -> None:
    connections = Connections(replace(LIMITS, max_per_address=1), Metrics())

    class Open:
        def check(self, now: float) -> None:
            pass

        def may_give_way(self) -> bool:
            return False

        def give_way(self, problem: ApiError) -> None:
            raise AssertionError(problem)

    async def add(host: str) -> bool:
        return connections.add(Open(), host) is None

    async def work() -> None:
        assert await add("2001:db8::1")
        assert not await add("2001:db8::2")
        assert await add("2001:db8:0:1::1")
        assert await add("fe80::1%eth0")
        assert await add("10.0.0.1")
        assert await add("10.0.0.2")

    asyncio.run(work())


def test_connections_leave_file_handles_for_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(slots=2, max_connections=1000)
    for handles, room in ((1 << 20, 1000), (256, 144), (10, 1)):
        monkeypatch.setattr(resource, "getrlimit", lambda _kind, handles=handles: (handles, handles))
        assert limits_of(settings).max_connections == room


PARTS = [
    GET,
    GET.replace(b"GET", b"HEAD"),
    GET.replace(b"/ ", b"/close "),
    POST % b"read",
    POST % b"close",
    b"POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    *(b"0\r\n\r\n", b"3\r\nabc\r\n", b"0\r\nX: y\r\n\r\n", b"\r\n", b"0123456789", b"\x00", b"X: y\r\n"),
    b"a" * 5000,
]


@pytest.mark.parametrize("seed", range(10))
def test_whatever_comes_every_connection_ends_and_nothing_fails(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    random = Random(seed)
    limits = {"head_seconds": 0.1, "idle_seconds": 0.1, "linger_seconds": 0.1, "max_connections": 1000}
    with running(**limits, max_per_address=1000) as server, ExitStack() as stack:
        clients = []
        for _ in range(100):
            data = b"".join(random.choices(PARTS, k=random.randint(1, 6)))
            if random.random() < 0.3:
                at = random.randrange(len(data))
                data = data[:at] + random.randbytes(1) + data[at + 1 :]
            client = stack.enter_context(server.connect())
            # The app reads to the end of a body, which may not come.
            clients.append((client, b"read" in data))
            while data:
                size = random.choice([1, 10, 100, 10_000])
                with suppress(ConnectionError):
                    client.sendall(data[:size])
                data = data[size:]
        for client, waits in clients:
            if waits:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_WR)
            received(client)
        wait_for(lambda: server.open() == 0, "all connections to be forgotten")
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
