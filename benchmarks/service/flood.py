"""A client that sends all it can of everything that is expensive; benchmarks.service.tenants starts it.

A process of its own, with a low priority: it stands for clients on other machines, which take no processor
from the server. It prints how often it got which answer.
"""

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from subprocess import PIPE, Popen

from benchmarks.service.servers import Connection, bodies
from memstow.planner import formats
from memstow.planner.generate.network import network
from memstow.planner.generate.planted import planted

_LIMIT = 30
_REFUSED_PAUSE = 0.05
"""Seconds a connection waits after a refusal; a polite client would wait as Retry-After says."""
_NICER = 10
_LATE_SECONDS = 30.0

Request = tuple[str, str, bytes]
Statuses = Counter[str]


@contextmanager
def flooding(port: int, key: str, seconds: float) -> Iterator[Statuses]:
    """Flood for so long beside the block; the answers are counted when the block has ended."""
    statuses: Statuses = Counter()
    command = [sys.executable, "-m", "benchmarks.service.flood", str(port), key, str(seconds)]
    process = Popen(command, stdout=PIPE, text=True)
    try:
        yield statuses
        printed, _ = process.communicate(timeout=seconds + _LATE_SECONDS)
        statuses.update(json.loads(printed))
    finally:
        process.kill()
        process.wait()


def _kinds() -> Iterator[Callable[[int], Request]]:
    """What each connection sends; the number makes each request another."""
    small = bodies(200)
    needy = b'{"problem": ' + formats.write_problem(network(700, 1)) + b"}"
    hard = [formats.write_problem(planted(300, seed, slack=0.01)).decode() for seed in range(20)]
    settings = [{"name": f"s{i}", "options": {"time_limit": _LIMIT, "seed": i}} for i in range(1000)]
    batch = json.dumps({"problems": [{"name": "p", "problem": json.loads(hard[0])}], "settings": settings})

    def plan(number: int) -> Request:
        body = small[number % len(small)][:-1] + f', "options": {{"seed": {number}}}}}'.encode()
        return "POST", "/v1/plan", body

    def job(number: int) -> Request:
        options = f'{{"time_limit": {_LIMIT}, "seed": {number}}}'
        return "POST", "/v1/jobs", f'{{"problem": {hard[number % 20]}, "options": {options}}}'.encode()

    def waiting(number: int) -> Request:
        return "POST", "/v1/plan", job(number)[2]

    def needs(_: int) -> Request:
        return "POST", "/v1/inspect?needs=true&time_limit=30", needy

    def batches(_: int) -> Request:
        return "POST", "/v1/batches", batch.encode()

    def documents(_: int) -> Request:
        return "GET", "/v1/jobs?limit=200", b""

    for kind, connections in ((plan, 8), (job, 4), (waiting, 8), (needs, 6), (batches, 2), (documents, 2)):
        yield from [kind] * connections


async def _send(port: int, key: str, end: float, statuses: Statuses, kind: Callable[[int], Request]) -> None:
    number = Random(time.time_ns()).randrange(1 << 30)
    connection = Connection(port)
    while (left := end - time.perf_counter()) > 0:
        number += 1
        status = 0
        with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            asked = connection.request(*kind(number), headers=f"Authorization: Bearer {key}\r\n")
            status, _ = await asyncio.wait_for(asked, left + 1)
        statuses[f"{kind.__name__} {status}"] += 1
        if status == 0:
            connection.close()
            connection = Connection(port)
        if status not in (200, 202):
            await asyncio.sleep(_REFUSED_PAUSE)
    connection.close()


async def _flood(port: int, key: str, seconds: float) -> Statuses:
    statuses: Statuses = Counter()
    kinds = list(_kinds())
    end = time.perf_counter() + seconds
    await asyncio.gather(*(_send(port, key, end, statuses, kind) for kind in kinds))
    return statuses


if __name__ == "__main__":
    os.nice(_NICER)
    print(json.dumps(asyncio.run(_flood(int(sys.argv[1]), sys.argv[2], float(sys.argv[3])))))
