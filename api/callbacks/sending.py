"""Sends a message to a URL: to the address that was checked, in a bounded time, and following nothing.

Of the answer only the status counts, so no more of it is read. A client of HTTP would look the name up once
more, when it may stand for another address.
"""

import socket
import ssl
import time
from collections.abc import Mapping
from typing import Final

from memstow import __version__
from memstow.api.callbacks.allowed import Allowed, Place

SECONDS: Final = 10.0
"""How long an attempt may take, once the name is resolved."""
_MOST_ADDRESSES: Final = 4
_LONGEST_HEAD: Final = 16 << 10
_PART: Final = 2048


class SendError(Exception):
    """The message was not sent, or nobody knows whether it was; `reason` is a word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def send(
    place: Place, allowed: Allowed, headers: Mapping[str, str], body: bytes, seconds: float = SECONDS
) -> int:
    """The status of the answer; SendError where there is none."""
    addresses = _addresses(place, allowed)
    end = time.monotonic() + seconds
    try:
        with _connected(addresses, place, end) as connection:
            _limit(connection, end)
            connection.sendall(_head(place, headers, len(body)) + body)
            return _status(connection, end)
    except ssl.SSLError as error:
        raise SendError("timeout" if isinstance(error, TimeoutError) else "tls") from error
    except TimeoutError as error:
        raise SendError("timeout") from error
    except OSError as error:
        raise SendError("unreachable") from error


def _addresses(place: Place, allowed: Allowed) -> list[str]:
    """What the name stands for now; SendError if any of it is not allowed."""
    try:
        found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SendError("unresolved") from error
    addresses = list(dict.fromkeys(str(it[4][0]) for it in found))
    if not all(map(allowed.takes_address, addresses)):
        raise SendError("address_refused")
    return addresses[:_MOST_ADDRESSES]


def _connected(addresses: list[str], place: Place, end: float) -> socket.socket:
    for number, address in enumerate(addresses, 1):
        left = end - time.monotonic()
        try:
            # Each of the addresses has its share of the time that is left.
            plain = socket.create_connection(
                (address, place.port), max(0.001, left / (len(addresses) - number + 1))
            )
            break
        except OSError:
            if number == len(addresses):
                raise
    if place.scheme == "http":
        return plain
    try:
        _limit(plain, end)
        return ssl.create_default_context().wrap_socket(plain, server_hostname=place.host)
    except BaseException:
        plain.close()
        raise


def _limit(connection: socket.socket, end: float) -> None:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)


def _head(place: Place, headers: Mapping[str, str], length: int) -> bytes:
    given = {
        "host": place.origin.partition("://")[2],
        "user-agent": f"memstow/{__version__}",
        "content-type": "application/json",
        "content-length": str(length),
        "connection": "close",
        **headers,
    }
    lines = [f"POST {place.target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _status(connection: socket.socket, end: float) -> int:
    """The status of the answer, behind those that only say that it will come."""
    head = b""
    while len(head) < _LONGEST_HEAD:
        line, complete, _ = head.partition(b"\r\n")
        if complete:
            parts = line.split(b" ", 2)
            status = int(parts[1]) if len(parts) > 1 and len(parts[1]) == 3 and parts[1].isdigit() else 0
            if not parts[0].startswith(b"HTTP/1.") or status < 100:
                break
            if status >= 200:
                return status
            _, complete, behind = head.partition(b"\r\n\r\n")
            if complete:
                head = behind
                continue
        _limit(connection, end)
        received = connection.recv(_PART)
        if not received:
            break
        head += received
    raise SendError("no_answer")
