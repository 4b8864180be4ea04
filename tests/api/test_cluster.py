"""A server that sends its solves to a cluster does all that it does alone, whatever happens to the cluster."""

import json
import os
import signal
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest

from planner.reading.parse import parse_plan, parse_problem
from planner.verify import verify
from tests.api.http.conftest import hard
from tests.api.serving import PATIENCE, Server, children_of, wait_for
from tests.api.test_faults import over, state_of, submit
from tests.planner.bench.farm import Farm

if find_spec("distributed") is None:
    pytest.skip("needs Dask: pip install 'memstow[dask]'", allow_module_level=True)

LONG = 120.0


def sent(server: Server, farm: Farm, **settings: object) -> httpx2.Client:
    """A client of the server, which sends its solves to the cluster."""
    return server.start(executor="dask", scheduler=farm.address, **settings).client()


def planned(client: httpx2.Client, job: str) -> bool:
    return client.get(f"/v1/jobs/{job}/plan").status_code == 200


def solving(farm: Farm) -> list[int]:
    """Children of the workers that are more than a spare in waiting: they have used the processor."""
    found = []
    for worker in farm.workers:
        if worker.poll() is None:
            found += [child for child in children_of(worker.pid) if _threads(child) > 2]
    return found


def _threads(process: int) -> int:
    try:
        return len(os.listdir(f"/proc/{process}/task"))
    except OSError:
        return 0


def test_live_then_cancelled(server: Server, farm: Farm) -> None:
    farm.add_worker()
    with sent(server, farm) as client:
        wait_for(lambda: client.get("/readyz").status_code == 200, "the cluster")
        begin = time.monotonic()
        job = submit(client, hard(600, 1), time_limit=LONG)
        wait_for(lambda: planned(client, job), "plan")
        print("plan after", time.monotonic() - begin)
        time.sleep(2)
        print(client.get(f"/v1/jobs/{job}").json())
        begin = time.monotonic()
        client.delete(f"/v1/jobs/{job}")
        print(over(client, job)["state"], time.monotonic() - begin)
        print(server.log())
        assert 0
