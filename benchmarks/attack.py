"""Attacks without a key, and what they cost the server: `python -m benchmarks.attack [NAME] ...`.

Each attack has a server of its own. Memory is the highest resident size during the attack."""

import gzip
import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from random import Random

from benchmarks.page import put, table
from benchmarks.servers import ask, service
from memstow.planner.processes.process import resident

SECONDS = 15.0
"""How long connections are held open: longer than the head of a request may take."""
MOST_SENT = 512 << 20
URL_BYTES = 123 << 20
HALF_OPEN = 1500
SLOW_READERS = 60
PACKED_BODIES = 60
BUFFERS = 17_000

Attack = Callable[[int], str]


class Peak:
    """The highest resident size of a process, looked at ten times a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.bytes = resident(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        with suppress(OSError):
            while not self._over.wait(0.1):
                self.bytes = max(self.bytes, resident(self._pid))


def endless_headers(port: int) -> str:
    """One request whose headers never end."""
    begin = time.monotonic()
    piece = b"".join(b"X-%d: %b\r\n" % (i, bytes(1000).replace(b"\0", b"a")) for i in range(64))
    sent = 0
    with connected(port) as stranger:
        stranger.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n")
        with suppress(OSError):
            while sent < MOST_SENT and time.monotonic() < begin + SECONDS:
                stranger.sendall(piece)
                sent += len(piece)
        return f"{sent >> 20} MiB sent, answer {status(stranger)}"


def long_url(port: int) -> str:
    """A request line that is as large as a file."""
    begin = time.monotonic()
    with connected(port) as stranger:
        sent = 0
        with suppress(OSError):
            stranger.sendall(b"GET /")
            while sent < URL_BYTES and time.monotonic() < begin + 4 * SECONDS:
                stranger.sendall(b"a" * (1 << 20))
                sent += 1 << 20
            stranger.sendall(b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return f"{sent >> 20} MiB sent, answer {status(stranger)}"


def half_open(port: int) -> str:
    """Connections that send half a request and wait."""
    with ExitStack() as stack:
        strangers = []
        for _ in range(HALF_OPEN):
            with suppress(OSError):
                stranger = stack.enter_context(connected(port))
                stranger.sendall(b"GET /livez HTTP/1.1\r\nHost: local")
                strangers.append(stranger)
        served = answers(port)
        time.sleep(SECONDS)
        still = sum(not ended(stranger) for stranger in strangers)
        return f"{still} of {HALF_OPEN} open after {SECONDS:g} s; another client meanwhile: {served}"


def slow_readers(port: int) -> str:
    """Clients that ask for a large document and do not read it."""
    problem = large_problem()
    job = ask(port, "POST", "/v1/jobs", problem, "application/vnd.memstow.problem+json")["id"]
    request = f"GET /v1/jobs/{job}/problem HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as stack:
        strangers = [stack.enter_context(connected(port)) for _ in range(SLOW_READERS)]
        for stranger in strangers:
            stranger.sendall(request)
        time.sleep(SECONDS)
        served = answers(port)
        statuses = Counter(map(status, strangers))
        return (
            f"{len(problem) / 1e6:.0f} MB each; answers {tally(statuses)}; another client meanwhile: {served}"
        )


def packed_bodies(port: int) -> str:
    """Bodies that unpack to a lot and whose last byte does not come."""
    body = gzip.compress(large_problem(), 1)
    head = (
        "POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n"
        f"Content-Type: application/vnd.memstow.problem+json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    with ExitStack() as stack:
        strangers = []
        for _ in range(PACKED_BODIES):
            strangers.append(stack.enter_context(connected(port)))
            with suppress(OSError):
                strangers[-1].sendall(head + body[:-1])
        time.sleep(SECONDS)
        served = answers(port)
        statuses = Counter(status(stranger) for stranger in strangers)
        return f"{PACKED_BODIES} bodies; answers {tally(statuses)}; another client meanwhile: {served}"


def large_problem() -> bytes:
    """A problem of 17 MB that does not shrink to nothing."""
    random = Random(1)
    buffers = [
        {"id": f"{random.getrandbits(3_920):0980x}{i}", "size": 64, "lifetime": [i, i + 2]}
        for i in range(BUFFERS)
    ]
    return json.dumps({"version": 1, "buffers": buffers}).encode()


def connected(port: int) -> socket.socket:
    """A connection of an attacker, who has an address of his own."""
    return socket.create_connection(("127.0.0.1", port), SECONDS, ("127.0.0.2", 0))


def status(stranger: socket.socket) -> str:
    """The status of what the server has answered by now."""
    stranger.settimeout(1.0)
    try:
        return stranger.recv(12)[9:].decode() or "end"
    except TimeoutError:
        return "none"
    except OSError:
        return "reset"


def ended(stranger: socket.socket) -> bool:
    """Whether the server has ended the connection."""
    stranger.setblocking(False)
    try:
        while stranger.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def answers(port: int) -> str:
    """How the server answers another client now: the status, and the milliseconds."""
    begin = time.monotonic()
    try:
        with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = client.recv(12)[9:].decode()
    except OSError as error:
        return type(error).__name__
    return f"{answer} in {1e3 * (time.monotonic() - begin):.0f} ms"


def tally(statuses: Counter[str]) -> str:
    """Statuses and how often."""
    return ", ".join(f"{status} x {count}" for status, count in sorted(statuses.items()))


ALL: dict[str, Attack] = {
    "endless-headers": endless_headers,
    "long-url": long_url,
    "half-open": half_open,
    "slow-readers": slow_readers,
    "packed-bodies": packed_bodies,
}


def main(words: Sequence[str]) -> int:
    """Attack, print what it cost, and put the figures of all attacks on the page."""
    rows = []
    for name in words or ALL:
        with service(slots=0) as (port, pid):
            before = resident(pid)
            with Peak(pid) as peak:
                seen = ALL[name](port)
        rows.append((name, seen, f"{before / 2**20:.0f}", f"{peak.bytes / 2**20:.0f}"))
        print(*rows[-1], sep="  ", flush=True)
    text = table(("attack", "what the attacker sees", "MiB before", "MiB at most"), rows, left=2)
    print(text)
    if not words:
        put("service-attack", text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
