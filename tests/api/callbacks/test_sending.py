"""A message reaches the address that was checked, or there is a word for why not; no attempt takes long."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memstow.api.webhooks import Allowed, SendError, place_of, send

HERE = Allowed.of(["http://localhost"], ["127.0.0.0/8", "::1"])


@contextmanager
def receiver(answer: Callable[[socket.socket], object]) -> Iterator[int]:
    """A receiver that reads a message and answers so; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            try:
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        answer(connection)
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def says(text: bytes) -> Callable[[socket.socket], object]:
    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(text)

    return answer


def sent(port: int, seconds: float = 60.0, host: str = "127.0.0.1", scheme: str = "http") -> int:
    place = place_of(f"{scheme}://{host}:{port}/hook?x=1")
    return send(place, HERE, {"webhook-id": "1"}, b'{"a": 1}', seconds)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (b"HTTP/1.0 200\r\n", 200),
        (b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 Created\r\n\r\n", 201),
        (b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\n\r\n", 302),
        (b"HTTP/1.1 500 Oh\r\ncontent-length: 99999999999\r\n\r\n" + b"x" * 100_000, 500),
    ],
)
def test_the_status_is_the_answer_and_nothing_is_followed(text: bytes, status: int) -> None:
    with receiver(says(text)) as port:
        assert sent(port) == status


def test_the_message_is_a_request_of_http() -> None:
    got = []

    def answer(connection: socket.socket) -> None:
        got.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

    with receiver(answer) as port:
        assert sent(port) == 200
    head, _, body = got[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /hook?x=1 HTTP/1.1"
    assert {f"host: 127.0.0.1:{port}", "content-length: 8", "connection: close", "webhook-id: 1"} <= {*lines}
    assert body == b'{"a": 1}'


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\r\n",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 abc\r\n",
        b"HTTP/1.1 99 x\r\n",
        b"HTTP/1.1",
        b"HTTP/1.1 100 x\r\n\r\n",
        b"x" * 100_000,
        b"HTTP/1.1 100 x\r\n" + b"y: z\r\n" * 10_000,
    ],
)
def test_what_is_no_answer_is_told_as_such(text: bytes) -> None:
    with receiver(says(text)) as port, pytest.raises(SendError, match=r"^(no_answer|unreachable)$"):
        sent(port)


def test_who_never_answers_is_not_waited_for() -> None:
    ended = threading.Event()

    def dribble(connection: socket.socket) -> None:
        try:
            while not ended.wait(0.02):
                connection.sendall(b"H")
        except OSError:
            return

    for answer in (lambda _: ended.wait(), dribble):
        with receiver(answer) as port:
            with pytest.raises(SendError, match=r"^timeout$"):
                sent(port, 0.3)
            ended.set()
        ended.clear()


def test_nobody_there_and_no_such_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(SendError, match=r"^unreachable$"):
        sent(port)
    with pytest.raises(SendError, match=r"^unresolved$"):
        sent(port, host="there-is-no-such-name.invalid")


def test_a_name_that_stands_for_a_private_address_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(socket, "create_connection", lambda *given: called.append(given))
    place = place_of("http://localhost:1/")
    with pytest.raises(SendError, match=r"^address_refused$"):
        send(place, Allowed.of(["http://localhost:1"], []), {}, b"")
    # One address that is not allowed is enough: which of them would answer is up to chance.
    result = [(2, 1, 6, "", ("8.8.8.8", 1)), (2, 1, 6, "", ("10.0.0.1", 1))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: result)
    with pytest.raises(SendError, match=r"^address_refused$"):
        send(place, Allowed.of(["http://localhost:1"], []), {}, b"")
    assert called == []


def test_the_address_that_was_checked_is_the_one_that_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that stands for another address a moment later changes nothing."""
    resolved = []
    look_up = socket.getaddrinfo

    def rebinding(host: str, port: int, *rest: Any, **options: Any) -> Any:
        if host == "rebinding.example":
            resolved.append(host)
            host = "127.0.0.1" if len(resolved) == 1 else "127.0.0.2"
        return look_up(host, port, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with receiver(says(b"HTTP/1.1 200 OK\r\n\r\n")) as port:
        assert sent(port, host="rebinding.example") == 200
    assert len(resolved) == 1


def test_the_next_address_is_tried_where_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(says(b"HTTP/1.1 200 OK\r\n\r\n")) as port:
        result = [(2, 1, 6, "", (name, port)) for name in ("127.0.0.9", "127.0.0.1")]
        look_up = socket.getaddrinfo
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda host, *rest, **o: result if host == "two.example" else look_up(host, *rest, **o),
        )
        assert sent(port, host="two.example") == 200


def test_https_needs_a_certificate_for_the_name_that_is_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, key = certificate / "chain.pem", certificate / "key.pem"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)

    def answer(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            says(b"HTTP/1.1 200 OK\r\n\r\n")(wrapped)

    with receiver(answer) as port, pytest.raises(SendError, match=r"^tls$"):
        sent(port, host="localhost", scheme="https")
    with receiver(answer) as port:
        monkeypatch.setenv("SSL_CERT_FILE", str(chain))
        assert sent(port, host="localhost", scheme="https") == 200
    with receiver(says(b"HTTP/1.1 200 OK\r\n\r\n")) as port, pytest.raises(SendError, match=r"^tls$"):
        sent(port, host="localhost", scheme="https")
