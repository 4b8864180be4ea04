"""The sockets that a server listens on, opened before anything else starts: an error is one line."""

import errno
import socket
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import printable

# Bytes that the system takes of a response before its client has read what came earlier.
_MOST_UNSENT: Final = 128 << 10

_REASONS: Final = {
    errno.EADDRINUSE: "another program listens there; choose another `port`, or 0 for any free one",
    errno.EACCES: "the permissions do not let it be used; choose a `port` of 1024 or more",
    errno.EADDRNOTAVAIL: "this machine has no such address; choose 127.0.0.1 as `host`, or 0.0.0.0 for all",
}


def listening_on(host: str, port: int, backlog: int) -> list[socket.socket]:
    """A socket for each address of the host; an InputError when one cannot be had."""
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            one = socket.socket(family, kind, protocol)
            sockets.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MOST_UNSENT)
            if family == socket.AF_INET6:
                # Where the host has both, each kind of address has a socket of its own.
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
            one.listen(backlog)
    except (OSError, UnicodeError) as error:
        for one in sockets:
            one.close()
        raise InputError.single("cannot_listen", f"{printable(host)}:{port}", _reason(error)) from None
    return sockets


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return "there is no host of this name; choose 127.0.0.1 as `host`, or 0.0.0.0 for all"
    number = error.errno if isinstance(error, OSError) and error.errno is not None else 0
    return _REASONS.get(number) or printable(str(error), 200)
