"""What the service needs by size: `python -m benchmarks.service.sizing`.

Memory is resident, of the server and of the processes in which it solves; disk is the file of the store.
"""

import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks.page import stamp, table
from benchmarks.process import MEMSTOW
from benchmarks.service.servers import bodies, free_port, resident, running
from memstow.planner import formats
from memstow.planner.generate.network import network

CONNECTIONS = 900
JOBS = 2000
BUFFERS = (100, 1_000, 10_000, 50_000)
_SETTLE_SECONDS = 2.0


@contextmanager
def _server(**settings: object) -> Iterator[tuple[int, int, Path]]:
    """A server on a folder of its own: its port, its process and its folder."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "memstow.toml"
        config.write_text("\n".join(f"{name} = {json.dumps(it)}" for name, it in settings.items()))
        command = [MEMSTOW, "serve", "--port", str(port)]
        with running([*command, "--data", f"{folder}/data", "--config", str(config)], port) as pid:
            time.sleep(_SETTLE_SECONDS)
            yield port, pid, Path(folder) / "data"


def _post(port: int, path: str, body: bytes) -> None:
    request = Request(f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"})
    with urlopen(request, timeout=120) as answer:
        answer.read()


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def _of_children(pid: int) -> int:
    return max((resident(child) for child in _children(pid)), default=0)


def idle() -> list[tuple[str, str]]:
    """A server that does nothing, and the process that it keeps ready."""
    with _server(slots=1) as (_, pid, _folder):
        return [
            ("server, idle", _mebibytes(resident(pid))),
            ("process kept ready for the next job", _mebibytes(_of_children(pid))),
        ]


def connections() -> tuple[str, str]:
    """Each connection that is open and idle."""
    with ExitStack() as stack:
        port, pid, _ = stack.enter_context(
            _server(slots=0, max_connections_per_address=CONNECTIONS + 1, idle_seconds=60)
        )
        before = resident(pid)
        for _ in range(CONNECTIONS):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            one.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            one.recv(4096)
        return ("each idle connection", _kibibytes((resident(pid) - before) / CONNECTIONS))


def queued() -> list[tuple[str, str]]:
    """Each job that waits: in the store, and in memory."""
    with _server(slots=0, sync_seconds=0) as (port, pid, folder):
        before, disk = resident(pid), _size(folder)
        sent = bodies(JOBS)
        for body in sent:
            _post(port, "/v1/jobs", body)
        return [
            (
                f"each queued job of 30 buffers ({len(sent[0]) / 1024:.1f} KiB as JSON), on disk",
                _kibibytes((_size(folder) - disk) / JOBS),
            ),
            ("the same, in memory", _kibibytes(max(0.0, (resident(pid) - before) / JOBS))),
        ]


def solving() -> list[tuple[str, str]]:
    """The process of a job while it solves, at its largest."""
    rows = []
    for buffers in BUFFERS:
        with _server(slots=1, fast_body=1) as (port, pid, _):
            problem = formats.write_problem(network(buffers, 1))
            options = b', "options": {"time_limit": 10.0}}'
            _post(port, "/v1/jobs", b'{"problem": ' + problem + options)
            most = 0
            end = time.monotonic() + 10
            while time.monotonic() < end:
                most = max(most, _of_children(pid))
                time.sleep(0.02)
        rows.append((f"process that solves {buffers:,} buffers", _mebibytes(most)))
    return rows


def _size(folder: Path) -> int:
    return sum(os.path.getsize(path) for path in folder.glob("memstow.sqlite*"))


def _mebibytes(size: float) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def _kibibytes(size: float) -> str:
    return f"{size / 1024:.1f} KiB"


if __name__ == "__main__":
    print(table(("what", "needs"), [*idle(), connections(), *queued(), *solving()]))
    print(f"\n{stamp()}")
