"""What a request to the service costs that is not cached, by the rooms of the code that it goes through."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.page import ROOT
from benchmarks.profiles.shares import shares
from benchmarks.service.rates import closed_loop
from benchmarks.service.servers import bodies, service, worked

SECONDS: Final = 8.0
_WARM_SECONDS: Final = 1.0
_SAMPLED: Final = Path(__file__).with_name("sampled.py")
_OTHER: Final = "all else"
# What a file does: the first line whose words its path holds. Of a stack, the innermost file that has a line
# counts.
ROOMS: Final = (
    ("/planner/plain/", "read the problem and its digest, write the plan"),
    ("/planner/", "reduce, solve, judge"),
    ("/solvers/", "reduce, solve, judge"),
    ("/api/store/", "cache and store"),
    ("/api/operations/", "options, key of the cache, form of the answer"),
    ("/api/http/protocol", "HTTP: uvicorn and memstow's protocol"),
    ("/api/http/connections", "HTTP: uvicorn and memstow's protocol"),
    ("/uvicorn/", "HTTP: uvicorn and memstow's protocol"),
    ("/api/http/app", "layers around each request"),
    ("/api/", "memstow's routes: callers, limits, logs, counts"),
    ("/starlette/", "FastAPI and Starlette"),
    ("/fastapi/", "FastAPI and Starlette"),
)


def measure() -> str:
    """A table of parts, in milliseconds of a processor for each request."""
    made = bodies(int(2500 * SECONDS))
    with TemporaryDirectory() as folder:
        output = Path(folder) / "samples.json"
        with service((sys.executable, "-P", str(_SAMPLED), str(output))) as (port, pid):
            asyncio.run(closed_loop(port, "/v1/plan", lambda i: made[-i % len(made)], _WARM_SECONDS))
            os.kill(pid, signal.SIGUSR1)
            begin = worked(pid)
            rate, statuses = asyncio.run(
                closed_loop(port, "/v1/plan", lambda i: made[i % len(made)], SECONDS)
            )
            spent = 1000 * (worked(pid) - begin) / statuses.total()
        met = rooms(json.loads(output.read_text()))
    parts = {name: spent * count / met.total() for name, count in met.items() if name != _OTHER}
    return f"`POST /v1/plan`, 30 buffers, nothing cached, {rate:,.0f} requests/s while sampled:\n\n" + shares(
        "part of a request", parts, spent, "ms of a processor", ".3f"
    )


def rooms(samples: Iterable[tuple[Sequence[str], int]]) -> Counter[str]:
    """Samples by room: of each stack, innermost file first, that of the innermost file which has one."""
    met: Counter[str] = Counter()
    for files, count in samples:
        named = (name for file in files for part, name in ROOMS if part in _shortened(file))
        met[next(named, _OTHER)] += count
    return met


def _shortened(file: str) -> str:
    """The path within the project: the folder that it is in may be called as anything."""
    return file.removeprefix(str(ROOT))
