"""A host with several addresses is listened on at each of them; what cannot be had leaves nothing open."""

import socket
from typing import Any

import pytest

from memstow.api.http.server import listening_on
from tests.planner.refusal import refusal


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as result:
        port: int = result.getsockname()[1]
        return port


def _addresses(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[int, tuple[Any, ...]]) -> None:
    result = [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address) for family, address in addresses]
    monkeypatch.setattr("memstow.api.http.server.socket.getaddrinfo", lambda *_args, **_named: result)


def test_all_addresses_of_both_kinds_are_had_at_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            port = _free_port()
    except OSError:
        pytest.skip("this machine has no IPv6")
    both = (socket.AF_INET6, ("::", port, 0, 0)), (socket.AF_INET, ("0.0.0.0", port))
    _addresses(monkeypatch, *both)
    sockets = listening_on("everywhere", port, 5)
    for one in sockets:
        one.close()
    assert [one.family for one in sockets] == [socket.AF_INET6, socket.AF_INET]


def test_where_one_address_cannot_be_had_none_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    port = _free_port()
    _addresses(monkeypatch, (socket.AF_INET, ("127.0.0.1", port)), (socket.AF_INET, ("192.0.2.1", port)))
    (issue,) = refusal(lambda: listening_on("here", port, 5))
    assert issue.path == f"here:{port}"
    assert "no such address" in issue.message
    with socket.create_server(("127.0.0.1", port)):
        pass
