"""Callbacks when a job has ended: which URLs are allowed, the signed message, and how it is sent.

Operators say which URLs and which private networks: whoever can name a URL could otherwise have the server
call what only it can reach. The message and its signature are as Standard Webhooks describes them. It is sent
to the address that was checked, in a bounded time, and nothing is followed: a client of HTTP would look the
name up once more, when it may stand for another address. Of the answer only the status is read.
"""

import base64
import binascii
import hashlib
import hmac
import json
import socket
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from memstow import __version__
from memstow.planner.model.errors import InputError
from memstow.planner.reading.json_text import read_bytes

LONGEST_URL: Final = 2048
_LONGEST_HOST: Final = 253
_PORTS: Final = {"http": 80, "https": 443}
_NOT_IN_URLS: Final = frozenset('\\"<>^`{|}')
# Networks whose addresses carry others, or stand for others, which may be private.
_CARRIERS: Final = tuple(
    map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "192.88.99.0/24"))
)


class Place(NamedTuple):
    """A URL by its parts."""

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @property
    def origin(self) -> str:
        """The part that says which server: it holds no secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")

    @property
    def target(self) -> str:
        """The part that is sent to that server."""
        return self.path + (f"?{self.query}" if self.query else "")


def place_of(url: str) -> Place:
    """The parts of a URL; ValueError says what is wrong with it."""
    if len(url) > LONGEST_URL:
        raise ValueError(f"it has more than {LONGEST_URL} characters")
    if not all("!" <= character <= "~" for character in url) or _NOT_IN_URLS & set(url):
        raise ValueError(
            "a URL has no spaces, no characters beyond ASCII, and none of " + r'\ " < > ^ ` { | }'
        )
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("expected a URL such as https://builds.example.com/memstow")
    if len(parts.hostname) > _LONGEST_HOST:
        raise ValueError(f"its host has more than {_LONGEST_HOST} characters")
    if "@" in parts.netloc or "#" in url:
        raise ValueError("a URL with a user, a password or a fragment is not taken")
    try:
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not port:
        raise ValueError("its port is not one of 1 to 65535")
    path = parts.path or "/"
    if any(_leaves_its_folder(part) for part in path.split("/")):
        raise ValueError("a path with `.` or `..`, or with an encoded slash, is not taken")
    return Place(parts.scheme, parts.hostname, port, path, parts.query)


def _leaves_its_folder(part: str) -> bool:
    # Some servers drop what is behind a semicolon before they look at the dots.
    plain = unquote(part)
    return plain.partition(";")[0] in (".", "..") or "/" in plain or "\\" in plain


@dataclass(frozen=True, slots=True)
class Allowed:
    """What an operator allows: URLs by how they begin, and networks that are not public."""

    prefixes: tuple[Place, ...]
    networks: tuple[str, ...] = ()

    @classmethod
    def of(cls, urls: Iterable[str], networks: Iterable[str]) -> "Allowed":
        """What these settings allow."""
        return cls(tuple(map(place_of, urls)), tuple(networks))

    def takes(self, place: Place) -> bool:
        """Whether a URL begins as one of those that are allowed, up to the end of a part of its path."""
        for prefix in self.prefixes:
            folder = prefix.path.rstrip("/")
            if prefix[:3] == place[:3] and (place.path == folder or place.path.startswith(f"{folder}/")):
                return True
        return False

    def takes_address(self, text: str) -> bool:
        """Whether a name may stand for this address: it is public, or of a network that is allowed."""
        address = ip_address(text.partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return _is_public(address) or any(address in ip_network(network) for network in self.networks)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    reserved = address.is_multicast or address.is_reserved or address.is_unspecified
    if isinstance(address, IPv6Address):
        reserved = reserved or address.is_site_local
    return address.is_global and not reserved and not any(address in network for network in _CARRIERS)


_PREFIX: Final = "whsec_"
_SHORTEST_SECRET, _LONGEST_SECRET = 24, 64
# What the message leaves out of a job: it may be long, and says nothing about the end.
_LEFT_OUT: Final = ("options", "callback")


def read_secrets(path: Path) -> tuple[bytes, ...]:
    """The secrets in a file, one in each line; InputError for what is none."""
    try:
        lines = [line.strip() for line in read_bytes(path).decode("ascii").splitlines()]
        secrets = tuple(_secret_of(line) for line in lines if line)
    except (ValueError, binascii.Error):
        secrets = ()
    if not secrets:
        # What the file says is not quoted: it may be a secret.
        expected = f"`{_PREFIX}` and {_SHORTEST_SECRET} to {_LONGEST_SECRET} bytes in Base64"
        message = f"{path}: expected a secret in each line: {expected}"
        raise InputError.single("bad_setting", "callback_secret", message)
    return secrets


def _secret_of(line: str) -> bytes:
    secret = base64.b64decode(line.removeprefix(_PREFIX), validate=True)
    if not line.startswith(_PREFIX) or not _SHORTEST_SECRET <= len(secret) <= _LONGEST_SECRET:
        raise ValueError
    return secret


def message_body(job: Mapping[str, Any]) -> bytes:
    """The message about a job that has ended, which is the same in each attempt."""
    data = {name: value for name, value in job.items() if name not in _LEFT_OUT}
    return json.dumps({"type": f"job.{job['state']}", "timestamp": job["finished"], "data": data}).encode()


def message_headers(name: str, seconds: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """The headers that say which message this is, when it was sent, and that it is from here."""
    signed = f"{name}.{seconds}.".encode() + body
    signatures = (hmac.new(secret, signed, hashlib.sha256).digest() for secret in secrets)
    return {
        "webhook-id": name,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(entry).decode()}" for entry in signatures),
    }


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
        resolved = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SendError("unresolved") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in resolved))
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
    fields = {
        "host": place.origin.partition("://")[2],
        "user-agent": f"memstow/{__version__}",
        "content-type": "application/json",
        "content-length": str(length),
        "connection": "close",
        **headers,
    }
    lines = [f"POST {place.target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
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
